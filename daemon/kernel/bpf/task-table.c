/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/task-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel/bpf/bpf-call.h"

/* The kernel fills at most 32 KiB in one read, whatever the room. */
#define READ_BYTES (32u * 1024u)

typedef struct TaskPlace {
        uint64_t key; /* process, thread */
        size_t at;    /* in the bytes */
} TaskPlace;

struct TaskTable {
        Buffer bytes;
        TaskPlace *places; /* owned */
        size_t n, n_allocated;
};

TaskTable *task_table_free(TaskTable *table) {
        if (!table)
                return NULL;
        buffer_done(&table->bytes);
        free(table->places);
        free(table);
        return NULL;
}

size_t task_table_count(const TaskTable *table) {
        return table->n;
}

/* records */

static const size_t part_bytes[] = { sizeof(TaskMemory),     sizeof(TaskDelays),
                                     sizeof(TaskSchedstats), sizeof(TaskWaits),
                                     sizeof(TaskReasons),    sizeof(TaskMark) };

_Static_assert(sizeof(TaskRecord) % 8 == 0 && sizeof(TaskMemory) % 8 == 0 &&
                       sizeof(TaskDelays) % 8 == 0 && sizeof(TaskSchedstats) % 8 == 0 &&
                       sizeof(TaskWaits) % 8 == 0 && sizeof(TaskReasons) % 8 == 0 &&
                       sizeof(TaskMark) % 8 == 0,
               "members are aligned wherever a record begins");

/* The bytes of a record's affinity: what its other parts leave. False when they do not fit. */
static bool measure_affinity(const TaskRecord *record, size_t *ret_n) {
        size_t n = sizeof(*record);

        for (unsigned i = 0; i < ELEMENTSOF(part_bytes); i++)
                if (record->parts & (unsigned) TASK_PART_MEMORY << i)
                        n += part_bytes[i];
        if (record->n_bytes < n || (record->n_bytes - n) % 8 != 0)
                return false;
        *ret_n = record->n_bytes - n;
        return *ret_n == 0 || record->parts & TASK_PART_AFFINITY;
}

Task task_of(const TaskRecord *record) {
        const char *at = (const char *) (record + 1);
        Task task = { .record = record };
        size_t n_affinity = 0;

        (void) measure_affinity(record, &n_affinity);
        if (n_affinity > 0) {
                task.affinity = (const void *) at;
                task.n_affinity_words = n_affinity / 8;
                at += n_affinity;
        }
        if (task.record->parts & TASK_PART_MEMORY) {
                task.memory = (const void *) at;
                at += sizeof(*task.memory);
        }
        if (task.record->parts & TASK_PART_DELAYS) {
                task.delays = (const void *) at;
                at += sizeof(*task.delays);
        }
        if (task.record->parts & TASK_PART_SCHEDSTATS) {
                task.schedstats = (const void *) at;
                at += sizeof(*task.schedstats);
        }
        if (task.record->parts & TASK_PART_WAITS) {
                task.waits = (const void *) at;
                at += sizeof(*task.waits);
        }
        if (task.record->parts & TASK_PART_REASONS) {
                task.reasons = (const void *) at;
                at += sizeof(*task.reasons);
        }
        if (task.record->parts & TASK_PART_MARK)
                task.mark = (const void *) at;
        return task;
}

Task task_table_get(const TaskTable *table, size_t index) {
        return task_of((const void *) (table->bytes.bytes + table->places[index].at));
}

void task_table_set_exited(TaskTable *table, size_t index, bool is_dead) {
        TaskRecord *record = (void *) (table->bytes.bytes + table->places[index].at);

        record->has = (record->has & ~(uint32_t) TASK_IS_DEAD) | (is_dead ? TASK_IS_DEAD : 0);
}

static uint64_t key_of(uint32_t tgid, uint32_t tid) {
        return (uint64_t) tgid << 32 | tid;
}

size_t task_table_search(const TaskTable *table, pid_t tgid, pid_t tid) {
        uint64_t key = key_of((uint32_t) tgid, (uint32_t) tid);

        return ARRAY_FIRST(table->n, i, table->places[i].key >= key);
}

/* the table */

static int compare_places(const void *a, const void *b) {
        const TaskPlace *x = a, *y = b;

        return (x->key > y->key) - (x->key < y->key);
}

int task_table_parse(Buffer *records, TaskTable **ret) {
        _cleanup_(task_table_freep) TaskTable *table = calloc(1, sizeof(*table));
        const TaskRecord *record;
        size_t n_affinity;
        int r;

        if (!table)
                return -ENOMEM;
        table->bytes = *records;
        *records = (Buffer){};
        for (size_t at = 0; at < table->bytes.n; at += record->n_bytes) {
                size_t n_left = table->bytes.n - at;

                record = (const void *) (table->bytes.bytes + at);
                if (n_left < sizeof(*record) || record->n_bytes > n_left ||
                    (record->parts & ~(unsigned) TASK_PARTS) != 0 || record->tid - 1 >= INT32_MAX ||
                    record->tgid - 1 >= INT32_MAX || !measure_affinity(record, &n_affinity))
                        return -EBADMSG;
                r = ARRAY_RESERVE(table->places, table->n_allocated, table->n + 1);
                if (r < 0)
                        return r;
                table->places[table->n++] = (TaskPlace){ key_of(record->tgid, record->tid), at };
        }
        if (table->n > 0)
                qsort(table->places, table->n, sizeof(*table->places), compare_places);
        *ret = TAKE_PTR(table);
        return 0;
}

int task_iterator_open(int link_fd) {
        union bpf_attr call = bpf_call_nothing();
        long fd;

        call.iter_create.link_fd = (uint32_t) link_fd;
        fd = bpf_call(BPF_ITER_CREATE, &call);
        return fd < 0 ? -errno : (int) fd;
}

int task_table_read(int link_fd, TaskTable **ret) {
        _cleanup_(buffer_done) Buffer records = {};
        _cleanup_(fd_closep) int fd = task_iterator_open(link_fd);
        ssize_t n;

        if (fd < 0)
                return fd;
        do {
                char *room;
                int r = buffer_reserve(&records, READ_BYTES, &room);

                if (r < 0)
                        return r;
                n = read(fd, room, READ_BYTES);
                if (n > 0)
                        records.n += (size_t) n;
                /* EAGAIN: the kernel gives way to others after many tasks without a record. */
        } while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
        return n < 0 ? -errno : task_table_parse(&records, ret);
}
