/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Batch
 *
 * A piece of work for one worker: the threads to read, grouped by process, and the rows that were
 * made of them. It holds at most as many threads as one taskstats request: several small processes,
 * or a part of a large one, so that several workers share a process with 25,000 threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "kernel/taskstats/taskstats-message.h"

#define BATCH_MAX_THREADS TASKSTATS_BATCH_MAX
/* The longest name that the kernel prints (fs/proc/array.c, proc_task_name()). */
#define BATCH_NAME_BYTES 64

typedef struct BatchProcess {
        pid_t tgid;
        size_t first, n; /* its threads are batch->tids[first ... first + n - 1] */
        /*
         * The process continues in other batches. The walk has read its name once, so that all rows
         * agree, and its start time, so that each part can check that it is the same process.
         */
        bool is_split;
        bool has_leader; /* the walk could read the leader */
        uint64_t start_ticks;
        char name[BATCH_NAME_BYTES];
        size_t n_name;

        size_t n_kept; /* result: rows */
} BatchProcess;

typedef struct Batch {
        pid_t tids[BATCH_MAX_THREADS];
        size_t n_tids;
        BatchProcess processes[BATCH_MAX_THREADS];
        size_t n_processes;
        uint64_t n_walked, n_listed; /* progress of the walk when the batch was filled: processes */

        Buffer rows; /* result: joined by "," */
        int error;   /* result: 0 or -ENOMEM, which ends the capture */
} Batch;
