/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * OwnProcesses
 *
 * The processes beside ctprofd and its jobs that are part of the measurement: callers, for as long
 * as they are connected. A process is known by its number and the time it began at, so that another
 * one that gets the number later is none of them, and never by its name.
 *
 * The list is in memory that is shared with whoever judges threads that end (LedgerOwn): the job
 * that hears of exits, and programs in the kernel.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "kernel/bpf/ledger-record.h"

/*
 * The process at the other end of a connection, as the kernel recorded it when that end was
 * connected. Nothing a peer does later (setuid, exec, passing the socket on) changes that.
 */
typedef struct Peer {
        pid_t pid; /* 0: it is in another pid namespace */
        uid_t uid;
        bool has_start; /* it lived when its connection was taken, so that the number is its own */
        uint64_t start_ticks; /* as in its stat file */
} Peer;

_must_check_ int peer_read(int fd, Peer *ret);

/* When the process that has the number now began. */
_must_check_ bool peer_start_of(pid_t pid, uint64_t *ret_ticks);

typedef struct OwnProcesses {
        int fd;              /* owned */
        LedgerOwn *lists[2]; /* of @fd, and shared with programs; NULL: there are none */
        unsigned n_connections[LEDGER_OWN_PLACES]; /* of the process in each place */
} OwnProcesses;

/* -errno; then it may be done, too. */
_must_check_ int own_processes_init(OwnProcesses *own);
void own_processes_done(OwnProcesses *own);

/*
 * A connection begins, and ends. One that finds no place, or whose process is not known, is a
 * process as any other.
 */
void own_processes_enter(OwnProcesses *own, const Peer *peer);
void own_processes_leave(OwnProcesses *own, const Peer *peer);

/*
 * Writes up to @n process ids of those that are connected and live, and returns their number. One
 * whose process has ended, while somebody else holds its connection, has left.
 */
size_t own_processes_get_pids(OwnProcesses *own, pid_t *ret, size_t n);

/* A duplicate of the memory's descriptor; the caller owns it. -errno. */
_must_check_ int own_processes_lend(const OwnProcesses *own);
/*
 * The list is in the memory of @fd, too, in place of an earlier one, from now on; @fd is borrowed.
 * -errno.
 */
_must_check_ int own_processes_share(OwnProcesses *own, int fd);
