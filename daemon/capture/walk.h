/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Walk
 *
 * Writes the rows of all threads. The calling thread fills batches with the threads that the
 * backend lists, worker threads read them, and the calling thread writes the rows that come back,
 * in the order in which the batches were handed out.
 */

#include "base/macro.h"
#include "capture/cgroups.h"
#include "capture/heap/heap.h"
#include "capture/pace.h"
#include "capture/rollup.h"
#include "capture/batch/backend.h"
#include "snapshot/snapshot-writer.h"

#define WALK_MAX_WORKERS 16

typedef struct WalkOptions {
        const Backend *backend;
        const CaptureHost *host;
        unsigned n_workers; /* 0, or no thread can be started: the calling thread reads all */
        pid_t only;         /* that process and the first one; 0: all */
        RollupBudget *smaps;
        Heap *heap;
        Pace *pace;
} WalkOptions;

/*
 * Adds all outcomes to @tally, and the cgroups that the threads of the rows live in to @cgroups,
 * ancestors included. 0, CAPTURE_E_CANCELLED, -errno.
 */
_must_check_ int walk_run(const WalkOptions *options, SnapshotWriter *writer, Tally *tally,
                          CgroupSet *cgroups);
