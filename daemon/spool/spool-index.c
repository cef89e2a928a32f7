/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool-index.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/file.h"
#include "spool/spool-directory.h"
#include "wire/limits.h"

/* In front of a change, of the names of files that were removed, and of entries that were added. */
typedef struct ChangeHead {
        SpoolStamp before, after;
        uint64_t n_removed; /* bytes: each name has its NUL */
} ChangeHead;

/* entries */

void spool_entry_index(const SpoolEntry *from, IndexEntry *ret) {
        const Head *head = &from->head;

        memset(ret, 0, sizeof(*ret)); /* also between its members */
        memcpy(ret->name, head->name, sizeof(ret->name));
        ret->damaged = from->damaged;
        ret->tagged = head->tagged;
        ret->imported = head->imported_from != NULL;
        ret->has_uid = head->has_uid;
        ret->has_start = head->has_start_realtime;
        ret->has_offset = ret->damaged && from->fault.has_offset;
        ret->uid = head->has_uid ? head->uid : 0;
        ret->start_realtime_ns = head->has_start_realtime ? head->start_realtime_ns : 0;
        /* A file that could not even be opened has none of these. */
        ret->published_realtime_ns = head->has_published ? head->published_realtime_ns : 0;
        ret->size_bytes = head->has_size ? head->size_bytes : 0;
        ret->allocated_bytes = head->has_allocated ? head->allocated_bytes : 0;
        ret->offset = ret->has_offset ? from->fault.offset : 0;
}

int spool_entry_pack(Buffer *buffer, const SpoolEntry *from) {
        static const SpoolEntry none;
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        JsonWriter writer;
        IndexEntry entry;
        int r = 0;

        spool_entry_index(from ? from : &none, &entry);
        if (from && from->damaged) {
                r = name_escape(&text, span_of(from->fault.text));
        } else if (from) {
                json_writer_init(&writer, &text);
                head_write_json(&writer, &from->head);
                r = json_writer_finish(&writer);
        }
        if (r < 0)
                return r;
        entry.n_text = text.n;
        buffer_append(buffer, &entry, offsetof(IndexEntry, text));
        return buffer_append(buffer, text.bytes, text.n);
}

