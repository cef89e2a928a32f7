/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/number.h"

/* Large because of proc_walk_list_threads(); pages that are never filled take no memory. */
#define ENTRIES_BYTES (1024 * 1024)
#define MAX_LISTINGS 4
/*
 * A task directory counts the threads of its process as links, beside the two of every directory
 * (proc_task_getattr() of fs/proc/base.c).
 */
#define LINKS_OF_ONE_THREAD 3

void proc_walk_done(ProcWalk *walk) {
        free(walk->ids);
        free(walk->entries);
        *walk = (ProcWalk){};
}

/* Adds the names of the directory that are ids. */
static int read_ids(ProcWalk *walk, int dir_fd) {
        if (lseek(dir_fd, 0, SEEK_SET) < 0)
                return -errno;
        for (;;) {
                ssize_t n = getdents64(dir_fd, walk->entries, ENTRIES_BYTES);
                const struct dirent64 *entry;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return text_file_code(errno);
                if (n == 0)
                        return 0;
                for (size_t at = 0; at < (size_t) n; at += entry->d_reclen) {
                        uint32_t id;
                        int r;

                        entry = (const void *) (walk->entries + at);
                        if (entry->d_name[0] == '0' ||
                            !number_parse_u32(span_of(entry->d_name), &id) || id > INT32_MAX)
                                continue;
                        if (walk->n_ids == PROC_WALK_MAX_IDS)
                                return TEXT_E_TOO_LARGE;
                        r = ARRAY_RESERVE(walk->ids, walk->n_allocated, walk->n_ids + 1);
                        if (r < 0)
                                return r;
                        walk->ids[walk->n_ids++] = (pid_t) id;
                }
        }
}

static int compare_ids(const void *a, const void *b) {
        const pid_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* The kernel lists /proc in ascending order, but other file systems do not. */
static void sort_ids(ProcWalk *walk) {
        size_t n = 0;

        for (size_t i = 1; i < walk->n_ids; i++)
                if (walk->ids[i - 1] >= walk->ids[i]) {
                        qsort(walk->ids, walk->n_ids, sizeof(walk->ids[0]), compare_ids);
                        break;
                }
        for (size_t i = 0; i < walk->n_ids; i++)
                if (n == 0 || walk->ids[n - 1] != walk->ids[i])
                        walk->ids[n++] = walk->ids[i];
        walk->n_ids = n;
}

int proc_walk_list(ProcWalk *walk, int dir_fd) {
        int r;

        walk->n_ids = 0;
        if (!walk->entries)
                walk->entries = malloc(ENTRIES_BYTES);
        if (!walk->entries)
                return -ENOMEM;
        r = read_ids(walk, dir_fd);
        if (r != 0)
                walk->n_ids = 0;
        sort_ids(walk);
        return r;
}

int proc_walk_put(ProcWalk *walk, pid_t id) {
        int r = ARRAY_RESERVE(walk->ids, walk->n_allocated, 1);

        walk->n_ids = r == 0;
        if (r == 0)
                walk->ids[0] = id;
        return r;
}

int proc_walk_list_threads(ProcWalk *walk, int dir_fd, const char *path, pid_t tgid) {
        _cleanup_(fd_closep) int fd = -EBADF;
        struct stat status;
        bool is_same;
        int r;

        if (fstatat(dir_fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
            status.st_nlink == LINKS_OF_ONE_THREAD)
                return proc_walk_put(walk, tgid);
        walk->n_ids = 0;
        r = text_file_open_directory(dir_fd, path, &fd);
        if (r == 0)
                r = proc_walk_list(walk, fd);
        is_same = r == 0 && walk->n_ids == 1 && fstat(fd, &status) == 0 &&
                  S_ISDIR(status.st_mode) && status.st_nlink == LINKS_OF_ONE_THREAD;
        for (unsigned i = 1; r == 0 && !is_same && i < MAX_LISTINGS; i++) {
                size_t n = walk->n_ids;

                r = read_ids(walk, fd);
                if (r != 0)
                        break;
                if (walk->n_ids == 2 * n &&
                    memcmp(walk->ids, walk->ids + n, n * sizeof(*walk->ids)) == 0)
                        walk->n_ids = n;
                else
                        sort_ids(walk);
                is_same = walk->n_ids == n;
        }
        if (r != 0)
                walk->n_ids = 0;
        return r;
}
