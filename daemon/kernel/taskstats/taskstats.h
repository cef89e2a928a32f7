/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskstatsSocket
 *
 * A netlink socket to the family, for one of two: to request the struct taskstats of many threads
 * at once, or to be told of the exit of every thread, whichever it is. One thread uses a socket.
 * Each answer is matched by sequence number and by tid, so a lost, late or doubled answer is never
 * taken for that of another thread.
 */

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/taskstats/taskstats-message.h"

typedef struct TaskstatsSocket {
        struct nl_sock *netlink; /* owned */
        int fd;                  /* borrowed from @netlink; to be polled for exits */
        uint16_t family;
        uint32_t sequence; /* of the next request */

        /*
         * For receiving. libnl's nl_recv() peeks, allocates and frees for every answer, which
         * doubles the cost of our cheapest source, so recvmmsg() fills these instead.
         */
        struct mmsghdr headers[TASKSTATS_BATCH_MAX];
        struct iovec places[TASKSTATS_BATCH_MAX];
        struct sockaddr_nl senders[TASKSTATS_BATCH_MAX];
        char requests[TASKSTATS_BATCH_MAX * TASKSTATS_REQUEST_BYTES];
        _Alignas(NLMSG_ALIGNTO) char messages[]; /* one for each place */
} TaskstatsSocket;

/*
 * @cpus: NULL, or a list as "0-63" of the CPUs whose exits are told: all that the kernel could
 * have, for exits on a CPU outside of the list are never told, and a CPU may come online later.
 * The exiting thread pays for the message, so such a socket is open only while somebody wants it.
 *
 * 0, TASKSTATS_E_NO_FAMILY, or -errno. To be told takes CAP_NET_ADMIN in the initial user and pid
 * namespaces; opening needs no privilege otherwise, and asking needs CAP_NET_ADMIN.
 */
_must_check_ int taskstats_open(const char *cpus, TaskstatsSocket **ret);
TaskstatsSocket *taskstats_free(TaskstatsSocket *socket);
DEFINE_CLEANUP(TaskstatsSocket *, taskstats_free);

/*
 * Fills one answer per tid, at most TASKSTATS_BATCH_MAX: its error is 0, the kernel's (-ESRCH: no
 * such thread, -EPERM), -ENODATA when no answer came in time, -EBADMSG for a malformed one, -EPROTO
 * for a struct version that is too old to read. Returns -errno when the socket itself failed.
 */
_must_check_ int taskstats_query(TaskstatsSocket *socket, const pid_t *tids, size_t n_tids,
                                 TaskstatsAnswer *answers);

typedef struct ExitBatch {
        size_t n;
        TaskstatsExit exits[TASKSTATS_BATCH_MAX];
        size_t n_unreadable; /* messages that could not be decoded */
        bool has_lost;       /* the buffer was full: some exits were lost, nobody knows how many */
        bool is_empty;       /* nothing waits any more */
} ExitBatch;

/* Takes what has arrived and does not wait. -errno when the socket itself failed. */
_must_check_ int taskstats_receive_exits(TaskstatsSocket *socket, ExitBatch *ret);
