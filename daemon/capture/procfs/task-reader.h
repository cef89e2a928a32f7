/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskReader
 *
 * Reads the files of one thread into its slot, cheap ones first. It allocates nothing per thread.
 */

#include "capture/scene/scene.h"
#include "kernel/text/cpu-list.h"

#define TASK_READER_TEXT_BYTES 1024 /* a longer CPU list is formatted anew each time */

typedef struct TaskReader {
        Scene *scene; /* borrowed */

        /* The last affinity and its text: nearly all threads of a host have the same. */
        unsigned long mask[CPU_LIST_MAX_WORDS], last_mask[CPU_LIST_MAX_WORDS];
        size_t n_words; /* a size that the kernel accepts */
        size_t n_last_words, n_last_text, n_last_cpus;
        char last_text[TASK_READER_TEXT_BYTES];
        char long_text[8 * CPU_LIST_MAX_CPUS / 2];
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
