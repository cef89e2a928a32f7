/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotFile
 *
 * The container of a snapshot: zstd frames with content checksum that hold one JSON document, then
 * one zstd skippable frame that ends the file:
 *
 *     magic 0x184D2A5C, size        4 + 4 bytes, little endian
 *     the Head as JSON              at most HEAD_MAX_BYTES
 *     XXH3-128 digest               16 bytes, canonical, of every byte of the file before it
 *     length of that JSON           4 bytes, little endian
 *     "ctprof\0\1"                  8 bytes
 *
 * A file can therefore be written to a pipe, a list reads only its last few hundred bytes, zstd
 * tools can read it, and every flipped bit is noticed. A file of the prior tool is a zstd frame
 * without the skippable one.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "snapshot/head.h"
#include "spool/snapshot-fault.h"

/* writing */

typedef struct SnapshotFileWriter SnapshotFileWriter;

/* @fd is borrowed, at position 0 of an empty file or a pipe. */
_must_check_ int snapshot_file_writer_new(int fd, SnapshotFileWriter **ret);
SnapshotFileWriter *snapshot_file_writer_free(SnapshotFileWriter *writer);
DEFINE_CLEANUP(SnapshotFileWriter *, snapshot_file_writer_free);
/* A SnapshotSink: @writer is a SnapshotFileWriter. -ENOSPC, -EIO ... of write(2). */
_must_check_ int snapshot_file_writer_write(void *writer, const char *bytes, size_t n);
/*
 * Sets document_bytes of @head, ends the frame and appends @head. Does not sync. *ret_bytes is the
 * length of the file.
 */
_must_check_ int snapshot_file_writer_finish(SnapshotFileWriter *writer, Head *head,
                                             uint64_t *ret_bytes);

/*
 * A recording is several of these, one behind the other, and a trailer behind them all: the
 * snapshots of both ends and what was recorded between.
 */
typedef enum SnapshotPart {
        SNAPSHOT_PART_WHOLE, /* of a snapshot */
        SNAPSHOT_PART_BEGIN,
        SNAPSHOT_PART_END,
        SNAPSHOT_PART_RECORDING,
} SnapshotPart;

/* reading */

/*
 * Only the head: a few hundred bytes at the end of @fd (pread, a regular file). Neither digest nor
 * document is checked. size_bytes of *ret is that of the file.
 */
_must_check_ int snapshot_file_read_head(int fd, Head *ret, SnapshotFault *ret_fault);

typedef struct SnapshotFileReader SnapshotFileReader;
typedef struct SnapshotVisitor SnapshotVisitor; /* snapshot/snapshot-reader.h */

/*
 * Opens the body for decompression from its start (pread; @fd borrowed; several readers may share
 * it). *ret_head: SNAPSHOT_FILE_OK with the head; SNAPSHOT_FILE_E_NO_HEAD also gives a reader,
 * *ret_head then has format version 0 and only size_bytes.
 */
_must_check_ int snapshot_file_reader_new(int fd, SnapshotPart part, SnapshotFileReader **ret,
                                          Head *ret_head, SnapshotFault *ret_fault);
SnapshotFileReader *snapshot_file_reader_free(SnapshotFileReader *reader);
DEFINE_CLEANUP(SnapshotFileReader *, snapshot_file_reader_free);
/*
 * A JsonRefill: @reader is a SnapshotFileReader. A damaged frame, more output than the head
 * declares (LIMIT_DOCUMENT_0_BYTES without head) or less is -EBADMSG with the fault in
 * snapshot_file_reader_fault().
 */
_must_check_ int snapshot_file_refill(void *reader, char *space, size_t n_space, size_t *ret_n);
const SnapshotFault *snapshot_file_reader_fault(const SnapshotFileReader *reader);

/* Reads every byte and checks the digest. SNAPSHOT_FILE_E_NO_HEAD when there is none to check. */
_must_check_ int snapshot_file_check_digest(int fd, SnapshotFault *ret_fault);

/*
 * Everything a reader can check: digest, zstd checksums, the document's grammar and types, the
 * order of its threads if the head records a boot, thread and process counts and the ledger against
 * the head. 0, SNAPSHOT_FILE_E_DAMAGED, or a negative errno of reading. *ret is the head, filled
 * from the document for version 0; call head_done() on it after 0.
 */
_must_check_ int snapshot_file_verify(int fd, SnapshotPart part, Head *ret,
                                      SnapshotFault *ret_fault);
/*
 * Reads the document once and gives its parts to @visitor; the digest is not checked. 0,
 * SNAPSHOT_FILE_E_DAMAGED, or a negative errno: of reading, or of the visitor.
 */
_must_check_ int snapshot_file_visit(int fd, SnapshotPart part, const SnapshotVisitor *visitor,
                                     void *userdata, SnapshotFault *ret_fault);

/* Copies the body of @from verbatim to the empty @to and ends it with @head (import, rename). */
_must_check_ int snapshot_file_rehead(int from, int to, Head *head, uint64_t *ret_bytes,
                                      SnapshotFault *ret_fault);

/*
 * Puts the whole files of @parts, in the order of SnapshotPart from SNAPSHOT_PART_BEGIN on, into
 * the empty @to, and ends it with @head, whose parts it sets. Each is checked by its digest.
 */
#define SNAPSHOT_RECORDING_PARTS 3
_must_check_ int snapshot_file_join(const int parts[static SNAPSHOT_RECORDING_PARTS], int to,
                                    Head *head, uint64_t *ret_bytes, SnapshotFault *ret_fault);
