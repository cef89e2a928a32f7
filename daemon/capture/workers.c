/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/workers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct Worker {
        pthread_t thread;
        const BatchScene *scene;
        BatchRing *ring;
        BatchReader *reader; /* owned; made by the thread */
};

/*
 * The reader is made and its socket closed here: descriptors of a thread with a table of its own
 * mean nothing to others.
 */
static void *run_worker(void *userdata) {
        Worker *worker = userdata;
        const CaptureSystem *system = worker->scene->system;
        Batch *batch;
        int r;

        if (system->begin_worker)
                system->begin_worker(system->userdata);
        r = batch_reader_new(worker->scene, &worker->reader);
        while ((batch = batch_ring_take(worker->ring))) {
                if (r == 0)
                        batch_reader_read(worker->reader, batch);
                else
                        batch->error = r;
                batch_ring_finish(worker->ring, batch);
        }
        if (worker->reader)
                batch_reader_close(worker->reader);
        return NULL;
}

int workers_start(Workers *workers, const BatchScene *scene, BatchRing *ring, unsigned n_workers) {
        sigset_t all, before;

        *workers = (Workers){ .scene = scene, .ring = ring };
        n_workers = MIN_OF(n_workers, (unsigned) CAPTURE_MAX_WORKERS);
        workers->workers = calloc(n_workers + 1, sizeof(*workers->workers));
        if (!workers->workers)
                return -ENOMEM;

        /* Signals are the calling thread's business: the new ones inherit a full mask. */
        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        while (workers->n_workers < n_workers) {
                Worker *worker = &workers->workers[workers->n_workers];

                *worker = (Worker){ .scene = scene, .ring = ring };
                if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0)
                        break;
                workers->n_workers++;
        }
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        return workers->n_workers > 0 ? 0 : batch_reader_new(scene, &workers->reader);
}

static void join(Workers *workers) {
        if (workers->n_workers == 0)
                return;
        batch_ring_close(workers->ring);
        for (size_t i = 0; i < workers->n_workers; i++)
                (void) pthread_join(workers->workers[i].thread, NULL);
}

void workers_done(Workers *workers) {
        join(workers);
        for (size_t i = 0; i < workers->n_workers; i++)
                workers->workers[i].reader = batch_reader_free(workers->workers[i].reader);
        workers->reader = batch_reader_free(workers->reader);
        free(workers->workers);
        *workers = (Workers){};
}

void workers_help(Workers *workers) {
        Batch *batch;

        if (!workers->reader)
                return;
        while ((batch = batch_ring_try_take(workers->ring))) {
                batch_reader_read(workers->reader, batch);
                batch_ring_finish(workers->ring, batch);
        }
}

static int merge(const BatchReader *reader, Tally *tally, CgroupSet *cgroups) {
        tally_merge(tally, batch_reader_tally(reader));
        return cgroup_set_merge(cgroups, batch_reader_cgroups(reader));
}

int workers_finish(Workers *workers, Tally *tally, CgroupSet *cgroups) {
        int r = 0;

        join(workers);
        if (workers->reader)
                r = merge(workers->reader, tally, cgroups);
        for (size_t i = 0; r == 0 && i < workers->n_workers; i++)
                if (workers->workers[i].reader)
                        r = merge(workers->workers[i].reader, tally, cgroups);
        while (workers->n_workers > 0) {
                workers->n_workers--;
                batch_reader_free(workers->workers[workers->n_workers].reader);
        }
        return r;
}
