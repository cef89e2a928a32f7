/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/snapshot-file.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/file.h"
#include "snapshot/snapshot-reader.h"
#include "spool/file-trailer.h"
#include "wire/limits.h"

/* Measured on thread tables: smaller and faster than 3. */
#define COMPRESSION_LEVEL 1
#define COPY_BYTES (64 * 1024)
#define FRAME_MAGIC_BYTES 4

_Static_assert(SNAPSHOT_MAX_DEPTH == LIMIT_DOCUMENT_DEPTH &&
                       SNAPSHOT_MAX_TOKEN_BYTES == LIMIT_TOKEN_BYTES &&
                       SNAPSHOT_MAX_VALUE_BYTES == LIMIT_VALUE_BYTES,
               "the bounds of files are those of the reader");

/* writing */

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

/* reading */

/*
 * Frames follow each other in [begin, body_end). @n_document never passes @max_document by more
 * than the byte that shows there is more, however much a frame would expand to.
 */
struct SnapshotFileReader {
        int fd; /* borrowed */
        bool in_frame;
        bool failed;
        bool is_exact; /* the document must have @max_document bytes, not fewer */
        ZSTD_DCtx *zstd;
        char *space; /* compressed bytes: [n_used, n_filled) are still to be read */
        size_t n_space, n_used, n_filled;
        uint64_t begin, n_read; /* where in the file it begins, and has come to */
        uint64_t body_end;
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

        r = trailer_find(fd, (FileRange){}, &trailer, ret_fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD)
                fault_set(ret_fault, FAULT_NOWHERE, "the head is missing");
        if (r != 0)
                return r;
        return trailer_read_head(fd, &trailer, ret, ret_fault);
}

