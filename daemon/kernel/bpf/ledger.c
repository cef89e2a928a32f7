/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/ledger.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/index.h"

/* For a program to come to its end, on a CPU that a hypervisor may have taken away. */
#define MAX_WAIT_NS NSEC_PER_SEC
#define BATCH_ROWS 512u /* more than any bucket of a table that can be full holds */

struct Ledger {
        const TaskObjects *objects; /* borrowed */
        LedgerControl *control;     /* shared with programs */
        const LedgerRecord *records;
        LedgerRow *rows; /* owned */
        size_t n_rows, n_rows_allocated;
        Index index; /* of the rows by their keys */
        uint64_t n_lost, n_exits;
        bool is_read;
};

/* shared memory */

#define RECORDS_BYTES ((size_t) LEDGER_MAX_RECORDS * sizeof(LedgerRecord))

static void *map_shared(int fd, size_t n, int protection) {
        void *memory = mmap(NULL, n, protection, MAP_SHARED, fd, 0);

        return memory == MAP_FAILED ? NULL : memory;
}

Ledger *ledger_free(Ledger *ledger) {
        if (!ledger)
                return NULL;
        if (ledger->control)
                (void) munmap(ledger->control, sizeof(*ledger->control));
        if (ledger->records)
                (void) munmap((void *) (uintptr_t) ledger->records, RECORDS_BYTES);
        free(ledger->rows);
        index_done(&ledger->index);
        free(ledger);
        return NULL;
}

int ledger_open(const TaskObjects *objects, Ledger **ret) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        *ret = NULL;
        if (objects->fds[TASK_OBJECT_CONTROL] < 0)
                return 0;
        ledger = calloc(1, sizeof(*ledger));
        if (!ledger)
                return -ENOMEM;
        ledger->objects = objects;
        ledger->control = map_shared(objects->fds[TASK_OBJECT_CONTROL], sizeof(*ledger->control),
                                     PROT_READ | PROT_WRITE);
        if (!ledger->control)
                return -errno;
        if (ledger->control->ledger_since_ns != 0) {
                ledger->records =
                        map_shared(objects->fds[TASK_OBJECT_RECORDS], RECORDS_BYTES, PROT_READ);
                if (!ledger->records)
                        return -errno;
        }
        *ret = TAKE_PTR(ledger);
        return 0;
}

const LedgerControl *ledger_control(const Ledger *ledger) {
        return ledger->control;
}

bool ledger_is_kept(const Ledger *ledger) {
        return ledger->control->ledger_since_ns != 0;
}

static uint64_t clock_ns(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}

