/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadObject
 *
 * One thread as one JSON object, in the two forms that leave the house: "ktstr", all members of the
 * prior tool in its order, where absence has no form of its own; and "ndjson", every column of the
 * snapshot's table by name, null where absent, with the host, boot and time beside it so that lines
 * of several snapshots can stand in one file.
 */

#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/head.h"
#include "snapshot/thread-sample.h"

/* @smaps_json: the rollup object of a leader, or empty. */
void thread_object_write_ktstr(JsonWriter *writer, const ThreadSample *sample, Span smaps_json);
void thread_object_write_ndjson(JsonWriter *writer, const ThreadSample *sample, Span smaps_json,
                                const Head *head);
