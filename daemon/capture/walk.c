/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "capture/workers.h"
#include "kernel/procfs/proc-stat.h"
#include "kernel/procfs/proc-walk.h"
#include "kernel/procfs/procfs.h"

/* Enough that workers seldom wait for the writer; each holds about 60 KiB of rows. */
#define N_BATCHES 16

typedef struct Walk {
        const BatchScene *scene;
        Pace *pace;
        SnapshotWriter *writer;
        Tally *tally;
        Workers workers;
        BatchRing *ring; /* owned */
        Batch *batch;    /* the one being filled; NULL when none is */
        ProcWalk processes, threads;
        size_t n_walked; /* processes */
        pid_t last_tgid; /* of the row written last */
        uint64_t n_processes;
        char file[PROCFS_BUFFER_BYTES];
} Walk;

static void walk_done(Walk *walk) {
        workers_done(&walk->workers);
        walk->ring = batch_ring_free(walk->ring);
        proc_walk_done(&walk->processes);
        proc_walk_done(&walk->threads);
}

/* rows */

static int write_batch(Walk *walk, Batch *batch) {
        int r = batch->error;

        if (r == 0)
                r = snapshot_writer_rows(walk->writer, buffer_span(&batch->rows));
        for (size_t i = 0; r == 0 && i < batch->n_processes; i++)
                if (batch->processes[i].n_kept > 0 && batch->processes[i].tgid != walk->last_tgid) {
                        walk->last_tgid = batch->processes[i].tgid;
                        walk->n_processes++;
                }
        batch_ring_release(walk->ring);
        if (r == 0)
                r = pace_step(walk->pace, "threads", walk->n_walked, walk->processes.n_ids);
        return r;
}

/* Writes the batches that are done; waits for at least one of those on their way if asked to. */
static int write_finished(Walk *walk, bool wait) {
        Batch *batch;
        int r;

        workers_help(&walk->workers);
        while ((batch = batch_ring_collect(walk->ring, wait))) {
                r = write_batch(walk, batch);
                if (r != 0)
                        return r;
                wait = false;
        }
        return 0;
}

