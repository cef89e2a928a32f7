/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/ledger.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/index.h"
#include "base/number.h"
#include "kernel/bpf/bpf-call.h"

/* A program has so long to come to its end, on a CPU that a hypervisor may have taken away. */
#define MAX_WAIT_NS NSEC_PER_SEC
#define BATCH_ELEMENTS 512u /* more than any bucket of a table that can be full holds */

/* shared memory */

#define RECORDS_BYTES ((size_t) LEDGER_MAX_RECORDS * sizeof(LedgerRecord))

static void *map_shared(int fd, size_t n, int protection) {
        void *memory = mmap(NULL, n, protection, MAP_SHARED, fd, 0);

        return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_control(LedgerControl **control) {
        if (*control)
                (void) munmap(*control, sizeof(**control));
}

static bool has_programs(const Ledger *ledger) {
        return ledger->control != &ledger->without_programs;
}

Ledger *ledger_free(Ledger *ledger) {
        if (!ledger)
                return NULL;
        if (ledger->control && has_programs(ledger))
                (void) munmap(ledger->control, sizeof(*ledger->control));
        if (ledger->records)
                (void) munmap((void *) (uintptr_t) ledger->records, RECORDS_BYTES);
        ledger->file = ledger_file_free(ledger->file);
        free(ledger->rows);
        index_done(&ledger->index);
        index_done(&ledger->paths);
        free(ledger->growing);
        index_done(&ledger->growing_index);
        buffer_done(&ledger->path);
        free(ledger);
        return NULL;
}

bool ledger_is_kept(const Ledger *ledger) {
        return ledger->control->ledger_since_ns != 0;
}

LedgerOrigin ledger_origin(const Ledger *ledger) {
        return has_programs(ledger) ? LEDGER_FROM_PROGRAMS : LEDGER_FROM_TASKSTATS;
}

static uint64_t load(const __u64 *word) {
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void store(__u64 *word, uint64_t value) {
        __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

bool ledger_counts_reasons(const Ledger *ledger) {
        return load(&ledger->control->reasons.epoch) != 0;
}

/* rows */

static Span key_of(const void *owner, size_t element) {
        const Ledger *ledger = owner;

        return (Span){ (const char *) &ledger->rows[element].key, sizeof(LedgerKey) };
}

static int add_row(Ledger *ledger, const LedgerKey *key, const LedgerValues *values) {
        LedgerKey plain = *key;
        Span bytes = { (const char *) &plain, sizeof(plain) };
        size_t found;
        int r;

        plain.is_of_odd = 0;
        ledger->n_exits += values->exits;
        ledger->n_folded += values->n_folded;
        ledger->n_overflow += values->n_overflow;
        found = index_find(&ledger->index, bytes, key_of, ledger);
        if (found != INDEX_NONE) {
                ledger_values_add(&ledger->rows[found].values, values);
                return 0;
        }
        r = ARRAY_RESERVE(ledger->rows, ledger->n_rows_allocated, ledger->n_rows + 1);
        if (r == 0)
                r = index_add(&ledger->index, bytes, ledger->n_rows);
        if (r == 0)
                ledger->rows[ledger->n_rows++] = (LedgerRow){ plain, *values };
        return r;
}

static int add_file(Ledger *ledger) {
        size_t n = ledger->file ? (size_t) ledger->file->head->n_rows : 0;
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                const LedgerRow *row = &ledger->file->rows[i].row;

                r = add_row(ledger, &row->key, &row->values);
        }
        return r;
}

static void forget_rows(Ledger *ledger) {
        ledger->n_rows = 0;
        ledger->n_lost = ledger->n_exits = ledger->n_folded = ledger->n_overflow = 0;
        ledger->n_hanging = 0;
        ledger->is_read = false;
        index_clear(&ledger->index);
        ledger->n_growing = 0;
        index_clear(&ledger->growing_index);
}

/* keys of rows that grow */

static Span growing_key_of(const void *owner, size_t element) {
        const Ledger *ledger = owner;

        return (Span){ (const char *) &ledger->growing[element], sizeof(LedgerKey) };
}

static int note_growing(Ledger *ledger, const LedgerKey *key) {
        LedgerKey plain = *key;
        Span bytes = { (const char *) &plain, sizeof(plain) };
        int r;

        plain.is_of_odd = 0;
        if (index_find(&ledger->growing_index, bytes, growing_key_of, ledger) != INDEX_NONE)
                return 0;
        r = ARRAY_RESERVE(ledger->growing, ledger->n_growing_allocated, ledger->n_growing + 1);
        if (r == 0)
                r = index_add(&ledger->growing_index, bytes, ledger->n_growing);
        if (r == 0)
                ledger->growing[ledger->n_growing++] = plain;
        return r;
}

static bool is_growing(void *userdata, const LedgerKey *key) {
        const Ledger *ledger = userdata;
        Span bytes = { (const char *) key, sizeof(*key) };

        return index_find(&ledger->growing_index, bytes, growing_key_of, ledger) != INDEX_NONE;
}

/* A table of the programs, read in batches. */
typedef struct TableWalk {
        int fd;
        void *keys, *values; /* room for BATCH_ELEMENTS each */
        uint32_t n;          /* of the batch that was read last */
        uint32_t cursor;
        bool has_begun, is_last;
} TableWalk;

/* Returns 1 with the next batch, which may be empty, 0 after the last one, -errno. */
static int next_batch(TableWalk *walk) {
        union bpf_attr call = bpf_call_nothing();

        if (walk->is_last)
                return 0;
        call.batch.in_batch = walk->has_begun ? (uintptr_t) &walk->cursor : 0;
        call.batch.out_batch = (uintptr_t) &walk->cursor;
        call.batch.keys = (uintptr_t) walk->keys;
        call.batch.values = (uintptr_t) walk->values;
        call.batch.count = BATCH_ELEMENTS;
        call.batch.map_fd = (uint32_t) walk->fd;
        walk->has_begun = true;
        walk->is_last = bpf_call(BPF_MAP_LOOKUP_BATCH, &call) != 0;
        if (walk->is_last && errno != ENOENT)
                return -errno;
        walk->n = call.batch.count;
        return walk->n <= BATCH_ELEMENTS ? 1 : -EBADMSG;
}

typedef struct RowBatch {
        LedgerKey keys[BATCH_ELEMENTS];
        LedgerValues values[BATCH_ELEMENTS];
} RowBatch;

/*
 * The rows for what finds no other are never removed: an owner has few, and those of all others
 * must be there.
 */
typedef enum RowChoice { ALL_ROWS, FOLDED_ROWS, OVERFLOW_ROWS } RowChoice;

int ledger_visit_rows(const TaskObjects *objects, LedgerVisit visit, void *userdata) {
        _cleanup_(freep) RowBatch *batch = calloc(1, sizeof(*batch));
        TableWalk walk = { .fd = objects->fds[TASK_OBJECT_ROWS] };
        int r;

        if (!batch)
                return -ENOMEM;
        walk.keys = batch->keys;
        walk.values = batch->values;
        while ((r = next_batch(&walk)) > 0)
                for (uint32_t i = 0; i < walk.n; i++) {
                        r = visit(userdata, &batch->keys[i], &batch->values[i]);
                        if (r < 0)
                                return r;
                }
        return r;
}

typedef struct RowReading {
        Ledger *ledger; /* borrowed */
        unsigned odd;
        RowChoice choice;
} RowReading;

static int read_row(void *userdata, const LedgerKey *key, const LedgerValues *values) {
        const RowReading *reading = userdata;
        bool is_overflow = (key->flags & LEDGER_OVERFLOW) != 0;

        if (reading->choice == OVERFLOW_ROWS
                    ? is_overflow
                    : key->is_of_odd == reading->odd &&
                              (reading->choice == ALL_ROWS || !is_overflow))
                return add_row(reading->ledger, key, values);
        return reading->choice == FOLDED_ROWS ? note_growing(reading->ledger, key) : 0;
}

/* Rows that rest: those of the odd or of the even generations. A fold notes what does not. */
static int read_rows(Ledger *ledger, unsigned odd, RowChoice choice) {
        RowReading reading = { ledger, odd, choice };

        return ledger_visit_rows(ledger->objects, read_row, &reading);
}

uint64_t ledger_stamp(LedgerControl *control) {
        uint64_t end = clock_now_ns(CLOCK_MONOTONIC) + NSEC_PER_MSEC;

        while (load(&control->n_running[0]) + load(&control->n_running[1]) != 0 &&
               clock_now_ns(CLOCK_MONOTONIC) < end)
                (void) sched_yield();
        return load(&control->n_marked) + load(&control->n_lost_marks) + load(&control->n_exits) +
               load(&control->n_finished);
}

/* Returns 1 when it was there and is removed now, 0 when it was not there, -errno. */
static int remove_key(int map_fd, const void *key) {
        union bpf_attr call = bpf_call_nothing();

        call.map_fd = (uint32_t) map_fd;
        call.key = (uintptr_t) key;
        if (bpf_call(BPF_MAP_DELETE_ELEM, &call) >= 0)
                return 1;
        return errno == ENOENT ? 0 : -errno;
}

/* Programs go on adding to the count, and may have counted what they then did not add. */
static void give_back(__u64 *count, uint64_t n) {
        __u64 old = load(count);

        while (!__atomic_compare_exchange_n(count, &old, old - MIN_OF(old, (__u64) n), false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                ;
}

static LedgerOwner *find_owner(LedgerControl *control, uint32_t uid) {
        for (uint32_t i = 0; i < LEDGER_OWNER_TRIES; i++) {
                LedgerOwner *owner = &control->owners[ledger_owner_place(uid, i)];

                if (load(&owner->uid) == (uint64_t) uid + 1)
                        return owner;
        }
        return &control->owners[LEDGER_MAX_OWNERS];
}

/* 0, or -ENOENT: it is not noted by programs; -errno. */
static int read_cgroup(const Ledger *ledger, uint64_t id, LedgerCgroup *ret) {
        union bpf_attr call = bpf_call_nothing();

        call.map_fd = (uint32_t) ledger->objects->fds[TASK_OBJECT_CGROUPS];
        call.key = (uintptr_t) &id;
        call.value = (uintptr_t) ret;
        return bpf_call(BPF_MAP_LOOKUP_ELEM, &call) < 0 ? -errno : 0;
}

static int remove_cgroup(Ledger *ledger, uint64_t id) {
        LedgerControl *control = ledger->control;
        LedgerCgroup cgroup;
        int r = read_cgroup(ledger, id, &cgroup);

        if (r == 0)
                r = remove_key(ledger->objects->fds[TASK_OBJECT_CGROUPS], &id);
        if (r > 0) {
                give_back(&find_owner(control, cgroup.owner)->n_paths, cgroup.room);
                give_back(&control->n_paths, cgroup.room);
        }
        return r == -ENOENT ? 0 : MIN_OF(r, 0);
}

/* generations */

/* Programs that have begun to add to rows of such a generation have come to their end. */
static int wait_until_rest(const Ledger *ledger, unsigned odd) {
        uint64_t end = clock_now_ns(CLOCK_MONOTONIC) + MAX_WAIT_NS;

        while (load(&ledger->control->n_running[odd]) != 0) {
                if (clock_now_ns(CLOCK_MONOTONIC) > end)
                        return -ETIMEDOUT;
                (void) sched_yield();
        }
        return 0;
}

/*
 * Removes rows that a fold has put into the file, unless a generation has begun since then: rows
 * that rest, with the paths of their cgroups. The file has these, but for those that were not noted
 * as a whole, or whose rows it put together under no cgroup.
 */
static int remove_filed(Ledger *ledger) {
        LedgerControl *control = ledger->control;
        uint64_t generation = load(&control->generation);
        unsigned odd = (generation + 1) & 1;
        int r;

        if (!ledger->file || ledger->file->head->generation != generation)
                return 0;
        forget_rows(ledger);
        r = read_rows(ledger, odd, FOLDED_ROWS);
        for (size_t i = 0; i < ledger->n_rows && r == 0; i++) {
                LedgerKey key = ledger->rows[i].key;

                key.is_of_odd = odd;
                r = remove_key(ledger->objects->fds[TASK_OBJECT_ROWS], &key);
                if (r > 0) {
                        give_back(&find_owner(control, key.owner)->n_rows, 1);
                        give_back(&control->n_rows, 1);
                }
                r = MIN_OF(r, 0);
                if (r == 0 && key.cgroup != 0)
                        r = remove_cgroup(ledger, key.cgroup);
        }
        for (size_t i = 0; i < ledger->file->head->n_rows && r == 0; i++)
                if (ledger_file_path(ledger->file, i).n > 0)
                        r = remove_cgroup(ledger, ledger->file->rows[i].row.key.cgroup);
        forget_rows(ledger);
        return r;
}

int ledger_begin(Ledger *ledger, pid_t self) {
        LedgerControl *control = ledger->control;
        uint64_t generation = load(&control->generation);
        unsigned next = (generation + 1) & 1;
        int r;

        forget_rows(ledger);
        r = wait_until_rest(ledger, next);
        if (r == 0)
                r = remove_filed(ledger);
        if (r == 0)
                r = add_file(ledger);
        if (r == 0)
                r = read_rows(ledger, next, ALL_ROWS);
        if (r < 0)
                return r;
        store(&control->self, (uint64_t) self);
        store(&control->n_records, 0);
        store(&control->begun_ns, clock_now_ns(CLOCK_BOOTTIME));
        store(&control->is_recording, 1);
        store(&control->generation, (LEDGER_CAPTURES(generation) + 1) << 32 | next);
        r = wait_until_rest(ledger, generation & 1);
        if (r < 0)
                ledger_cancel(ledger);
        return r;
}

void ledger_cancel(Ledger *ledger) {
        store(&ledger->control->is_recording, 0);
}

/* records */

static size_t count_records(const Ledger *ledger) {
        uint64_t n = load(&ledger->control->n_records);

        return (size_t) MIN_OF(n, (uint64_t) LEDGER_MAX_RECORDS);
}

/* A record is whole when its generation is set; those of an earlier capture have an earlier one. */
static const LedgerRecord *record_at(const Ledger *ledger, size_t i) {
        const LedgerRecord *record = &ledger->records[i];

        return load(&record->generation) == load(&ledger->control->generation) ? record : NULL;
}

/* It exits, but was alive when the iterator came upon it, and its mark is what was added of it. */
static bool is_hanging(const Task *task) {
        return task->mark && task->mark->exit_state == 0 && task->record->exit_state == 0;
}

static bool has_record(const Ledger *ledger, const TaskRecord *task) {
        for (size_t i = 0; i < count_records(ledger); i++) {
                const LedgerRecord *record = record_at(ledger, i);

                if (record && record->tid == task->tid &&
                    record->start_boottime_ns == task->start_boottime_ns)
                        return true;
        }
        return false;
}

/*
 * The iterator came upon threads whose exit was being added. Their records are about to become
 * whole, unless there was no room for them.
 */
static int wait_for_records(Ledger *ledger, const TaskTable *table) {
        uint64_t end = clock_now_ns(CLOCK_MONOTONIC) + MAX_WAIT_NS;

        for (size_t i = 0; i < task_table_count(table); i++) {
                const Task found = task_table_get(table, i);
                const TaskRecord *task = found.record;

                if (!(task->has & TASK_IS_DEAD) || task->ledger_generation != 0 ||
                    is_hanging(&found))
                        continue;
                while (!has_record(ledger, task) &&
                       load(&ledger->control->n_records) <= LEDGER_MAX_RECORDS) {
                        if (clock_now_ns(CLOCK_MONOTONIC) > end)
                                return -ETIMEDOUT;
                        (void) sched_yield();
                }
        }
        return 0;
}

static bool find_life(const TaskTable *table, const MovedLife *life, size_t *ret_at) {
        size_t at = task_table_search(table, (pid_t) life->tgid, (pid_t) life->tid);
        const TaskRecord *record;

        if (at == task_table_count(table))
                return false;
        record = task_table_get(table, at).record;
        *ret_at = at;
        return record->tid == life->tid && record->tgid == life->tgid &&
               record->start_boottime_ns == life->start_boottime_ns;
}

/* threads that hang in their exit */

/* False: its row does not have what was added of it, which it must have. */
static bool take_out(Ledger *ledger, const LedgerMark *mark) {
        LedgerKey key = mark->key;

        key.is_of_odd = 0;
        do {
                Span bytes = { (const char *) &key, sizeof(key) };
                size_t found = index_find(&ledger->index, bytes, key_of, ledger);

                if (found != INDEX_NONE &&
                    ledger_values_take_out(&ledger->rows[found].values, mark)) {
                        ledger->n_exits--;
                        ledger->n_hanging++;
                        return true;
                }
        } while (ledger_key_coarsen(&key));
        return false;
}

/*
 * An exit that was added in the generation that this capture began, or is being added right now, is
 * in no row that it has read. If a row lacks what was added, the thread stays among the exited:
 * each is counted once.
 */
static void revive_hanging(Ledger *ledger, TaskTable *table) {
        uint64_t generation = load(&ledger->control->generation);

        for (size_t i = 0; i < task_table_count(table); i++) {
                const Task task = task_table_get(table, i);

                if (!is_hanging(&task))
                        continue;
                if (task.mark->mark.generation == 0 || task.mark->mark.generation == generation ||
                    take_out(ledger, &task.mark->mark))
                        task_table_set_exited(table, i, false);
        }
}

/*
 * The iterator shows a thread alive that has no mark, be it in its exit or a zombie. One that was
 * added before this capture began is in a row, so it is not among the living. One that was added
 * later has a record, which is left out because the table has the thread alive.
 */
static void find_unmarked(const Ledger *ledger, TaskTable *table) {
        const LedgerControl *control = ledger->control;
        uint64_t generation = load(&control->generation);
        uint64_t n = MIN_OF(load(&control->n_lost_marks), (uint64_t) LEDGER_MAX_UNMARKED);

        for (uint64_t i = 0; i < n; i++) {
                const MovedLife life = control->unmarked[i].life;
                uint64_t added;
                size_t at;

                __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the place may become another's */
                added = load(&control->unmarked[i].generation);
                if (added != 0 && added != generation && find_life(table, &life, &at))
                        task_table_set_exited(table, at, true);
        }
}

int ledger_end(Ledger *ledger, TaskTable *table) {
        uint64_t n_records;
        int r;

        r = wait_for_records(ledger, table);
        n_records = load(&ledger->control->n_records);
        if (r == 0) /* more may come while these are read */
                ledger->n_lost = n_records - MIN_OF(n_records, (uint64_t) LEDGER_MAX_RECORDS);
        for (size_t i = 0; i < count_records(ledger) && r == 0; i++) {
                const LedgerRecord *record = record_at(ledger, i);
                MovedLife life;
                size_t at;

                if (!record)
                        continue;
                life = (MovedLife){ record->tid, record->tgid, record->start_boottime_ns };
                if (find_life(table, &life, &at)) {
                        const Task task = task_table_get(table, at);

                        if (!(task.record->has & TASK_IS_DEAD) || is_hanging(&task))
                                continue; /* it is among the living */
                }
                r = add_row(ledger, &record->key, &record->values);
        }
        ledger_cancel(ledger);
        if (r == 0)
                r = read_rows(ledger, (load(&ledger->control->generation) + 1) & 1, ALL_ROWS);
        if (r == 0) {
                revive_hanging(ledger, table);
                find_unmarked(ledger, table);
        }
        ledger->is_read = r == 0;
        return r;
}

int ledger_survey(Ledger *ledger) {
        int r;

        if (!has_programs(ledger))
                return 0; /* all there is was read at the opening */
        forget_rows(ledger);
        r = add_file(ledger);
        return r == 0 && ledger_is_kept(ledger) ? read_rows(ledger, 0, OVERFLOW_ROWS) : r;
}

/* cgroups */

static Span cgroup_of(const void *owner, size_t element) {
        const LedgerFile *file = owner;

        return (Span){ (const char *) &file->rows[element].row.key.cgroup, sizeof(uint64_t) };
}

int ledger_cgroup_path(const Ledger *ledger, uint64_t id, Buffer *path) {
        const Span key = { (const char *) &id, sizeof(id) };
        LedgerCgroup cgroup = {};
        size_t at;
        Span known;
        int r = has_programs(ledger) ? read_cgroup(ledger, id, &cgroup) : -ENOENT;

        if (r == -ENOENT) {
                at = index_find(&ledger->paths, key, cgroup_of, ledger->file);
                if (at == INDEX_NONE)
                        return -ENOENT;
                known = ledger_file_path(ledger->file, at);
                return buffer_append(path, known.bytes, known.n);
        }
        if (r < 0)
                return r;
        if (cgroup.is_cut)
                return -ENOENT;
        if (cgroup.n_levels == 0)
                return buffer_append(path, "/", 1);
        for (size_t i = MIN_OF((size_t) cgroup.n_levels, (size_t) LEDGER_PATH_LEVELS);
             i-- > 0 && r == 0;) {
                const char *name = cgroup.levels[i];

                r = buffer_append(path, "/", 1);
                if (r == 0)
                        r = buffer_append(path, name, strnlen(name, LEDGER_LEVEL_BYTES));
        }
        return r;
}

/* threads of other names */

typedef struct MovedBatch {
        MovedLife lives[BATCH_ELEMENTS];
        MovedEnd ends[BATCH_ELEMENTS];
} MovedBatch;

static int compare_lives(const void *a, const void *b) {
        return memcmp(&((const MovedThread *) a)->life, &((const MovedThread *) b)->life,
                      sizeof(MovedLife));
}

static int read_moved(int fd, MovedThread **ret, size_t *ret_n) {
        _cleanup_(freep) MovedBatch *batch = calloc(1, sizeof(*batch));
        _cleanup_(freep) MovedThread *threads = NULL;
        size_t n = 0, n_allocated = 0;
        TableWalk walk = { .fd = fd };
        int r;

        if (!batch)
                return -ENOMEM;
        walk.keys = batch->lives;
        walk.values = batch->ends;
        while ((r = next_batch(&walk)) > 0) {
                r = ARRAY_RESERVE(threads, n_allocated, n + walk.n + 1);
                if (r < 0)
                        return r;
                for (uint32_t i = 0; i < walk.n; i++)
                        threads[n++] = (MovedThread){ batch->lives[i], batch->ends[i] };
        }
        if (r < 0)
                return r;
        if (n > 1)
                qsort(threads, n, sizeof(*threads), compare_lives);
        *ret = TAKE_PTR(threads);
        *ret_n = n;
        return 0;
}

static int compare_ages(const void *a, const void *b) {
        const MovedThread *x = a, *y = b;

        return (x->end.ended_ns > y->end.ended_ns) - (x->end.ended_ns < y->end.ended_ns);
}

/* @threads are those of the table; their order changes. */
static int make_room(int fd, MovedCounts *counts, MovedThread *threads, size_t n) {
        uint64_t n_left[MOVED_PLACES] = {}, n_kept[MOVED_PLACES];

        for (size_t i = 0; i < n; i++)
                n_left[moved_place_of(threads[i].end.owner)]++;
        /* Half of what a place may have is kept, where it or the table comes near that. */
        for (uint32_t place = 0; place < MOVED_PLACES; place++) {
                uint64_t n_all = load(&counts->n_all), n_now = load(&counts->n_of_place[place]);
                uint64_t most = n_all >= MOVED_MAX_THREADS / 8 * 5 ? MOVED_MAX_THREADS / 8
                                                                   : MOVED_MAX_THREADS / 2;

                n_kept[place] = n_now > most / 4 * 3 ? most / 2 : n_now;
        }
        if (n > 1)
                qsort(threads, n, sizeof(*threads), compare_ages);
        for (size_t i = 0; i < n; i++) {
                uint32_t place = moved_place_of(threads[i].end.owner);
                int r;

                if (n_left[place]-- <= n_kept[place])
                        continue;
                r = remove_key(fd, &threads[i].life);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                (void) __atomic_sub_fetch(&counts->n_of_place[place], 1, __ATOMIC_SEQ_CST);
                (void) __atomic_sub_fetch(&counts->n_all, 1, __ATOMIC_SEQ_CST);
                (void) __atomic_add_fetch(&counts->n_lost, 1, __ATOMIC_SEQ_CST);
        }
        return 0;
}

int ledger_take_moved(Ledger *ledger, MovedThread **ret, size_t *ret_n) {
        int fd = has_programs(ledger) ? ledger->objects->fds[TASK_OBJECT_MOVED] : -EBADF;
        _cleanup_(freep) MovedThread *threads = NULL, *copy = NULL;
        size_t n = 0;
        int r;

        *ret = NULL;
        *ret_n = 0;
        if (fd < 0)
                return 0;
        r = read_moved(fd, &threads, &n);
        if (r < 0 || n == 0)
                return r;
        copy = calloc(n, sizeof(*copy));
        if (!copy)
                return -ENOMEM;
        memcpy(copy, threads, n * sizeof(*copy));
        r = make_room(fd, &ledger->control->moved, copy, n);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(threads);
        *ret_n = n;
        return 0;
}

int ledger_find_losses(const Ledger *ledger, LedgerLoss ret[static LEDGER_MAX_LOSSES],
                       size_t *ret_n, uint64_t *ret_grew_ns) {
        int r = ledger_rows_losses(ledger->rows, ledger->n_rows, ret, ret_n);

        *ret_grew_ns = 0;
        for (size_t i = 0; r == 0 && i < *ret_n; i++)
                *ret_grew_ns = MAX_OF(*ret_grew_ns, ret[i].grew_ns);
        return r;
}

uint64_t ledger_n_losses(const Ledger *ledger) {
        return ledger->file ? ledger->file->head->n_losses : 0;
}

/* to make room */

static bool is_crowded(const LedgerControl *control, uint64_t crowd) {
        if (load(&control->n_rows) >= crowd ||
            ledger_is_pressed(0, 0, load(&control->n_paths), LEDGER_MAX_PATHS))
                return true;
        for (size_t i = 0; i < ELEMENTSOF(control->owners); i++) {
                const LedgerOwner *owner = &control->owners[i];
                uint32_t uid =
                        i < LEDGER_MAX_OWNERS ? (uint32_t) (load(&owner->uid) - 1) : LEDGER_OTHERS;

                if (ledger_is_pressed(uid, load(&owner->n_rows), 0, LEDGER_MAX_ROWS) ||
                    ledger_is_pressed(uid, load(&owner->n_paths), 0, LEDGER_MAX_PATHS))
                        return true;
        }
        return false;
}

int ledger_is_crowded(int control_fd) {
        _cleanup_(unmap_control) LedgerControl *control =
                map_shared(control_fd, sizeof(*control), PROT_READ);

        if (!control)
                return -errno;
        return load(&control->is_calling) != 0 || is_crowded(control, LEDGER_FOLD_DEFAULTS.crowd);
}

uint64_t ledger_count_rows(int control_fd) {
        _cleanup_(unmap_control) LedgerControl *control =
                map_shared(control_fd, sizeof(*control), PROT_READ);

        return control ? load(&control->n_rows) : 0;
}

/* The first page of a ring says how far it was read, the second one how far it was written. */
int ledger_hear_calls(int calls_fd) {
        size_t page = (size_t) sysconf(_SC_PAGESIZE);
        __u64 *read_to = map_shared(calls_fd, page, PROT_READ | PROT_WRITE);
        __u64 *written_to = mmap(NULL, page, PROT_READ, MAP_SHARED, calls_fd, (off_t) page);
        int r = read_to && written_to != MAP_FAILED ? 0 : -errno;

        if (r == 0)
                store(read_to, load(written_to));
        if (read_to)
                (void) munmap(read_to, page);
        if (written_to != MAP_FAILED)
                (void) munmap(written_to, page);
        return r;
}

static int path_of(void *userdata, uint64_t cgroup, Buffer *path) {
        return ledger_cgroup_path(userdata, cgroup, path);
}

static size_t path_bytes(void *userdata, uint64_t cgroup) {
        Ledger *ledger = userdata;

        buffer_clear(&ledger->path);
        return ledger_cgroup_path(ledger, cgroup, &ledger->path) == 0 ? ledger->path.n : 0;
}

int ledger_fold(Ledger *ledger, const LedgerFoldOptions *options, int *ret_fd) {
        const LedgerCoarsening how = {
                .max_rows = options->max_rows,
                .idle_since_ns = options->idle_since_ns,
                .path_bytes = path_bytes,
                .is_elsewhere = is_growing,
                .userdata = ledger,
        };
        LedgerControl *control = ledger->control;
        uint64_t generation = load(&control->generation);
        LedgerFileHead head = { .origin = LEDGER_FROM_PROGRAMS,
                                .since_ns = control->ledger_since_ns };
        int r;

        *ret_fd = -EBADF;
        store(&control->is_calling, 0);
        forget_rows(ledger);
        r = wait_until_rest(ledger, (generation + 1) & 1);
        if (r == 0)
                r = remove_filed(ledger);
        if (r < 0 || !(options->is_forced || is_crowded(control, options->crowd)))
                return r;
        store(&control->generation, generation + 1);
        r = wait_until_rest(ledger, generation & 1);
        if (r == 0)
                r = add_file(ledger);
        if (r == 0)
                r = read_rows(ledger, generation & 1, FOLDED_ROWS);
        if (r == 0)
                r = ledger_rows_coarsen(ledger->rows, &ledger->n_rows, &how);
        head.generation = load(&control->generation);
        memcpy(head.id, control->id, sizeof(head.id));
        if (r == 0)
                r = ledger_file_write(&head, ledger->rows, ledger->n_rows, path_of, ledger, ret_fd);
        forget_rows(ledger);
        return r;
}

/* opening */

static int open_file(Ledger *ledger) {
        LedgerControl *shared = ledger->control, *own = &ledger->without_programs;
        const LedgerFileHead *head;
        int r;

        if (ledger->objects->fds[TASK_OBJECT_FOLDED] < 0)
                return 0;
        r = ledger_file_open(ledger->objects->fds[TASK_OBJECT_FOLDED], &ledger->file);
        if (r < 0)
                return r;
        head = ledger->file->head;
        if (!shared || (head->origin == LEDGER_FROM_TASKSTATS && !ledger_is_kept(ledger))) {
                /* Without programs the file tells what their control words would. */
                if (shared) {
                        own->waits_since_ns = shared->waits_since_ns;
                        own->reasons = shared->reasons;
                        (void) munmap(shared, sizeof(*shared));
                }
                memcpy(own->id, head->id, sizeof(head->id));
                own->ledger_since_ns = head->since_ns;
                own->generation = head->generation;
                ledger->control = own;
                r = add_file(ledger);
                ledger->is_read = r == 0;
        } else if (head->origin != LEDGER_FROM_PROGRAMS ||
                   memcmp(head->id, shared->id, sizeof(head->id)) != 0) {
                ledger->file = ledger_file_free(ledger->file);
                return 0;
        }
        for (size_t i = 0; i < head->n_rows && r == 0; i++) {
                Span key = cgroup_of(ledger->file, i);

                if (ledger_file_path(ledger->file, i).n > 0 &&
                    index_find(&ledger->paths, key, cgroup_of, ledger->file) == INDEX_NONE)
                        r = index_add(&ledger->paths, key, i);
        }
        return r;
}

int ledger_open(const TaskObjects *objects, Ledger **ret) {
        int control_fd = objects->fds[TASK_OBJECT_CONTROL];
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        int r;

        *ret = NULL;
        if (control_fd < 0 && objects->fds[TASK_OBJECT_FOLDED] < 0)
                return 0;
        ledger = calloc(1, sizeof(*ledger));
        if (!ledger)
                return -ENOMEM;
        ledger->objects = objects;
        if (control_fd >= 0) {
                ledger->control =
                        map_shared(control_fd, sizeof(*ledger->control), PROT_READ | PROT_WRITE);
                if (!ledger->control)
                        return -errno;
                if (ledger_is_kept(ledger))
                        ledger->records = map_shared(objects->fds[TASK_OBJECT_RECORDS],
                                                     RECORDS_BYTES, PROT_READ);
                if (ledger_is_kept(ledger) && !ledger->records)
                        return -errno;
        }
        r = open_file(ledger);
        if (r == 0)
                *ret = TAKE_PTR(ledger);
        return r;
}

/* waits by reason */

_Static_assert(CALL_ON_FILE > _CALL_DECIDES_MAX, "bits of their own beside what decides");
_Static_assert(sizeof(ReasonSums) == sizeof(__u64) * (_LEDGER_SUM_MAX - LEDGER_REASON_SUMS),
               "the ledger of the dead adds up what the account of reasons counts");
_Static_assert(sizeof(TaskReasons) + sizeof(TaskWaits) + sizeof(WaitBegin) <= 512,
               "what is kept of each thread stays small");

static uint64_t end_of(uint64_t stay_ns) {
        return number_add_saturating(clock_now_ns(CLOCK_MONOTONIC), stay_ns);
}

static int map_switch(const TaskObjects *objects, LedgerControl **ret) {
        if (objects->fds[TASK_OBJECT_CONTROL] < 0 || objects->fds[TASK_OBJECT_SEED] < 0)
                return REASONS_E_ABSENT;
        *ret = map_shared(objects->fds[TASK_OBJECT_CONTROL], sizeof(**ret), PROT_READ | PROT_WRITE);
        return *ret ? 0 : -errno;
}

/* Programs that see the epoch see what was set before. */
static int begin_epoch(const TaskObjects *objects, ReasonControl *reasons, uint64_t n_switches) {
        uint64_t epoch = load(&reasons->last_epoch) + 1;
        _cleanup_(fd_closep) int fd = -EBADF;
        ssize_t n = 0;
        char byte;
        int r = 0;

        store(&reasons->since_ns, clock_now_ns(CLOCK_MONOTONIC));
        store(&reasons->since_boottime_ns, clock_now_ns(CLOCK_BOOTTIME));
        store(&reasons->n_switches, n_switches);
        store(&reasons->last_epoch, epoch);
        store(&reasons->epoch, epoch);
        /* A program of the iterator runs for each thread of the host, and writes nothing. */
        fd = task_iterator_open(objects->fds[TASK_OBJECT_SEED]);
        if (fd < 0)
                r = fd;
        else
                do
                        n = read(fd, &byte, sizeof(byte));
                while (n < 0 && (errno == EINTR || errno == EAGAIN));
        if (n < 0)
                r = -errno;
        if (r < 0)
                store(&reasons->epoch, 0);
        return r;
}

static void raise_end(ReasonControl *reasons, uint64_t stay_ns) {
        uint64_t end_ns = end_of(stay_ns);

        if (load(&reasons->until_ns) < end_ns)
                store(&reasons->until_ns, end_ns);
}

/* Nothing is on past its end, be it that no thread has blocked since then. */
static bool is_on(const ReasonControl *reasons) {
        return load(&reasons->epoch) != 0 &&
               load(&reasons->until_ns) > clock_now_ns(CLOCK_MONOTONIC);
}

int reasons_start(const TaskObjects *objects, uint64_t stay_ns, uint64_t n_switches) {
        _cleanup_(unmap_control) LedgerControl *control = NULL;
        int r = map_switch(objects, &control);

        if (r != 0)
                return r;
        if (is_on(&control->reasons))
                raise_end(&control->reasons, stay_ns);
        else {
                store(&control->reasons.epoch, 0);
                store(&control->reasons.until_ns, end_of(stay_ns));
        }
        /* The end may have come just now. */
        if (load(&control->reasons.epoch) == 0)
                r = begin_epoch(objects, &control->reasons, n_switches);
        return r;
}

int reasons_prolong(const TaskObjects *objects, uint64_t stay_ns) {
        _cleanup_(unmap_control) LedgerControl *control = NULL;
        int r = map_switch(objects, &control);

        if (r != 0)
                return r;
        if (is_on(&control->reasons))
                raise_end(&control->reasons, stay_ns);
        return 0;
}

int reasons_limit(const TaskObjects *objects, uint64_t stay_ns) {
        _cleanup_(unmap_control) LedgerControl *control = NULL;
        uint64_t end_ns = end_of(stay_ns);
        int r = map_switch(objects, &control);

        if (r != 0)
                return r;
        if (stay_ns == 0)
                store(&control->reasons.epoch, 0);
        else if (load(&control->reasons.until_ns) > end_ns)
                store(&control->reasons.until_ns, end_ns);
        return 0;
}

int sampling_end(const TaskObjects *objects) {
        _cleanup_(unmap_control) LedgerControl *control = NULL;
        int r = map_switch(objects, &control);

        if (r == 0)
                store(&control->record.id, 0);
        return r;
}

int sampling_look(const TaskObjects *objects, RecordControl *ret) {
        _cleanup_(unmap_control) LedgerControl *control = NULL;
        int r = map_switch(objects, &control);

        if (r == 0)
                *ret = control->record;
        return r;
}

int reasons_look(const TaskObjects *objects, ReasonState *ret) {
        _cleanup_(unmap_control) LedgerControl *control = NULL;
        uint64_t until_ns, now_ns = clock_now_ns(CLOCK_MONOTONIC);
        const ReasonControl *reasons;
        int r = map_switch(objects, &control);

        if (r != 0)
                return r;
        reasons = &control->reasons;
        until_ns = load(&reasons->until_ns);
        *ret = (ReasonState){
                .is_on = is_on(reasons),
                .epoch = load(&reasons->epoch),
                .since_boottime_ns = load(&reasons->since_boottime_ns),
                .for_ns = now_ns - MIN_OF(load(&reasons->since_ns), now_ns),
                .n_switches = load(&reasons->n_switches),
                .has_end = until_ns != REASONS_FOREVER,
                .left_ns = until_ns - MIN_OF(until_ns, now_ns),
                .n_lost = load(&reasons->n_lost),
        };
        return 0;
}
