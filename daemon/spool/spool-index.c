/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool-index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "spool/spool-directory.h"
#include "wire/limits.h"
#include "wire/message-object.h"

#define KEY_HEAD "head"
#define KEY_FAULT "fault"
#define KEY_OFFSET "offset"
#define KEY_BEFORE "before"
#define KEY_AFTER "after"
#define KEY_REMOVED "removed"
#define KEY_ADDED "added"

struct SpoolIndex {
        SpoolView *view;    /* never NULL */
        SpoolView *filling; /* by a survey, or NULL */
        SpoolStamp stamp;
        bool is_known; /* @view is what the directory held at @stamp */
};

/* stamps and numbers */

void spool_stamp_write(JsonWriter *writer, const char *key, const SpoolStamp *stamp) {
        json_write_key(writer, key);
        json_write_array(writer);
        json_write_u64(writer, stamp->device);
        json_write_u64(writer, stamp->inode);
        json_write_u64(writer, stamp->change_ns);
        json_write_end(writer);
}

static bool read_u64(json_object *value, uint64_t *ret) {
        bool is_negative;

        return message_get_integer(value, &is_negative, ret) && !is_negative;
}

static bool read_stamp(json_object *array, SpoolStamp *ret) {
        return json_object_is_type(array, json_type_array) &&
               json_object_array_length(array) == 3 &&
               read_u64(json_object_array_get_idx(array, 0), &ret->device) &&
               read_u64(json_object_array_get_idx(array, 1), &ret->inode) &&
               read_u64(json_object_array_get_idx(array, 2), &ret->change_ns);
}

/* entries */

void spool_entry_write(JsonWriter *writer, const SpoolEntry *entry) {
        json_write_object(writer);
        json_write_key(writer, KEY_HEAD);
        head_write_json(writer, &entry->head);
        if (entry->damaged) {
                json_write_member_name(writer, KEY_FAULT, span_of(entry->fault.text));
                if (entry->fault.has_offset)
                        json_write_member_u64(writer, KEY_OFFSET, entry->fault.offset);
        }
        json_write_end(writer);
}

static bool read_member(json_object *object, const char *key, uint64_t *ret) {
        return read_u64(json_object_object_get(object, key), ret);
}

static bool read_members(json_object *item, json_object *head, IndexEntry *ret) {
        json_object *fault = json_object_object_get(item, KEY_FAULT);
        const char *name = json_object_get_string(json_object_object_get(head, "name"));
        uint64_t uid;

        if (!name || snapshot_name_complaint(span_of(name)))
                return false;
        memcpy(ret->name, name, strlen(name) + 1);
        ret->damaged = fault;
        ret->has_offset = read_member(item, KEY_OFFSET, &ret->offset);
        ret->tagged = json_object_get_boolean(json_object_object_get(head, "tagged"));
        ret->imported = json_object_object_get(head, "importedFrom");
        ret->has_uid = read_member(head, "uid", &uid);
        ret->uid = ret->has_uid ? (uid_t) uid : 0;
        ret->has_start = read_member(head, "startRealtimeNs", &ret->start_realtime_ns);
        /* A file that could not even be opened has none of these. */
        (void) read_member(head, "publishedRealtimeNs", &ret->published_realtime_ns);
        (void) read_member(head, "sizeBytes", &ret->size_bytes);
        (void) read_member(head, "allocatedBytes", &ret->allocated_bytes);
        return true;
}

static int entry_new(json_object *item, IndexEntry **ret) {
        json_object *head = json_object_object_get(item, KEY_HEAD);
        json_object *fault = json_object_object_get(item, KEY_FAULT);
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        IndexEntry *entry;
        int r;

        if (!json_object_is_type(head, json_type_object))
                return -EBADMSG; /* also when @item is null */
        if (fault)
                r = buffer_append_text(&text, json_object_get_string(fault));
        else
                r = message_append_object(&text, head);
        if (r < 0)
                return r;
        entry = calloc(1, sizeof(*entry) + text.n + 1);
        if (!entry)
                return -ENOMEM;
        if (!read_members(item, head, entry)) {
                free(entry);
                return -EBADMSG;
        }
        entry->n_refs = 1;
        entry->n_text = text.n;
        memcpy(entry->text, text.bytes ? text.bytes : "", text.n);
        *ret = entry;
        return 0;
}

static void entry_unref(IndexEntry *entry) {
        if (--entry->n_refs == 0)
                free(entry);
}

static size_t entry_memory(const IndexEntry *entry) {
        return sizeof(*entry) + entry->n_text + sizeof(entry);
}

