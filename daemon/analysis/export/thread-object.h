/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadObject
 *
 * One thread as one JSON object in one of the two export formats. "ktstr" has the members of all
 * versions of the prior tool; of absence it can only tell that a whole ThreadFamily is not there.
 * "ndjson" has every column of the table of threads by name, null where absent, with the host, boot
 * and time so that lines of several snapshots can share a file. It tells of exited threads, too, a
 * row as one object of another kind; "ktstr" has no place for them.
 */

#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/exited-row.h"
#include "snapshot/head.h"
#include "snapshot/thread-sample.h"

/* @smaps_json: the rollup object of a process leader, or empty. */
void thread_object_write_ktstr(JsonWriter *writer, const ThreadSample *sample, Span smaps_json);
void thread_object_write_ndjson(JsonWriter *writer, const ThreadSample *sample, Span smaps_json,
                                const Head *head);
void exited_object_write_ndjson(JsonWriter *writer, const ExitedRow *row, const Head *head);
