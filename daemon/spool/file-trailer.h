/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FileTrailer
 *
 * Finds, reads and writes the skippable frame that ends a snapshot file; snapshot-file.h has its
 * layout.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "snapshot/head.h"
#include "spool/snapshot-fault.h"

#define TRAILER_DIGEST_BYTES 16
#define TRAILER_FRAME_MAGIC 0x184D2A5Cu

/* A part of a file that is a snapshot file itself; zeroed: all of it. */
typedef struct FileRange {
        uint64_t begin, end;
} FileRange;

/* All places are in the whole file. */
typedef struct FileTrailer {
        uint64_t begin;      /* of the range */
        uint64_t file_bytes; /* its length */
        uint64_t body_end;   /* where the trailer begins; the end of the range when there is none */
        uint64_t digest_offset;
        uint64_t json_offset;
        size_t n_json;
} FileTrailer;

typedef XXH3_state_t *Hash;

static inline Hash hash_free(Hash hash) {
        (void) XXH3_freeState(hash);
        return NULL;
}
DEFINE_CLEANUP(Hash, hash_free);
/* -ENOMEM. */
_must_check_ int hash_new(Hash *ret);

/* All of @n bytes, or SNAPSHOT_FILE_E_DAMAGED where the file has fewer. */
_must_check_ int read_exactly(int fd, void *bytes, size_t n, uint64_t offset,
                              SnapshotFault *ret_fault);

/*
 * Finds the trailer of @fd by its last bytes. SNAPSHOT_FILE_E_NO_HEAD (*ret has the sizes),
 * SNAPSHOT_FILE_E_DAMAGED.
 */
_must_check_ int trailer_find(int fd, FileRange range, FileTrailer *ret, SnapshotFault *ret_fault);
/* The head within, with its size_bytes. SNAPSHOT_FILE_E_DAMAGED. */
_must_check_ int trailer_read_head(int fd, const FileTrailer *trailer, Head *ret,
                                   SnapshotFault *ret_fault);
/* Reads the digest and compares it with @hash, which was fed all bytes before it. */
_must_check_ int trailer_check_digest(int fd, const FileTrailer *trailer, Hash hash,
                                      SnapshotFault *ret_fault);
/*
 * Appends the trailer to @fd. @hash was fed the *n_bytes bytes before it. Sets *n_bytes and the
 * size in @head to the length of the file. -EMSGSIZE when the head is too long.
 */
_must_check_ int trailer_append(int fd, Hash hash, Head *head, uint64_t *n_bytes);
