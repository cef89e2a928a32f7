/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "spool/file-trailer.h"
#include "spool/snapshot-file.h"
#include "spool/spool-directory.h"
#include "wire/limits.h"

int spool_explain(Spool *spool, int error) {
        switch (error) {
        case -ENOSPC:
                return spool_complain(spool, SPOOL_E_FULL,
                                      "is on a file system without free space; remove snapshots "
                                      "or free space there");
        case -EFBIG:
                return spool_complain(spool, SPOOL_E_FULL,
                                      "is full: its file system has no more room beyond what must "
                                      "stay free (KeepFree=) and what running jobs may still "
                                      "write");
        case -EDQUOT:
                return spool_complain(spool, SPOOL_E_FULL,
                                      "has used up the disk quota of its owner; remove snapshots "
                                      "or raise the quota");
        case -EROFS:
                return spool_complain(spool, SPOOL_E_UNAVAILABLE,
                                      "is on a file system mounted read-only");
        case -EACCES:
        case -EPERM:
                return spool_complain(spool, SPOOL_E_UNAVAILABLE, "cannot be written by uid %u",
                                      geteuid());
        default:
                return error;
        }
}

/* life */

int spool_adopt(int dir_fd, const char *path, Spool **ret) {
        _cleanup_(spool_freep) Spool *spool = malloc(sizeof(*spool));
        size_t n = strlen(path);

        if (!spool)
                return -ENOMEM;
        *spool = (Spool){ .dir_fd = -EBADF, .patience_ns = LIMIT_SPOOL_LOCK_NS };
        /* "dir/" would be followed if dir were a symbolic link. */
        while (n > 1 && path[n - 1] == '/')
                n--;
        spool->path = strndup(path, n);
        if (!spool->path)
                return -ENOMEM;
        spool->dir_fd = dir_fd;
        *ret = TAKE_PTR(spool);
        return 0;
}

Spool *spool_free(Spool *spool) {
        if (!spool)
                return NULL;
        spool->dir_fd = fd_close(spool->dir_fd);
        buffer_done(&spool->change.removed);
        buffer_done(&spool->change.added);
        free(spool->roll);
        free(spool->path);
        free(spool);
        return NULL;
}

int spool_open(const char *path, Spool **ret) {
        int r;

        r = spool_adopt(-EBADF, path, ret);
        if (r < 0)
                return r;
        return spool_refresh(*ret) ? 0 : SPOOL_E_UNAVAILABLE;
}

bool spool_refresh(Spool *spool) {
        struct stat st;
        int error;

        if (spool->dir_fd >= 0 && fstat(spool->dir_fd, &st) == 0 && st.st_nlink > 0)
                return false;
        (void) fd_close(spool->dir_fd);
        spool->dir_fd = open(spool->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        spool->is_unavailable = spool->dir_fd < 0;
        if (!spool->is_unavailable)
                return true;
        error = errno;
        spool->dir_fd = -EBADF;
        if (error == ENOENT)
                (void) spool_complain(
                        spool, SPOOL_E_UNAVAILABLE,
                        "does not exist: make that directory, with mode 0700, or start ctprofd "
                        "with another one (--spool DIR)");
        else if ((error != ENOTDIR && error != ELOOP) || lstat(spool->path, &st) < 0 ||
                 S_ISDIR(st.st_mode))
                (void) spool_complain(spool, SPOOL_E_UNAVAILABLE, "cannot be opened: %s",
                                      strerror(error));
        else if (S_ISLNK(st.st_mode))
                (void) spool_complain(spool, SPOOL_E_UNAVAILABLE,
                                      "is a symbolic link; name the directory itself");
        else
                (void) spool_complain(spool, SPOOL_E_UNAVAILABLE, "is not a directory");
        return false;
}

int spool_take_roll(Spool *spool, int fd) {
        _cleanup_(fd_closep) int owned = fd;
        _cleanup_(freep) SpoolRoll *roll = NULL;
        struct stat st;
        size_t n, n_read;
        int r;

        if (owned < 0)
                return 0;
        if (fstat(owned, &st) < 0)
                return -errno;
        n = (size_t) st.st_size;
        if (n < sizeof(*roll) ||
            n > sizeof(*roll) + LIMIT_INDEXED_SNAPSHOTS * sizeof(*roll->entries))
                return -EBADMSG;
        roll = malloc(n);
        if (!roll)
                return -ENOMEM;
        r = file_read_at(fd, roll, n, 0, &n_read);
        if (r < 0)
                return r;
        if (n_read < n || roll->n > LIMIT_INDEXED_SNAPSHOTS ||
            n != sizeof(*roll) + roll->n * sizeof(*roll->entries))
                return -EBADMSG;
        for (size_t i = 0; i < roll->n; i++)
                if (!memchr(roll->entries[i].name, '\0', sizeof(roll->entries[i].name)))
                        return -EBADMSG;
        spool->roll = TAKE_PTR(roll);
        return 0;
}

const SpoolRoll *spool_current_roll(const Spool *spool) {
        SpoolStamp now;

        return spool->roll && spool_stamp_read(spool->dir_fd, &now) == 0 &&
                               memcmp(&now, &spool->roll->stamp, sizeof(now)) == 0
                       ? spool->roll
                       : NULL;
}

SpoolAccess spool_tighten(Spool *spool) {
        struct stat st;

        if (spool->dir_fd < 0 || fstat(spool->dir_fd, &st) < 0 || (st.st_mode & 077) == 0)
                return SPOOL_ACCESS_PRIVATE;
        if (st.st_uid != geteuid() || fchmod(spool->dir_fd, st.st_mode & 0700) < 0)
                return SPOOL_ACCESS_SHARED;
        return SPOOL_ACCESS_TIGHTENED;
}

/* reading */

static int open_file(const Spool *spool, const char *name, int *ret_fd) {
        char file[SPOOL_FILE_BYTES];
        struct stat st;
        int fd;

        if (!spool_file_name(name, file))
                return SPOOL_E_NOT_FOUND;
        fd = openat(spool->dir_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT || errno == ELOOP ? SPOOL_E_NOT_FOUND : -errno;
        if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
                (void) fd_close(fd);
                return SPOOL_E_NOT_FOUND;
        }
        *ret_fd = fd;
        return 0;
}

void spool_describe(int fd, Head *head) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return;
        head->has_size = head->has_allocated = head->has_published = true;
        head->size_bytes = (uint64_t) st.st_size;
        head->allocated_bytes = (uint64_t) st.st_blocks * SPOOL_BLOCK_BYTES;
        head->published_realtime_ns = spool_published_ns(&st);
}

