/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "call/cancel.h"
#include "render/terminal.h"
#include "session/complain.h"
#include "wire/limits.h"

#define COPY_BYTES (128 * 1024)
#define NAME_TRIES 100

struct Output {
        const char *path;
        OutputMode mode;
        int fd;
        char *final_path;     /* symbolic links resolved; NULL: written in place */
        char *temporary_path; /* NULL: there is none */
};

static int complain_path(const Output *output, int error, const char *what) {
        char quoted[QUOTE_BYTES];

        return complain(STATUS_FAILED, "%s cannot be %s: %s.",
                        output->fd == STDOUT_FILENO ? "Standard output"
                                                    : quote(output->path, quoted),
                        what, strerror(error));
}

static int complain_exists(const Output *output) {
        char quoted[QUOTE_BYTES];
        struct stat st;

        if (stat(output->path, &st) == 0 && S_ISDIR(st.st_mode))
                return complain(STATUS_FAILED, "%s is a directory: name a file in it.",
                                quote(output->path, quoted));
        return complain(
                STATUS_FAILED,
                "%s exists, and export never overwrites a file: remove it or name another file.",
                quote(output->path, quoted));
}

Output *output_free(Output *output) {
        if (!output)
                return NULL;
        if (output->fd != STDOUT_FILENO)
                (void) fd_close(output->fd);
        if (output->temporary_path)
                (void) unlink(output->temporary_path);
        free(output->temporary_path);
        free(output->final_path);
        free(output);
        return NULL;
}

/* ".NAME.XXXX" in the directory of the target, so that the rename never crosses a file system. */
static int open_temporary(Output *output) {
        const char *slash = strrchr(output->final_path, '/');
        int directory = slash ? (int) (slash - output->final_path) + 1 : 0;
        int error = EEXIST;

        for (unsigned i = 0; i < NAME_TRIES; i++) {
                free(output->temporary_path);
                if (asprintf(&output->temporary_path, "%.*s.%s.%d-%u", directory,
                             output->final_path, output->final_path + directory, (int) getpid(),
                             i) < 0) {
                        output->temporary_path = NULL;
                        return -ENOMEM;
                }
                output->fd =
                        open(output->temporary_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (output->fd >= 0)
                        return 0;
                error = errno;
                if (error != EEXIST)
                        break;
        }
        free(output->temporary_path);
        output->temporary_path = NULL;
        return -error;
}

static int open_in_place(Output *output) {
        output->fd = open(output->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (output->fd < 0)
                return complain_path(output, errno, "opened for writing");
        if (terminal_is(output->fd))
                return complain(STATUS_FAILED,
                                "A snapshot is not written to a terminal: name a file.");
        return 0;
}

static int open_stdout(Output *output) {
        output->fd = STDOUT_FILENO;
        if (terminal_is(STDOUT_FILENO))
                return complain(
                        STATUS_FAILED,
                        "A snapshot is not written to a terminal: redirect stdout to a file.");
        return 0;
}

int output_open(const char *path, OutputMode mode, Output **ret) {
        _cleanup_(output_freep) Output *output = NULL;
        struct stat st;
        bool there;
        int r;

        output = malloc(sizeof(*output));
        if (!output)
                return complain_errno(-ENOMEM, "open the output");
        *output = (Output){ .path = path, .mode = mode, .fd = -EBADF };

        if (path[0] == '\0')
                return complain_path(output, ENOENT, "written");
        if (strcmp(path, "-") == 0) {
                r = open_stdout(output);
        } else {
                there = stat(path, &st) == 0;
                if (there && mode == OUTPUT_EXCLUSIVE)
                        return complain_exists(output);
                if (there && S_ISDIR(st.st_mode))
                        return complain_path(output, EISDIR, "written");
                if (there && !S_ISREG(st.st_mode)) {
                        r = open_in_place(output);
                } else {
                        output->final_path = there ? realpath(path, NULL) : strdup(path);
                        if (!output->final_path)
                                return complain_path(output, errno, "written");
                        r = open_temporary(output);
                        if (r < 0)
                                return complain_path(output, -r, "written");
                }
        }
        if (r != 0)
                return r;
        *ret = TAKE_PTR(output);
        return 0;
}

int output_fd(const Output *output) {
        return output->fd;
}

static int write_all(int fd, const char *bytes, size_t n) {
        while (n > 0) {
                ssize_t written = write(fd, bytes, n);

                if (written < 0 && errno == EINTR && !cancel_requested())
                        continue;
                if (written < 0)
                        return -errno;
                bytes += written;
                n -= (size_t) written;
        }
        return 0;
}

int output_copy(Output *output, int fd) {
        _cleanup_(freep) char *bytes = malloc(COPY_BYTES);
        off_t offset = 0;
        struct stat st;
        ssize_t n;
        int r;

        if (!bytes)
                return complain_errno(-ENOMEM, "copy the snapshot");
        if (fstat(fd, &st) < 0)
                return complain_errno(-errno, "read the snapshot");
        /* Whoever sent the descriptor must not keep us for ever: only a file has an end. */
        if (!S_ISREG(st.st_mode))
                return complain(STATUS_FAILED, "The snapshot that was sent is no regular file.");
        if ((uint64_t) st.st_size > LIMIT_REPLY_BYTES_PER_CALL)
                return complain(STATUS_FAILED,
                                "The snapshot that was sent is longer than one can be: it has %llu "
                                "bytes.",
                                (unsigned long long) st.st_size);
        /* Read by offset: the descriptor and its position are shared with the sender. */
        while (offset < st.st_size &&
               (n = pread(fd, bytes, (size_t) MIN_OF((off_t) COPY_BYTES, st.st_size - offset),
                          offset)) != 0) {
                if (n < 0 && errno == EINTR && !cancel_requested())
                        continue;
                if (n < 0)
                        return complain_errno(-errno, "read the snapshot");
                r = write_all(output->fd, bytes, (size_t) n);
                if (r == -EINTR)
                        return complain(STATUS_FAILED, "Cancelled.");
                if (r < 0)
                        return complain_path(output, -r, "written");
                offset += n;
        }
        return 0;
}

/* Renames the temporary file unless the target exists. */
static int move_exclusively(const Output *output) {
        if (renameat2(AT_FDCWD, output->temporary_path, AT_FDCWD, output->final_path,
                      RENAME_NOREPLACE) == 0)
                return 0;
        if (errno != EINVAL && errno != ENOSYS)
                return -errno;
        /*
         * This file system (NFS, say) cannot do that: add the second name, then remove the first.
         */
        if (link(output->temporary_path, output->final_path) < 0)
                return -errno;
        (void) unlink(output->temporary_path);
        return 0;
}

int output_publish(Output *output) {
        int r;

        if (!output->temporary_path)
                return 0;
        if (fsync(output->fd) < 0)
                return complain_path(output, errno, "written");
        if (output->mode == OUTPUT_EXCLUSIVE)
                r = move_exclusively(output);
        else
                r = rename(output->temporary_path, output->final_path) < 0 ? -errno : 0;
        if (r == -EEXIST)
                return complain_exists(output);
        if (r < 0)
                return complain_path(output, -r, "written");
        free(output->temporary_path);
        output->temporary_path = NULL;
        return 0;
}
