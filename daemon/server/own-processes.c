/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/own-processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "kernel/procfs/proc-task.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

/* Holds the line of a process, whose name has 15 bytes at most and whose numbers are 49. */
#define STAT_BYTES 2048

/* peers */

bool peer_start_of(pid_t pid, uint64_t *ret_ticks) {
        char path[64], text[STAT_BYTES];
        ProcStat stat;
        size_t n;

        (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
        if (pid <= 0 || text_file_read(AT_FDCWD, path, text, sizeof(text), &n) != 0)
                return false;
        if (proc_stat_parse((Span){ text, n }, &stat) < 0 || !stat.has_identity)
                return false;
        *ret_ticks = stat.starttime;
        return true;
}

int peer_read(int fd, Peer *ret) {
        _cleanup_(fd_closep) int pidfd = -EBADF;
        struct ucred credentials;
        socklen_t n = sizeof(credentials), n_pidfd = sizeof(pidfd);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &n) < 0)
                return -errno;
        *ret = (Peer){ .pid = credentials.pid, .uid = credentials.uid };
        /*
         * Between connecting and now the process may have ended and another one may have got its
         * number. A kernel that gives a descriptor of it tells, by input there; on another one that
         * would have to happen within the moment that a connection waits to be taken.
         */
        if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n_pidfd) < 0) {
                pidfd = -EBADF;
                if (errno != ENOPROTOOPT)
                        return 0;
        }
        ret->has_start =
                peer_start_of(ret->pid, &ret->start_ticks) &&
                (pidfd < 0 || poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0) == 0);
        return 0;
}

/* the list */

int own_processes_init(OwnProcesses *own) {
        LedgerOwn *list;

        *own = (OwnProcesses){ .fd = memfd_create("ctprof-own", MFD_CLOEXEC) };
        if (own->fd < 0 || ftruncate(own->fd, sizeof(LedgerOwn)) < 0)
                return -errno;
        list = mmap(NULL, sizeof(LedgerOwn), PROT_READ | PROT_WRITE, MAP_SHARED, own->fd, 0);
        if (list == MAP_FAILED)
                return -errno;
        own->lists[0] = list;
        return 0;
}

void own_processes_done(OwnProcesses *own) {
        for (unsigned l = 0; l < ELEMENTSOF(own->lists) && own->lists[l]; l++)
                (void) munmap(own->lists[l], sizeof(LedgerOwn));
        own->fd = fd_close(own->fd);
}

/*
 * Sets a place in the lists from @first on. A reader meanwhile finds a place that is free rather
 * than one of two processes.
 */
static void set_place(OwnProcesses *own, unsigned first, size_t i, const LedgerOwnPlace *value) {
        for (unsigned l = first; l < ELEMENTSOF(own->lists) && own->lists[l]; l++) {
                LedgerOwnPlace *place = &own->lists[l]->places[i];

                __atomic_store_n(&place->until_ns, 0, __ATOMIC_SEQ_CST);
                __atomic_store_n(&place->pid, value->pid, __ATOMIC_SEQ_CST);
                __atomic_store_n(&place->start_ticks, value->start_ticks, __ATOMIC_SEQ_CST);
                __atomic_store_n(&place->until_ns, value->until_ns, __ATOMIC_SEQ_CST);
        }
}

#define NO_PLACE LEDGER_OWN_PLACES

static size_t find(const OwnProcesses *own, const Peer *peer) {
        size_t home = ledger_own_home((unsigned) peer->pid);

        for (size_t i = home; i < home + LEDGER_OWN_TRIES; i++) {
                const LedgerOwnPlace *place = &own->lists[0]->places[i];

                if (own->n_connections[i] > 0 && place->pid == (unsigned) peer->pid &&
                    place->start_ticks == peer->start_ticks)
                        return i;
        }
        return NO_PLACE;
}

void own_processes_enter(OwnProcesses *own, const Peer *peer) {
        const LedgerOwnPlace place = {
                .pid = (unsigned) peer->pid,
                .start_ticks = peer->start_ticks,
                .until_ns = LEDGER_OWN_FOR_EVER,
        };
        size_t home = ledger_own_home((unsigned) peer->pid), i = find(own, peer);
        bool is_found = i != NO_PLACE;

        if (!peer->has_start)
                return;
        /* A new process gets the place that was left first, or never used. */
        for (size_t k = home; k < home + LEDGER_OWN_TRIES && !is_found; k++)
                if (own->n_connections[k] == 0 &&
                    (i == NO_PLACE ||
                     own->lists[0]->places[k].until_ns < own->lists[0]->places[i].until_ns))
                        i = k;
        if (i == NO_PLACE)
                return;
        if (own->n_connections[i]++ == 0)
                set_place(own, 0, i, &place);
}

static void leave_place(OwnProcesses *own, size_t i) {
        LedgerOwnPlace place = own->lists[0]->places[i];

        place.until_ns = clock_now_ns(CLOCK_BOOTTIME) + LEDGER_FAREWELL_NS;
        own->n_connections[i] = 0;
        set_place(own, 0, i, &place);
}

void own_processes_leave(OwnProcesses *own, const Peer *peer) {
        size_t i = find(own, peer);

        if (i == NO_PLACE)
                return;
        if (own->n_connections[i] > 1)
                own->n_connections[i]--;
        else
                leave_place(own, i);
}

size_t own_processes_get_pids(OwnProcesses *own, pid_t *ret, size_t n) {
        size_t n_pids = 0;

        for (size_t i = 0; i < LEDGER_OWN_PLACES && n_pids < n; i++) {
                const LedgerOwnPlace *place = &own->lists[0]->places[i];
                uint64_t start_ticks;

                if (own->n_connections[i] == 0)
                        continue;
                if (peer_start_of((pid_t) place->pid, &start_ticks) &&
                    start_ticks == place->start_ticks)
                        ret[n_pids++] = (pid_t) place->pid;
                else
                        leave_place(own, i);
        }
        return n_pids;
}

int own_processes_lend(const OwnProcesses *own) {
        int fd = fcntl(own->fd, F_DUPFD_CLOEXEC, 0);

        return fd < 0 ? -errno : fd;
}

int own_processes_share(OwnProcesses *own, int fd) {
        LedgerOwn *copy = mmap(NULL, sizeof(LedgerOwn), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (copy == MAP_FAILED)
                return -errno;
        if (own->lists[1])
                (void) munmap(own->lists[1], sizeof(*copy));
        own->lists[1] = copy;
        for (size_t i = 0; i < LEDGER_OWN_PLACES; i++)
                set_place(own, 1, i, &own->lists[0]->places[i]);
        return 0;
}
