/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadSlot
 *
 * One thread while it is being read. Everything is read through one descriptor of its directory:
 * once the thread is gone the descriptor answers nothing, so two lives of a tid cannot mix. Only
 * the number of a process passes from task to task in its life, when a thread that is not the
 * leader executes a program, and that is looked for. A thread that goes half-way is dropped whole.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "capture/tally.h"
#include "snapshot/thread-sample.h"

/* Bytes in a Buffer that may move: turned into a Span when nothing is added any more. */
typedef struct TextPlace {
        size_t at, n;
        bool is_set;
} TextPlace;

typedef struct ThreadSlot {
        pid_t tid;
        int fd;          /* O_PATH of /proc/TGID/task/TID; owned; -EBADF when there is none */
        bool kept;       /* its row will be written */
        bool vanished;   /* it went meanwhile */
        bool has_answer; /* taskstats answered for it */
        bool has_space;  /* an address space, as far as stat tells */
        char state;
        int64_t policy;
        uint64_t num_threads; /* of the process; 0 unknown */
        uint64_t start_stack; /* of the address space; 0 unknown */
        uint64_t seen_ns;     /* CLOCK_MONOTONIC, just after stat had been read */

        uint8_t outcomes[_SOURCE_MAX]; /* of what was tried: SourceOutcome + 1 */
        TextPlace comm, cpus, cgroup;
        ThreadSample sample; /* its spans are set last */
} ThreadSlot;

static inline void thread_slot_note(ThreadSlot *slot, SourceId source, SourceOutcome outcome) {
        slot->outcomes[source] = (uint8_t) (outcome + 1);
}

static inline bool thread_slot_is_zombie(const ThreadSlot *slot) {
        return slot->state == 'Z' || slot->state == 'X';
}

/*
 * Adds up what became of the readings: of a thread that vanished, all count as vanished, as nothing
 * of it is kept.
 */
static inline void thread_slot_settle(const ThreadSlot *slot, Tally *tally) {
        for (unsigned id = 0; id < _SOURCE_MAX; id++)
                if (slot->outcomes[id] != 0)
                        tally_add(tally, (SourceId) id,
                                  slot->vanished ? SOURCE_OUTCOME_vanished
                                                 : (SourceOutcome) (slot->outcomes[id] - 1));
        tally->n_threads += slot->kept;
}