/* Finds the part of a recording. The whole of a snapshot is its end, and its begin is none. */
static int find_part(int fd, SnapshotPart part, FileRange *ret, SnapshotFault *ret_fault) {
        _cleanup_(head_done) Head head = {};
        FileTrailer trailer;
        int r;

        *ret = (FileRange){};
        if (part == SNAPSHOT_PART_WHOLE)
                return 0;
        r = trailer_find(fd, (FileRange){}, &trailer, ret_fault);
        if (r == 0)
                r = trailer_read_head(fd, &trailer, &head, ret_fault);
        if (r == SNAPSHOT_FILE_E_NO_HEAD) {
                fault_set(ret_fault, FAULT_NOWHERE, "the head is missing");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (r != 0)
                return r;
        if (!head.is_recording || head.begin_bytes == 0 || head.end_bytes == 0 ||
            head.begin_bytes >= trailer.body_end ||
            head.end_bytes >= trailer.body_end - head.begin_bytes) {
                fault_set(ret_fault, FAULT_NOWHERE, "it does not have the parts of a recording");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        switch (part) {
        case SNAPSHOT_PART_WHOLE:
        case SNAPSHOT_PART_BEGIN:
                ret->end = head.begin_bytes;
                break;
        case SNAPSHOT_PART_END:
                ret->begin = head.begin_bytes;
                ret->end = head.begin_bytes + head.end_bytes;
                break;
        case SNAPSHOT_PART_RECORDING:
                ret->begin = head.begin_bytes + head.end_bytes;
                ret->end = trailer.body_end;
                break;
        }
        return 0;
}

int snapshot_file_reader_new(int fd, SnapshotPart part, SnapshotFileReader **ret, Head *ret_head,
                             SnapshotFault *ret_fault) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *reader = NULL;
        _cleanup_(head_done) Head head = {};
        FileTrailer trailer;
        FileRange range;
        bool has_head;
        int r;

        r = find_part(fd, part, &range, ret_fault);
        if (r != 0)
                return r;
        r = trailer_find(fd, range, &trailer, ret_fault);
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
        *reader = (SnapshotFileReader){ .fd = fd,
                                        .begin = trailer.begin,
                                        .n_read = trailer.begin,
                                        .body_end = trailer.body_end };
        reader->zstd = ZSTD_createDCtx();
        reader->n_space = ZSTD_DStreamInSize();
        reader->space = malloc(reader->n_space);
        if (!reader->zstd || !reader->space)
                return -ENOMEM;
        if (ZSTD_isError(
                    ZSTD_DCtx_setParameter(reader->zstd, ZSTD_d_windowLogMax, LIMIT_WINDOW_LOG)))
                return -EOPNOTSUPP;
        reader->max_document = has_head ? head.document_bytes : LIMIT_DOCUMENT_0_BYTES;
        reader->is_exact = has_head;
        if (has_head && !head.has_document_bytes) {
                fault_set(ret_fault, FAULT_NOWHERE,
                          "the head does not give the length of the document");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (has_head && head.document_bytes > LIMIT_DOCUMENT_BYTES) {
                fault_set(ret_fault, FAULT_NOWHERE,
                          "the head declares a document of %" PRIu64 " bytes", head.document_bytes);
                return SNAPSHOT_FILE_E_DAMAGED;
        }

        *ret = TAKE_PTR(reader);
        *ret_head = head;
        head.imported_from = NULL;
        return has_head ? SNAPSHOT_FILE_OK : SNAPSHOT_FILE_E_NO_HEAD;
}

static uint64_t file_position(const SnapshotFileReader *reader) {
        return reader->n_read - (reader->n_filled - reader->n_used);
}

static int damaged(SnapshotFileReader *reader, const char *what) {
        reader->failed = true;
        fault_set(&reader->fault, file_position(reader), "%s", what);
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
                fault_set(&reader->fault, file_position(reader), "zstd: %s",
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
                size_t n_left = reader->n_filled - reader->n_used, n_more, n_read;
                uint32_t magic;

                /* Compressed bytes follow the unread ones, none at the end of the body. */
                if (n_left < FRAME_MAGIC_BYTES) {
                        memmove(reader->space, reader->space + reader->n_used, n_left);
                        reader->n_filled = n_left;
                        reader->n_used = 0;
                        n_more = (size_t) MIN_OF(reader->body_end - reader->n_read,
                                                 (uint64_t) (reader->n_space - n_left));
                        r = file_read_at(reader->fd, reader->space + n_left, n_more, reader->n_read,
                                         &n_read);
                        if (r < 0)
                                return r;
                        reader->n_read += n_read;
                        n_left = reader->n_filled += n_read;
                        if (n_read < n_more)
                                return damaged(reader, "the file became shorter while it was read");
                }
                if (!reader->in_frame && n_left == 0) {
                        *ret_n = 0;
                        if (!reader->is_exact || reader->n_document == reader->max_document)
                                return 0;
                        fault_set(&reader->fault, FAULT_NOWHERE,
                                  "the document has %" PRIu64 " bytes, but its head says %" PRIu64,
                                  reader->n_document, reader->max_document);
                        reader->failed = true;
                        return -EBADMSG;
                }
                /*
                 * The next four bytes begin a frame of today's format or a skippable one. Formats
                 * of old zstd libraries are refused, because their decoders do not obey our window
                 * limit.
                 */
                if (!reader->in_frame) {
                        bool is_first = file_position(reader) == reader->begin;

                        if (n_left < FRAME_MAGIC_BYTES)
                                return damaged(reader,
                                               is_first ? "the file is cut short"
                                                        : "data other than a zstd frame follows");
                        memcpy(&magic, reader->space + reader->n_used, sizeof(magic));
                        magic = le32toh(magic);
                        if (magic != ZSTD_MAGICNUMBER &&
                            (magic & ZSTD_MAGIC_SKIPPABLE_MASK) != ZSTD_MAGIC_SKIPPABLE_START)
                                return damaged(reader,
                                               is_first ? "it is not a zstd file"
                                                        : "data other than a zstd frame follows");
                        reader->in_frame = true;
                }
                r = decode(reader, space, (size_t) wanted, &n);
                if (r < 0)
                        return r;
                /*
                 * Without input the decoder may still hold output; when it gives none, the frame is
                 * cut off.
                 */
                if (n_left == 0 && n == 0 && reader->in_frame)
                        return damaged(reader, "the file is cut short");
        }
        *ret_n = n;
        return 0;
}

/* copying */

/* Feeds [@from, @to) of @fd to @hash and, when @out is a descriptor, appends it there. */
static int hash_range(int fd, uint64_t from, uint64_t to, Hash hash, int out,
                      SnapshotFault *ret_fault) {
        _cleanup_(freep) char *space = malloc(COPY_BYTES);
        int r;

        if (!space)
                return -ENOMEM;
        while (from < to) {
                size_t n = (size_t) MIN_OF(to - from, (uint64_t) COPY_BYTES);

                r = read_exactly(fd, space, n, from, ret_fault);
                if (r != 0)
                        return r;
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

        r = trailer_find(fd, (FileRange){}, &trailer, ret_fault);
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

int snapshot_file_rehead(int from, int to, Head *head, uint64_t *ret_bytes,
                         SnapshotFault *ret_fault) {
        _cleanup_(hash_freep) Hash hash = NULL, read = NULL;
        _cleanup_(head_done) Head origin = {};
        FileTrailer trailer;
        uint64_t n_bytes;
        int r;

        r = trailer_find(from, (FileRange){}, &trailer, ret_fault);
        if (r != 0)
                return r;
        r = trailer_read_head(from, &trailer, &origin, ret_fault);
        if (r != 0)
                return r;
        r = hash_new(&hash);
        if (r < 0)
                return r;
        /*
         * The digest of the origin is checked with the bytes as they are copied: a body that was
         * damaged on disk or while it was read must not get a new digest that matches.
         */
        r = hash_new(&read);
        if (r < 0)
                return r;
        r = hash_range(from, 0, trailer.body_end, hash, to, ret_fault);
        if (r != 0)
                return r;
        XXH3_copyState(read, hash);
        r = hash_range(from, trailer.body_end, trailer.digest_offset, read, -EBADF, ret_fault);
        if (r == 0)
                r = trailer_check_digest(from, &trailer, read, ret_fault);
        if (r != 0)
                return r;

        /* These members describe the body, which is copied unchanged. */
        head->is_recording = origin.is_recording;
        head->has_parts = origin.has_parts;
        head->begin_bytes = origin.begin_bytes;
        head->end_bytes = origin.end_bytes;
        head->format_version = origin.format_version;
        head->has_document_bytes = origin.has_document_bytes;
        head->document_bytes = origin.document_bytes;
        n_bytes = trailer.body_end;
        r = trailer_append(to, hash, head, &n_bytes);
        if (r < 0)
                return r;
        *ret_bytes = n_bytes;
        return 0;
}

int snapshot_file_join(const int parts[static SNAPSHOT_RECORDING_PARTS], int to, Head *head,
                       uint64_t *ret_bytes, SnapshotFault *ret_fault) {
        _cleanup_(hash_freep) Hash hash = NULL;
        uint64_t sizes[SNAPSHOT_RECORDING_PARTS], n_bytes = 0;
        int r = hash_new(&hash);

        for (size_t i = 0; i < SNAPSHOT_RECORDING_PARTS && r == 0; i++) {
                FileTrailer trailer = {};

                r = snapshot_file_check_digest(parts[i], ret_fault);
                if (r == 0)
                        r = trailer_find(parts[i], (FileRange){}, &trailer, ret_fault);
                if (r != 0)
                        break;
                sizes[i] = trailer.file_bytes;
                n_bytes += sizes[i];
                r = hash_range(parts[i], 0, sizes[i], hash, to, ret_fault);
        }
        if (r != 0)
                return r;
        head->is_recording = head->has_parts = true;
        head->begin_bytes = sizes[0];
        head->end_bytes = sizes[1];
        r = trailer_append(to, hash, head, &n_bytes);
        if (r == 0)
                *ret_bytes = n_bytes;
        return r;
}

/* checking */

static const JsonLimits host_limits = {
        .max_depth = SNAPSHOT_MAX_DEPTH,
        .max_token_bytes = SNAPSHOT_MAX_TOKEN_BYTES,
        .max_text_bytes = SNAPSHOT_MAX_VALUE_BYTES,
};

/* Reads the kernel release, the only member of the host context of version 0 that a head has. */
static int on_host_member(void *userdata, JsonScanner *scanner, Span key) {
        Head *head = userdata;
        Span text;
        int r;

        if (!span_is(key, "kernel_release"))
                return json_scanner_skip(scanner);
        r = json_scanner_text(scanner, &text);
        if (r == 0 && text.n < sizeof(head->kernel_release)) {
                memcpy(head->kernel_release, text.bytes, text.n);
                head->kernel_release[text.n] = '\0';
        }
        return r;
}

/* The state of snapshot_file_verify() while it reads. */
typedef struct Verification {
        Head *head;
        bool has_ledger, has_last;
        pid_t last_tgid, last_tid;
        char complaint[sizeof(((SnapshotFault *) NULL)->text)]; /* "" while all is well */
} Verification;

static int verify_host(void *userdata, SnapshotSection section, Span json) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        Head *head = ((Verification *) userdata)->head;
        int r;

        if (section != SNAPSHOT_SECTION_HOST || head->format_version > 0)
                return 0;
        r = json_scanner_new_text(json, &host_limits, &scanner);
        if (r < 0)
                return r;
        r = json_scanner_object(scanner, on_host_member, head);
        return r == JSON_E_MALFORMED ? 0 : r; /* of another type: unknown */
}

/*
 * Threads are followed by reading two files side by side, so their order is part of the format. A
 * file that does not record its boot, as those of version 0, is never read like that.
 */
static int verify_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        Verification *verification = userdata;
        pid_t tgid = verification->last_tgid, tid = verification->last_tid;

        if (verification->head->boot_id[0] == '\0')
                return 0;
        if (verification->has_last &&
            (sample->tgid < tgid || (sample->tgid == tgid && sample->tid <= tid))) {
                (void) snprintf(verification->complaint, sizeof(verification->complaint),
                                sample->tgid == tgid && sample->tid == tid
                                        ? "thread %d of process %d is there twice"
                                        : "thread %d of process %d is out of order: threads "
                                          "ascend by process and thread id",
                                (int) sample->tid, (int) sample->tgid);
                return -EBADMSG;
        }
        verification->has_last = true;
        verification->last_tgid = sample->tgid;
        verification->last_tid = sample->tid;
        return 0;
}

static int verify_ledger(void *userdata, const LedgerSummary *ledger) {
        ((Verification *) userdata)->has_ledger = true;
        return 0;
}

static const SnapshotVisitor verifier = {
        .on_value = verify_host,
        .on_thread = verify_thread,
        .on_ledger = verify_ledger,
};

/* Checks what document and head must agree on; without a head, fills it from the document. */
static int compare_head(const SnapshotReader *document, const Verification *verification,
                        bool has_head, SnapshotFault *ret_fault) {
        Head *head = verification->head;
        uint32_t version = document->format_version;
        uint64_t n_threads = document->n_threads;
        uint64_t n_processes = document->n_processes;

        if (!has_head && version > 0) {
                fault_set(ret_fault, head->size_bytes, "the head is missing");
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (!has_head) {
                head->has_start_realtime = document->captured_realtime_ns > 0;
                head->start_realtime_ns = document->captured_realtime_ns;
                head->has_threads = head->has_processes = true;
                head->threads = n_threads;
                head->processes = n_processes;
                return 0;
        }
        if (head->format_version != version)
                fault_set(ret_fault, FAULT_NOWHERE,
                          "head and document have different format versions");
        else if (head->has_threads && head->threads != n_threads)
                fault_set(ret_fault, FAULT_NOWHERE,
                          "the document has %" PRIu64 " threads, but its head says %" PRIu64,
                          n_threads, head->threads);
        else if (head->has_processes && head->processes != n_processes)
                fault_set(ret_fault, FAULT_NOWHERE,
                          "the document has %" PRIu64 " processes, but its head says %" PRIu64,
                          n_processes, head->processes);
        else if (verification->has_ledger != (head->ledger_id[0] != '\0'))
                fault_set(ret_fault, FAULT_NOWHERE,
                          verification->has_ledger
                                  ? "the document has a ledger that its head does not "
                                    "name"
                                  : "the head names a ledger that the document does "
                                    "not have");
        else
                return 0;
        return SNAPSHOT_FILE_E_DAMAGED;
}

/* Reads the document to its end; translates what is wrong with it or its file. */
static int run_document(SnapshotFileReader *file, SnapshotReader *document,
                        const SnapshotVisitor *visitor, void *userdata, SnapshotFault *ret_fault) {
        int r = snapshot_reader_run(document, visitor, userdata);

        if (r == SNAPSHOT_E_MALFORMED || r == SNAPSHOT_E_TOO_NEW) {
                fault_set(ret_fault, document->document.scanner->offset, "%s",
                          document->document.complaint);
                if (ret_fault)
                        ret_fault->in_document = true;
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        /* Some file systems return this errno themselves; then the reader has set no fault. */
        if (r == -EBADMSG && snapshot_file_reader_fault(file)->text[0] != '\0') {
                if (ret_fault)
                        *ret_fault = *snapshot_file_reader_fault(file);
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        return err_fold(r);
}

int snapshot_file_visit(int fd, SnapshotPart part, const SnapshotVisitor *visitor, void *userdata,
                        SnapshotFault *ret_fault) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *file = NULL;
        _cleanup_(snapshot_reader_freep) SnapshotReader *document = NULL;
        _cleanup_(head_done) Head head = {};
        int r;

        r = snapshot_file_reader_new(fd, part, &file, &head, ret_fault);
        if (r != 0 && r != SNAPSHOT_FILE_E_NO_HEAD)
                return r;
        r = snapshot_reader_new(snapshot_file_refill, file, 0, &document);
        return r < 0 ? r : run_document(file, document, visitor, userdata, ret_fault);
}

int snapshot_file_verify(int fd, SnapshotPart part, Head *ret, SnapshotFault *ret_fault) {
        _cleanup_(snapshot_file_reader_freep) SnapshotFileReader *file = NULL;
        _cleanup_(snapshot_reader_freep) SnapshotReader *document = NULL;
        _cleanup_(head_done) Head head = {};
        Verification verification = { .head = &head };
        bool has_head;
        int r;

        r = snapshot_file_reader_new(fd, part, &file, &head, ret_fault);
        has_head = r == SNAPSHOT_FILE_OK;
        if (r != 0 && r != SNAPSHOT_FILE_E_NO_HEAD)
                return r;
        if (has_head) {
                r = snapshot_file_check_digest(fd, ret_fault);
                if (r == SNAPSHOT_FILE_E_NO_HEAD) {
                        fault_set(ret_fault, FAULT_NOWHERE, "the file changed while it was read");
                        return SNAPSHOT_FILE_E_DAMAGED;
                }
                if (r != 0)
                        return r;
        }
        r = snapshot_reader_new(snapshot_file_refill, file, 0, &document);
        if (r < 0)
                return r;
        r = run_document(file, document, &verifier, &verification, ret_fault);
        if (verification.complaint[0] != '\0') {
                fault_set(ret_fault, document->document.scanner->offset, "%s",
                          verification.complaint);
                if (ret_fault)
                        ret_fault->in_document = true;
                return SNAPSHOT_FILE_E_DAMAGED;
        }
        if (r == 0)
                r = compare_head(document, &verification, has_head, ret_fault);
        if (r != 0)
                return r;
        *ret = head;
        head.imported_from = NULL;
        return 0;
}
