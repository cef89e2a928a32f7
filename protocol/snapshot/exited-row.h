/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitedRow
 *
 * The work of threads that have exited. Since some moment the kernel adds what
 * each thread that ends has done to the row of its process name, thread name, cgroup and whose
 * child its process was. A snapshot carries all rows beside the living threads, and each thread
 * that lived since that moment is in exactly one of the two. The sums only grow, so between two
 * snapshots of one ledger
 *
 *     work = (living after + dead after) - (living before + dead before)
 *
 * holds for survivors, for threads that ended, for those born and for those both born and ended.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "document/table-reader.h"
#include "json/json-scanner.h"
#include "json/json-writer.h"
#include "snapshot/thread-column.h"
#include "snapshot/thread-reader.h"
#include "snapshot/thread-sample.h"

typedef struct ExitedRow {
        /*
         * Its names, cgroup, kthread and self, and the metrics: sums over the threads, the largest
         * of their maxima, the smallest of their minima that is not 0. It has no number and no
         * start, and nothing that only the living have. Delays are of @accounted threads.
         */
        ThreadSample sample;
        uint64_t exits;     /* threads */
        uint64_t lives_ns;  /* how long each of them lived, added up */
        uint64_t accounted; /* threads that had delay accounting */
        /*
         * Threads that were born after the last capture before their end, and their run time: of
         * two captures in a row, what was born and ended in between.
         */
        uint64_t young, young_run_ns;
        /*
         * @owner is the uid of the user that answers for the threads; without has_owner, the row is
         * of several owners. @folded says what the row stands for, @born_boottime_ns when the row
         * was made, and @grew_boottime_ns when a thread was last added to it, both by
         * CLOCK_BOOTTIME. Files of earlier versions have none of these.
         */
        bool has_owner, has_times;
        uint64_t owner, folded, born_boottime_ns, grew_boottime_ns;
        /*
         * The name of the parent when they ended: of whoever started the process, or of init or
         * another reaper if that had ended by then. Empty: nobody starts threads of the kernel.
         * bytes == NULL: it is not known, as in files of earlier versions, or several had the row.
         */
        Span started_by;
} ExitedRow;

/* ExitedRow.folded: how far rows were put together to make room. */
enum {
        EXITED_OWN,        /* not at all */
        EXITED_NUMBERLESS, /* those whose names differ in numbers */
        EXITED_NAMELESS,   /* those of one owner in one cgroup */
        EXITED_OVERFLOW,   /* those of one owner, with threads that found no row of their own */
};

/* The names that one owner has lost; without has_owner, all others. */
typedef struct OwnerLoss {
        bool has_owner;
        uint64_t owner, folded_rows, overflow_exits, folded_grew_boottime_ns;
} OwnerLoss;

#define OWNER_LOSSES_MAX 64u

/* The ledger as a whole. */
typedef struct LedgerSummary {
        uint64_t generation;     /* captures that used it, this one included */
        uint64_t exits;          /* threads that it has counted since it began */
        uint64_t unfinished;     /* of these, those whose last moments are still to be added */
        uint64_t folded_rows;    /* rows that were put together with others to make room */
        uint64_t overflow_exits; /* threads that found no room for a row of their own */
        uint64_t lost_marks;     /* threads whose last moments were lost, for want of memory */
        uint64_t lost_records; /* threads that ended during this capture and are in no row of it */
        /*
         * When a thread was last added to any row that is not EXITED_OWN, 0: never; owners that
         * have such rows, largest losses first; and threads that ended under other names than
         * before and are not listed (moved-row.h). Files of earlier versions do not say.
         */
        bool has_losses;
        uint64_t moved_lost;
        uint64_t folded_grew_boottime_ns;
        OwnerLoss losses[OWNER_LOSSES_MAX];
        size_t n_losses;
} LedgerSummary;

/*
 * True when a row of the exited can have the metric: a sum that only grows, a maximum or a minimum.
 * thread_count is of the living, and allocators can only be asked while their process lives.
 */
bool exited_row_carries(MetricId id);

