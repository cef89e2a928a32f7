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

static int open_in_place(Output *output, const struct stat *target) {
        struct stat directory, opened;
        char quoted[QUOTE_BYTES];

        if (S_ISLNK(target->st_mode))
                return complain(STATUS_FAILED,
                                "%s is a symbolic link, and none is followed: name what it points "
                                "to, or - for stdout.",
                                quote(output->path, quoted));
        /*
         * In a directory where everybody puts names, as /tmp, one that was put there by somebody
         * else than us or the owner of the directory may wait for what we write. (For files and
         * links the kernel checks the same, if fs.protected_* are set.)
         */
        if (fstat(output->directory_fd, &directory) < 0 ||
            ((directory.st_mode & S_ISVTX) && (directory.st_mode & (S_IWGRP | S_IWOTH)) &&
             target->st_uid != geteuid() && target->st_uid != directory.st_uid))
                return complain(STATUS_FAILED,
                                "%s is no file, and was put there by another user: name a file.",
                                quote(output->path, quoted));
        output->fd = openat(output->directory_fd, output->name,
                            O_WRONLY | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
        if (output->fd < 0)
                return complain_path(output, errno, "opened for writing");
        /* Somebody may have put another one in its place meanwhile. */
        if (fstat(output->fd, &opened) < 0 || opened.st_dev != target->st_dev ||
            opened.st_ino != target->st_ino)
                return complain_path(output, ESTALE, "opened for writing");
        if (terminal_is(output->fd))
                return complain(STATUS_FAILED,
                                "A snapshot is not written to a terminal: name a file.");
        return 0;
}

int output_open(const char *path, OutputMode mode, Output **ret) {
        const char *slash = strrchr(path, '/');
        _cleanup_(freep) char *directory =
                slash ? strndup(path, (size_t) (slash - path) + 1) : strdup(".");
        _cleanup_(output_freep) Output *output = malloc(sizeof(*output));
        struct stat target;
        int error = EEXIST, r;
        bool there;

        if (!output)
                return complain_errno(-ENOMEM, "open the output");
        *output = (Output){ .path = path, .mode = mode, .fd = -EBADF, .directory_fd = -EBADF };
        if (path[0] == '\0')
                return complain_path(output, ENOENT, "written");
        if (strcmp(path, "-") == 0) {
                output->fd = STDOUT_FILENO;
                if (terminal_is(STDOUT_FILENO))
                        return complain(STATUS_FAILED, "A snapshot is not written to a terminal: "
                                                       "redirect stdout to a file.");
                *ret = TAKE_PTR(output);
                return 0;
        }
        /* From here on everything is done in this directory, wherever it leads. */
        output->name = slash ? slash + 1 : path;
        if (!directory)
                return complain_path(output, ENOMEM, "written");
        output->directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (output->directory_fd < 0)
                return complain_path(output, errno, "written");
        if (output->name[0] == '\0')
                return complain_path(output, EISDIR, "written");
        there = fstatat(output->directory_fd, output->name, &target, AT_SYMLINK_NOFOLLOW) == 0;
        if (there && mode == OUTPUT_EXCLUSIVE)
                return complain_exists(output);
        if (there && S_ISDIR(target.st_mode))
                return complain_path(output, EISDIR, "written");
        if (there && !S_ISREG(target.st_mode)) {
                r = open_in_place(output, &target);
                if (r == 0)
                        *ret = TAKE_PTR(output);
                return r;
        }
        /* ".NAME.XXXX" in its directory, so that the rename never crosses a file system. */
        for (unsigned i = 0; error == EEXIST && i < NAME_TRIES; i++) {
                free(output->temporary_name);
                if (asprintf(&output->temporary_name, ".%s.%d-%u", output->name, (int) getpid(),
                             i) < 0) {
                        output->temporary_name = NULL;
                        error = ENOMEM;
                        break;
                }
                output->fd = openat(output->directory_fd, output->temporary_name,
                                    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (output->fd >= 0) {
                        *ret = TAKE_PTR(output);
                        return 0;
                }
                error = errno;
        }
        free(output->temporary_name);
        output->temporary_name = NULL;
        return complain_path(output, error, "written");
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

int output_copy(Output *output, int fd) {
        _cleanup_(freep) char *bytes = malloc(COPY_BYTES);
        off_t offset = 0;
        struct stat st;
        ssize_t n;

        if (!bytes)
                return complain_errno(-ENOMEM, "copy the snapshot");
        if (fstat(fd, &st) < 0)
                return complain_errno(-errno, "read the snapshot");
        /* The sender of the descriptor must not keep us for ever: only a file has an end. */
        if (!S_ISREG(st.st_mode))
                return complain(STATUS_FAILED, "The snapshot that was sent is no regular file.");
        if ((uint64_t) st.st_size > LIMIT_REPLY_BYTES_PER_CALL)
                return complain(STATUS_FAILED,
                                "The snapshot that was sent is longer than one can be: it has %llu "
                                "bytes.",
                                (unsigned long long) st.st_size);
        /* It is read by offset: the descriptor and its position are shared with the sender. */
        while (offset < st.st_size &&
               (n = pread(fd, bytes, (size_t) MIN_OF((off_t) COPY_BYTES, st.st_size - offset),
                          offset)) != 0) {
                if (n < 0 && errno == EINTR && !cancel_requested())
                        continue;
                if (n < 0)
                        return complain_errno(-errno, "read the snapshot");
                for (ssize_t n_written = 0, written; n_written < n; n_written += written) {
                        do
                                written = write(output->fd, bytes + n_written,
                                                (size_t) (n - n_written));
                        while (written < 0 && errno == EINTR && !cancel_requested());
                        if (written < 0 && errno == EINTR)
                                return complain(STATUS_FAILED, "Cancelled.");
                        if (written < 0)
                                return complain_path(output, errno, "written");
                }
                offset += n;
        }
        return 0;
}

int output_publish(Output *output) {
        const char *temporary = output->temporary_name;
        int fd = output->directory_fd, r;

        if (output->stream && (ferror(output->stream) || fflush(output->stream) != 0))
                return complain_errno(-errno, output->what);
        if (!temporary)
                return 0;
        if (fsync(output->fd) < 0 ||
            (output->mode == OUTPUT_PUBLIC && fchmod(output->fd, 0644) < 0))
                return complain_path(output, errno, "written");
        if (output->mode == OUTPUT_EXCLUSIVE)
                r = renameat2(fd, temporary, fd, output->name, RENAME_NOREPLACE);
        else
                r = renameat(fd, temporary, fd, output->name);
        if (r < 0 && output->mode == OUTPUT_EXCLUSIVE && (errno == EINVAL || errno == ENOSYS)) {
                /* NFS, say, cannot do that: add the second name, then remove the first. */
                r = linkat(fd, temporary, fd, output->name, 0);
                if (r == 0)
                        (void) unlinkat(fd, temporary, 0);
        }
        if (r < 0 && errno == EEXIST)
                return complain_exists(output);
        if (r < 0)
                return complain_path(output, errno, "written");
        free(output->temporary_name);
        output->temporary_name = NULL;
        return 0;
}
