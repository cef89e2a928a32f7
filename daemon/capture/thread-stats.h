/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadStats
 *
 * The taskstats side of a batch: one question for all its threads, and the judgement of what each
 * answer is worth. Taskstats goes by number where the files go by task, so an answer is taken only
 * when it is about the life that stat was read from. Threads without an answer have two more files
 * read instead.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/macro.h"
#include "capture/batch-ring.h"
#include "capture/task-reader.h"

typedef struct ThreadStats {
        const CaptureSystem *system; /* borrowed */
        const Gates *gates;          /* borrowed */
        bool open;
        void *handle;                 /* owned while @open */
        SourceOutcome closed_outcome; /* how each thread counts while it is not */
        pid_t tids[BATCH_MAX_THREADS];
        ThreadSlot *asked[BATCH_MAX_THREADS];
        TaskstatsAnswer answers[BATCH_MAX_THREADS];
} ThreadStats;

/* Opens a socket where the gates say that it answers. */
void thread_stats_init(ThreadStats *stats, const CaptureSystem *system, const Gates *gates);
void thread_stats_done(ThreadStats *stats);

/*
 * While the thread is at hand: the files that taskstats would replace, when it will not be asked.
 */
void thread_stats_read_files(ThreadStats *stats, TaskReader *reader, ThreadSlot *slot);

/* For all slots that are kept so far; some of them may turn out to have vanished. */
void thread_stats_ask(ThreadStats *stats, TaskReader *reader, ThreadSlot *slots, size_t n_slots);
