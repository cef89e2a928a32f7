/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskstatsSocket
 *
 * Requests the struct taskstats of many threads at once. One thread uses a socket. Each answer is
 * matched by sequence number and by tid, so a lost, late or doubled answer is never taken for that
 * of another thread.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/taskstats/taskstats-message.h"

typedef struct TaskstatsSocket TaskstatsSocket;

/* 0, TASKSTATS_E_NO_FAMILY, or -errno. Opening needs no privilege; asking needs CAP_NET_ADMIN. */
_must_check_ int taskstats_open(TaskstatsSocket **ret);
TaskstatsSocket *taskstats_free(TaskstatsSocket *socket);
DEFINE_CLEANUP(TaskstatsSocket *, taskstats_free);

/*
 * Fills one answer per tid, at most TASKSTATS_BATCH_MAX: its error is 0, the kernel's (-ESRCH: no
 * such thread, -EPERM), -ENODATA when no answer came in time, -EBADMSG for a malformed one, -EPROTO
 * for a struct version that is too old to read. Returns -errno when the socket itself failed.
 */
_must_check_ int taskstats_query(TaskstatsSocket *socket, const pid_t *tids, size_t n_tids,
                                 TaskstatsAnswer *answers);

/*
 * A netlink socket to the family, for whoever asks about threads and for whoever hears of their
 * exits (exit-socket.h). *ret is the caller's, to be freed with nl_socket_free(). Receiving on it
 * ends after @timeout_seconds. TASKSTATS_E_NO_FAMILY, -errno.
 */
struct nl_sock;
_must_check_ int taskstats_connect(unsigned timeout_seconds, struct nl_sock **ret,
                                   uint16_t *ret_family);
