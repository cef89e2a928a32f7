/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DIRECTORY_MODE 0700

int file_read_at(int fd, void *bytes, size_t n, uint64_t offset, size_t *ret_n) {
        size_t n_read = 0;

        while (n_read < n) {
                ssize_t k =
                        pread(fd, (char *) bytes + n_read, n - n_read, (off_t) (offset + n_read));

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n_read += (size_t) k;
        }
        *ret_n = n_read;
        return 0;
}

int file_write(int fd, const void *bytes, size_t n) {
        while (n > 0) {
                ssize_t k = write(fd, bytes, n);

                if (k < 0 && errno == EAGAIN) {
                        /* A pipe that somebody made non-blocking: wait as write(2) would have. */
                        struct pollfd ready = { .fd = fd, .events = POLLOUT };

                        if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                                return -errno;
                        continue;
                }
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                bytes = (const char *) bytes + k;
                n -= (size_t) k;
        }
        return 0;
}

int directory_make(const char *path) {
        _cleanup_(freep) char *copy = strdup(path);
        int refused = 0;

        if (!copy)
                return -ENOMEM;
        for (char *slash = copy;;) {
                _cleanup_(fd_closep) int directory = -EBADF, parent = -EBADF;
                int r = 0;

                slash = *slash ? strchr(slash + 1, '/') : NULL;
                if (slash)
                        *slash = '\0';
                if (mkdir(copy, DIRECTORY_MODE) < 0)
                        r = errno == EEXIST ? 0 : -errno;
                else {
                        directory = open(copy, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                        if (directory >= 0)
                                parent =
                                        openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                        if (parent < 0 || fsync(parent) < 0)
                                r = -errno;
                }
                if (!slash)
                        return r < 0 && refused < 0 ? refused : r;
                *slash = '/';
                /* Some systems say this before they say that the directory is there. */
                if (r == -EROFS || r == -EACCES)
                        refused = refused < 0 ? refused : r;
                else if (r < 0)
                        return r;
        }
}
