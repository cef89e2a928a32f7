/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/snapshot-file.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/file.h"
#include "spool/file-trailer.h"
#include "wire/limits.h"

#define FRAME_MAGIC_BYTES 4

/*
 * Frames follow each other in [0, body_bytes). @n_document never passes @max_document by more than
 * the byte that shows there is more, however much a frame would expand to.
 */
struct SnapshotFileReader {
        int fd; /* borrowed */
        bool in_frame;
        bool failed;
        bool is_exact; /* the document must have @max_document bytes, not fewer */
        ZSTD_DCtx *zstd;
        char *space; /* compressed bytes: [n_used, n_filled) are still to be read */
        size_t n_space, n_used, n_filled;
        uint64_t n_read; /* of the file */
        uint64_t body_bytes;
        uint64_t n_document, max_document;
        SnapshotFault fault;
};

SnapshotFileReader *snapshot_file_reader_free(SnapshotFileReader *reader) {
        if (!reader)
                return NULL;
        (void) ZSTD_freeDCtx(reader->zstd);
        free(reader->space);
        free(reader);
        return NULL;
}

const SnapshotFault *snapshot_file_reader_fault(const SnapshotFileReader *reader) {
        return &reader->fault;
}

int snapshot_file_read_head(int fd, Head *ret, SnapshotFault *ret_fault) {
        FileTrailer trailer;
        int r;

        r = trailer_find(fd, &trailer, ret_fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD)
                fault_set(ret_fault, "the head is missing");
        if (r != 0)
                return r;
        return trailer_read_head(fd, &trailer, ret, ret_fault);
}

