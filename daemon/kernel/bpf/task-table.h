/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskTable
 *
 * All threads of the host, read in one pass of the task iterator (task.bpf.c), which takes about a
 * microsecond a thread, and sorted by process and thread. Reading needs the descriptor of the
 * attached program, and no capability.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/task-record.h"

/* One thread; the parts that it has not are NULL. All borrowed from the table. */
typedef struct Task {
        const TaskRecord *record;
        const uint64_t *affinity;
        size_t n_affinity_words;
        const TaskMemory *memory;
        const TaskDelays *delays;
        const TaskSchedstats *schedstats;
        const TaskWaits *waits;
        const TaskReasons *reasons;
        const TaskMark *mark;
} Task;

typedef struct TaskTable TaskTable;

/*
 * Begins a pass of its own, which ends when the descriptor is closed: to see whether that works.
 * Returns it, or -errno.
 */
int task_iterator_open(int link_fd);

/* @link_fd is the TASK_OBJECT_TASKS of task_program_load(). -errno; -EBADMSG as below. */
_must_check_ int task_table_read(int link_fd, TaskTable **ret);
/*
 * Makes a table of an iterator's records; takes the content of @records, leaving it empty. -EBADMSG
 * when that is not a sequence of whole records, -ENOMEM.
 */
_must_check_ int task_table_parse(Buffer *records, TaskTable **ret);
TaskTable *task_table_free(TaskTable *table);
DEFINE_CLEANUP(TaskTable *, task_table_free);

/* The parts of a record that is in a table. */
Task task_of(const TaskRecord *record);

size_t task_table_count(const TaskTable *table);
Task task_table_get(const TaskTable *table, size_t index);
/* From now on the record says that the thread is in the ledger, or that it is not. */
void task_table_set_exited(TaskTable *table, size_t index, bool is_dead);
/* The first thread of process @tgid whose number is at least @tid, or of a later process. */
size_t task_table_search(const TaskTable *table, pid_t tgid, pid_t tid);
