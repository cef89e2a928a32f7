/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Backend
 *
 * A way to read the threads of the host. All backends fill the same readings, so everything after
 * them (cgroups, memory, rows, reports) is common. A backend is a folder of its own and one row of
 * the table in capture.c.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include "base/macro.h"
#include "capture/batch/largest.h"
#include "capture/batch/readings.h"
#include "snapshot/source.h"

typedef struct Backend {
        const char *name; /* the "backend" of the snapshot's head */
        /* The walk has read all that there is of the threads: read() waits for nothing. */
        bool reads_in_walk;

        /* Through what it reads each source; NONE: another part of a capture reads it. */
        SourceBackend sources[_SOURCE_MAX];
        /* Returns whether this host can be read with it. NULL: every host can. */
        bool (*probe)(const CaptureHost *host);

        /*
         * The walk goes through all threads in ascending order of process and thread; with @only,
         * through those of that process and of the first one. The thread that writes the document
         * uses it. @tally, borrowed, counts processes that cannot be listed. -errno: none can.
         */
        _must_check_ int (*walk_new)(const CaptureHost *host, pid_t only, Tally *tally, void **ret);
        /*
         * Before the first batch: offers the processes with their memory, as far as it is known or
         * quickly read. Where all of them fit, none needs to be offered. -ENOMEM.
         */
        _must_check_ int (*offer_memory)(void *walk, Largest *largest);
        /* Fills an empty batch; at the end of the walk it stays empty. -ENOMEM. */
        _must_check_ int (*walk_next)(void *walk, Batch *batch);
        void (*walk_free)(void *walk);

        /* A reader is made, used and freed by one worker's thread. -ENOMEM. */
        _must_check_ int (*reader_new)(Readings *readings, void **ret);
        /* Reads all threads of readings->batch into the slots. */
        void (*read)(void *reader);
        /*
         * Called for each process when everything has been read of it: lets the threads vanish
         * whose readings turn out to be of two tasks.
         */
        void (*confirm)(void *reader, const BatchProcess *process);
        void (*reader_free)(void *reader);

        /*
         * Why a source that this backend reads is not all there: @source has its counts, a state
         * and a general reason for @cause, the most frequent failure (or SOURCE_OUTCOME_ok).
         * Replaces them where it knows better.
         */
        void (*explain)(const Gates *gates, const Tally *tally, SourceId id, SourceOutcome cause,
                        Source *source);
} Backend;

/* reasons, for explain() */

/*
 * The state of a source with the sentence that users read, and the sentences that several sources
 * share. A sentence says why something is absent and what would turn it on; ctprof never turns
 * anything on itself.
 */
#define REASON_RUN_PRIVILEGED SOURCE_REMEDY_PRIVILEGED
#define REASON_IN_USER_NAMESPACE                                                  \
        "capabilities of a user namespace do not reach the processes outside of " \
        "it: " REASON_RUN_PRIVILEGED
#define REASON_ONLY_PROCESSES                                                                      \
        "/proc is mounted with subset=pid and shows nothing of the host but its processes: mount " \
        "it without"

_printf_(3, 4) static inline void source_set(Source *source, SourceState state, const char *format,
                                             ...) {
        va_list arguments;

        source->state = state;
        va_start(arguments, format);
        (void) vsnprintf(source->reason, sizeof(source->reason), format, arguments);
        va_end(arguments);
}

static inline bool source_was_tried(const Source *source) {
        for (unsigned i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                if (source->counts[i] != 0)
                        return true;
        return false;
}
