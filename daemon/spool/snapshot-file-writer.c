/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/snapshot-file.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/err.h"
#include "base/file.h"
#include "spool/file-trailer.h"

/* Measured on thread tables: smaller and faster than 3. */
#define COMPRESSION_LEVEL 1

#define COPY_BYTES (64 * 1024)

struct SnapshotFileWriter {
        int fd; /* borrowed */
        int error;
        ZSTD_CCtx *zstd;
        Hash hash;
        char *space; /* compressed bytes on their way to @fd */
        size_t n_space;
        uint64_t n_document;
        uint64_t n_file;
};

SnapshotFileWriter *snapshot_file_writer_free(SnapshotFileWriter *writer) {
        if (!writer)
                return NULL;
        (void) ZSTD_freeCCtx(writer->zstd);
        writer->hash = hash_free(writer->hash);
        free(writer->space);
        free(writer);
        return NULL;
}

int snapshot_file_writer_new(int fd, SnapshotFileWriter **ret) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *writer = NULL;
        int r;

        writer = malloc(sizeof(*writer));
        if (!writer)
                return -ENOMEM;
        *writer = (SnapshotFileWriter){ .fd = fd };

        writer->zstd = ZSTD_createCCtx();
        writer->n_space = ZSTD_CStreamOutSize();
        writer->space = malloc(writer->n_space);
        if (!writer->zstd || !writer->space)
                return -ENOMEM;
        r = hash_new(&writer->hash);
        if (r < 0)
                return r;
        if (ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel,
                                                COMPRESSION_LEVEL)) ||
            ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1)))
                return -EOPNOTSUPP;

        *ret = TAKE_PTR(writer);
        return 0;
}

/* Compresses all of @in; with ZSTD_e_end also ends the frame. */
static int compress(SnapshotFileWriter *writer, ZSTD_inBuffer *in, ZSTD_EndDirective mode) {
        size_t left;
        int r;

        do {
                ZSTD_outBuffer out = { writer->space, writer->n_space, 0 };

                left = ZSTD_compressStream2(writer->zstd, &out, in, mode);
                if (ZSTD_isError(left))
                        return -ENOMEM; /* valid parameters leave it no other way to fail */
                if (out.pos == 0)
                        continue;
                (void) XXH3_128bits_update(writer->hash, writer->space, out.pos);
                r = file_write(writer->fd, writer->space, out.pos);
                if (r < 0)
                        return r;
                writer->n_file += out.pos;
        } while (mode == ZSTD_e_end ? left > 0 : in->pos < in->size);
        return 0;
}

int snapshot_file_writer_write(void *userdata, const char *bytes, size_t n) {
        SnapshotFileWriter *writer = userdata;
        ZSTD_inBuffer in = { bytes, n, 0 };

        if (writer->error == 0 && n > 0) {
                writer->n_document += n;
                writer->error = compress(writer, &in, ZSTD_e_continue);
        }
        return writer->error;
}

int snapshot_file_writer_finish(SnapshotFileWriter *writer, Head *head, uint64_t *ret_bytes) {
        ZSTD_inBuffer in = { NULL, 0, 0 };

        if (writer->error == 0)
                writer->error = compress(writer, &in, ZSTD_e_end);
        if (writer->error != 0)
                return writer->error;
        head->format_version = HEAD_FORMAT_VERSION;
        head->has_document_bytes = true;
        head->document_bytes = writer->n_document;
        writer->error = trailer_append(writer->fd, writer->hash, head, &writer->n_file);
        if (writer->error != 0)
                return writer->error;
        *ret_bytes = writer->n_file;
        return 0;
}

/* copying */

/* Feeds [@from, @to) of @fd to @hash and, when @out is a descriptor, appends it there. */
static int hash_range(int fd, uint64_t from, uint64_t to, Hash hash, int out,
                      SnapshotFault *ret_fault) {
        _cleanup_(freep) char *space = malloc(COPY_BYTES);
        size_t n_read;
        int r;

        if (!space)
                return -ENOMEM;
        while (from < to) {
                size_t n = (size_t) MIN_OF(to - from, (uint64_t) COPY_BYTES);

                r = file_read_at(fd, space, n, from, &n_read);
                if (r != 0)
                        return r;
                if (n_read < n) {
                        fault_set_at(ret_fault, from + n_read,
                                     "the file became shorter while it was read");
                        return SNAPSHOT_FILE_E_DAMAGED;
                }
                (void) XXH3_128bits_update(hash, space, n);
                r = out >= 0 ? file_write(out, space, n) : 0;
                if (r < 0)
                        return r;
                from += n;
        }
        return 0;
}

int snapshot_file_check_digest(int fd, SnapshotFault *ret_fault) {
        _cleanup_(hash_freep) Hash hash = NULL;
        FileTrailer trailer;
        int r;

        r = trailer_find(fd, &trailer, ret_fault);
        if (r != 0)
                return r;
        r = hash_new(&hash);
        if (r < 0)
                return r;
        r = hash_range(fd, 0, trailer.digest_offset, hash, -EBADF, ret_fault);
        if (r != 0)
                return r;
        return trailer_check_digest(fd, &trailer, hash, ret_fault);
}

/*
 * Checks the digest of the origin with the bytes as they are copied: a body that was damaged on
 * disk or while it was read must not get a new digest that matches.
 */
static int copy_body(int from, int to, const FileTrailer *trailer, Hash hash,
                     SnapshotFault *ret_fault) {
        _cleanup_(hash_freep) Hash origin = NULL;
        int r;

        r = hash_new(&origin);
        if (r < 0)
                return r;
        r = hash_range(from, 0, trailer->body_bytes, hash, to, ret_fault);
        if (r != 0)
                return r;
        XXH3_copyState(origin, hash);
        r = hash_range(from, trailer->body_bytes, trailer->digest_offset, origin, -EBADF,
                       ret_fault);
        if (r != 0)
                return r;
        return trailer_check_digest(from, trailer, origin, ret_fault);
}

int snapshot_file_rehead(int from, int to, Head *head, uint64_t *ret_bytes,
                         SnapshotFault *ret_fault) {
        _cleanup_(hash_freep) Hash hash = NULL;
        _cleanup_(head_done) Head origin = {};
        FileTrailer trailer;
        uint64_t n_bytes;
        int r;

        r = trailer_find(from, &trailer, ret_fault);
        if (r != 0)
                return r;
        r = trailer_read_head(from, &trailer, &origin, ret_fault);
        if (r != 0)
                return r;
        r = hash_new(&hash);
        if (r < 0)
                return r;
        r = copy_body(from, to, &trailer, hash, ret_fault);
        if (r != 0)
                return r;

        /* These members describe the body, which is copied unchanged. */
        head->format_version = origin.format_version;
        head->has_document_bytes = origin.has_document_bytes;
        head->document_bytes = origin.document_bytes;
        n_bytes = trailer.body_bytes;
        r = trailer_append(to, hash, head, &n_bytes);
        if (r < 0)
                return r;
        *ret_bytes = n_bytes;
        return 0;
}
