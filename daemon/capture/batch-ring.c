/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch-ring.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct RingBatch {
        Batch batch; /* first: a Batch is its RingBatch */
        bool done;
} RingBatch;

/*
 * Three counts that only grow; the batch a count stands at is batches[count % n_batches].
 * n_collected <= n_taken <= n_submitted <= n_collected + n_batches.
 */
struct BatchRing {
        pthread_mutex_t lock;
        pthread_cond_t submitted, finished;
        RingBatch *batches; /* owned */
        size_t n_batches;
        uint64_t n_submitted, n_taken, n_collected;
        bool closed;
};

int batch_ring_new(size_t n_batches, BatchRing **ret) {
        BatchRing *ring = calloc(1, sizeof(*ring));

        if (!ring)
                return -ENOMEM;
        ring->batches = calloc(n_batches, sizeof(*ring->batches));
        if (!ring->batches) {
                free(ring);
                return -ENOMEM;
        }
        ring->n_batches = n_batches;
        (void) pthread_mutex_init(&ring->lock, NULL);
        (void) pthread_cond_init(&ring->submitted, NULL);
        (void) pthread_cond_init(&ring->finished, NULL);
        *ret = ring;
        return 0;
}

BatchRing *batch_ring_free(BatchRing *ring) {
        if (!ring)
                return NULL;
        for (size_t i = 0; i < ring->n_batches; i++)
                buffer_done(&ring->batches[i].batch.rows);
        free(ring->batches);
        (void) pthread_cond_destroy(&ring->finished);
        (void) pthread_cond_destroy(&ring->submitted);
        (void) pthread_mutex_destroy(&ring->lock);
        free(ring);
        return NULL;
}

Batch *batch_ring_next(BatchRing *ring) {
        /* Only the walk changes both counts, so it needs no lock to read them. */
        if (ring->n_submitted == ring->n_collected + ring->n_batches)
                return NULL;
        return &ring->batches[ring->n_submitted % ring->n_batches].batch;
}

void batch_ring_submit(BatchRing *ring) {
        (void) pthread_mutex_lock(&ring->lock);
        ring->batches[ring->n_submitted % ring->n_batches].done = false;
        ring->n_submitted++;
        (void) pthread_cond_signal(&ring->submitted);
        (void) pthread_mutex_unlock(&ring->lock);
}

Batch *batch_ring_collect(BatchRing *ring, bool wait) {
        RingBatch *oldest = &ring->batches[ring->n_collected % ring->n_batches];
        bool done;

        if (ring->n_collected == ring->n_submitted)
                return NULL;
        (void) pthread_mutex_lock(&ring->lock);
        while (wait && !oldest->done)
                (void) pthread_cond_wait(&ring->finished, &ring->lock);
        done = oldest->done;
        (void) pthread_mutex_unlock(&ring->lock);
        return done ? &oldest->batch : NULL;
}

void batch_ring_release(BatchRing *ring) {
        Batch *batch = &ring->batches[ring->n_collected % ring->n_batches].batch;

        batch->n_tids = 0;
        batch->n_processes = 0;
        batch->error = 0;
        buffer_clear(&batch->rows);
        ring->n_collected++;
}

void batch_ring_close(BatchRing *ring) {
        (void) pthread_mutex_lock(&ring->lock);
        ring->closed = true;
        (void) pthread_cond_broadcast(&ring->submitted);
        (void) pthread_mutex_unlock(&ring->lock);
}

Batch *batch_ring_take(BatchRing *ring, bool wait) {
        Batch *batch = NULL;

        (void) pthread_mutex_lock(&ring->lock);
        while (wait && !ring->closed && ring->n_taken == ring->n_submitted)
                (void) pthread_cond_wait(&ring->submitted, &ring->lock);
        if (!ring->closed && ring->n_taken < ring->n_submitted)
                batch = &ring->batches[ring->n_taken++ % ring->n_batches].batch;
        (void) pthread_mutex_unlock(&ring->lock);
        return batch;
}

void batch_ring_finish(BatchRing *ring, Batch *batch) {
        _Static_assert(offsetof(RingBatch, batch) == 0, "a Batch is its RingBatch");
        RingBatch *finished = (RingBatch *) batch;

        (void) pthread_mutex_lock(&ring->lock);
        finished->done = true;
        (void) pthread_cond_signal(&ring->finished);
        (void) pthread_mutex_unlock(&ring->lock);
}
