/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/walk.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "capture/batch/process-memory.h"
#include "snapshot/thread-column.h"

/* Enough that workers seldom wait for the writer; each holds about 60 KiB of rows. */
#define N_BATCHES 16

/*
 * Hosts with no more batches than these are read by the calling thread, once all their threads are
 * known: to start others takes longer than what they could save there.
 */
#define N_BATCHES_ALONE 4
_Static_assert(N_BATCHES_ALONE < N_BATCHES, "the ring holds the batches until then");

/* include/uapi/linux/sched.h */
#define POLICY_FIFO 1
#define POLICY_RR 2
#define POLICY_DEADLINE 6

typedef struct Walk Walk;

/*
 * Turns batches into rows: the backend reads the threads, further steps add what they read of each
 * process, and the threads that are still there become rows. One thread makes, uses and closes the
 * readers of a worker; its counts are merged when all have come to their end.
 */
typedef struct Worker {
        Walk *walk; /* borrowed */
        pthread_t thread;
        int error;                /* why a reader could not be made */
        Readings readings;        /* with the tally of its batches */
        void *reader;             /* owned: the backend's */
        HeapReader *heap;         /* owned */
        HeapSummary heap_summary; /* of both */
        CgroupSet cgroups;
        TextPlace rollups[BATCH_MAX_THREADS]; /* of the batch's processes */
        CommandPlace commands[BATCH_MAX_THREADS];
} Worker;

struct Walk {
        const WalkOptions *options;
        SnapshotWriter *writer;
        Tally *tally;
        void *listing;                     /* owned: the backend's walk */
        pid_t last_tgid;                   /* of the row written last */
        size_t n_threads;                  /* running */
        bool reads_itself;                 /* the first worker is the calling thread */
        Worker *workers[WALK_MAX_WORKERS]; /* owned */
        /*
         * Batches go from the calling thread to the workers and back with rows. They are written in
         * the order in which they were submitted, whichever was read first. The counts only grow;
         * the batch that one stands at is batches[count % N_BATCHES]. n_written <= n_taken <=
         * n_submitted <= n_written + N_BATCHES. The calling thread alone changes the first and the
         * last, so it needs no lock to look at these.
         */
        pthread_mutex_t lock;
        pthread_cond_t submitted, finished;
        Batch *batches; /* owned */
        uint64_t n_submitted, n_taken, n_written;
        bool is_closed; /* batches that no worker has taken yet are dropped */
};

/* worker threads */

/* Makes rows of the threads of process @number that are kept. */
static void finish_process(Worker *worker, size_t number) {
        Readings *readings = &worker->readings;
        BatchProcess *process = &readings->batch->processes[number];
        const CommandPlace *command = &worker->commands[number];
        TextPlace smaps = worker->rollups[number];
        ThreadSlot *slots = &readings->slots[process->first];
        const ThreadSlot *leader = process->leader;
        Buffer *rows = &readings->batch->rows;
        Span pcomm = { NULL, 0 };

        worker->walk->options->backend->confirm(worker->reader, process);
        if (readings->host->heard_exits)
                readings_leave_zombies_out(readings, process);

        if (process->has_leader && (process->is_split || !leader))
                pcomm = (Span){ process->name, process->n_name };
        else if (!process->is_split && leader)
                pcomm = readings_text(readings, leader->comm);
        for (size_t i = 0; i < process->n && readings->error == 0; i++) {
                ThreadSlot *slot = &slots[i];
                ThreadSample *sample = &slot->sample;
                bool is_leader = slot->tid == process->tgid;
                CgroupEntry *entry;

                /* Readings of a thread that vanished are lost and count as vanished. */
                for (unsigned id = 0; id < _SOURCE_MAX; id++)
                        if (slot->outcomes[id] != 0)
                                readings->tally
                                        .counts[id][slot->vanished ? SOURCE_OUTCOME_vanished
                                                                   : slot->outcomes[id] - 1]++;
                if (!slot->kept)
                        continue;
                if (readings->host->gates.realtime_waits_broken &&
                    (slot->policy == POLICY_FIFO || slot->policy == POLICY_RR ||
                     slot->policy == POLICY_DEADLINE)) {
                        thread_sample_drop(sample, METRIC_wait_max);
                        thread_sample_drop(sample, METRIC_wait_sum);
                }
                if (is_leader && slot->num_threads != 0)
                        thread_sample_put(sample, METRIC_nr_threads, slot->num_threads);
                sample->tgid = process->tgid;
                sample->self = capture_host_owns(readings->host, process->tgid, sample);
                sample->comm = readings_text(readings, slot->comm);
                sample->cpus = readings_text(readings, slot->cpus);
                sample->cgroup = readings_text(readings, slot->cgroup);
                sample->pcomm = pcomm;
                sample->command = readings_text(readings, command->command);
                sample->command_line = readings_text(readings, command->line);
                if (rows->n > 0)
                        (void) buffer_append_byte(rows, ',');
                /* It also returns a failure of the comma. */
                readings->error = thread_row_encode(rows, sample,
                                                    is_leader ? readings_text(readings, smaps)
                                                              : (Span){ NULL, 0 });
                if (readings->error == 0 && sample->cgroup.bytes) {
                        readings->error = cgroup_set_add(&worker->cgroups, sample->cgroup, &entry);
                        if (readings->error == 0)
                                entry->inhabited = true;
                }
                process->n_kept++;
                readings->tally.n_threads++;
        }
}

