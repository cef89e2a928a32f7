/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MovedRow
 *
 * A thread that ended under another process name, thread name or cgroup than some capture saw it
 * with. The ledger of the dead has all that it did in the row of its last names, so whoever
 * subtracts what an earlier snapshot says of the thread has to do it there.
 *
 * A row is a ThreadSample that tells which thread it was (tid, tgid and start) and what it was
 * called in the end (names, cgroup, kthread, self), and has no metrics.
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "document/table-reader.h"
#include "json/json-writer.h"
#include "snapshot/thread-reader.h"
#include "snapshot/thread-sample.h"

/* The names of the table's columns, in the order of a row's cells. */
void moved_columns_write(JsonWriter *writer);
/*
 * Appends one row of the table "moved" to @buffer: [...], for snapshot_writer_rows(). 0, or a
 * negative errno with @buffer as it was.
 */
_must_check_ int moved_row_encode(Buffer *buffer, const ThreadSample *ended);
/* Rows of the table; the row is a ThreadReader, which has the sample afterwards. */
extern const TableRows moved_rows;
