/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * AccountCell
 *
 * One group of the overview as the cells of a table.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "render/table.h"
#include "report/overview/kind.h"

/* The bar comes last, because only a terminal has it. */
typedef enum AccountColumn {
        ACCOUNT_COLUMN_GROUP,
        ACCOUNT_COLUMN_THREADS,
        ACCOUNT_COLUMN_CPU,
        ACCOUNT_COLUMN_WAIT,
        ACCOUNT_COLUMN_STORAGE,
        ACCOUNT_COLUMN_LOCK,
        ACCOUNT_COLUMN_BLOCKED,
        ACCOUNT_COLUMN_SWITCHES,
        ACCOUNT_COLUMN_READ,
        ACCOUNT_COLUMN_WRITE,
        ACCOUNT_COLUMN_RSS,
        ACCOUNT_COLUMN_FAULTS,
        ACCOUNT_COLUMN_PEAK,
        ACCOUNT_COLUMN_STARTER,
        ACCOUNT_COLUMN_WAITS,
        ACCOUNT_COLUMN_BAR,
        _ACCOUNT_COLUMN_MAX,
} AccountColumn;

/* The columns of a table of accounts, as a user may choose them; none: all. */
typedef struct AccountColumns {
        AccountColumn ids[_ACCOUNT_COLUMN_MAX];
        size_t n;
        bool is_added; /* to all others; what is named has room in any case */
} AccountColumns;

enum {
        ACCOUNT_COLUMNS_OK,
        ACCOUNT_COLUMNS_E_INVALID, /* *ret_complaint is a sentence */
        ACCOUNT_COLUMNS_E_OTHERS,  /* no column of the list is one of the overview alone */
};

#define ACCOUNT_COLUMNS_COMPLAINT_BYTES 512

/*
 * @list is the argument of --columns. Its names are those of orders (view/view-sort.h), and group
 * and threads. The group is there in any case, in front unless it is named.
 */
_must_check_ int account_columns_parse(const char *list, AccountColumns *ret,
                                       char ret_complaint[static ACCOUNT_COLUMNS_COMPLAINT_BYTES]);

typedef struct AccountStyle {
        const ReportSetting *setting;
        bool raw;
        bool utf8;              /* the bar has block characters */
        bool all_rss;           /* also of groups whose memory did not change by much */
        uint64_t elapsed_ns[2]; /* of each interval; 0: not known, so that there are no rates */
        double cpus;            /* of the host; 0: not known */
} AccountStyle;

/* Signs in the cells, about which a reader may ask. */
typedef struct AccountSigns {
        bool storage; /* an approximate time blocked on storage */
        bool writes;  /* more written than the disks say */
        bool moved;   /* CPU time without that of threads that ended under other names */
        bool cut;     /* any figure without what such threads brought along */
        bool bar;
        bool locks; /* a part of some bar */
} AccountSigns;

/*
 * Returns whether the group of an OverviewRow did nothing worth a line in any column and is as it
 * was: each of its cells would read 0, that it did not run is known, no thread of it came or went,
 * and none of @changes, those of the reply, is its own.
 */
bool account_row_is_idle(json_object *row, json_object *changes, const AccountStyle *style);
/* Returns whether a column that only stands where it has something to say has that in this row. */
bool account_row_tells(json_object *row, AccountColumn column, const AccountStyle *style);
/*
 * Returns whether at least half of the weight of the group is in the column: that much time moved
 * there, or its storage or its memory is what weighs. A group that weighs little has no such
 * column.
 */
bool account_row_weighs(json_object *row, AccountColumn column, const AccountStyle *style);
TableColumn account_column(AccountColumn column, const ReportSetting *setting);
/*
 * Appends a cell, whose column is not the group, of an OverviewRow; adds to @signs. An account may
 * have an "elapsedNs" of its own.
 */
void account_cell_append(Buffer *cell, AccountColumn column, json_object *row,
                         const AccountStyle *style, AccountSigns *signs);
/* Appends the meaning of the characters of a bar: "TIME: █ running, …". */
void account_bar_legend(Buffer *line, const AccountStyle *style, const AccountSigns *signs);
