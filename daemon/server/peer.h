/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Peer
 *
 * The process at the other end of a connection, as the kernel recorded it when that end was
 * connected. Nothing a peer does later (setuid, exec, passing the socket on) changes that.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"

typedef struct Peer {
        pid_t pid; /* 0: it is in another pid namespace */
        uid_t uid;
        bool has_start; /* it lived when its connection was taken, so that the number is its own */
        uint64_t start_ticks; /* as in its stat file */
} Peer;

_must_check_ int peer_read(int fd, Peer *ret);

/* When the process that has the number now began. */
_must_check_ bool peer_start_of(pid_t pid, uint64_t *ret_ticks);
