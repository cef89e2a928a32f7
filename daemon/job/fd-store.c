/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/fd-store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "wire/limits.h"

/*
 * The service manager knows an object as PREFIX NAME "@" DIGEST. It allows 255 characters, none of
 * them a colon.
 */
#define FD_STORE_PREFIX "object."
#define FD_STORE_STATE_BYTES 512

typedef struct Held {
        char name[FD_STORE_NAME_MAX_CHARS + 1];
        int fd;
} Held;

struct FdStore {
        char digest[FD_STORE_NAME_MAX_CHARS + 1];
        Held held[LIMIT_HELD_OBJECTS];
        size_t n_held, n_outdated;
};

static bool is_name(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return n > 0 && n <= FD_STORE_NAME_MAX_CHARS && name[n] == '\0';
}

static size_t find(const FdStore *fd_store, const char *name) {
        size_t i = 0;

        while (i < fd_store->n_held && strcmp(fd_store->held[i].name, name) != 0)
                i++;
        return i;
}

int fd_store_new(const char *digest, FdStore **ret) {
        FdStore *fd_store;

        if (!is_name(digest))
                return -EINVAL;
        fd_store = calloc(1, sizeof(*fd_store));
        if (!fd_store)
                return -ENOMEM;
        (void) snprintf(fd_store->digest, sizeof(fd_store->digest), "%s", digest);
        *ret = fd_store;
        return 0;
}

FdStore *fd_store_free(FdStore *fd_store) {
        if (!fd_store)
                return NULL;
        for (size_t i = 0; i < fd_store->n_held; i++)
                (void) fd_close(fd_store->held[i].fd);
        free(fd_store);
        return NULL;
}

bool fd_store_adopt(FdStore *fd_store, const char *fd_name, int fd) {
        char name[FD_STORE_NAME_MAX_CHARS + 1];
        const char *start, *digest;
        Held *held;

        if (strncmp(fd_name, FD_STORE_PREFIX, strlen(FD_STORE_PREFIX)) != 0)
                return false;
        start = fd_name + strlen(FD_STORE_PREFIX);
        digest = strrchr(start, '@');
        if (!digest || (size_t) (digest - start) >= sizeof(name))
                return false;
        (void) snprintf(name, sizeof(name), "%.*s", (int) (digest - start), start);
        if (!is_name(name))
                return false;

        if (strcmp(digest + 1, fd_store->digest) != 0) {
                (void) sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", fd_name);
                fd_store->n_outdated++;
        } else if (find(fd_store, name) == fd_store->n_held &&
                   fd_store->n_held < LIMIT_HELD_OBJECTS && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) {
                held = &fd_store->held[fd_store->n_held++];
                held->fd = fd;
                (void) snprintf(held->name, sizeof(held->name), "%s", name);
                return true;
        }
        (void) fd_close(fd);
        return true;
}

int fd_store_put(FdStore *fd_store, const char *name, int fd) {
        char state[FD_STORE_STATE_BYTES];
        Held *held;
        int copy;

        if (!is_name(name))
                return -EINVAL;
        if (find(fd_store, name) == fd_store->n_held && fd_store->n_held == LIMIT_HELD_OBJECTS)
                return -ENOSPC;
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (copy < 0)
                return -errno;
        fd_store_drop(fd_store, name);
        held = &fd_store->held[fd_store->n_held++];
        held->fd = copy;
        (void) snprintf(held->name, sizeof(held->name), "%s", name);

        /* Without FDPOLL=0 the manager drops an object when poll(2) reports a hang-up on it. */
        (void) snprintf(state, sizeof(state),
                        "FDSTORE=1\nFDPOLL=0\nFDNAME=" FD_STORE_PREFIX "%s@%s", name,
                        fd_store->digest);
        return sd_pid_notify_with_fds(0, 0, state, &copy, 1) < 0 ? FD_STORE_E_NOT_STORED
                                                                 : FD_STORE_OK;
}

int fd_store_borrow(const FdStore *fd_store, const char *name) {
        size_t i = find(fd_store, name);
        int fd;

        if (i == fd_store->n_held)
                return -ENOENT;
        fd = fcntl(fd_store->held[i].fd, F_DUPFD_CLOEXEC, 0);
        return fd < 0 ? -errno : fd;
}

int fd_store_file_new(const char *title, uint64_t n_bytes) {
        _cleanup_(fd_closep) int fd = memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || fchmod(fd, 0600) < 0 || ftruncate(fd, (off_t) n_bytes) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        return TAKE_FD(fd);
}

size_t fd_store_n_outdated(const FdStore *fd_store) {
        return fd_store->n_outdated;
}

void fd_store_drop(FdStore *fd_store, const char *name) {
        size_t i = find(fd_store, name);
        char fd_name[FD_STORE_STATE_BYTES];

        if (i == fd_store->n_held)
                return;
        (void) snprintf(fd_name, sizeof(fd_name), FD_STORE_PREFIX "%s@%s", name, fd_store->digest);
        (void) sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", fd_name);
        (void) fd_close(fd_store->held[i].fd);
        fd_store->held[i] = fd_store->held[--fd_store->n_held];
}
