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
#include "json/json-scanner.h"
#include "metric/host-part.h"
#include "snapshot/exited-row.h"
#include "snapshot/snapshot-section.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

enum {
        SNAPSHOT_OK,
        SNAPSHOT_E_MALFORMED, /* snapshot_reader_complaint(), snapshot_reader_offset() */
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
        int (*on_host)(void *userdata, Span json);
        int (*on_host_part)(void *userdata, HostPartId part, Span json);
        int (*on_psi)(void *userdata, Span json);
        int (*on_sched_ext)(void *userdata, Span json);
        /* The counts of reading the counters of allocators. */
        int (*on_probe_summary)(void *userdata, Span json);
        int (*on_sources)(void *userdata, const SourceTable *sources);
        /*
         * Reads of each thread in a table only the columns that identify it. The others are neither
         * read nor checked: for a first reading of a document that is read once more.
         */
        bool names_only;
} SnapshotVisitor;

typedef struct SnapshotReader SnapshotReader;

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

uint32_t snapshot_reader_format_version(const SnapshotReader *reader);
/* "captured_at_unix_ns", 0 when missing. */
uint64_t snapshot_reader_captured_realtime_ns(const SnapshotReader *reader);
uint64_t snapshot_reader_n_threads(const SnapshotReader *reader);
uint64_t snapshot_reader_n_processes(const SnapshotReader *reader);
uint64_t snapshot_reader_offset(const SnapshotReader *reader);
const char *snapshot_reader_complaint(const SnapshotReader *reader);
