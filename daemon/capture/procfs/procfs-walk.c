/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/procfs/procfs-walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "kernel/procfs/proc-stat.h"
#include "kernel/procfs/proc-walk.h"

typedef struct ProcfsWalk {
        const CaptureHost *host;
        Tally *tally;
        ProcWalk processes;
        size_t n_walked;  /* processes all of whose threads have been given to batches */
        ProcWalk threads; /* of the process at hand, if there is one */
        size_t n_given;   /* of these threads, to batches */
        bool has_process;
        BatchProcess process; /* the one at hand; first and n are set for each batch */
        char file[PROCFS_BUFFER_BYTES];
} ProcfsWalk;

void procfs_walk_free(void *userdata) {
        ProcfsWalk *walk = userdata;

        if (!walk)
                return;
        proc_walk_done(&walk->processes);
        proc_walk_done(&walk->threads);
        free(walk);
}

/* Leaves @only, and the first process where it is listed, which is hardly ever the same user's. */
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

int procfs_walk_new(const CaptureHost *host, pid_t only, Tally *tally, void **ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        ProcfsWalk *walk = calloc(1, sizeof(*walk));
        int r;

        if (!walk)
                return -ENOMEM;
        walk->host = host;
        walk->tally = tally;
        r = text_file_open_directory(host->proc_fd, ".", &fd);
        if (r == 0)
                r = proc_walk_list(&walk->processes, fd);
        if (r != 0) {
                procfs_walk_free(walk);
                if (r < 0)
                        return r;
                return r == PROCFS_E_DENIED ? -EACCES : -ENOENT;
        }
        tally->processes_hidden = proc_walk_is_filtered(&walk->processes);
        if (only != 0 && walk->processes.n_ids > 0)
                keep_sample(&walk->processes, only);
        *ret = walk;
        return 0;
}

/* Name and start time of a process that is read in several batches. */
static void read_leader(ProcfsWalk *walk) {
        BatchProcess *process = &walk->process;
        char path[NUMBER_U64_CHARS + sizeof("/stat")];
        ProcStat stat;
        size_t n;

        n = number_format_u64((uint64_t) process->tgid, path);
        memcpy(path + n, "/stat", sizeof("/stat"));
        if (procfs_read(walk->host->proc_fd, path, walk->file, sizeof(walk->file), &n) != 0)
                return;
        if (proc_stat_parse((Span){ walk->file, n }, &stat) != 0 && !stat.has_identity)
                return;
        process->has_leader = true;
        process->start_ticks = stat.starttime;
        process->n_name = MIN_OF(stat.comm.n, sizeof(process->name));
        memcpy(process->name, stat.comm.bytes, process->n_name);
}

/* Lists the threads of the next process. One that went meanwhile has none. */
static int open_process(ProcfsWalk *walk) {
        pid_t tgid = walk->processes.ids[walk->n_walked];
        _cleanup_(fd_closep) int fd = -EBADF;
        char path[NUMBER_U64_CHARS + sizeof("/task")];
        size_t n = number_format_u64((uint64_t) tgid, path);
        int r;

        walk->process = (BatchProcess){ .tgid = tgid };
        walk->n_given = 0;
        walk->has_process = true;
        memcpy(path + n, "/task", sizeof("/task"));
        r = text_file_open_directory(walk->host->proc_fd, path, &fd);
        if (r == 0)
                r = proc_walk_list_threads(&walk->threads, fd);
        if (r == -ENOMEM)
                return r;
        if (r != 0) {
                walk->threads.n_ids = 0;
                tally_add(walk->tally, SOURCE_STAT,
                          r == PROCFS_E_ABSENT || r == PROCFS_E_VANISHED ? SOURCE_OUTCOME_vanished
                                                                         : text_file_outcome(r));
        } else if (walk->threads.n_ids > BATCH_MAX_THREADS) {
                walk->process.is_split = true;
                read_leader(walk);
        }
        return 0;
}

int procfs_walk_next(void *userdata, Batch *batch) {
        ProcfsWalk *walk = userdata;
        int r;

        while (walk->n_walked < walk->processes.n_ids) {
                size_t n;

                if (!walk->has_process) {
                        r = open_process(walk);
                        if (r < 0)
                                return r;
                }
                /* A process is divided only when no batch could hold it. */
                n = MIN_OF(walk->threads.n_ids - walk->n_given, (size_t) BATCH_MAX_THREADS);
                if (batch->n_tids + n > BATCH_MAX_THREADS)
                        break;
                if (n > 0) {
                        BatchProcess *added = &batch->processes[batch->n_processes++];

                        *added = walk->process;
                        added->first = batch->n_tids;
                        added->n = n;
                        memcpy(batch->tids + batch->n_tids, walk->threads.ids + walk->n_given,
                               n * sizeof(*batch->tids));
                        batch->n_tids += n;
                        walk->n_given += n;
                }
                if (walk->n_given == walk->threads.n_ids) {
                        walk->has_process = false;
                        walk->n_walked++;
                }
        }
        batch->n_walked = walk->n_walked;
        batch->n_listed = walk->processes.n_ids;
        return 0;
}
