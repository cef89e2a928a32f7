/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Workers
 *
 * The threads that read batches. Each has a descriptor table and a taskstats socket of its own, and
 * counts for itself. Where no thread can be started, the caller reads in between.
 */

#include <stddef.h>
#include "base/macro.h"
#include "capture/batch-reader.h"
#include "capture/batch-ring.h"
#include "capture/capture.h"

typedef struct Worker Worker;

typedef struct Workers {
        const BatchScene *scene; /* borrowed */
        BatchRing *ring;         /* borrowed */
        Worker *workers;         /* owned */
        size_t n_workers;        /* running */
        BatchReader *reader;     /* owned: the caller's own, where there is no worker */
} Workers;

/* -ENOMEM. On failure workers_done() must still be called. */
_must_check_ int workers_start(Workers *workers, const BatchScene *scene, BatchRing *ring,
                               unsigned n_workers);
/* Ends them and waits for them; what they read is dropped. */
void workers_done(Workers *workers);

/* Reads all batches that wait when nobody else does. */
void workers_help(Workers *workers);

/* Ends them, waits for them, and adds what they counted and the cgroups of what they kept. */
_must_check_ int workers_finish(Workers *workers, Tally *tally, CgroupSet *cgroups);
