/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskReader
 *
 * Reads the files of one thread into its slot, cheap ones first. It allocates nothing per thread.
 */

#include <stdbool.h>
#include "capture/scene/scene.h"

/* The kernel's mask has a bit for each CPU it was built for: at most 8192 in any distribution. */
#define TASK_READER_MASK_WORDS (8192 / CPU_LIST_WORD_BITS)

typedef struct TaskReader {
        Scene *scene;                           /* borrowed */
        unsigned long mask[CPU_LIST_MAX_WORDS]; /* the affinity of the thread at hand */
        size_t n_words; /* a size that the kernel accepts; TASK_READER_MASK_WORDS at first */
        AffinityText affinity;
} TaskReader;

/*
 * ThreadStats
 *
 * The taskstats side of a batch: one request for all its threads, and a decision what each answer
 * is worth. Taskstats finds a thread by its number, where the files are read through a descriptor
 * of it, so an answer is used only when it is about the life that stat was read from. For threads
 * without an answer two more files are read.
 */

typedef struct ThreadStats {
        Scene *scene; /* borrowed */
        bool open;
        void *handle;                 /* owned while @open */
        SourceOutcome closed_outcome; /* of every thread while it is not */
        pid_t tids[BATCH_MAX_THREADS];
        ThreadSlot *asked[BATCH_MAX_THREADS];
        TaskstatsAnswer answers[BATCH_MAX_THREADS];
} ThreadStats;

/* Opens a socket where the gates say that it answers. */
void thread_stats_init(ThreadStats *stats, Scene *scene);

/*
 * Reads stat, affinity, sched and io, in this order, and then the files that taskstats replaces
 * where it will not be asked; slot->fd is open. Sets slot->kept, or slot->vanished, or neither when
 * stat cannot be read.
 */
void task_reader_read(TaskReader *reader, const ThreadStats *stats, ThreadSlot *slot);

/* For all slots that are kept so far; some of them may turn out to have vanished. */
void thread_stats_ask(ThreadStats *stats, TaskReader *reader);