/* Sets the length of the document: that of the head, or the bound for files without a head. */
static int set_expectation(SnapshotFileReader *reader, const Head *head, bool has_head,
                           SnapshotFault *ret_fault) {
        if (!has_head) {
                reader->max_document = LIMIT_DOCUMENT_0_BYTES;
                return 0;
        }
        if (!head->has_document_bytes) {
                fault_set(ret_fault, "the head does not give the length of the document");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (head->document_bytes > LIMIT_DOCUMENT_BYTES) {
                fault_set(ret_fault, "the head declares a document of %" PRIu64 " bytes",
                          head->document_bytes);
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        reader->max_document = head->document_bytes;
        reader->is_exact = true;
        return 0;
}

static int set_up(SnapshotFileReader *reader) {
        reader->zstd = ZSTD_createDCtx();
        reader->n_space = ZSTD_DStreamInSize();
        reader->space = malloc(reader->n_space);
        if (!reader->zstd || !reader->space)
                return -ENOMEM;
        if (ZSTD_isError(
                    ZSTD_DCtx_setParameter(reader->zstd, ZSTD_d_windowLogMax, LIMIT_WINDOW_LOG)))
                return -EOPNOTSUPP;
        return 0;
}

int snapshot_file_reader_new(int fd, SnapshotFileReader **ret, Head *ret_head,
                             SnapshotFault *ret_fault) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *reader = NULL;
        _cleanup_(head_done) Head head = {};
        FileTrailer trailer;
        bool has_head;
        int r;

        r = trailer_find(fd, &trailer, ret_fault);
        has_head = r == 0;
        if (r != 0 && r != SNAPSHOT_FILE_E_NO_HEAD)
                return r;
        if (has_head) {
                r = trailer_read_head(fd, &trailer, &head, ret_fault);
                if (r != 0)
                        return r;
        } else {
                head.has_size = true;
                head.size_bytes = trailer.file_bytes;
        }

        reader = malloc(sizeof(*reader));
        if (!reader)
                return -ENOMEM;
        *reader = (SnapshotFileReader){ .fd = fd, .body_bytes = trailer.body_bytes };
        r = set_up(reader);
        if (r < 0)
                return r;
        r = set_expectation(reader, &head, has_head, ret_fault);
        if (r != 0)
                return r;

        *ret = TAKE_PTR(reader);
        *ret_head = head;
        head.imported_from = NULL;
        return has_head ? SNAPSHOT_FILE_OK : SNAPSHOT_FILE_E_NO_HEAD;
}

/* refilling */

static uint64_t file_position(const SnapshotFileReader *reader) {
        return reader->n_read - (reader->n_filled - reader->n_used);
}

static int damaged(SnapshotFileReader *reader, const char *what) {
        reader->failed = true;
        fault_set_at(&reader->fault, file_position(reader), "%s", what);
        return -EBADMSG;
}

/* Appends compressed bytes to the unread ones; adds none at the end of the body. */
static int fill(SnapshotFileReader *reader) {
        size_t n, n_read;
        int r;

        memmove(reader->space, reader->space + reader->n_used, reader->n_filled - reader->n_used);
        reader->n_filled -= reader->n_used;
        reader->n_used = 0;
        n = (size_t) MIN_OF(reader->body_bytes - reader->n_read,
                            (uint64_t) (reader->n_space - reader->n_filled));
        r = file_read_at(reader->fd, reader->space + reader->n_filled, n, reader->n_read, &n_read);
        if (r < 0)
                return r;
        reader->n_read += n_read;
        reader->n_filled += n_read;
        if (n_read < n)
                return damaged(reader, "the file became shorter while it was read");
        return 0;
}

/*
 * Checks that the next four bytes begin a frame of today's format or a skippable one. Formats of
 * old zstd libraries are refused, because their decoders do not obey our window limit.
 */
static int begin_frame(SnapshotFileReader *reader) {
        uint32_t magic;

        if (reader->n_filled - reader->n_used < FRAME_MAGIC_BYTES)
                return damaged(reader, file_position(reader) == 0
                                               ? "the file is cut short"
                                               : "data other than a zstd frame follows");
        memcpy(&magic, reader->space + reader->n_used, sizeof(magic));
        magic = le32toh(magic);
        if (magic != ZSTD_MAGICNUMBER &&
            (magic & ZSTD_MAGIC_SKIPPABLE_MASK) != ZSTD_MAGIC_SKIPPABLE_START)
                return damaged(reader, file_position(reader) == 0
                                               ? "it is not a zstd file"
                                               : "data other than a zstd frame follows");
        reader->in_frame = true;
        return 0;
}

/* All frames are read. */
static int end_of_body(SnapshotFileReader *reader) {
        if (!reader->is_exact || reader->n_document == reader->max_document)
                return 0;
        fault_set(&reader->fault, "the document has %" PRIu64 " bytes, but its head says %" PRIu64,
                  reader->n_document, reader->max_document);
        reader->failed = true;
        return -EBADMSG;
}

/* One call of the decoder; *ret_n bytes came out, perhaps none. */
static int decode(SnapshotFileReader *reader, char *space, size_t n_space, size_t *ret_n) {
        ZSTD_inBuffer in = { reader->space, reader->n_filled, reader->n_used };
        ZSTD_outBuffer out = { space, n_space, 0 };
        size_t hint;

        hint = ZSTD_decompressStream(reader->zstd, &out, &in);
        if (ZSTD_isError(hint)) {
                reader->failed = true;
                fault_set_at(&reader->fault, file_position(reader), "zstd: %s",
                             ZSTD_getErrorName(hint));
                return -EBADMSG;
        }
        reader->n_used = in.pos;
        reader->in_frame = hint != 0;
        reader->n_document += out.pos;
        if (reader->n_document > reader->max_document)
                return damaged(reader, reader->is_exact
                                               ? "the document is longer than its head declares"
                                               : "the document is too long");
        *ret_n = out.pos;
        return 0;
}

int snapshot_file_refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        SnapshotFileReader *reader = userdata;
        uint64_t wanted;
        size_t n = 0;
        int r;

        if (reader->failed)
                return -EBADMSG;
        /* One byte past the bound suffices to see that there is more. */
        wanted = MIN_OF((uint64_t) n_space, reader->max_document - reader->n_document + 1);
        while (n == 0) {
                bool at_end;

                if (reader->n_filled - reader->n_used < FRAME_MAGIC_BYTES) {
                        r = fill(reader);
                        if (r < 0)
                                return r;
                }
                at_end = reader->n_filled == reader->n_used;
                if (!reader->in_frame) {
                        if (at_end) {
                                *ret_n = 0;
                                return end_of_body(reader);
                        }
                        r = begin_frame(reader);
                        if (r < 0)
                                return r;
                }
                r = decode(reader, space, (size_t) wanted, &n);
                if (r < 0)
                        return r;
                /*
                 * Without input the decoder may still hold output; when it gives none, the frame is
                 * cut off.
                 */
                if (at_end && n == 0 && reader->in_frame)
                        return damaged(reader, "the file is cut short");
        }
        *ret_n = n;
        return 0;
}
