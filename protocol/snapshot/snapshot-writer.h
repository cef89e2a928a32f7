/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotWriter
 *
 * Writes the JSON document of a snapshot front to back: the opening members, the sections in the
 * order of their table, the closing members. The bytes go to a sink in pieces, so memory does not
 * grow with the host. Rows are encoded apart from being written, so that worker threads can encode.
 */

#include <stdint.h>
#include "base/buffer.h"
#include "json/json-writer.h"
#include "snapshot/head.h"
#include "snapshot/snapshot-section.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

/* Takes @n bytes, all of them: 0, or a negative errno. */
typedef int (*SnapshotSink)(void *userdata, const char *bytes, size_t n);

typedef struct SnapshotWriter SnapshotWriter;

_must_check_ int snapshot_writer_new(SnapshotSink sink, void *userdata, SnapshotWriter **ret);
SnapshotWriter *snapshot_writer_free(SnapshotWriter *writer);
DEFINE_CLEANUP(SnapshotWriter *, snapshot_writer_free);

/*
 * Once, first. Then the sections, each in one call or in many, ascending by @section, which indexes
 * their table; a section that is left out is written empty.
 */
_must_check_ int snapshot_writer_begin(SnapshotWriter *writer, const Head *head);
/* DOCUMENT_OBJECT: @json is a complete object, or empty for null. */
_must_check_ int snapshot_writer_object(SnapshotWriter *writer, size_t section, Span json);
/* DOCUMENT_MAP: one entry, @json a complete object. Entries come in bytewise order of @name. */
_must_check_ int snapshot_writer_entry(SnapshotWriter *writer, size_t section, Span name,
                                       Span json);
/* DOCUMENT_TABLE: @rows are arrays "[...]" in the order of the columns joined by ",", or empty. */
_must_check_ int snapshot_writer_rows(SnapshotWriter *writer, size_t section, Span rows);
/* Once, last: closes the document. */
_must_check_ int snapshot_writer_end(SnapshotWriter *writer, const SourceTable *sources,
                                     const Head *head);
