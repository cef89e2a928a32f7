/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ByteSpan
 *
 * A file that is bytes in memory. It may lose its end, or fail, while it is read: programs that
 * include this are linked so that what calls pread(2) comes here (byte_span_link_args of
 * tests/unit/meson.build). libelf, which is a library of its own, reads the headers of the same
 * bytes from a file in memory.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/span.h"

typedef struct ByteSpan {
        Span bytes;
        bool is_cut;         /* reading finds no bytes from @fails_from */
        int error;           /* negative: reading fails so from there */
        uint64_t fails_from; /* offset */
        uint64_t n_reads;
        /* What reads all @n bytes in place of all that; NULL: nothing. */
        void (*read)(void *userdata, uint64_t offset, void *ret, size_t n);
        void *userdata;
} ByteSpan;

static ByteSpan *byte_span; /* the file that is read; NULL: those that there are */

ssize_t __real_pread(int fd, void *ret, size_t n, off_t offset);
ssize_t __wrap_pread(int fd, void *ret, size_t n, off_t offset);
ssize_t __real_pread64(int fd, void *ret, size_t n, off_t offset);
ssize_t __wrap_pread64(int fd, void *ret, size_t n, off_t offset);

static inline ssize_t byte_span_read(void *ret, size_t n, off_t offset) {
        uint64_t at = (uint64_t) offset;

        byte_span->n_reads++;
        if (byte_span->read) {
                byte_span->read(byte_span->userdata, at, ret, n);
                return (ssize_t) n;
        }
        if (at + n > byte_span->fails_from && (byte_span->is_cut || byte_span->error != 0)) {
                errno = -byte_span->error;
                return byte_span->is_cut ? 0 : -1;
        }
        if (at > byte_span->bytes.n || byte_span->bytes.n - at < n)
                return 0;
        memcpy(ret, byte_span->bytes.bytes + at, n);
        return (ssize_t) n;
}

ssize_t __wrap_pread(int fd, void *ret, size_t n, off_t offset) {
        return byte_span ? byte_span_read(ret, n, offset) : __real_pread(fd, ret, n, offset);
}

ssize_t __wrap_pread64(int fd, void *ret, size_t n, off_t offset) {
        return byte_span ? byte_span_read(ret, n, offset) : __real_pread64(fd, ret, n, offset);
}

/* A descriptor of the file for libelf, which is good until the next one. */
static inline int byte_span_open(ByteSpan *file) {
        static int fd = -1;
        size_t n = 0;

        if (fd < 0)
                fd = memfd_create("bytes", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t) file->bytes.n) < 0)
                abort();
        while (n < file->bytes.n) {
                ssize_t k = pwrite(fd, file->bytes.bytes + n, file->bytes.n - n, (off_t) n);

                if (k <= 0)
                        abort();
                n += (size_t) k;
        }
        byte_span = file;
        return fd;
}