static uint64_t load(const __u64 *word) {
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void store(__u64 *word, uint64_t value) {
        __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* rows */

static uint64_t smaller_but_not_0(uint64_t a, uint64_t b) {
        return a == 0 || (b != 0 && b < a) ? b : a;
}

void ledger_values_add(LedgerValues *values, const LedgerValues *from) {
        values->has |= from->has;
        values->exits += from->exits;
        values->lives_ns += from->lives_ns;
        values->accounted += from->accounted;
        values->young += from->young;
        values->young_run_ns += from->young_run_ns;
        for (size_t i = 0; i < _LEDGER_SUM_MAX; i++)
                values->sums[i] += from->sums[i];
        for (size_t i = 0; i < _LEDGER_MAXIMUM_MAX; i++)
                values->maxima[i] = MAX_OF(values->maxima[i], from->maxima[i]);
        for (size_t i = 0; i < _LEDGER_MINIMUM_MAX; i++)
                values->minima[i] = smaller_but_not_0(values->minima[i], from->minima[i]);
}

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

typedef struct RowBatch {
        LedgerKey keys[BATCH_ROWS];
        LedgerValues values[BATCH_ROWS];
} RowBatch;

/* The next rows of the table. *ret_more is false when these are the last ones. */
static int read_batch(int fd, RowBatch *batch, uint32_t *cursor, bool is_first, uint32_t *ret_n,
                      bool *ret_more) {
        union bpf_attr attribute = {
                .batch = { .in_batch = is_first ? 0 : (uintptr_t) cursor,
                           .out_batch = (uintptr_t) cursor,
                           .keys = (uintptr_t) batch->keys,
                           .values = (uintptr_t) batch->values,
                           .count = BATCH_ROWS,
                           .map_fd = (uint32_t) fd },
        };
        long r = syscall(SYS_bpf, BPF_MAP_LOOKUP_BATCH, &attribute, sizeof(attribute));

        if (r < 0 && errno != ENOENT)
                return -errno;
        *ret_more = r == 0;
        *ret_n = attribute.batch.count;
        return *ret_n <= BATCH_ROWS ? 0 : -EBADMSG;
}

/* Rows that rest: those of the odd or of the even generations. */
static int read_rows(Ledger *ledger, unsigned odd) {
        _cleanup_(freep) RowBatch *batch = calloc(1, sizeof(*batch));
        uint32_t cursor = 0, n = 0;
        bool is_first = true, more = true;
        int r = 0;

        if (!batch)
                return -ENOMEM;
        while (r == 0 && more) {
                r = read_batch(ledger->objects->fds[TASK_OBJECT_ROWS], batch, &cursor, is_first, &n,
                               &more);
                is_first = false;
                for (uint32_t i = 0; r == 0 && i < n; i++)
                        if (batch->keys[i].is_of_odd == odd)
                                r = add_row(ledger, &batch->keys[i], &batch->values[i]);
        }
        return r;
}

/* generations */

/* Programs that have begun to add to rows of such a generation have come to their end. */
static int wait_until_rest(const Ledger *ledger, unsigned odd) {
        uint64_t end = clock_ns(CLOCK_MONOTONIC) + MAX_WAIT_NS;

        while (load(&ledger->control->n_running[odd]) != 0) {
                if (clock_ns(CLOCK_MONOTONIC) > end)
                        return -ETIMEDOUT;
                (void) sched_yield();
        }
        return 0;
}

int ledger_begin(Ledger *ledger, pid_t self) {
        LedgerControl *control = ledger->control;
        uint64_t generation = load(&control->generation);
        unsigned next = (generation + 1) & 1;
        int r;

        ledger->n_rows = 0;
        ledger->n_lost = ledger->n_exits = 0;
        ledger->is_read = false;
        index_clear(&ledger->index);
        r = wait_until_rest(ledger, next);
        if (r == 0)
                r = read_rows(ledger, next);
        if (r < 0)
                return r;
        store(&control->self, (uint64_t) self);
        store(&control->n_records, 0);
        store(&control->begun_ns, clock_ns(CLOCK_BOOTTIME));
        store(&control->is_recording, 1);
        store(&control->generation, generation + 1);
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
        uint64_t end = clock_ns(CLOCK_MONOTONIC) + MAX_WAIT_NS;

        for (size_t i = 0; i < task_table_count(table); i++) {
                const TaskRecord *task = task_table_get(table, i).record;

                if (!(task->has & TASK_IS_DEAD) || task->ledger_generation != 0)
                        continue;
                while (!has_record(ledger, task) &&
                       load(&ledger->control->n_records) <= LEDGER_MAX_RECORDS) {
                        if (clock_ns(CLOCK_MONOTONIC) > end)
                                return -ETIMEDOUT;
                        (void) sched_yield();
                }
        }
        return 0;
}

static bool is_alive_in(const TaskTable *table, const LedgerRecord *record) {
        size_t at = task_table_search(table, (pid_t) record->tgid, (pid_t) record->tid);
        const TaskRecord *task;

        if (at == task_table_count(table))
                return false;
        task = task_table_get(table, at).record;
        return task->tid == record->tid && task->tgid == record->tgid &&
               task->start_boottime_ns == record->start_boottime_ns && !(task->has & TASK_IS_DEAD);
}

static int add_records(Ledger *ledger, const TaskTable *table) {
        uint64_t n = load(&ledger->control->n_records);
        int r = 0;

        ledger->n_lost = n - count_records(ledger);
        for (size_t i = 0; i < count_records(ledger) && r == 0; i++) {
                const LedgerRecord *record = record_at(ledger, i);

                if (record && !is_alive_in(table, record))
                        r = add_row(ledger, &record->key, &record->values);
        }
        return r;
}

int ledger_end(Ledger *ledger, const TaskTable *table) {
        int r;

        r = wait_for_records(ledger, table);
        if (r == 0)
                r = add_records(ledger, table);
        ledger_cancel(ledger);
        if (r == 0)
                r = read_rows(ledger, (load(&ledger->control->generation) + 1) & 1);
        ledger->is_read = r == 0;
        return r;
}

bool ledger_is_read(const Ledger *ledger) {
        return ledger->is_read;
}

size_t ledger_n_rows(const Ledger *ledger) {
        return ledger->n_rows;
}

const LedgerRow *ledger_row(const Ledger *ledger, size_t index) {
        return &ledger->rows[index];
}

uint64_t ledger_n_lost(const Ledger *ledger) {
        return ledger->n_lost;
}

uint64_t ledger_n_exits(const Ledger *ledger) {
        return ledger->n_exits;
}

/* cgroups */

static int append_levels(const LedgerCgroup *cgroup, Buffer *path) {
        int r = cgroup->n_levels == 0 ? buffer_append(path, "/", 1) : 0;

        for (size_t i = MIN_OF((size_t) cgroup->n_levels, (size_t) LEDGER_PATH_LEVELS); i-- > 0;) {
                const char *name = cgroup->levels[i];

                if (r == 0)
                        r = buffer_append(path, "/", 1);
                if (r == 0)
                        r = buffer_append(path, name, strnlen(name, LEDGER_LEVEL_BYTES));
        }
        return r;
}

int ledger_cgroup_path(const Ledger *ledger, uint64_t id, Buffer *path) {
        LedgerCgroup cgroup = {};
        union bpf_attr attribute = {
                .map_fd = (uint32_t) ledger->objects->fds[TASK_OBJECT_CGROUPS],
                .key = (uintptr_t) &id,
                .value = (uintptr_t) &cgroup,
        };

        if (syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attribute, sizeof(attribute)) < 0)
                return -errno;
        return cgroup.is_cut ? -ENOENT : append_levels(&cgroup, path);
}
