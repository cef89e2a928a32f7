/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitSocket
 *
 * A netlink socket to which the kernel sends a message when a thread ends, whichever it is. The
 * exiting thread pays for the message, so this is open only while somebody wants it.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/taskstats/taskstats-message.h"

typedef struct ExitSocket ExitSocket;

/* Exits that one call receives at most. */
#define EXIT_BATCH_MAX 64

/*
 * Registers for the exits on the CPUs @cpus, a list as "0-63": all that the kernel could have, for
 * exits on a CPU outside of the list are never told, and a CPU may come online later. Takes
 * CAP_NET_ADMIN, in the initial user and pid namespaces. 0, TASKSTATS_E_NO_FAMILY, or -errno.
 */
_must_check_ int exit_socket_open(const char *cpus, ExitSocket **ret);
ExitSocket *exit_socket_free(ExitSocket *socket);
DEFINE_CLEANUP(ExitSocket *, exit_socket_free);

/* To be polled for input. */
int exit_socket_fd(const ExitSocket *socket);

typedef struct ExitBatch {
        size_t n;
        TaskstatsExit exits[EXIT_BATCH_MAX];
        size_t n_unreadable; /* messages that could not be decoded */
        bool has_lost;       /* the buffer was full: some exits were lost, nobody knows how many */
        bool is_empty;       /* nothing waits any more */
} ExitBatch;

/* Takes what has arrived and does not wait. -errno when the socket itself failed. */
_must_check_ int exit_socket_receive(ExitSocket *socket, ExitBatch *ret);
