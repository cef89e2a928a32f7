/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/vault.h"

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
#define VAULT_PREFIX "object."
#define VAULT_STATE_BYTES 512

typedef struct Held {
        char name[VAULT_NAME_MAX_CHARS + 1];
        int fd;
} Held;

struct Vault {
        char digest[VAULT_NAME_MAX_CHARS + 1];
        Held held[LIMIT_HELD_OBJECTS];
        size_t n_held, n_outdated;
};

static bool is_name(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return n > 0 && n <= VAULT_NAME_MAX_CHARS && name[n] == '\0';
}

static size_t find(const Vault *vault, const char *name) {
        size_t i = 0;

        while (i < vault->n_held && strcmp(vault->held[i].name, name) != 0)
                i++;
        return i;
}

static void hold(Vault *vault, const char *name, int fd) {
        Held *held = &vault->held[vault->n_held++];

        (void) snprintf(held->name, sizeof(held->name), "%s", name);
        held->fd = fd;
}

int vault_new(const char *digest, Vault **ret) {
        Vault *vault;

        if (!is_name(digest))
                return -EINVAL;
        vault = calloc(1, sizeof(*vault));
        if (!vault)
                return -ENOMEM;
        (void) snprintf(vault->digest, sizeof(vault->digest), "%s", digest);
        *ret = vault;
        return 0;
}

Vault *vault_free(Vault *vault) {
        if (!vault)
                return NULL;
        for (size_t i = 0; i < vault->n_held; i++)
                (void) fd_close(vault->held[i].fd);
        free(vault);
        return NULL;
}

bool vault_adopt(Vault *vault, const char *fd_name, int fd) {
        char name[VAULT_NAME_MAX_CHARS + 1];
        const char *start, *digest;

        if (strncmp(fd_name, VAULT_PREFIX, strlen(VAULT_PREFIX)) != 0)
                return false;
        start = fd_name + strlen(VAULT_PREFIX);
        digest = strrchr(start, '@');
        if (!digest || (size_t) (digest - start) >= sizeof(name))
                return false;
        (void) snprintf(name, sizeof(name), "%.*s", (int) (digest - start), start);
        if (!is_name(name))
                return false;

        if (strcmp(digest + 1, vault->digest) != 0) {
                (void) sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", fd_name);
                vault->n_outdated++;
        } else if (find(vault, name) == vault->n_held && vault->n_held < LIMIT_HELD_OBJECTS &&
                   fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) {
                hold(vault, name, fd);
                return true;
        }
        (void) fd_close(fd);
        return true;
}

int vault_put(Vault *vault, const char *name, int fd) {
        char state[VAULT_STATE_BYTES];
        int copy;

        if (!is_name(name))
                return -EINVAL;
        if (find(vault, name) == vault->n_held && vault->n_held == LIMIT_HELD_OBJECTS)
                return -ENOSPC;
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (copy < 0)
                return -errno;
        vault_drop(vault, name);
        hold(vault, name, copy);

        /* Without FDPOLL=0 the manager drops an object when poll(2) reports a hang-up on it. */
        (void) snprintf(state, sizeof(state), "FDSTORE=1\nFDPOLL=0\nFDNAME=" VAULT_PREFIX "%s@%s",
                        name, vault->digest);
        return sd_pid_notify_with_fds(0, 0, state, &copy, 1) < 0 ? VAULT_E_NOT_STORED : VAULT_OK;
}

int vault_lend(const Vault *vault, const char *name) {
        size_t i = find(vault, name);
        int fd;

        if (i == vault->n_held)
                return -ENOENT;
        fd = fcntl(vault->held[i].fd, F_DUPFD_CLOEXEC, 0);
        return fd < 0 ? -errno : fd;
}

int vault_file_new(const char *title, uint64_t n_bytes) {
        _cleanup_(fd_closep) int fd = memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || fchmod(fd, 0600) < 0 || ftruncate(fd, (off_t) n_bytes) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        return TAKE_FD(fd);
}

size_t vault_n_outdated(const Vault *vault) {
        return vault->n_outdated;
}

void vault_drop(Vault *vault, const char *name) {
        size_t i = find(vault, name);
        char fd_name[VAULT_STATE_BYTES];

        if (i == vault->n_held)
                return;
        (void) snprintf(fd_name, sizeof(fd_name), VAULT_PREFIX "%s@%s", name, vault->digest);
        (void) sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", fd_name);
        (void) fd_close(vault->held[i].fd);
        vault->held[i] = vault->held[--vault->n_held];
}
