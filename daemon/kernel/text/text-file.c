/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/text/text-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define READ_CHUNK_BYTES 4096
#define FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY)

int text_file_code(int error) {
        switch (error) {
        case ENOENT:
        case ENOTDIR:
                return TEXT_E_ABSENT;
        case ESRCH:
        case ENODEV:
                return TEXT_E_VANISHED;
        case EACCES:
        case EPERM:
                return TEXT_E_DENIED;
        case EOPNOTSUPP:
        case ENOSYS:
        case ENODATA:
                return TEXT_E_UNSUPPORTED;
        default:
                return -error;
        }
}

static int read_some(int fd, char *buffer, size_t size, size_t *ret_n) {
        ssize_t n;

        do
                n = read(fd, buffer, size);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return text_file_code(errno);
        *ret_n = (size_t) n;
        return 0;
}

/* TEXT_E_TOO_LARGE when the file has more bytes than filled the caller's memory. */
static int read_end(int fd) {
        char byte;
        size_t n = 0;
        int r;

        r = read_some(fd, &byte, sizeof(byte), &n);
        if (r != 0)
                return r;
        return n == 0 ? 0 : TEXT_E_TOO_LARGE;
}

int text_file_read(int dir_fd, const char *name, char *buffer, size_t size, size_t *ret_n) {
        _cleanup_(fd_closep) int fd = -EBADF;
        size_t n = 0, more = 0;
        int r;

        fd = openat(dir_fd, name, FILE_FLAGS);
        if (fd < 0)
                return text_file_code(errno);
        /*
         * Until the text ends in a newline. One call suffices for most files, which saves a second
         * read (to see the end of file) for every file of every thread.
         */
        do {
                r = read_some(fd, buffer + n, size - n, &more);
                if (r != 0)
                        return r;
                n += more;
        } while (more > 0 && n < size && buffer[n - 1] != '\n');
        if (n == size)
                r = read_end(fd);
        if (r == 0 && memchr(buffer, '\0', n))
                r = TEXT_E_MALFORMED;
        if (r == 0 || r == TEXT_E_TOO_LARGE)
                *ret_n = n;
        return r;
}

int text_file_read_all(int dir_fd, const char *name, Buffer *buffer) {
        _cleanup_(fd_closep) int fd = -EBADF;
        size_t n_before = buffer->n, n;
        int r;

        fd = openat(dir_fd, name, FILE_FLAGS);
        if (fd < 0)
                return text_file_code(errno);
        do {
                size_t room = READ_CHUNK_BYTES;
                char *end;

                n = 0;
                if (buffer->max_bytes > 0)
                        room = MIN_OF(room, buffer->max_bytes - buffer->n);
                if (room == 0) {
                        r = read_end(fd);
                        break;
                }
                r = buffer_reserve(buffer, room, &end);
                if (r == 0)
                        r = read_some(fd, end, room, &n);
                buffer->n += n;
        } while (r == 0 && n > 0);
        if (r == 0 && buffer->n > n_before &&
            memchr(buffer->bytes + n_before, '\0', buffer->n - n_before))
                r = TEXT_E_MALFORMED;
        if (r != 0)
                buffer_truncate(buffer, n_before);
        return r;
}

int text_file_open_directory(int dir_fd, const char *name, int *ret_fd) {
        int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return text_file_code(errno);
        *ret_fd = fd;
        return 0;
}

int text_file_open_listing(int dir_fd, const char *name, DIR **ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        int r = text_file_open_directory(dir_fd, name, &fd);

        if (r != 0)
                return r;
        *ret = fdopendir(fd);
        if (!*ret)
                return -errno;
        (void) TAKE_FD(fd);
        return 0;
}

SourceOutcome text_file_outcome(int r) {
        switch (r) {
        case TEXT_OK:
                return SOURCE_OUTCOME_ok;
        case TEXT_E_VANISHED:
                return SOURCE_OUTCOME_vanished;
        case TEXT_E_DENIED:
                return SOURCE_OUTCOME_denied;
        case TEXT_E_ABSENT:
        case TEXT_E_UNSUPPORTED:
                return SOURCE_OUTCOME_unsupported;
        case TEXT_E_MALFORMED:
                return SOURCE_OUTCOME_malformed;
        default:
                return SOURCE_OUTCOME_other;
        }
}
