/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotReader
 *
 * Reads a snapshot document as a stream and gives its parts to a visitor, in their order. Both
 * shapes of the thread list are read: the table of this format, and an object a thread of format
 * version 0, where absence cannot be told from zero (all numbers present). Anything that breaks the
 * grammar or a type is malformed with an offset; nothing is handed out twice.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "document/document-reader.h"
#include "json/json-scanner.h"
#include "snapshot/exited-row.h"
#include "snapshot/snapshot-section.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

enum {
        SNAPSHOT_OK,
        SNAPSHOT_E_MALFORMED, /* SnapshotReader.document: complaint, scanner->offset */
        SNAPSHOT_E_TOO_NEW,   /* "formatVersion" above what this program reads */
};

/*
 * Every member may be NULL. Callbacks return 0 to go on or a negative errno to stop, which is
 * passed on. Spans are borrowed until the callback returns. @json spans are complete valid JSON
 * values.
 */
typedef struct SnapshotVisitor {
        int (*on_thread)(void *userdata, const ThreadSample *sample, Span smaps_json);
        /* Comes before the rows of the exited, and only where there is a ledger. */
        int (*on_ledger)(void *userdata, const LedgerSummary *ledger);
        /* The sample has no numbers (tid, tgid, ...) and no start. */
        int (*on_exited)(void *userdata, const ExitedRow *row);
        int (*on_moved)(void *userdata, const ThreadSample *ended);
        /* Raw path bytes; the CgroupStats object. */
        int (*on_cgroup)(void *userdata, Span path, Span stats_json);
        /* Any other section, each of which is one object. */
        int (*on_value)(void *userdata, SnapshotSection section, Span json);
        int (*on_sources)(void *userdata, const SourceTable *sources);
        /*
         * Reads of each thread in a table only the columns that identify it. The others are neither
         * read nor checked: for a first reading of a document that is read once more.
         */
        bool names_only;
} SnapshotVisitor;

/* Process ids seen, a bit each, in pages that are allocated with the first id in them. */
#define SNAPSHOT_PAGE_IDS (UINT32_C(1) << 20)
#define SNAPSHOT_PAGES ((UINT32_C(1) << 31) / SNAPSHOT_PAGE_IDS)

typedef struct SnapshotReader {
        /* Values that were read so far. */
        uint32_t format_version;       /* UINT32_MAX: that or more */
        uint64_t captured_realtime_ns; /* "captured_at_unix_ns", 0 when missing */
        uint64_t n_threads, n_processes;
        DocumentReader document; /* after a failure with its complaint, and scanner->offset */

        /* The rest belongs to snapshot-reader.c. */
        const SnapshotVisitor *visitor;
        void *userdata;
        TableReader table; /* of the section that is being read */
        ExitedReader row;  /* of that table; rows that are no ExitedRow use its thread only */
        bool has_threads, is_table, has_ledger, has_end_threads, has_end_processes;
        uint64_t end_threads, end_processes;
        uint64_t *pages[SNAPSHOT_PAGES];
} SnapshotReader;

/* @refill delivers the uncompressed document; @max_bytes bounds it (0: none). */
_must_check_ int snapshot_reader_new(JsonRefill refill, void *userdata, uint64_t max_bytes,
                                     SnapshotReader **ret);
SnapshotReader *snapshot_reader_free(SnapshotReader *reader);
DEFINE_CLEANUP(SnapshotReader *, snapshot_reader_free);

/* Reads the document from front to back. */
_must_check_ int snapshot_reader_run(SnapshotReader *reader, const SnapshotVisitor *visitor,
                                     void *userdata);
/*
 * The same thread by thread, to read two documents side by side: reads up to the next thread, which
 * is returned in *ret_sample and not given to on_thread, and gives everything before it to the
 * other functions of @visitor. *ret_sample is NULL when the whole document has been read. Results
 * are borrowed until the next call; there is no further call after a failure.
 */
_must_check_ int snapshot_reader_next(SnapshotReader *reader, const SnapshotVisitor *visitor,
                                      void *userdata, const ThreadSample **ret_sample,
                                      Span *ret_smaps_json);
