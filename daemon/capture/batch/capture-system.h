/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CaptureSystem
 *
 * A capture asks the kernel for this besides files, so that a test can give answers of its own
 * beside a fixture tree. All functions may be called by several threads at once; a taskstats handle
 * is used by the thread that opened it.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/taskstats/taskstats.h"

typedef struct CaptureSystem {
        void *userdata; /* for all functions without a handle */
        /*
         * The calling process and thread as taskstats and affinity number them; 0: ask the kernel.
         */
        pid_t own_pid, own_tid;

        /*
         * The CPUs that thread @tid may run on now: fills the first *ret_n_words of @mask. 0 or
         * -errno; -EINVAL when @n_words are too few. NULL: cannot be asked here.
         */
        int (*read_affinity)(void *userdata, pid_t tid, unsigned long *mask, size_t n_words,
                             size_t *ret_n_words);

        /* As taskstats_open(), taskstats_query(), taskstats_free(). NULL: cannot be asked here. */
        int (*open_taskstats)(void *userdata, TaskstatsSocket **ret);
        int (*query_taskstats)(TaskstatsSocket *socket, const pid_t *tids, size_t n_tids,
                               TaskstatsAnswer *answers);
        void (*close_taskstats)(void *userdata, TaskstatsSocket *socket);

        /*
         * Reads @n pieces of @remote of process @pid into those of @local, which are as long, in
         * order, up to the first that cannot be read, as process_vm_readv(2). Returns the number of
         * bytes, or -errno when there are none. And where a thread keeps its list of robust
         * mutexes, as get_robust_list(2): 0 with *ret_head 0 where there is none, -errno. NULL:
         * cannot be asked here. These two can be called after the capture has ended, by a thread
         * that was left behind.
         */
        ssize_t (*read_memory)(void *userdata, pid_t pid, const struct iovec *local,
                               const struct iovec *remote, size_t n);
        int (*find_robust_list)(void *userdata, pid_t tid, uint64_t *ret_head);

        /* As cgroupfs_open(). NULL: no hierarchy is mounted. */
        int (*open_cgroups)(int proc_fd, Cgroupfs **ret);

        uint64_t (*now_ns)(void *userdata); /* CLOCK_MONOTONIC */

        /* Each worker thread calls it at its start, to get a descriptor table of its own. */
        void (*begin_worker)(void *userdata);
} CaptureSystem;

/* The running kernel, without taskstats. */
extern const CaptureSystem capture_system_kernel;

/*
 * All of the running kernel for a process that is about to give up opening sockets: the taskstats
 * sockets are opened now, and as many can be open at once as were asked for.
 */
typedef struct ReadySocket {
        TaskstatsSocket *socket; /* owned */
        atomic_flag taken;
} ReadySocket;

typedef struct ReadySystem {
        CaptureSystem system;
        int failure; /* why there are no more: of taskstats_open(), or -EMFILE */
        size_t n_sockets;
        ReadySocket sockets[];
} ReadySystem;

_must_check_ int ready_system_new(unsigned n_sockets, ReadySystem **ret); /* -ENOMEM */
ReadySystem *ready_system_free(ReadySystem *ready);
DEFINE_CLEANUP(ReadySystem *, ready_system_free);
