/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/exited-list.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/group/side.h"
#include "base/array.h"
#include "base/number.h"

#define NAMELESS_NAME "[ended, names folded]"
#define OVERFLOW_NAME "[ended without a row]"

typedef struct OwnerGrowth {
        uint64_t owner, grew_ns;
} OwnerGrowth;

/* Names of process, thread and cgroup in the bytes of all names. */
typedef struct KeptNames {
        struct {
                size_t at, n;
                bool is_known;
        } of[3];
} KeptNames;

static int keep_names(Buffer *bytes, const ThreadSample *sample, KeptNames *ret) {
        const Span names[] = { sample->pcomm, sample->comm, sample->cgroup };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(names) && r == 0; i++) {
                ret->of[i].at = bytes->n;
                ret->of[i].n = names[i].n;
                ret->of[i].is_known = names[i].bytes;
                if (names[i].n > 0)
                        r = buffer_append(bytes, names[i].bytes, names[i].n);
        }
        return r;
}

static void call(ThreadSample *sample, const Buffer *bytes, const KeptNames *kept) {
        Span *const names[] = { &sample->pcomm, &sample->comm, &sample->cgroup };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                size_t n = kept->of[i].n;

                *names[i] = kept->of[i].is_known
                                    ? (Span){ n > 0 ? bytes->bytes + kept->of[i].at : "", n }
                                    : (Span){ NULL, 0 };
        }
}

struct ListedRow {
        size_t key_at, n_key, n_names; /* in the bytes of all keys, which begin with the names */
        KeptNames names;               /* in the same bytes */
        bool has_owner;
        uint64_t owner, folded, born_ns, grew_ns;
        uint64_t exits;
        size_t next;      /* of the same key; INDEX_NONE: none */
        uint64_t n_taken; /* threads of earlier rows that were taken out of it */
};

void exited_list_done(ExitedList *list) {
        free(list->rows);
        free(list->owners);
        buffer_done(&list->keys);
        index_done(&list->index);
        index_done(&list->names);
        *list = (ExitedList){ .rows = NULL };
}

static Span key_of(const void *owner, size_t element) {
        const ExitedList *list = owner;
        const ListedRow *row = &list->rows[element];

        return (Span){ list->keys.bytes + row->key_at, row->n_key };
}

static Span names_of(const void *owner, size_t element) {
        const ExitedList *list = owner;
        const ListedRow *row = &list->rows[element];

        return (Span){ list->keys.bytes + row->key_at, row->n_names };
}

/*
 * Tells a row from all others of its ledger but for those of another cgroup of the same path,
 * as that of a service which was restarted has.
 */
typedef struct RowKey {
        bool has_owner, kthread, self;
        uint64_t owner, folded;
        Span pcomm, comm, cgroup;
        Span started_by; /* apart from the names, which are those of a group */
} RowKey;

static RowKey key_of_row(const ExitedRow *row) {
        const ThreadSample *sample = &row->sample;

        return (RowKey){
                .has_owner = row->has_owner,
                .kthread = sample->has_kthread && sample->kthread,
                .self = sample->self,
                .owner = row->has_owner ? row->owner : 0,
                .folded = row->has_times ? row->folded : 0,
                .pcomm = sample->pcomm,
                .comm = sample->comm,
                .cgroup = sample->cgroup,
                .started_by = row->started_by,
        };
}

static int append_names(Buffer *bytes, const RowKey *key) {
        const Span names[] = { key->pcomm, key->comm, key->cgroup };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                (void) buffer_append_format(bytes, "%zu,", names[i].n);
                (void) buffer_append(bytes, names[i].bytes, names[i].n);
        }
        return buffer_append_format(bytes, "%d%d%d%d,%llu,%llu", key->has_owner, key->kthread,
                                    key->self, key->cgroup.bytes != NULL,
                                    (unsigned long long) key->owner,
                                    (unsigned long long) key->folded);
}

static int append_parent(Buffer *bytes, const RowKey *key) {
        if (!key->started_by.bytes)
                return 0;
        (void) buffer_append(bytes, ",", 1);
        return buffer_append(bytes, key->started_by.bytes, key->started_by.n);
}

static size_t find(const ExitedList *list, const RowKey *key) {
        _cleanup_(buffer_done) Buffer bytes = {};

        if (append_names(&bytes, key) != 0 || append_parent(&bytes, key) != 0)
                return INDEX_NONE;
        return index_find(&list->index, buffer_span(&bytes), key_of, list);
}

