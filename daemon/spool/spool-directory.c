/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool-directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

int spool_complain(Spool *spool, int code, const char *format, ...) {
        va_list args;
        int n;

        n = snprintf(spool->complaint, sizeof(spool->complaint), "Spool \"%s\" ", spool->path);
        if (n < 0 || (size_t) n >= sizeof(spool->complaint) / 2)
                n = snprintf(spool->complaint, sizeof(spool->complaint), "The spool ");
        va_start(args, format);
        (void) vsnprintf(spool->complaint + n, sizeof(spool->complaint) - (size_t) n, format, args);
        va_end(args);
        return code;
}

bool spool_file_name(const char *name, char ret_file[static SPOOL_FILE_BYTES]) {
        if (snapshot_name_complaint(span_of(name)))
                return false;
        (void) snprintf(ret_file, SPOOL_FILE_BYTES, "%s" SNAPSHOT_FILE_SUFFIX, name);
        return true;
}

int spool_walk_new(const Spool *spool, SpoolWalk *ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        DIR *dir;

        /*
         * Reopen the directory: the position of the spool's descriptor is shared with every process
         * it was sent to.
         */
        fd = openat(spool->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        dir = fdopendir(fd);
        if (!dir)
                return -errno;
        (void) TAKE_FD(fd);
        *ret = dir;
        return 0;
}

int spool_walk_next(SpoolWalk walk, char ret_name[static SPOOL_NAME_BYTES], bool *ret_more) {
        const size_t n_suffix = sizeof(SNAPSHOT_FILE_SUFFIX) - 1;

        for (;;) {
                const struct dirent *entry;
                size_t n;

                errno = 0;
                entry = readdir(walk);
                if (!entry) {
                        *ret_more = false;
                        return -errno;
                }
                n = strlen(entry->d_name);
                if (n <= n_suffix ||
                    strcmp(entry->d_name + n - n_suffix, SNAPSHOT_FILE_SUFFIX) != 0)
                        continue;
                if (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN)
                        continue;
                n -= n_suffix;
                if (snapshot_name_complaint((Span){ entry->d_name, n }))
                        continue;
                memcpy(ret_name, entry->d_name, n);
                ret_name[n] = '\0';
                *ret_more = true;
                return 0;
        }
}

int spool_stat(const Spool *spool, const char *name, struct stat *ret) {
        char file[SPOOL_FILE_BYTES];
        struct stat st;

        if (!spool_file_name(name, file))
                return SPOOL_E_NOT_FOUND;
        if (fstatat(spool->dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? SPOOL_E_NOT_FOUND : -errno;
        if (!S_ISREG(st.st_mode))
                return SPOOL_E_NOT_FOUND;
        if (ret)
                *ret = st;
        return 0;
}

uint64_t spool_published_ns(const struct stat *st) {
        if (st->st_mtim.tv_sec < 0)
                return 0;
        return number_add_saturating(
                number_multiply_saturating((uint64_t) st->st_mtim.tv_sec, NSEC_PER_SEC),
                (uint64_t) st->st_mtim.tv_nsec);
}

/* Its unit is the same on every file system. */
uint64_t spool_bytes_of(const struct stat *st) {
        return (uint64_t) st->st_blocks * 512;
}

int spool_sync_fd(int fd) {
        int r;

        do
                r = fsync(fd);
        while (r < 0 && errno == EINTR);
        return r < 0 ? -errno : 0;
}