static int write_rest(Walk *walk) {
        Batch *batch;
        int r;

        workers_help(&walk->workers);
        while ((batch = batch_ring_collect(walk->ring, true))) {
                r = write_batch(walk, batch);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* batches */

static int submit_batch(Walk *walk) {
        if (!walk->batch)
                return 0;
        walk->batch = NULL;
        batch_ring_submit(walk->ring);
        return write_finished(walk, false);
}

/* A batch with room for @n threads. */
static int make_room(Walk *walk, size_t n) {
        int r;

        if (walk->batch && walk->batch->n_tids + n > BATCH_MAX_THREADS) {
                r = submit_batch(walk);
                if (r != 0)
                        return r;
        }
        while (!walk->batch) {
                walk->batch = batch_ring_next(walk->ring);
                if (walk->batch)
                        break;
                r = write_finished(walk, true);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Room for them has been made. */
static void add_threads(Walk *walk, const BatchProcess *process, const pid_t *tids, size_t n) {
        Batch *batch = walk->batch;
        BatchProcess *added = &batch->processes[batch->n_processes++];

        *added = *process;
        added->first = batch->n_tids;
        added->n = n;
        memcpy(batch->tids + batch->n_tids, tids, n * sizeof(*tids));
        batch->n_tids += n;
}

/* Name and start time of a process that is read in pieces. */
static void read_leader(Walk *walk, BatchProcess *process) {
        char path[NUMBER_U64_CHARS + sizeof("/stat")];
        ProcStat stat;
        size_t n;

        n = number_format_u64((uint64_t) process->tgid, path);
        memcpy(path + n, "/stat", sizeof("/stat"));
        if (procfs_read(walk->scene->proc_fd, path, walk->file, sizeof(walk->file), &n) != 0)
                return;
        if (proc_stat_parse((Span){ walk->file, n }, &stat) != 0 && !stat.has_identity)
                return;
        process->has_leader = true;
        process->start_ticks = stat.starttime;
        process->n_name = MIN_OF(stat.comm.n, sizeof(process->name));
        memcpy(process->name, stat.comm.bytes, process->n_name);
}

static int add_process(Walk *walk, pid_t tgid) {
        const ProcWalk *threads = &walk->threads;
        BatchProcess process = { .tgid = tgid };
        int r;

        if (threads->n_ids <= BATCH_MAX_THREADS) {
                r = make_room(walk, threads->n_ids);
                if (r == 0 && threads->n_ids > 0)
                        add_threads(walk, &process, threads->ids, threads->n_ids);
                return r;
        }
        process.is_split = true;
        read_leader(walk, &process);
        for (size_t at = 0; at < threads->n_ids; at += BATCH_MAX_THREADS) {
                size_t n = MIN_OF(threads->n_ids - at, (size_t) BATCH_MAX_THREADS);

                r = make_room(walk, n);
                if (r != 0)
                        return r;
                add_threads(walk, &process, threads->ids + at, n);
        }
        return 0;
}

/* walking */

static int list_threads(Walk *walk, pid_t tgid) {
        _cleanup_(fd_closep) int fd = -EBADF;
        char path[NUMBER_U64_CHARS + sizeof("/task")];
        size_t n = number_format_u64((uint64_t) tgid, path);
        int r;

        memcpy(path + n, "/task", sizeof("/task"));
        r = text_file_open_directory(walk->scene->proc_fd, path, &fd);
        if (r == 0)
                r = proc_walk_list_threads(&walk->threads, fd);
        return r;
}

static int walk_process(Walk *walk, pid_t tgid) {
        int r = list_threads(walk, tgid);

        if (r == -ENOMEM)
                return r;
        if (r == PROCFS_E_ABSENT || r == PROCFS_E_VANISHED)
                tally_add(walk->tally, SOURCE_STAT, SOURCE_OUTCOME_vanished);
        else if (r != 0)
                tally_add(walk->tally, SOURCE_STAT, text_file_outcome(r));
        return r == 0 ? add_process(walk, tgid) : 0;
}

/* @only, and the first process where it is listed: hardly ever the same user's. */
static void keep_sample(ProcWalk *list, pid_t only) {
        bool has_first = false;
        size_t n = 0;

        for (size_t i = 0; i < list->n_ids; i++)
                has_first |= list->ids[i] == 1;
        if (has_first && only != 1 && list->n_ids > 1)
                list->ids[n++] = 1;
        list->ids[n++] = only;
        list->n_ids = n;
}

/* The processes to walk; a failure here is the capture's. */
static int list_processes(Walk *walk, pid_t only, bool *ret_hidden) {
        _cleanup_(fd_closep) int fd = -EBADF;
        int r;

        r = text_file_open_directory(walk->scene->proc_fd, ".", &fd);
        if (r == 0)
                r = proc_walk_list(&walk->processes, fd);
        if (r < 0)
                return r;
        if (r != 0)
                return r == PROCFS_E_DENIED ? -EACCES : -ENOENT;
        *ret_hidden = proc_walk_is_filtered(&walk->processes);
        if (only != 0 && walk->processes.n_ids > 0)
                keep_sample(&walk->processes, only);
        return 0;
}

static int walk_processes(Walk *walk) {
        int r;

        for (; walk->n_walked < walk->processes.n_ids; walk->n_walked++) {
                r = walk_process(walk, walk->processes.ids[walk->n_walked]);
                if (r != 0)
                        return r;
        }
        r = submit_batch(walk);
        if (r == 0)
                r = write_rest(walk);
        return r;
}

int walk_run(const BatchScene *scene, unsigned n_workers, pid_t only, Pace *pace,
             SnapshotWriter *writer, Tally *tally, CgroupSet *cgroups, WalkResult *ret) {
        _cleanup_(walk_done)
                Walk walk = { .scene = scene, .pace = pace, .writer = writer, .tally = tally };
        WalkResult result = {};
        int r;

        proc_walk_init(&walk.processes);
        proc_walk_init(&walk.threads);
        r = list_processes(&walk, only, &result.processes_hidden);
        if (r < 0)
                return r;
        r = batch_ring_new(N_BATCHES, &walk.ring);
        if (r < 0)
                return r;
        r = workers_start(&walk.workers, scene, walk.ring, n_workers);
        if (r < 0)
                return r;
        r = walk_processes(&walk);
        if (r == 0)
                r = workers_finish(&walk.workers, tally, cgroups);
        if (r != 0)
                return r;
        result.n_processes = walk.n_processes;
        *ret = result;
        return 0;
}