/* True when any row has these names, whoever the parent was. */
static bool has_names(const ExitedList *list, const RowKey *key) {
        _cleanup_(buffer_done) Buffer bytes = {};

        return append_names(&bytes, key) == 0 &&
               index_find(&list->names, buffer_span(&bytes), names_of, list) != INDEX_NONE;
}

/* Finds the row that was born then among those of the key of the one at @at; INDEX_NONE: none. */
static size_t find_born(const ExitedList *list, size_t at, uint64_t born_ns) {
        while (at != INDEX_NONE && list->rows[at].born_ns != born_ns)
                at = list->rows[at].next;
        return at;
}

int exited_list_add(ExitedList *list, const ExitedRow *row) {
        const ThreadSample *sample = &row->sample;
        const RowKey key = key_of_row(row);
        ListedRow added = {
                .key_at = list->keys.n,
                .has_owner = row->has_owner,
                .owner = key.owner,
                .folded = key.folded,
                .born_ns = row->has_times ? row->born_boottime_ns : 0,
                .grew_ns = row->has_times ? row->grew_boottime_ns : 0,
                .exits = row->exits,
                .next = INDEX_NONE,
        };
        size_t first = find(list, &key);
        int r;

        if (find_born(list, first, added.born_ns) != INDEX_NONE)
                return 0;
        r = append_names(&list->keys, &key);
        added.n_names = list->keys.n - added.key_at;
        if (r == 0)
                r = append_parent(&list->keys, &key);
        added.n_key = list->keys.n - added.key_at;
        if (r == 0)
                r = keep_names(&list->keys, sample, &added.names);
        /* A row may lack its cgroup, and no other name. */
        added.names.of[0].is_known = added.names.of[1].is_known = true;
        if (r == 0)
                r = ARRAY_RESERVE(list->rows, list->n_allocated, list->n + 1);
        if (r != 0)
                return r;
        list->rows[list->n] = added;
        list->tells_parents = list->tells_parents || key.started_by.bytes;
        /* It stands under its key, behind the first of those that have it. */
        if (first == INDEX_NONE) {
                r = index_add(&list->index, key_of(list, list->n), list->n);
        } else {
                list->rows[list->n].next = list->rows[first].next;
                list->rows[first].next = list->n;
        }
        if (r == 0 && !has_names(list, &key))
                r = index_add(&list->names, names_of(list, list->n), list->n);
        list->n += r == 0;
        return r;
}

/* intervals */

static int compare_owners(const void *a, const void *b) {
        const OwnerGrowth *x = a, *y = b;

        return (x->owner > y->owner) - (x->owner < y->owner);
}

int exited_span_begin(ExitedSpan *span) {
        ExitedList *list = span->after;
        size_t n = 0;

        span->n_lost = 0;
        for (size_t i = 0; i < list->n; i++)
                list->rows[i].n_taken = 0;
        if (!span->is_known)
                return 0;
        /* Each owner is listed once, with the latest growth of any of its rows. */
        free(list->owners);
        list->n_owners = 0;
        list->others_grew_ns = 0;
        list->owners = calloc(list->n + 1, sizeof(*list->owners));
        if (!list->owners)
                return -ENOMEM;
        for (size_t i = 0; i < list->n; i++) {
                const ListedRow *row = &list->rows[i];

                if (row->folded == EXITED_OWN)
                        continue;
                if (row->has_owner)
                        list->owners[n++] = (OwnerGrowth){ row->owner, row->grew_ns };
                else
                        list->others_grew_ns = MAX_OF(list->others_grew_ns, row->grew_ns);
        }
        if (n > 1)
                qsort(list->owners, n, sizeof(*list->owners), compare_owners);
        for (size_t i = 0; i < n; i++) {
                OwnerGrowth *last = list->n_owners > 0 ? &list->owners[list->n_owners - 1] : NULL;

                if (last && last->owner == list->owners[i].owner)
                        last->grew_ns = MAX_OF(last->grew_ns, list->owners[i].grew_ns);
                else
                        list->owners[list->n_owners++] = list->owners[i];
        }
        return 0;
}

