/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#define PEER_FIRST_GROUPS 32

/*
 * The kernel answers ERANGE with the length it wants; a fixed set of groups cannot grow meanwhile.
 */
static int read_groups(int fd, gid_t **ret, size_t *ret_n) {
        socklen_t n_bytes = PEER_FIRST_GROUPS * sizeof(gid_t);
        _cleanup_(freep) gid_t *groups = NULL;

        groups = malloc(n_bytes);
        if (!groups)
                return -ENOMEM;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n_bytes) < 0) {
                gid_t *more;

                if (errno != ERANGE)
                        return -errno;
                more = realloc(groups, n_bytes);
                if (!more)
                        return -ENOMEM;
                groups = more;
                if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n_bytes) < 0)
                        return -errno;
        }
        *ret = TAKE_PTR(groups);
        *ret_n = n_bytes / sizeof(gid_t);
        return 0;
}

int peer_read(int fd, Peer *ret) {
        struct ucred credentials;
        socklen_t n = sizeof(credentials);
        gid_t *groups = NULL;
        size_t n_groups = 0;
        int r;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &n) < 0)
                return -errno;
        r = read_groups(fd, &groups, &n_groups);
        if (r < 0)
                return r;
        *ret = (Peer){
                .pid = credentials.pid,
                .uid = credentials.uid,
                .gid = credentials.gid,
                .groups = groups,
                .n_groups = n_groups,
        };
        return 0;
}

void peer_done(Peer *peer) {
        free(peer->groups);
        *peer = (Peer){ .pid = 0 };
}

bool peer_has_group(const Peer *peer, gid_t gid) {
        if (peer->gid == gid)
                return true;
        for (size_t i = 0; i < peer->n_groups; i++)
                if (peer->groups[i] == gid)
                        return true;
        return false;
}
