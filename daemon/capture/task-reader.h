/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskReader
 *
 * Reads the files of one thread into its slot, cheap ones first. One worker uses a reader; it holds
 * the memory that files are read into, so that nothing is allocated for a thread.
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "capture/capture-system.h"
#include "capture/gates.h"
#include "capture/thread-slot.h"
#include "kernel/procfs/procfs.h"
#include "kernel/text/cpu-list.h"

#define TASK_READER_TEXT_BYTES 1024 /* a CPU list that is longer is not kept in mind */

typedef struct TaskReader {
        const CaptureSystem *system; /* borrowed */
        const Gates *gates;          /* borrowed */
        Buffer *texts;               /* borrowed: names of the slots' threads */
        char file[PROCFS_BUFFER_BYTES];

        /* The last affinity as text: nearly all threads of a host have the same. */
        unsigned long mask[CPU_LIST_MAX_WORDS], last_mask[CPU_LIST_MAX_WORDS];
        size_t n_words; /* that the kernel was content with */
        size_t n_last_words, n_last_text, n_last_cpus;
        char last_text[TASK_READER_TEXT_BYTES];
        char long_text[8 * CPU_LIST_MAX_CPUS / 2];
} TaskReader;

void task_reader_init(TaskReader *reader, const CaptureSystem *system, const Gates *gates,
                      Buffer *texts);

/*
 * stat, affinity, sched, io, in this order; slot->fd is open. Sets slot->kept, or slot->vanished,
 * or neither when stat cannot be read. -ENOMEM.
 */
_must_check_ int task_reader_read(TaskReader *reader, ThreadSlot *slot);

/* The two files that taskstats makes needless. They may set slot->vanished and clear slot->kept. */
void task_reader_read_schedstat(TaskReader *reader, ThreadSlot *slot);
void task_reader_read_status(TaskReader *reader, ThreadSlot *slot);

/* A file of the thread that went or cannot be there any more: the thread vanished. */
void thread_slot_vanish(ThreadSlot *slot);
/* Adds @text to @texts. -ENOMEM. */
_must_check_ int thread_text_add(Buffer *texts, Span text, TextPlace *ret);
static inline Span thread_text_get(const Buffer *texts, TextPlace place) {
        return place.is_set ? (Span){ texts->bytes + place.at, place.n } : (Span){ NULL, 0 };
}