/* When something was last added to a row that was put together, and has or may have @key's. */
static uint64_t last_growth(const ExitedSpan *span, const RowKey *key) {
        const OwnerGrowth wanted = { .owner = key->owner };
        const ExitedList *list = span->after;
        const OwnerGrowth *own = NULL;

        if (span->grew_ns <= span->begin_ns)
                return span->grew_ns;
        if (key->has_owner && list->n_owners > 0)
                own = bsearch(&wanted, list->owners, list->n_owners, sizeof(*list->owners),
                              compare_owners);
        return own ? MAX_OF(own->grew_ns, list->others_grew_ns) : list->others_grew_ns;
}

#define NAME_BYTES 256

/* A name as rows have it that differed in numbers. */
static Span without_numbers(Span name, char text[static NAME_BYTES]) {
        bool in_number = false;
        size_t n = 0;

        for (size_t i = 0; i < name.n && n < NAME_BYTES; i++) {
                bool is_digit = name.bytes[i] >= '0' && name.bytes[i] <= '9';

                if (!is_digit)
                        text[n++] = name.bytes[i];
                else if (!in_number)
                        text[n++] = '0';
                in_number = is_digit;
        }
        return (Span){ text, n };
}

/* True when the row at @at can have taken in a row of @exits threads since. */
static bool has_room(const ExitedSpan *span, size_t at, const RowKey *key, uint64_t exits) {
        size_t earlier = find(span->before, key);
        const ListedRow *row = &span->after->rows[at];
        uint64_t had = earlier == INDEX_NONE ? 0 : span->before->rows[earlier].exits;

        return row->exits >= number_add_saturating(number_add_saturating(had, row->n_taken), exits);
}

/* The row of the later ledger that has what the row of @key had; NULL: none is found. */
static ListedRow *find_target(const ExitedSpan *span, const RowKey *key, uint64_t exits) {
        const Span nameless = SPAN_LITERAL(NAMELESS_NAME), overflow = SPAN_LITERAL(OVERFLOW_NAME);
        char process[NAME_BYTES], thread[NAME_BYTES];
        RowKey targets[4] = { *key, *key, *key, *key };

        for (size_t i = 0; i < ELEMENTSOF(targets); i++)
                targets[i].started_by = (Span){ NULL, 0 };
        targets[0].folded = EXITED_NUMBERLESS;
        targets[0].pcomm = without_numbers(key->pcomm, process);
        targets[0].comm = without_numbers(key->comm, thread);
        targets[1].folded = EXITED_NAMELESS;
        targets[1].pcomm = targets[1].comm = nameless;
        targets[2] = (RowKey){ .has_owner = key->has_owner,
                               .owner = key->owner,
                               .self = key->self,
                               .folded = EXITED_OVERFLOW,
                               .pcomm = overflow,
                               .comm = overflow };
        targets[3] = targets[2];
        targets[3].has_owner = targets[3].self = false;
        targets[3].owner = 0;
        for (size_t i = 0; i < ELEMENTSOF(targets); i++) {
                size_t at = targets[i].folded > key->folded ? find(span->after, &targets[i])
                                                            : INDEX_NONE;

                if (at != INDEX_NONE && has_room(span, at, &targets[i], exits))
                        return &span->after->rows[at];
        }
        return NULL;
}

bool exited_span_place(ExitedSpan *span, unsigned end, ExitedRow *row) {
        const RowKey key = key_of_row(row);
        bool is_idle, is_own = key.folded == EXITED_OWN;
        ListedRow *target;
        size_t first, at;

        if (!span->is_known || !row->has_times)
                return true;
        /* The parent of long ago does not matter where nothing was added in between. */
        if (end == SIDE_AFTER) {
                if (row->grew_boottime_ns <= span->begin_ns)
                        row->started_by = (Span){ NULL, 0 };
                return is_own || last_growth(span, &key) > span->begin_ns;
        }
        first = at = find(span->after, &key);
        if (is_own)
                at = find_born(span->after, first, row->born_boottime_ns);
        /*
         * One of several parents has been there for as long as the oldest row that it took in,
         * which it may have done since.
         */
        if (is_own && at == INDEX_NONE && !key.started_by.bytes && span->after->tells_parents) {
                at = first;
                while (at != INDEX_NONE && span->after->rows[at].born_ns > row->born_boottime_ns)
                        at = span->after->rows[at].next;
        }
        if (at != INDEX_NONE && is_own) {
                if (span->after->rows[at].grew_ns <= span->begin_ns)
                        row->started_by = (Span){ NULL, 0 };
                return true;
        }
        if (is_own && key.started_by.bytes) {
                RowKey parentless = key;
                size_t same_names;

                parentless.started_by = (Span){ NULL, 0 };
                same_names = find(span->after, &parentless);
                if (same_names != INDEX_NONE &&
                    has_room(span, same_names, &parentless, row->exits)) {
                        span->after->rows[same_names].n_taken += row->exits;
                        row->started_by = (Span){ NULL, 0 };
                        return true;
                }
        }
        is_idle = last_growth(span, &key) <= span->begin_ns;
        if (is_idle || (at != INDEX_NONE && !is_own))
                return !is_idle;
        target = find_target(span, &key, row->exits);
        if (!target)
                return true;
        /* No row of no one owner has grown inside: who ended inside is in none of them. */
        if (!target->has_owner && target->grew_ns <= span->begin_ns)
                return false;
        target->n_taken += row->exits;
        span->n_lost++;
        call(&row->sample, &span->after->keys, &target->names);
        if (target->folded == EXITED_OVERFLOW)
                row->sample.has_kthread = row->sample.kthread = false;
        return true;
}

