/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BatchRing
 *
 * Batches on their way from the thread that walks to the workers that read, and back with rows.
 * They are collected in the order in which they were submitted, whichever is finished first. There
 * is a fixed number of them, so memory does not grow with the host.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/scene/scene.h"

typedef struct BatchRing BatchRing;

_must_check_ int batch_ring_new(size_t n_batches, BatchRing **ret);
/* All workers must be gone. */
BatchRing *batch_ring_free(BatchRing *ring);
DEFINE_CLEANUP(BatchRing *, batch_ring_free);

/* For the walk. The next empty batch to fill; NULL while all are on their way. */
Batch *batch_ring_next(BatchRing *ring);
/* Hands the batch of batch_ring_next() to the workers. */
void batch_ring_submit(BatchRing *ring);
/*
 * The oldest batch that is on its way, when it is finished; @wait: waits until it is. NULL when it
 * is not finished, or none is on its way. Every collected batch is released before the next is
 * collected.
 */
Batch *batch_ring_collect(BatchRing *ring, bool wait);
void batch_ring_release(BatchRing *ring);
/* There will be no more batches. Batches that no worker has taken yet are dropped. */
void batch_ring_close(BatchRing *ring);

/*
 * For a worker. NULL when the ring was closed; @wait: waits for a batch, and else NULL also when
 * there is none to take.
 */
Batch *batch_ring_take(BatchRing *ring, bool wait);
void batch_ring_finish(BatchRing *ring, Batch *batch);