/* As the entries of spool_list(). */
static int compare(const IndexEntry *x, const IndexEntry *y) {
        if (x->damaged != y->damaged)
                return x->damaged ? 1 : -1;
        if (x->damaged)
                return strcmp(x->name, y->name);
        if (x->published_realtime_ns != y->published_realtime_ns)
                return x->published_realtime_ns < y->published_realtime_ns ? 1 : -1;
        return strcmp(y->name, x->name);
}

/* views */

static SpoolView *view_new(void) {
        SpoolView *view = calloc(1, sizeof(*view));

        if (view) {
                view->n_refs = 1;
                view->memory = sizeof(*view);
        }
        return view;
}

SpoolView *spool_view_ref(SpoolView *view) {
        view->n_refs++;
        return view;
}

SpoolView *spool_view_unref(SpoolView *view) {
        if (!view || --view->n_refs > 0)
                return NULL;
        for (size_t i = 0; i < view->n; i++)
                entry_unref(view->entries[i]);
        free(view->entries);
        free(view);
        return NULL;
}

/* Takes @entry over in any case. */
static int view_insert(SpoolView *view, IndexEntry *entry) {
        size_t low = 0, high = view->n;
        int r;

        r = ARRAY_RESERVE(view->entries, view->n_places, view->n + 1);
        if (r < 0) {
                entry_unref(entry);
                return r;
        }
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (compare(view->entries[middle], entry) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        memmove(&view->entries[low + 1], &view->entries[low],
                (view->n - low) * sizeof(IndexEntry *));
        view->entries[low] = entry;
        view->n++;
        view->size_bytes += entry->size_bytes;
        view->allocated_bytes += entry->allocated_bytes;
        view->memory += entry_memory(entry);
        return 0;
}

static bool find(const SpoolView *view, Span name, size_t *ret) {
        for (size_t i = 0; i < view->n; i++)
                if (span_is(name, view->entries[i]->name)) {
                        *ret = i;
                        return true;
                }
        return false;
}

const IndexEntry *spool_view_find(const SpoolView *view, Span name) {
        size_t i;

        return find(view, name, &i) ? view->entries[i] : NULL;
}

const IndexEntry *spool_view_resolve(const SpoolView *view, Span reference) {
        uint64_t back;

        if (!snapshot_name_is_relative(reference, &back))
                return spool_view_find(view, reference);
        for (size_t i = 0; i < view->n; i++) {
                const IndexEntry *entry = view->entries[i];

                if (!entry->damaged && !entry->imported && back-- == 0)
                        return entry;
        }
        return NULL;
}

/* the index */

int spool_index_new(SpoolIndex **ret) {
        SpoolIndex *index = calloc(1, sizeof(*index));

        if (!index)
                return -ENOMEM;
        index->view = view_new();
        if (!index->view) {
                free(index);
                return -ENOMEM;
        }
        *ret = index;
        return 0;
}

SpoolIndex *spool_index_free(SpoolIndex *index) {
        if (!index)
                return NULL;
        (void) spool_view_unref(index->view);
        (void) spool_view_unref(index->filling);
        free(index);
        return NULL;
}

SpoolView *spool_index_view(const SpoolIndex *index) {
        return index->view;
}

bool spool_index_is_current(const SpoolIndex *index, int dir_fd) {
        SpoolStamp now;

        return index->is_known && spool_stamp_read(dir_fd, &now) == 0 &&
               spool_stamp_equal(&now, &index->stamp);
}

int spool_index_lend(const SpoolIndex *index, int dir_fd, int *ret) {
        const SpoolView *view = index->view;
        SpoolRoll roll = { .stamp = index->stamp, .n = view->n };
        int r;

        *ret = -EBADF;
        if (!spool_index_is_current(index, dir_fd))
                return 0;
        roll.entries = calloc(view->n + 1, sizeof(*roll.entries));
        if (!roll.entries)
                return -ENOMEM;
        for (size_t i = 0; i < view->n; i++) {
                const IndexEntry *from = view->entries[i];

                roll.entries[i] = (RollEntry){
                        .damaged = from->damaged,
                        .tagged = from->tagged,
                        .has_uid = from->has_uid,
                        .has_start = from->has_start,
                        .uid = from->uid,
                        .start_realtime_ns = from->start_realtime_ns,
                        .published_realtime_ns = from->published_realtime_ns,
                        .allocated_bytes = from->allocated_bytes,
                };
                memcpy(roll.entries[i].name, from->name, sizeof(from->name));
        }
        r = spool_roll_write(&roll, ret);
        spool_roll_done(&roll);
        return r;
}

void spool_index_forget(SpoolIndex *index) {
        index->is_known = false;
}

int spool_index_begin(SpoolIndex *index) {
        (void) spool_view_unref(index->filling);
        index->filling = view_new();
        return index->filling ? 0 : -ENOMEM;
}

int spool_index_add(SpoolIndex *index, json_object *item) {
        IndexEntry *entry;
        int r;

        if (!index->filling)
                return -EBADMSG;
        r = entry_new(item, &entry);
        return r < 0 ? r : view_insert(index->filling, entry);
}

int spool_index_end(SpoolIndex *index, json_object *stamp) {
        SpoolStamp read;

        if (!index->filling || !read_stamp(stamp, &read))
                return -EBADMSG;
        index->stamp = read;
        (void) spool_view_unref(index->view);
        index->view = TAKE_PTR(index->filling);
        index->is_known = true;
        return 0;
}

/* Others who hold the view keep it as it is. */
static int make_writable(SpoolIndex *index) {
        const SpoolView *view = index->view;
        SpoolView *copy;
        int r;

        if (view->n_refs == 1)
                return 0;
        copy = view_new();
        if (!copy)
                return -ENOMEM;
        r = ARRAY_RESERVE(copy->entries, copy->n_places, view->n + 1);
        if (r < 0) {
                (void) spool_view_unref(copy);
                return r;
        }
        assert(copy->entries); /* there is room for one at least */
        for (size_t i = 0; i < view->n; i++) {
                copy->entries[i] = view->entries[i];
                copy->entries[i]->n_refs++;
        }
        copy->n = view->n;
        copy->size_bytes = view->size_bytes;
        copy->allocated_bytes = view->allocated_bytes;
        copy->memory = view->memory;
        (void) spool_view_unref(index->view);
        index->view = copy;
        return 0;
}

static void remove_name(SpoolView *view, Span name) {
        IndexEntry *entry;
        size_t i;

        if (!find(view, name, &i))
                return;
        entry = view->entries[i];
        view->n--;
        memmove(&view->entries[i], &view->entries[i + 1], (view->n - i) * sizeof(IndexEntry *));
        view->size_bytes -= entry->size_bytes;
        view->allocated_bytes -= entry->allocated_bytes;
        view->memory -= entry_memory(entry);
        entry_unref(entry);
}

static int follow(SpoolIndex *index, json_object *removed, json_object *added) {
        int r;

        r = make_writable(index);
        for (size_t i = 0; r == 0 && i < json_object_array_length(removed); i++) {
                const char *name = json_object_get_string(json_object_array_get_idx(removed, i));

                remove_name(index->view, span_of(name));
        }
        for (size_t i = 0; r == 0 && i < json_object_array_length(added); i++) {
                IndexEntry *entry;

                r = entry_new(json_object_array_get_idx(added, i), &entry);
                if (r < 0)
                        break;
                remove_name(index->view, span_of(entry->name));
                r = view_insert(index->view, entry);
        }
        return r;
}

void spool_index_follow(SpoolIndex *index, json_object *change) {
        json_object *removed = json_object_object_get(change, KEY_REMOVED);
        json_object *added = json_object_object_get(change, KEY_ADDED);
        SpoolStamp before, after;

        index->is_known = index->is_known &&
                          read_stamp(json_object_object_get(change, KEY_BEFORE), &before) &&
                          read_stamp(json_object_object_get(change, KEY_AFTER), &after) &&
                          spool_stamp_equal(&before, &index->stamp) &&
                          json_object_is_type(removed, json_type_array) &&
                          json_object_is_type(added, json_type_array) &&
                          follow(index, removed, added) == 0;
        if (index->is_known)
                index->stamp = after;
}

/* how a job tells what it changed */

bool spool_change_write(const Spool *spool, JsonWriter *writer) {
        const SpoolChange *change = &spool->change;
        const Buffer *removed = &change->removed, *added = &change->added;

        /* Within one tick of the clock the stamp stays the same, and only names tell of changes. */
        if (!change->is_begun || change->is_unclear ||
            (removed->n == 0 && added->n == 0 &&
             spool_stamp_equal(&change->before, &change->after)))
                return false;
        spool_stamp_write(writer, KEY_BEFORE, &change->before);
        spool_stamp_write(writer, KEY_AFTER, &change->after);
        json_write_key(writer, KEY_REMOVED);
        json_write_array(writer);
        for (size_t at = 0; at < removed->n; at += strlen(removed->bytes + at) + 1)
                json_write_text(writer, removed->bytes + at);
        json_write_end(writer);
        json_write_key(writer, KEY_ADDED);
        json_write_array(writer);
        for (size_t at = 0; at < added->n; at += strlen(added->bytes + at) + 1) {
                SpoolEntry entry;

                /*
                 * A file that cannot be read now is null, which the index refuses, and then it is
                 * read anew.
                 */
                if (spool_read_entry(spool, added->bytes + at, &entry) != 0) {
                        json_write_null(writer);
                        continue;
                }
                if (entry.is_unread)
                        json_write_null(writer);
                else
                        spool_entry_write(writer, &entry);
                head_done(&entry.head);
        }
        json_write_end(writer);
        return true;
}