/* The uid of a thread is its owner's unless it lives in a user namespace. */
void exited_span_place_vanished(ExitedSpan *span, ThreadSample *vanished) {
        const RowKey key = {
                .has_owner = true,
                .self = vanished->self,
                .owner = vanished->uid,
                .pcomm = vanished->pcomm,
                .comm = vanished->comm,
                .cgroup = vanished->cgroup,
        };
        ListedRow *target;

        if (!span->is_known || span->grew_ns <= span->begin_ns || !vanished->has_owner ||
            (vanished->has_kthread && vanished->kthread) || has_names(span->after, &key))
                return;
        target = find_target(span, &key, 1);
        if (!target || (!target->has_owner && target->grew_ns <= span->begin_ns))
                return;
        target->n_taken++;
        span->n_lost++;
        call(vanished, &span->after->keys, &target->names);
        if (target->folded == EXITED_OVERFLOW)
                vanished->has_kthread = vanished->kthread = false;
}

/* threads that changed their names */

/* The identity of a thread. It has no gaps: its bytes are a key. */
typedef struct Life {
        uint64_t tgid, tid, start_ticks;
} Life;

struct MovedThread {
        Life life;
        KeptNames names;
        bool has_kthread, kthread, self;
};

void moved_list_done(MovedList *list) {
        free(list->threads);
        buffer_done(&list->names);
        index_done(&list->index);
        *list = (MovedList){ .threads = NULL };
}

static Life life_of(const ThreadSample *sample) {
        return (Life){ (uint64_t) sample->tgid, (uint64_t) sample->tid, sample->start_ticks };
}

static Span key_of_thread(const void *owner, size_t element) {
        const MovedList *list = owner;

        return (Span){ (const char *) &list->threads[element].life, sizeof(Life) };
}

int moved_list_add(MovedList *list, const ThreadSample *ended) {
        MovedThread thread = {
                .life = life_of(ended),
                .has_kthread = ended->has_kthread,
                .kthread = ended->kthread,
                .self = ended->self,
        };
        const Span key = { (const char *) &thread.life, sizeof(thread.life) };
        int r;

        if (index_find(&list->index, key, key_of_thread, list) != INDEX_NONE)
                return 0;
        r = keep_names(&list->names, ended, &thread.names);
        if (r == 0)
                r = ARRAY_RESERVE(list->threads, list->n_allocated, list->n + 1);
        if (r != 0)
                return r;
        list->threads[list->n] = thread;
        r = index_add(&list->index, key_of_thread(list, list->n), list->n);
        list->n += r == 0;
        return r;
}

void moved_list_rename(const MovedList *list, ThreadSample *vanished) {
        const Life life = life_of(vanished);
        const Span key = { (const char *) &life, sizeof(life) };
        const MovedThread *thread;
        size_t at;

        if (list->n == 0)
                return;
        at = index_find(&list->index, key, key_of_thread, list);
        if (at == INDEX_NONE)
                return;
        thread = &list->threads[at];
        call(vanished, &list->names, &thread->names);
        vanished->has_kthread = thread->has_kthread;
        vanished->kthread = thread->kthread;
        vanished->self = thread->self;
}
