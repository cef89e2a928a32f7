/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MadeFile
 *
 * Files in memory, and snapshot files made of a document without compressing it: zstd frames
 * (RFC 8878) without checksum whose blocks are stored, or one byte many times, then a true head.
 */

#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fuzz.h"
#include "spool/file-trailer.h"
#include "spool/snapshot-file.h"

#define MADE_MAX_BLOCK_BYTES (128u * 1024u)
#define MADE_RAW_BLOCK 0u
#define MADE_RLE_BLOCK 1u

static inline int made_file_new(void) {
        int fd = memfd_create("made-file", MFD_CLOEXEC);

        fuzz_expect(fd >= 0, "memfd_create");
        return fd;
}

static inline void made_file_set(int fd, Span content) {
        fuzz_expect(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
                            (content.n == 0 ||
                             write(fd, content.bytes, content.n) == (ssize_t) content.n),
                    "a file in memory can be written");
}

static inline void made_file_get(int fd, Buffer *ret) {
        off_t n = lseek(fd, 0, SEEK_END);
        char *room = NULL;

        buffer_init(ret, 0);
        fuzz_expect(n >= 0 && buffer_reserve(ret, (size_t) n, &room) == 0 &&
                            pread(fd, room, (size_t) n, 0) == n,
                    "a file in memory can be read");
        ret->n = (size_t) n;
}

static inline void made_put_le(Buffer *file, uint64_t value, unsigned n_bytes) {
        for (unsigned i = 0; i < n_bytes; i++)
                fuzz_expect(buffer_append_byte(file, (char) (value >> 8 * i)) == 0, "memory");
}

/* @n: bytes of the block when it is decoded. */
static inline void made_put_block(Buffer *file, bool is_last, unsigned type, size_t n,
                                  Span content) {
        made_put_le(file, (is_last ? 1u : 0u) | type << 1 | (uint64_t) n << 3, 3);
        fuzz_expect(buffer_append(file, content.bytes, content.n) == 0, "memory");
}

/* A frame of @content and @n_blanks more; both within MADE_MAX_BLOCK_BYTES. */
static inline void made_put_frame(Buffer *file, Span content, size_t n_blanks) {
        made_put_le(file, 0xFD2FB528u, 4);
        made_put_le(file, 0x00, 1); /* several segments, no length, no checksum */
        made_put_le(file, 0x38, 1); /* a window of 128 KiB */
        made_put_block(file, n_blanks == 0, MADE_RAW_BLOCK, content.n, content);
        if (n_blanks > 0)
                made_put_block(file, true, MADE_RLE_BLOCK, n_blanks, SPAN_LITERAL(" "));
}

static inline void made_put_trailer(Buffer *file, Head *head) {
        _cleanup_(hash_freep) Hash hash = NULL;
        _cleanup_(fd_closep) int fd = made_file_new();
        uint64_t n_bytes = file->n;

        fuzz_expect(hash_new(&hash) == 0, "memory");
        (void) XXH3_128bits_update(hash, file->bytes, file->n);
        made_file_set(fd, buffer_span(file));
        fuzz_expect(trailer_append(fd, hash, head, &n_bytes) == 0, "a head can be appended");
        buffer_done(file);
        made_file_get(fd, file);
        fuzz_expect(file->n == n_bytes, "its bytes are counted");
}