/* Sets the results of @batch. */
static void read_batch(Worker *worker, Batch *batch) {
        const WalkOptions *options = worker->walk->options;
        Readings *readings = &worker->readings;

        if (worker->error != 0) {
                batch->error = worker->error;
                return;
        }
        readings_begin(readings, batch);
        options->backend->read(worker->reader);
        /*
         * These steps read more of a process than the backend did. The ones that can disturb the
         * process come last, and what is asked of another job is asked of the whole batch then.
         */
        for (size_t i = 0; i < batch->n_processes && readings->error == 0; i++) {
                const BatchProcess *process = &batch->processes[i];

                cgroups_read_membership(readings, process, &worker->cgroups);
                process_memory_read(readings, process);
                worker->rollups[i] = rollup_read(options->smaps, readings, process);
                heap_reader_add(worker->heap, process, &worker->commands[i]);
        }
        heap_reader_read(worker->heap);
        for (size_t i = 0; i < batch->n_processes && readings->error == 0; i++)
                finish_process(worker, i);
        for (size_t i = 0; i < batch->n_tids; i++)
                readings->slots[i].fd = fd_close(readings->slots[i].fd);
        batch->error = readings->error;
        readings->batch = NULL;
}

/*
 * Makes the readers and reads the batches that wait; a thread of its own waits for more of them,
 * until the ring is closed.
 */
static void read_batches(Worker *worker, bool is_thread) {
        Walk *walk = worker->walk;
        Readings *readings = &worker->readings;
        Heap *heap = walk->options->heap;
        int r = worker->error;

        if (r == 0 && !worker->reader)
                r = walk->options->backend->reader_new(readings, &worker->reader);
        if (r == 0 && !worker->heap)
                r = heap_reader_new(heap, readings, &worker->heap_summary, &worker->heap);
        worker->error = r;
        (void) pthread_mutex_lock(&walk->lock);
        for (;;) {
                Batch *batch;

                while (is_thread && !walk->is_closed && walk->n_taken == walk->n_submitted)
                        (void) pthread_cond_wait(&walk->submitted, &walk->lock);
                if (walk->is_closed || walk->n_taken == walk->n_submitted)
                        break;
                batch = &walk->batches[walk->n_taken++ % N_BATCHES];
                (void) pthread_mutex_unlock(&walk->lock);
                read_batch(worker, batch);
                (void) pthread_mutex_lock(&walk->lock);
                batch->is_read = true;
                (void) pthread_cond_signal(&walk->finished);
        }
        (void) pthread_mutex_unlock(&walk->lock);
}

/*
 * A thread with a descriptor table of its own makes its readers and closes them again: their
 * descriptors mean nothing to other threads.
 */
static void *run_worker(void *userdata) {
        Worker *worker = userdata;
        const WalkOptions *options = worker->walk->options;
        const CaptureSystem *system = options->host->system;

        if (system->begin_worker)
                system->begin_worker(system->userdata);
        read_batches(worker, true);
        options->backend->reader_free(TAKE_PTR(worker->reader));
        return NULL;
}

/*
 * From here on the batches are read: by threads of their own where what makes a reader wait is
 * worth them. Where nothing is left to read, what they take, of this host's CPU time, is not worth
 * the time that they save: 7 % with 3,000 threads.
 */
static int start_reading(Walk *walk) {
        const WalkOptions *options = walk->options;
        unsigned n = MIN_OF(options->n_workers, (unsigned) WALK_MAX_WORKERS);
        sigset_t all, before;

        if (walk->n_threads > 0 || walk->reads_itself)
                return 0;
        if (walk->n_submitted <= N_BATCHES_ALONE ||
            (options->backend->reads_in_walk && options->smaps->mode == SMAPS_MODE_NONE &&
             options->heap->absence))
                n = 0;
        /* The calling thread handles the signals: the new threads inherit a full mask. */
        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        for (unsigned i = 0; i < MAX_OF(n, 1u); i++) {
                Worker *worker = walk->workers[i] = calloc(1, sizeof(*worker));

                if (!worker)
                        break;
                worker->walk = walk;
                worker->readings.host = options->host;
                if (n == 0 || pthread_create(&worker->thread, NULL, run_worker, worker) != 0)
                        break;
                walk->n_threads++;
        }
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (walk->n_threads > 0)
                return 0;
        walk->reads_itself = true;
        return walk->workers[0] ? 0 : -ENOMEM;
}

