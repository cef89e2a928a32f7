/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Peer
 *
 * The credentials of the process at the other end of a connection, as the kernel recorded them when
 * that end was connected. Nothing a peer does later (setuid, exec, passing the socket on) changes
 * them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/macro.h"

typedef struct Peer {
        pid_t pid;
        uid_t uid;
        gid_t gid;
        gid_t *groups; /* owned */
        size_t n_groups;
} Peer;

_must_check_ int peer_read(int fd, Peer *ret);
void peer_done(Peer *peer);

/* @gid is the peer's group or one of its supplementary groups. */
bool peer_has_group(const Peer *peer, gid_t gid);