/* Takes the first entry of @rest, of which nothing is believed but that it is plain data. */
static int entry_new(Span *rest, IndexEntry **ret) {
        const size_t n_head = offsetof(IndexEntry, text);
        IndexEntry head, *entry;
        Span text;

        if (rest->n < n_head)
                return -EBADMSG;
        memcpy(&head, rest->bytes, n_head);
        text = (Span){ rest->bytes + n_head, head.n_text };
        if (head.n_text > rest->n - n_head || memchr(text.bytes, '\0', text.n) ||
            !utf8_is_valid(text) || !memchr(head.name, '\0', sizeof(head.name)) ||
            snapshot_name_complaint(span_of(head.name)))
                return -EBADMSG;
        entry = calloc(1, sizeof(*entry) + text.n + 1);
        if (!entry)
                return -ENOMEM;
        memcpy(entry, &head, n_head);
        entry->n_refs = 1;
        entry->text = (char *) (entry + 1);
        memcpy(entry->text, text.bytes, text.n);
        *rest = (Span){ text.bytes + text.n, rest->n - n_head - text.n };
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
        size_t at;
        int r;

        r = ARRAY_RESERVE(view->entries, view->n_places, view->n + 1);
        if (r < 0) {
                entry_unref(entry);
                return r;
        }
        at = ARRAY_FIRST(view->n, i, compare(view->entries[i], entry) >= 0);
        memmove(&view->entries[at + 1], &view->entries[at], (view->n - at) * sizeof(IndexEntry *));
        view->entries[at] = entry;
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

bool spool_index_is_current(const SpoolIndex *index, int dir_fd) {
        SpoolStamp now;

        return index->is_known && spool_stamp_read(dir_fd, &now) == 0 &&
               memcmp(&now, &index->stamp, sizeof(now)) == 0;
}

int spool_index_lend(const SpoolIndex *index, int dir_fd, int *ret) {
        const SpoolView *view = index->view;
        size_t n_bytes = sizeof(SpoolRoll) + view->n * sizeof(IndexEntry);
        _cleanup_(freep) SpoolRoll *roll = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        int r;

        *ret = -EBADF;
        if (!spool_index_is_current(index, dir_fd))
                return 0;
        roll = calloc(1, n_bytes);
        if (!roll)
                return -ENOMEM;
        roll->stamp = index->stamp;
        roll->n = view->n;
        for (size_t i = 0; i < view->n; i++) {
                IndexEntry *entry = &roll->entries[i];

                *entry = *view->entries[i];
                entry->n_refs = 0;
                entry->n_text = 0;
                entry->text = NULL; /* an address of ours is nothing for a job */
        }
        fd = memfd_create("ctprof-roll", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = file_write(fd, roll, n_bytes);
        if (r == 0)
                *ret = TAKE_FD(fd);
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

int spool_index_add(SpoolIndex *index, Span entries) {
        IndexEntry *entry;
        int r = index->filling ? 0 : -EBADMSG;

        while (r == 0 && entries.n > 0) {
                r = entry_new(&entries, &entry);
                if (r == 0)
                        r = view_insert(index->filling, entry);
        }
        return r;
}

int spool_index_end(SpoolIndex *index, Span stamp) {
        if (!index->filling || stamp.n != sizeof(index->stamp))
                return -EBADMSG;
        memcpy(&index->stamp, stamp.bytes, sizeof(index->stamp));
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

static int follow(SpoolIndex *index, Span removed, Span added) {
        int r;

        r = make_writable(index);
        while (r == 0 && removed.n > 0) {
                const char *end = memchr(removed.bytes, '\0', removed.n);
                size_t n = end ? (size_t) (end - removed.bytes) : 0;

                if (!end)
                        return -EBADMSG;
                remove_name(index->view, (Span){ removed.bytes, n });
                removed = (Span){ end + 1, removed.n - n - 1 };
        }
        while (r == 0 && added.n > 0) {
                IndexEntry *entry;

                r = entry_new(&added, &entry);
                if (r < 0)
                        break;
                remove_name(index->view, span_of(entry->name));
                r = view_insert(index->view, entry);
        }
        return r;
}

void spool_index_follow(SpoolIndex *index, Span change) {
        bool was_known = index->is_known;
        ChangeHead head;
        Span rest;

        index->is_known = false;
        if (!was_known || change.n < sizeof(head))
                return;
        memcpy(&head, change.bytes, sizeof(head));
        rest = (Span){ change.bytes + sizeof(head), change.n - sizeof(head) };
        if (memcmp(&head.before, &index->stamp, sizeof(head.before)) != 0 ||
            head.n_removed > rest.n ||
            follow(index, (Span){ rest.bytes, head.n_removed },
                   (Span){ rest.bytes + head.n_removed, rest.n - head.n_removed }) != 0)
                return;
        index->stamp = head.after;
        index->is_known = true;
}

/* how a job tells what it changed */

int spool_change_pack(const Spool *spool, Buffer *buffer) {
        const SpoolChange *change = &spool->change;
        const Buffer *removed = &change->removed, *added = &change->added;
        const ChangeHead head = { change->before, change->after, removed->n };
        int r = 0;

        /* Within one tick of the clock the stamp stays the same, and only names tell of changes. */
        if (!change->is_begun || change->is_unclear ||
            (removed->n == 0 && added->n == 0 &&
             memcmp(&change->before, &change->after, sizeof(change->before)) == 0))
                return 0;
        buffer_append(buffer, &head, sizeof(head));
        buffer_append(buffer, removed->bytes, removed->n);
        for (size_t at = 0; at < added->n && r == 0; at += strlen(added->bytes + at) + 1) {
                SpoolEntry entry;

                /*
                 * A file that cannot be read now is told without a name, which the index refuses,
                 * and then it is read anew.
                 */
                if (spool_read_entry(spool, added->bytes + at, &entry) != 0) {
                        r = spool_entry_pack(buffer, NULL);
                        continue;
                }
                r = spool_entry_pack(buffer, entry.is_unread ? NULL : &entry);
                head_done(&entry.head);
        }
        return r == 0 ? buffer_failure(buffer) : r;
}
