/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Backend
 *
 * A way to read the threads of the host. All backends fill the same scenes, so everything after
 * them (cgroups, memory, rows, reports) is common. A backend is a folder of its own and one row of
 * the table in capture.c.
 */

#include <stdbool.h>
#include <sys/types.h>
#include "base/macro.h"
#include "capture/scene/scene.h"
#include "snapshot/source.h"

typedef struct Backend {
        const char *name; /* the "backend" of the snapshot's head */

        /* Whether this host can be read with it. */
        bool (*probe)(const CaptureHost *host);

        /*
         * The walk goes through all threads in ascending order of process and thread; with @only,
         * through those of that process and of the first one. The thread that writes the document
         * uses it. @tally, borrowed, counts processes that cannot be listed. -errno: none can.
         */
        _must_check_ int (*walk_new)(const CaptureHost *host, pid_t only, Tally *tally, void **ret);
        /* Fills an empty batch; at the end of the walk it stays empty. -ENOMEM. */
        _must_check_ int (*walk_next)(void *walk, Batch *batch);
        void (*walk_free)(void *walk);

        /* A reader is made, used and freed by one worker's thread. -ENOMEM. */
        _must_check_ int (*reader_new)(Scene *scene, void **ret);
        /* Reads all threads of scene->batch into the slots. */
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