/* Reads the head and sets its name to that of the file. SPOOL_E_DAMAGED sets the fault. */
static int read_head(int fd, const char *name, Head *ret, SnapshotFault *ret_fault) {
        int r;

        r = snapshot_file_read_head(fd, ret, ret_fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD || r == SNAPSHOT_FILE_E_DAMAGED)
                return SPOOL_E_DAMAGED;
        if (r != 0)
                return err_fold(r);
        memcpy(ret->name, name, strlen(name) + 1);
        spool_describe(fd, ret);
        return 0;
}

int spool_open_snapshot(Spool *spool, const char *name, int *ret_fd, Head *ret_head) {
        _cleanup_(fd_closep) int fd = -EBADF;
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        r = open_file(spool, name, &fd);
        if (r != 0)
                return r;
        if (ret_head) {
                r = read_head(fd, name, ret_head, NULL);
                if (r != 0)
                        return r;
        }
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int spool_read_entry(const Spool *spool, const char *name, SpoolEntry *ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        SpoolEntry entry = {};
        int r;

        r = open_file(spool, name, &fd);
        if (r == SPOOL_E_NOT_FOUND || r == -ENOMEM || r == -EMFILE || r == -ENFILE)
                return r;
        if (r == 0)
                r = read_head(fd, name, &entry.head, &entry.fault);
        if (r == -ENOMEM)
                return r;
        if (r != 0) {
                entry.damaged = true;
                entry.is_unread = r < 0;
                memcpy(entry.head.name, name, strlen(name) + 1);
                if (fd >= 0)
                        spool_describe(fd, &entry.head);
                if (r < 0)
                        fault_set(&entry.fault, FAULT_NOWHERE, "it cannot be read: %s",
                                  strerror(-r));
        }
        *ret = entry;
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        const SpoolEntry *x = a, *y = b;

        if (x->damaged || y->damaged) {
                if (x->damaged && y->damaged)
                        return strcmp(x->head.name, y->head.name);
                return x->damaged ? 1 : -1;
        }
        if (x->head.published_realtime_ns != y->head.published_realtime_ns)
                return x->head.published_realtime_ns < y->head.published_realtime_ns ? 1 : -1;
        return strcmp(y->head.name, x->head.name);
}

void spool_entries_free(SpoolEntry *entries, size_t n_entries) {
        for (size_t i = 0; i < n_entries; i++)
                head_done(&entries[i].head);
        free(entries);
}

int spool_list(Spool *spool, SpoolEntry **ret, size_t *ret_n) {
        _cleanup_(buffer_done) Buffer names = {};
        size_t n_entries = 0, n_allocated = 0;
        SpoolEntry *entries = NULL;
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        r = spool_names(spool, SPOOL_NAMES_SNAPSHOTS, &names);
        for (size_t at = 0; r == 0 && at < names.n; at += strlen(names.bytes + at) + 1) {
                r = ARRAY_RESERVE(entries, n_allocated, n_entries + 1);
                if (r < 0)
                        break;
                r = spool_read_entry(spool, names.bytes + at, &entries[n_entries]);
                if (r == 0)
                        n_entries++;
                else
                        r = r == SPOOL_E_NOT_FOUND ? 0 : err_fold(r);
        }
        if (r < 0) {
                spool_entries_free(entries, n_entries);
                return r;
        }
        if (n_entries > 1)
                qsort(entries, n_entries, sizeof(*entries), compare_entries);
        *ret = entries;
        *ret_n = n_entries;
        return 0;
}

int spool_resolve(Spool *spool, Span reference, char ret_name[static SPOOL_NAME_BYTES]) {
        char name[SPOOL_NAME_BYTES];
        SpoolEntry *entries = NULL;
        size_t n_entries = 0;
        uint64_t back;
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        if (!snapshot_name_is_relative(reference, &back)) {
                if (snapshot_name_complaint(reference))
                        return SPOOL_E_NOT_FOUND;
                memcpy(name, reference.bytes, reference.n);
                name[reference.n] = '\0';
                r = spool_stat(spool, name, NULL);
                if (r == 0)
                        memcpy(ret_name, name, reference.n + 1);
                return r;
        }
        r = spool_list(spool, &entries, &n_entries);
        if (r != 0)
                return r;
        r = SPOOL_E_NOT_FOUND;
        for (size_t i = 0; i < n_entries && r != 0; i++) {
                if (entries[i].damaged || entries[i].head.imported_from || back-- > 0)
                        continue;
                memcpy(ret_name, entries[i].head.name, SPOOL_NAME_BYTES);
                r = 0;
        }
        spool_entries_free(entries, n_entries);
        return r;
}
