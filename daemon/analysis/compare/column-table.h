/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ColumnTable
 *
 * The groups of a view and its columns (analysis/group/column.h), filled thread by thread: what is
 * read of snapshots goes in, and afterwards each group has its accounts. It reads no file and keeps
 * no thread: memory grows with the number of groups.
 *
 * Threads that are marked self are skipped unless the view wants them. A thread belongs to the
 * group of its later names, and threads that ended to that of the names that they had at their end.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "analysis/account/coverage.h"
#include "analysis/group/group.h"
#include "analysis/key/thread-group.h"
#include "analysis/pairing/pairing.h"
#include "snapshot/exited-row.h"
#include "snapshot/thread-sample.h"
#include "view/view.h"

typedef struct ColumnTable {
        const View *view; /* borrowed */
        ThreadGroups threads;
        Columns columns;
        SpreadNames spread_names; /* where the view shows the spread */
        Pairing *pairing;         /* owned; NULL: the axis has no cgroups, or there is one side */
        bool covers;              /* the whole host is told of: coverage, and who ended */
        Coverage coverages[COLUMNS_MAX];
} ColumnTable;

/*
 * @table is zeroed, stays where it is, and outlives its groups; @boots: of the two sides. The
 * columns are set by column_table_begin(). 0 or -ENOMEM, and then it has to be freed, too.
 */
_must_check_ int column_table_init(ColumnTable *table, const View *view, unsigned n_columns,
                                   Boots boots);
void column_table_done(ColumnTable *table);
/* Begins a column; of what was there nothing is left but the accounts of groups. */
void column_table_begin(ColumnTable *table, unsigned column, const ColumnSetup *setup);

/*
 * Adds one thread to a column: both samples, or the only one; without a begin @after alone. *ret is
 * its group; NULL: it is left out. 0 or -ENOMEM.
 */
_must_check_ int column_table_add(ColumnTable *table, unsigned column, const ThreadSample *before,
                                  const ThreadSample *after, Group **ret);
/* Adds a row of the ledger at the @end of an interval that has one. 0 or -ENOMEM. */
_must_check_ int column_table_add_ended(ColumnTable *table, unsigned column, Side end,
                                        const ExitedRow *row);
/* Call after all threads and rows of a column, and when groups are paired. 0 or -ENOMEM. */
_must_check_ int column_table_settle(ColumnTable *table, unsigned column);
/*
 * Takes away the values of threads that are gone where the rows are that tell what they did later.
 * Call before column_table_settle() and pairing. False: rows have cgroups, as groups do.
 */
bool column_table_place_vanished(ColumnTable *table, unsigned column);
