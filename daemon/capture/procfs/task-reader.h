/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskReader
 *
 * Reads the files of one thread into its slot, cheap ones first. It allocates nothing per thread.
 */

#include "capture/scene/affinity-text.h"
#include "capture/scene/scene.h"

typedef struct TaskReader {
        Scene *scene;                           /* borrowed */
        unsigned long mask[CPU_LIST_MAX_WORDS]; /* the affinity of the thread at hand */
        size_t n_words;                         /* a size that the kernel accepts */
        AffinityText affinity;
} TaskReader;

void task_reader_init(TaskReader *reader, Scene *scene);

/*
 * Reads stat, affinity, sched and io, in this order; slot->fd is open. Sets slot->kept, or
 * slot->vanished, or neither when stat cannot be read.
 */
void task_reader_read(TaskReader *reader, ThreadSlot *slot);

/* The two files that taskstats replaces. The thread may turn out to have vanished. */
void task_reader_read_schedstat(TaskReader *reader, ThreadSlot *slot);
void task_reader_read_status(TaskReader *reader, ThreadSlot *slot);
