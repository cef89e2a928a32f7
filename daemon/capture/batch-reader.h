/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BatchReader
 *
 * What one worker does: reads the threads of a batch, asks taskstats for all of them at once, adds
 * what they have in common as processes, and writes the rows of those that were there throughout.
 * One thread uses a reader; what it counted is added up when all are done.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/batch-ring.h"
#include "capture/capture-system.h"
#include "capture/cgroup-set.h"
#include "capture/gates.h"
#include "capture/tally.h"
#include "kernel/cgroupfs/cgroupfs.h"

/* Time spent on smaps_rollup by all workers together. */
typedef struct SmapsBudget {
        bool wanted;
        uint64_t limit_ns;
        _Atomic uint64_t spent_ns;
} SmapsBudget;

/* What all workers of a capture share; everything is borrowed and, but for the budget, constant. */
typedef struct BatchScene {
        int proc_fd;
        const CaptureSystem *system;
        const Gates *gates;
        const Cgroupfs *cgroupfs; /* NULL: none is mounted */
        const pid_t *self_pids;
        size_t n_self_pids;
        bool has_self_exe; /* what this program is: other instances of it are ctprof too */
        uint64_t self_exe_dev, self_exe_inode;
        SmapsBudget *smaps;
} BatchScene;

typedef struct BatchReader BatchReader;

/* By the thread that will use it: opens its taskstats socket. -ENOMEM. */
_must_check_ int batch_reader_new(const BatchScene *scene, BatchReader **ret);
BatchReader *batch_reader_free(BatchReader *reader);
DEFINE_CLEANUP(BatchReader *, batch_reader_free);

/* By the same thread: closes the socket. What was counted can be had until the reader is freed. */
void batch_reader_close(BatchReader *reader);

/* Fills the results of @batch; batch->error is -ENOMEM or 0. */
void batch_reader_read(BatchReader *reader, Batch *batch);

const Tally *batch_reader_tally(const BatchReader *reader);
/* The cgroups of the threads that were kept. */
const CgroupSet *batch_reader_cgroups(const BatchReader *reader);
