/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BatchRing
 *
 * Work on its way from the thread that walks /proc to the workers that read, and back as rows. A
 * batch is at most as many threads as one taskstats question asks for: several small processes, or
 * a piece of a large one, so that a process with 25,000 threads is read by all workers too. Batches
 * are collected in the order in which they were submitted, whoever finishes first; there is a fixed
 * number of them, so memory does not grow with the host.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/taskstats/taskstats-message.h"

#define BATCH_MAX_THREADS TASKSTATS_BATCH_MAX
#define BATCH_NAME_BYTES \
        64 /* of what the kernel prints as a name (fs/proc/array.c, proc_task_name()) */

typedef struct BatchProcess {
        pid_t tgid;
        size_t first, n; /* its threads among the batch's */
        /*
         * The process continues in other batches. Its name was then read once by the walk, so that
         * all rows agree, and its start time tells whether it is still the same process.
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

        Buffer rows; /* result: joined by "," */
        int error;   /* result: 0 or -errno, which ends the capture */
} Batch;

typedef struct BatchRing BatchRing;

_must_check_ int batch_ring_new(size_t n_batches, BatchRing **ret);
/* All workers must be gone. */
BatchRing *batch_ring_free(BatchRing *ring);
DEFINE_CLEANUP(BatchRing *, batch_ring_free);

/* The walk's side. The empty batch that is next to be filled; NULL while all are on their way. */
Batch *batch_ring_next(BatchRing *ring);
/* Hands the batch of batch_ring_next() to the workers. */
void batch_ring_submit(BatchRing *ring);
/*
 * The oldest batch that is on its way, when it is done; waits for that if asked to. NULL when it is
 * not done, or none is on its way. Every collected batch is released before the next is collected.
 */
Batch *batch_ring_collect(BatchRing *ring, bool wait);
void batch_ring_release(BatchRing *ring);
/* There will be no more work; what nobody has taken yet is dropped. */
void batch_ring_close(BatchRing *ring);

/* A worker's side. Waits; NULL when the ring was closed. */
Batch *batch_ring_take(BatchRing *ring);
/* As above, but NULL at once when there is nothing to take. */
Batch *batch_ring_try_take(BatchRing *ring);
void batch_ring_finish(BatchRing *ring, Batch *batch);
