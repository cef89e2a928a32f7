/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * AccountTable
 *
 * The overview: one line a group, with where its time went and what it read and wrote. For an
 * interval these are rates, of which those of time are CPUs (seconds per second); for one snapshot
 * and for totals they are of whole lives. Two sides have an arrow between them, or stand once where
 * both read the same; the side of a group that was not there is "-". "~" stands in front of what
 * is only approximate.
 *
 * A terminal also gets a bar of how the time of a group's threads was divided, and as many lines as
 * fit; a narrow one gets fewer columns. The first failure sticks, and table_end() of its table
 * returns it.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "render/lines.h"
#include "render/table.h"
#include "report/group/account-cell.h"
#include "report/overview/overview.h"
#include "session/session.h"

typedef struct AccountTable {
        const Session *session;
        AccountStyle style;
        json_object *changes; /* of the reply; borrowed, may be NULL */
        AccountColumn ids[_ACCOUNT_COLUMN_MAX];
        TableColumn columns[_ACCOUNT_COLUMN_MAX];
        size_t n_columns;
        size_t places[_ACCOUNT_COLUMN_MAX]; /* by id; n_columns: it is not there */
        Table *table;
        FILE *out;
        bool begun;    /* it has a row, be it of a command; else there is nothing to end */
        bool has_idle; /* groups without activity are rows as well */
        uint64_t n_rows, max_rows;       /* with activity; so many of them are printed */
        uint64_t n_idle;                 /* without any, and left out */
        double most_read, most_written;  /* of a row on a side, in bytes */
        bool moved[_ACCOUNT_COLUMN_MAX]; /* by place: some cell says that something did */
        bool heavy[_ACCOUNT_COLUMN_MAX]; /* by id: half of the weight of a group is there */
        AccountSigns signs;              /* those that were printed */
} AccountTable;

/*
 * @chosen are the columns that the user chose, or none. @reply is the first one, which says how
 * long the intervals were and what changed. @max_rows are printed; the others are counted, and so
 * are groups without activity, unless the user asked for these groups. An empty line stands above
 * the table, if it has a row. @session, @reply and @out are borrowed.
 */
_must_check_ int account_table_new(const Session *session, ReportKind kind,
                                   const AccountColumns *chosen, json_object *reply,
                                   uint64_t max_rows, FILE *out, AccountTable **ret);
AccountTable *account_table_free(AccountTable *table);
DEFINE_CLEANUP(AccountTable *, account_table_free);

/*
 * Adds an OverviewRow of the interface. One @is_command stands above all others and is not counted:
 * its key is the label, as it is, and its account says by "elapsedNs" how long the command ran.
 */
void account_table_add(AccountTable *table, json_object *row, bool is_command);
/* Prints sentences about signs that the table has: the parts of the bar, and reasons of "~". */
_must_check_ int account_table_print_signs(const AccountTable *table, const Lines *lines);
