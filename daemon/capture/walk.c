/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/walk.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "capture/batch-ring.h"
#include "capture/batch-reader.h"

/* Enough that workers seldom wait for the writer; each holds about 60 KiB of rows. */
#define N_BATCHES 16

/*
 * Hosts with no more batches than these are read by the calling thread, once all their threads are
 * known: to start others takes longer than what they could save there.
 */
#define N_BATCHES_ALONE 4
_Static_assert(N_BATCHES_ALONE < N_BATCHES, "the ring holds the batches until then");

typedef struct WorkerThread {
        pthread_t thread;
        const WalkOptions *options;
        BatchRing *ring;
        BatchReader *reader; /* owned; made by the thread */
} WorkerThread;

typedef struct Walk {
        const WalkOptions *options;
        SnapshotWriter *writer;
        Tally *tally;
        BatchRing *ring; /* owned */
        void *listing;   /* owned: the backend's walk */
        WorkerThread threads[WALK_MAX_WORKERS];
        size_t n_threads;    /* running */
        BatchReader *reader; /* owned: the calling thread's own, where there are no other threads */
        pid_t last_tgid;     /* of the row written last */
} Walk;

/* worker threads */

/*
 * A thread with a descriptor table of its own makes its worker and closes it again: its descriptors
 * mean nothing to other threads.
 */
static void *run_worker(void *userdata) {
        WorkerThread *own = userdata;
        const WalkOptions *options = own->options;
        const CaptureSystem *system = options->host->system;
        Batch *batch;
        int r;

        if (system->begin_worker)
                system->begin_worker(system->userdata);
        r = batch_reader_new(options->backend, options->host, options->smaps, options->heap,
                             &own->reader);
        while ((batch = batch_ring_take(own->ring, true))) {
                if (r == 0)
                        batch_reader_read(own->reader, batch);
                else
                        batch->error = r;
                batch_ring_finish(own->ring, batch);
        }
        if (own->reader)
                batch_reader_close(own->reader);
        return NULL;
}

/*
 * From here on the batches are read: by threads of their own where what makes a reader wait is
 * worth them. Where nothing is left to read, what they take, of this host's CPU time, is not worth
 * the time that they save: 7 % with 3,000 threads.
 */
static int start_reading(Walk *walk, size_t n_batches) {
        const WalkOptions *options = walk->options;
        unsigned n = MIN_OF(options->n_workers, (unsigned) WALK_MAX_WORKERS);
        sigset_t all, before;

        if (walk->n_threads > 0 || walk->reader)
                return 0;
        if (n_batches <= N_BATCHES_ALONE ||
            (options->backend->reads_in_walk && options->smaps->mode == SMAPS_MODE_NONE &&
             options->heap->absence))
                n = 0;
        /* The calling thread handles the signals: the new threads inherit a full mask. */
        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        while (walk->n_threads < n) {
                WorkerThread *next = &walk->threads[walk->n_threads];

                *next = (WorkerThread){ .options = options, .ring = walk->ring };
                if (pthread_create(&next->thread, NULL, run_worker, next) != 0)
                        break;
                walk->n_threads++;
        }
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (walk->n_threads > 0)
                return 0;
        return batch_reader_new(options->backend, options->host, options->smaps, options->heap,
                                &walk->reader);
}

/* Ends the threads. Batches that no thread has taken yet are dropped. */
static void join_workers(Walk *walk) {
        if (walk->n_threads > 0)
                batch_ring_close(walk->ring);
        for (; walk->n_threads > 0; walk->n_threads--)
                (void) pthread_join(walk->threads[walk->n_threads - 1].thread, NULL);
}

static void walk_done(Walk *walk) {
        join_workers(walk);
        for (size_t i = 0; i < WALK_MAX_WORKERS; i++)
                batch_reader_free(walk->threads[i].reader);
        batch_reader_free(walk->reader);
        walk->options->backend->walk_free(walk->listing);
        batch_ring_free(walk->ring);
}

/* rows */

/* Writes the batches that have been read, and waits for the first @n_awaited of them. */
static int write_batches(Walk *walk, size_t n_awaited) {
        const WalkOptions *options = walk->options;
        Batch *batch;

        /* Where there is no worker thread, this one reads the batches that wait. */
        while (walk->reader && (batch = batch_ring_take(walk->ring, false))) {
                batch_reader_read(walk->reader, batch);
                batch_ring_finish(walk->ring, batch);
        }
        while ((batch = batch_ring_collect(walk->ring, n_awaited > 0))) {
                uint64_t n_walked = batch->n_walked, n_listed = batch->n_listed;
                int r = batch->error;

                if (r == 0)
                        r = snapshot_writer_rows(walk->writer, SNAPSHOT_SECTION_THREADS,
                                                 buffer_span(&batch->rows));
                for (size_t i = 0; r == 0 && i < batch->n_processes; i++) {
                        const BatchProcess *process = &batch->processes[i];

                        if (process->n_kept == 0 || process->tgid == walk->last_tgid)
                                continue;
                        walk->last_tgid = process->tgid;
                        walk->tally->n_processes++;
                }
                batch_ring_release(walk->ring);
                if (r == 0)
                        r = pace_step(options->pace, options->host->system, "threads", n_walked,
                                      n_listed);
                if (r != 0)
                        return r;
                n_awaited -= n_awaited > 0;
        }
        return 0;
}

static int walk_threads(Walk *walk) {
        size_t n_batches = 0;
        Batch *batch;
        int r;

        for (;;) {
                while (!(batch = batch_ring_next(walk->ring))) {
                        r = write_batches(walk, 1);
                        if (r != 0)
                                return r;
                }
                r = walk->options->backend->walk_next(walk->listing, batch);
                if (r < 0)
                        return r;
                if (batch->n_tids == 0) {
                        r = start_reading(walk, n_batches);
                        return r == 0 ? write_batches(walk, SIZE_MAX) : r;
                }
                batch_ring_submit(walk->ring);
                if (++n_batches <= N_BATCHES_ALONE)
                        continue;
                r = start_reading(walk, n_batches);
                if (r == 0)
                        r = write_batches(walk, 0);
                if (r != 0)
                        return r;
        }
}

int walk_run(const WalkOptions *options, SnapshotWriter *writer, Tally *tally, CgroupSet *cgroups) {
        _cleanup_(walk_done) Walk walk = { .options = options, .writer = writer, .tally = tally };
        Largest *largest = &options->smaps->largest;
        int r;

        r = options->backend->walk_new(options->host, options->only, tally, &walk.listing);
        /* A choice of the processes whose smaps_rollup is read. A probe reads two processes. */
        if (r == 0 && options->only == 0 && options->smaps->mode == SMAPS_MODE_SMALL &&
            options->host->gates.has_file[SOURCE_SMAPS_ROLLUP]) {
                r = options->backend->offer_memory(walk.listing, largest);
                largest_settle(largest);
        }
        if (r < 0)
                return r;
        r = batch_ring_new(N_BATCHES, &walk.ring);
        if (r < 0)
                return r;
        r = walk_threads(&walk);
        join_workers(&walk);
        if (r == 0 && walk.reader)
                r = batch_reader_merge(walk.reader, tally, options->heap, cgroups);
        for (size_t i = 0; r == 0 && i < WALK_MAX_WORKERS; i++)
                if (walk.threads[i].reader)
                        r = batch_reader_merge(walk.threads[i].reader, tally, options->heap,
                                               cgroups);
        return r;
}
