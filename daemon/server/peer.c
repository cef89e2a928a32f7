/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "kernel/procfs/proc-task.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

/* Holds the line of a process, whose name has 15 bytes at most and whose numbers are 49. */
#define STAT_BYTES 2048

bool peer_start_of(pid_t pid, uint64_t *ret_ticks) {
        char path[64], text[STAT_BYTES];
        ProcStat stat;
        size_t n;

        (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
        if (pid <= 0 || procfs_read(AT_FDCWD, path, text, sizeof(text), &n) != 0)
                return false;
        if (proc_stat_parse((Span){ text, n }, &stat) < 0 || !stat.has_identity)
                return false;
        *ret_ticks = stat.starttime;
        return true;
}

/* The kernel reports the end of a process as input of its descriptor. */
static bool has_ended(int pidfd) {
        struct pollfd wait = { .fd = pidfd, .events = POLLIN };

        return poll(&wait, 1, 0) != 0;
}

/*
 * Between connecting and now the process may have ended and another one may have got its number. A
 * kernel that gives a descriptor of it tells; on another one that would have to happen within the
 * moment that a connection waits to be taken.
 */
static void read_start(int fd, Peer *peer) {
        _cleanup_(fd_closep) int pidfd = -EBADF;
        socklen_t n = sizeof(pidfd);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0) {
                pidfd = -EBADF;
                if (errno != ENOPROTOOPT)
                        return;
        }
        peer->has_start =
                peer_start_of(peer->pid, &peer->start_ticks) && (pidfd < 0 || !has_ended(pidfd));
}

int peer_read(int fd, Peer *ret) {
        struct ucred credentials;
        socklen_t n = sizeof(credentials);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &n) < 0)
                return -errno;
        *ret = (Peer){ .pid = credentials.pid, .uid = credentials.uid };
        read_start(fd, ret);
        return 0;
}