static void walk_done(Walk *walk) {
        const Backend *backend = walk->options->backend;

        for (size_t i = 0; i < WALK_MAX_WORKERS && walk->workers[i]; i++) {
                Worker *worker = walk->workers[i];

                backend->reader_free(worker->reader);
                free(worker->heap);
                (void) blocking_thread_free(worker->readings.blocking.thread);
                buffer_done(&worker->readings.texts);
                cgroup_set_done(&worker->cgroups);
                free(worker);
        }
        backend->walk_free(walk->listing);
        for (size_t i = 0; walk->batches && i < N_BATCHES; i++)
                buffer_done(&walk->batches[i].rows);
        free(walk->batches);
        (void) pthread_cond_destroy(&walk->finished);
        (void) pthread_cond_destroy(&walk->submitted);
        (void) pthread_mutex_destroy(&walk->lock);
}

/* rows */

/* Writes the batches that have been read, and waits for the first @n_awaited of them. */
static int write_batches(Walk *walk, size_t n_awaited) {
        const WalkOptions *options = walk->options;

        if (walk->reads_itself)
                read_batches(walk->workers[0], false);
        while (walk->n_written < walk->n_submitted) {
                Batch *batch = &walk->batches[walk->n_written % N_BATCHES];
                bool is_read;
                int r;

                (void) pthread_mutex_lock(&walk->lock);
                while (n_awaited > 0 && !batch->is_read)
                        (void) pthread_cond_wait(&walk->finished, &walk->lock);
                is_read = batch->is_read;
                (void) pthread_mutex_unlock(&walk->lock);
                if (!is_read)
                        break;
                r = batch->error;
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
                if (r == 0)
                        r = pace_step(options->pace, options->host->system, "threads",
                                      batch->n_walked, batch->n_listed);
                if (r != 0)
                        return r;
                batch->n_tids = batch->n_processes = 0;
                batch->is_read = false;
                buffer_clear(&batch->rows);
                walk->n_written++;
                n_awaited -= n_awaited > 0;
        }
        return 0;
}

int walk_run(const WalkOptions *options, SnapshotWriter *writer, Tally *tally, CgroupSet *cgroups) {
        _cleanup_(walk_done) Walk walk = { .options = options,
                                           .writer = writer,
                                           .tally = tally,
                                           .lock = PTHREAD_MUTEX_INITIALIZER,
                                           .submitted = PTHREAD_COND_INITIALIZER,
                                           .finished = PTHREAD_COND_INITIALIZER };
        Largest *largest = &options->smaps->largest;
        bool is_listed = false;
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
        walk.batches = calloc(N_BATCHES, sizeof(*walk.batches));
        if (!walk.batches)
                return -ENOMEM;
        while (r == 0 && !is_listed) {
                Batch *batch = &walk.batches[walk.n_submitted % N_BATCHES];

                if (walk.n_submitted == walk.n_written + N_BATCHES) {
                        r = write_batches(&walk, 1);
                        continue;
                }
                r = options->backend->walk_next(walk.listing, batch);
                if (r < 0)
                        break;
                is_listed = batch->n_tids == 0;
                if (!is_listed) {
                        (void) pthread_mutex_lock(&walk.lock);
                        walk.n_submitted++;
                        (void) pthread_cond_signal(&walk.submitted);
                        (void) pthread_mutex_unlock(&walk.lock);
                }
                if (!is_listed && walk.n_submitted <= N_BATCHES_ALONE)
                        continue;
                r = start_reading(&walk);
                if (r == 0)
                        r = write_batches(&walk, is_listed ? SIZE_MAX : 0);
        }
        (void) pthread_mutex_lock(&walk.lock);
        walk.is_closed = true;
        (void) pthread_cond_broadcast(&walk.submitted);
        (void) pthread_mutex_unlock(&walk.lock);
        for (size_t i = 0; i < walk.n_threads; i++)
                (void) pthread_join(walk.workers[i]->thread, NULL);
        for (size_t i = 0; r == 0 && i < WALK_MAX_WORKERS && walk.workers[i]; i++) {
                const Worker *worker = walk.workers[i];
                const Tally *read = &worker->readings.tally;

                heap_summary_merge(&options->heap->summary, &worker->heap_summary);
                for (unsigned id = 0; id < _SOURCE_MAX; id++)
                        tally_add_counts(tally, (SourceId) id, read->counts[id]);
                tally->n_threads += read->n_threads;
                tally->n_smaps_skipped += read->n_smaps_skipped;
                tally->n_smaps_large += read->n_smaps_large;
                tally->smaps_largest_bytes =
                        MAX_OF(tally->smaps_largest_bytes, read->smaps_largest_bytes);
                r = cgroup_set_merge(cgroups, &worker->cgroups);
        }
        return r;
}
