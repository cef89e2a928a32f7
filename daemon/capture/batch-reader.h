/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BatchReader
 *
 * Turns batches into rows: the backend reads the threads, further steps add what they read of each
 * process, and the threads that are still there become rows. One thread makes, uses and closes a
 * reader; its counts can be read until it is freed.
 */

#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/cgroups.h"
#include "capture/heap/heap.h"
#include "capture/rollup.h"
#include "capture/scene/backend.h"

typedef struct BatchReader BatchReader;

/* -ENOMEM. */
_must_check_ int batch_reader_new(const Backend *backend, const CaptureHost *host,
                                  RollupBudget *smaps, Heap *heap, BatchReader **ret);
/* Closes its descriptors and ends its threads. */
void batch_reader_close(BatchReader *reader);
BatchReader *batch_reader_free(BatchReader *reader);
DEFINE_CLEANUP(BatchReader *, batch_reader_free);

/* Sets the results of @batch. */
void batch_reader_read(BatchReader *reader, Batch *batch);

/*
 * Adds the counts of this reader, those of the heap step to @heap, and the cgroups that the threads
 * of its rows live in. -ENOMEM.
 */
_must_check_ int batch_reader_merge(const BatchReader *reader, Tally *tally, Heap *heap,
                                    CgroupSet *cgroups);
