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
        int directory_fd;
        const char *name;     /* in that directory, which is looked up only once */
        char *temporary_name; /* likewise; NULL: there is none */
        FILE *stream;         /* owned, with a descriptor of its own; NULL: nobody asked for it */
        const char *what;     /* "write" and what goes there */
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

        if (fstatat(output->directory_fd, output->name, &st, 0) == 0 && S_ISDIR(st.st_mode))
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
        if (output->stream)
                (void) fclose(output->stream);
        if (output->fd != STDOUT_FILENO)
                (void) fd_close(output->fd);
        if (output->temporary_name)
                (void) unlinkat(output->directory_fd, output->temporary_name, 0);
        (void) fd_close(output->directory_fd);
        free(output->temporary_name);
        free(output);
        return NULL;
}

/* From here on everything is made, renamed and opened in this directory, wherever it leads. */
static int open_directory(Output *output) {
        const char *slash = strrchr(output->path, '/');
        _cleanup_(freep) char *path =
                slash ? strndup(output->path, (size_t) (slash - output->path) + 1) : strdup(".");

        output->name = slash ? slash + 1 : output->path;
        if (!path)
                return -ENOMEM;
        output->directory_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (output->directory_fd < 0)
                return -errno;
        return output->name[0] == '\0' ? -EISDIR : 0;
}

/* ".NAME.XXXX" in the directory of the target, so that the rename never crosses a file system. */
static int open_temporary(Output *output) {
        int error = EEXIST;

        for (unsigned i = 0; i < NAME_TRIES; i++) {
                free(output->temporary_name);
                if (asprintf(&output->temporary_name, ".%s.%d-%u", output->name, (int) getpid(),
                             i) < 0) {
                        output->temporary_name = NULL;
                        return -ENOMEM;
                }
                output->fd = openat(output->directory_fd, output->temporary_name,
                                    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (output->fd >= 0)
                        return 0;
                error = errno;
                if (error != EEXIST)
                        break;
        }
        free(output->temporary_name);
        output->temporary_name = NULL;
        return -error;
}

/*
 * In a directory where everybody puts names, as /tmp, one that was put there by somebody else than
 * us or the owner of the directory may wait for what we write. (For files and links the kernel
 * checks the same, if fs.protected_* are set.)
 */
static bool is_planted(const Output *output, const struct stat *target) {
        struct stat directory;

        if (fstat(output->directory_fd, &directory) < 0)
                return true;
        return (directory.st_mode & S_ISVTX) && (directory.st_mode & (S_IWGRP | S_IWOTH)) &&
               target->st_uid != geteuid() && target->st_uid != directory.st_uid;
}

static int open_in_place(Output *output, const struct stat *target) {
        char quoted[QUOTE_BYTES];
        struct stat opened;

        if (S_ISLNK(target->st_mode))
                return complain(STATUS_FAILED,
                                "%s is a symbolic link, and none is followed: name what it points "
                                "to, or - for stdout.",
                                quote(output->path, quoted));
        if (is_planted(output, target))
                return complain(STATUS_FAILED,
                                "%s is no file, and was put there by another user: name a file.",
                                quote(output->path, quoted));
        output->fd = openat(output->directory_fd, output->name,
                            O_WRONLY | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
        if (output->fd < 0)
                return complain_path(output, errno, "opened for writing");
        /* Not what somebody has put in its place meanwhile. */
        if (fstat(output->fd, &opened) < 0 || opened.st_dev != target->st_dev ||
            opened.st_ino != target->st_ino)
                return complain_path(output, ESTALE, "opened for writing");
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

static int open_target(Output *output) {
        struct stat target;
        bool there;
        int r;

        r = open_directory(output);
        if (r < 0)
                return complain_path(output, -r, "written");
        there = fstatat(output->directory_fd, output->name, &target, AT_SYMLINK_NOFOLLOW) == 0;
        if (there && output->mode == OUTPUT_EXCLUSIVE)
                return complain_exists(output);
        if (there && S_ISDIR(target.st_mode))
                return complain_path(output, EISDIR, "written");
        if (there && !S_ISREG(target.st_mode))
                return open_in_place(output, &target);
        r = open_temporary(output);
        return r < 0 ? complain_path(output, -r, "written") : 0;
}

int output_open(const char *path, OutputMode mode, Output **ret) {
        _cleanup_(output_freep) Output *output = NULL;
        int r;

        output = malloc(sizeof(*output));
        if (!output)
                return complain_errno(-ENOMEM, "open the output");
        *output = (Output){ .path = path, .mode = mode, .fd = -EBADF, .directory_fd = -EBADF };

        if (path[0] == '\0')
                return complain_path(output, ENOENT, "written");
        r = strcmp(path, "-") == 0 ? open_stdout(output) : open_target(output);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(output);
        return 0;
}

int output_fd(const Output *output) {
        return output->fd;
}

int output_stream(Output *output, const char *what, FILE **ret) {
        _cleanup_(fd_closep) int fd = fcntl(output->fd, F_DUPFD_CLOEXEC, 0);

        output->what = what;
        output->stream = fd < 0 ? NULL : fdopen(fd, "w");
        if (!output->stream)
                return complain_errno(-errno, "open the output");
        (void) TAKE_FD(fd);
        *ret = output->stream;
        return 0;
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
        int fd = output->directory_fd;

        if (renameat2(fd, output->temporary_name, fd, output->name, RENAME_NOREPLACE) == 0)
                return 0;
        if (errno != EINVAL && errno != ENOSYS)
                return -errno;
        /*
         * This file system (NFS, say) cannot do that: add the second name, then remove the first.
         */
        if (linkat(fd, output->temporary_name, fd, output->name, 0) < 0)
                return -errno;
        (void) unlinkat(fd, output->temporary_name, 0);
        return 0;
}

int output_publish(Output *output) {
        int r;

        if (output->stream && (ferror(output->stream) || fflush(output->stream) != 0))
                return complain_errno(-errno, output->what);
        if (!output->temporary_name)
                return 0;
        if (fsync(output->fd) < 0 ||
            (output->mode == OUTPUT_PUBLIC && fchmod(output->fd, 0644) < 0))
                return complain_path(output, errno, "written");
        if (output->mode == OUTPUT_EXCLUSIVE)
                r = move_exclusively(output);
        else
                r = renameat(output->directory_fd, output->temporary_name, output->directory_fd,
                             output->name) < 0
                            ? -errno
                            : 0;
        if (r == -EEXIST)
                return complain_exists(output);
        if (r < 0)
                return complain_path(output, -r, "written");
        free(output->temporary_name);
        output->temporary_name = NULL;
        return 0;
}
