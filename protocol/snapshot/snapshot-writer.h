/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotWriter
 *
 * The JSON document of a snapshot, written front to back: opening members, the thread table row by
 * row, cgroups one by one, the rest. The bytes go to a sink in pieces, so memory does not grow with
 * the host. Rows are encoded apart from being written, so that worker threads can encode.
 */

#include <stdint.h>
#include "base/buffer.h"
#include "json/json-writer.h"
#include "snapshot/head.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

/* Takes @n bytes, all of them, or fails with a negative errno. */
typedef int (*SnapshotSink)(void *userdata, const char *bytes, size_t n);

typedef struct SnapshotWriter SnapshotWriter;

_must_check_ int snapshot_writer_new(SnapshotSink sink, void *userdata, SnapshotWriter **ret);
SnapshotWriter *snapshot_writer_free(SnapshotWriter *writer);
DEFINE_CLEANUP(SnapshotWriter *, snapshot_writer_free);

/*
 * The calls in their only order. @host_json is a complete JSON object (daemon's host context) or
 * empty for null.
 */
_must_check_ int snapshot_writer_begin(SnapshotWriter *writer, const Head *head, Span host_json);
/*
 * Appends one thread's row "[...]" in column order to @buffer; @smaps is the leader's rollup as one
 * JSON object {"Rss": kB, ...}, or empty.
 */
_must_check_ int snapshot_row_encode(Buffer *buffer, const ThreadSample *sample, Span smaps);
/* @rows: rows of snapshot_row_encode() joined by ",", or empty. */
_must_check_ int snapshot_writer_rows(SnapshotWriter *writer, Span rows);
_must_check_ int snapshot_writer_end_threads(SnapshotWriter *writer);
/*
 * One cgroup: @stats_json is a complete object (snapshot(5), CgroupStats). In bytewise path order.
 */
_must_check_ int snapshot_writer_cgroup(SnapshotWriter *writer, Span path, Span stats_json);
/* Closes the document: @psi_json, @sched_ext_json complete values or empty for null. */
_must_check_ int snapshot_writer_end(SnapshotWriter *writer, Span psi_json, Span sched_ext_json,
                                     const SourceTable *sources, const Head *head);
/* Bytes of the document so far. */
uint64_t snapshot_writer_bytes(const SnapshotWriter *writer);
