/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskReader
 *
 * Reads the files of threads into their slots, cheap ones first. It allocates nothing per thread.
 *
 * Of taskstats there is one request for all threads of a batch, and a decision what each answer is
 * worth. Taskstats finds a thread by its number, where the files are read through a descriptor of
 * it, so an answer is used only when it is about the life that stat was read from. For threads
 * without an answer two more files are read.
 *
 * A guarded one reads the files that wait for an execve(2) of the process, which are stat and io,
 * on the blocking thread of the readings: that costs more than to read them, but no process holds
 * it up for long.
 */

#include <stdbool.h>
#include "capture/batch/readings.h"

/* The kernel's mask has a bit for each CPU it was built for: at most 8192 in any distribution. */
#define TASK_READER_MASK_WORDS (8192 / CPU_LIST_WORD_BITS)

typedef struct TaskReader {
        Readings *readings;         /* borrowed */
        bool is_guarded;            /* set before it reads */
        size_t n_words;             /* a size of masks that the kernel accepts */
        TaskstatsSocket *taskstats; /* owned; NULL: it is not asked */
        SourceOutcome no_taskstats; /* of every thread then */
        pid_t tids[BATCH_MAX_THREADS];
        ThreadSlot *asked[BATCH_MAX_THREADS];
        TaskstatsAnswer answers[BATCH_MAX_THREADS];
} TaskReader;

/* Opens a taskstats socket where the gates say that it answers. -ENOMEM. */
_must_check_ int task_reader_new(Readings *readings, void **ret);
void task_reader_free(void *reader);

/*
 * Reads stat, affinity, sched and io, in this order, and then the files that taskstats replaces
 * where it will not be asked; slot->fd is open. Sets slot->kept, or slot->vanished, or neither when
 * stat cannot be read.
 */
void task_reader_read(TaskReader *reader, ThreadSlot *slot);

/* 0, or as text_file_read() and blocking_file_read(); *ret is borrowed until the next reading. */
_must_check_ int task_reader_read_stat(TaskReader *reader, const ThreadSlot *slot, Span *ret);
/*
 * The uid of the process or thread that @path below @dir_fd is the status of, a file that waits for
 * nobody; 0 where it cannot be read. @file is room for it.
 */
uint32_t task_reader_find_owner(int dir_fd, const char *path,
                                char file[static PROCFS_BUFFER_BYTES]);

/* For all slots that are kept so far; some of them may turn out to have vanished. */
void task_reader_ask(TaskReader *reader);
