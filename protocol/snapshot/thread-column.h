/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadFamily
 *
 * The families of metrics of which format version 0 says, by a member of each thread, whether they
 * were measured. If they were not, the zeros of that family are no measurements. Earlier files do
 * not say it.
 */

#include "base/span.h"
#include "json/json-writer.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

#define THREAD_FAMILY_MAX_METRICS 40

typedef struct ThreadFamily {
        const char *key; /* of the member, true or false */
        MetricId ids[THREAD_FAMILY_MAX_METRICS];
        unsigned n_ids;
} ThreadFamily;

#define THREAD_FAMILIES 5
extern const ThreadFamily thread_families[THREAD_FAMILIES];

/*
 * ThreadColumn
 *
 * The columns of a snapshot's thread table, by name, and the type of each metric's cell in JSON,
 * for both writer and reader. The columns that identify a thread come first, then every metric that
 * is stored, in the order of the registry.
 */

// clang-format off
#define THREAD_IDENTITY_COLUMNS(C)                                                                 \
        C(tid) C(tgid) C(ppid) C(uid) C(gid) C(pcomm) C(comm) C(cgroup) C(start_time_clock_ticks)  \
        C(kthread) C(self) C(exe_dev) C(exe_inode) C(smaps_rollup_kb) C(command) C(command_line)
// clang-format on

/* Identity columns, then _COLUMN_IDENTITY_MAX + METRIC_x. */
#define THREAD_COLUMN_ID(name) COLUMN_##name,
enum {
        THREAD_IDENTITY_COLUMNS(THREAD_COLUMN_ID) _COLUMN_IDENTITY_MAX,
        _COLUMN_MAX = _COLUMN_IDENTITY_MAX + _METRIC_MAX,
};
typedef unsigned ThreadColumn;

typedef enum CellKind {
        CELL_NONE, /* thread_count: every row counts one, nothing is stored */
        CELL_UNSIGNED,
        CELL_I32,
        CELL_U32,
        CELL_BOOL,
        CELL_CHARACTER,
        CELL_POLICY,
        CELL_CPUS,
} CellKind;

extern const unsigned char thread_cell_kinds[_METRIC_MAX];

const char *thread_column_name(ThreadColumn column);
/* _COLUMN_MAX when no column has that name. */
ThreadColumn thread_column_find(Span name);
/*
 * Writes the cell of that column, null where the sample has no value for it. The cell of
 * smaps_rollup_kb is null, as its value is not in the sample, or {}: it was not asked for.
 */
void thread_cell_write(JsonWriter *writer, const ThreadSample *sample, ThreadColumn column);
/*
 * Appends an array of all cells that are stored: the same as thread_cell_write() of each, but fast.
 * The cell of smaps_rollup_kb is @smaps, the rollup of the leader as one JSON object {"Rss": kB,
 * ...}, unless that is empty. A row that does not fit leaves nothing in @buffer.
 */
_must_check_ int thread_row_encode(Buffer *buffer, const ThreadSample *sample, Span smaps);
/* The names of all columns that are stored, in the order of a row's cells. */
void thread_columns_write(JsonWriter *writer);