/*
 * Columns of the table "dead": names, cgroup and metrics as in the table of threads, without what
 * only the living have, and members of ExitedRow: counts, which all rows have, what came later, and
 * a name.
 */
#define EXITED_COUNT_COLUMNS(C) C(exits) C(lives_ns) C(accounted) C(young) C(young_run_ns)
#define EXITED_LATER_COLUMNS(C) C(owner) C(folded) C(born_boottime_ns) C(grew_boottime_ns)

/* A column of threads, or _COLUMN_MAX and more for a member of the row; the last one is a name. */
#define EXITED_COLUMN_ID(name) EXITED_COLUMN_##name,
enum {
        _EXITED_COLUMN_BEFORE = _COLUMN_MAX - 1,
        EXITED_COUNT_COLUMNS(EXITED_COLUMN_ID) _EXITED_COLUMN_COUNTS_MAX,
        _EXITED_COLUMN_COUNTS_LAST = _EXITED_COLUMN_COUNTS_MAX - 1,
        EXITED_LATER_COLUMNS(EXITED_COLUMN_ID) EXITED_COLUMN_started_by,
        _EXITED_COLUMN_MAX,
};
typedef unsigned ExitedColumn;

const char *exited_column_name(ExitedColumn column);
/* _EXITED_COLUMN_MAX when no column has that name. */
ExitedColumn exited_column_find(Span name);
/* Returns the member of the row for a column from _COLUMN_MAX on that is a number. */
uint64_t *exited_column_count(ExitedRow *row, ExitedColumn column);

/*
 * Appends one row of the table "dead" to @buffer: [...], for snapshot_writer_rows(). Values of the
 * sample for which the table has no column are left out. 0, or a negative errno with @buffer as it
 * was.
 */
_must_check_ int exited_row_encode(Buffer *buffer, const ExitedRow *row);
/* Writes the same cells as members of an object that is open, by the names of their columns. */
void exited_row_write_members(JsonWriter *writer, const ExitedRow *row);
/* The names of the table's columns, in the order of a row's cells. */
void exited_columns_write(JsonWriter *writer);

/* The member "owners" of an object that is open. */
void owner_losses_write_json(JsonWriter *writer, const OwnerLoss *losses, size_t n);
/* The object "ledger" of the document. */
void ledger_summary_write_json(JsonWriter *writer, const LedgerSummary *ledger);
/*
 * Reads that object, the opening token of which was read. All counts must be there; other members
 * are skipped. 0, JSON_E_MALFORMED, or a negative errno; *ret only on 0.
 */
_must_check_ int ledger_summary_scan(JsonScanner *scanner, LedgerSummary *ret);

/*
 * ExitedReader
 *
 * Decodes the table of exited threads a row at a time. Cells that threads have, too, are read as
 * theirs. A metric is absent when its cell is null or it has no column; the counts must be there.
 */

/* The owner releases the buffers of @thread. */
typedef struct ExitedReader {
        ThreadReader thread; /* first, for thread_counts; what threads have, too */
        ExitedRow row;       /* the last one read; its bytes are @thread's */
        NameSlot started_by;
        unsigned seen; /* bits of the counts that had a value */
} ExitedReader;

/* Rows of the table; the row is a ExitedReader. */
extern const TableRows exited_rows;

/*
 * MovedRow
 *
 * A thread that ended under another process name, thread name or cgroup than some capture saw it
 * with. The ledger of exits has all that it did in the row of its last names, so whoever
 * subtracts what an earlier snapshot says of the thread has to do it there.
 *
 * A row is a ThreadSample that tells which thread it was (tid, tgid and start) and what it was
 * called in the end (names, cgroup, kthread, self), and has no metrics.
 */

/* The names of the table's columns, in the order of a row's cells. */
void moved_columns_write(JsonWriter *writer);
/*
 * Appends one row of the table "moved" to @buffer: [...], for snapshot_writer_rows(). 0, or a
 * negative errno with @buffer as it was.
 */
_must_check_ int moved_row_encode(Buffer *buffer, const ThreadSample *ended);
/* Rows of the table; the row is a ThreadReader, which has the sample afterwards. */
extern const TableRows moved_rows;
