/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Walk
 *
 * Goes through the processes of /proc in ascending order, hands their threads to the workers in
 * batches and the rows that come back to the writer, in the order in which they were handed out.
 */

#include <stdbool.h>
#include <stdint.h>
#include "capture/batch-reader.h"
#include "capture/capture.h"
#include "capture/cgroup-set.h"
#include "capture/pace.h"
#include "capture/tally.h"
#include "snapshot/snapshot-writer.h"

typedef struct WalkResult {
        uint64_t n_processes;  /* with a row */
        bool processes_hidden; /* /proc does not list them all */
} WalkResult;

/*
 * Adds to @tally what became of everything and to @cgroups where the kept threads live, ancestors
 * included. @only: that process and the first one; 0: all. 0, CAPTURE_E_CANCELLED, -errno.
 */
_must_check_ int walk_run(const BatchScene *scene, unsigned n_workers, pid_t only, Pace *pace,
                          SnapshotWriter *writer, Tally *tally, CgroupSet *cgroups,
                          WalkResult *ret);
