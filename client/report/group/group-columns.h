/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupColumns
 *
 * The columns that tables of groups by metric can have, those the user chose, and their cells. A
 * column that only makes sense with two sides is unknown to a report on one snapshot or one
 * interval. Nobody chooses the columns of sets.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/macro.h"
#include "render/cell.h"
#include "render/table.h"
#include "report/overview/kind.h"

/*
 * The columns that a user can choose, and the kinds that have them: ONE snapshot, TWO sides, the
 * WORK of an interval, the CHANGE of either, what can be RATED by time, or BOTH of one and two.
 */
/*         id       name       header     right  shrink omit  kinds that have it */
// clang-format off
#define GROUP_COLUMNS(C)                                                                   \
        C(GROUP,   "group",   NULL,      false, 12,    0,    BOTH)                                 \
        C(THREADS, "threads", "threads", true,  0,     1,    BOTH)                                 \
        C(METRIC,  "metric",  "metric",  false, 0,     0,    BOTH)                                 \
        C(BEFORE,  "before",  "before",  true,  11,    0,    TWO)                                  \
        C(AFTER,   "after",   "after",   true,  11,    0,    TWO)                                  \
        C(ARROW,   "arrow",   "value",   false, 27,    0,    TWO)                                  \
        C(DELTA,   "delta",   "delta",   true,  0,     0,    CHANGE)                               \
        C(PERCENT, "%",       "%",       true,  0,     0,    TWO)                                  \
        C(RATE,    "rate",    "rate",    true,  0,     2,    RATED)                                \
        C(VALUE,   "value",   "value",   true,  24,    0,    ONE)                                  \
        C(WORK,    "work",    "work",    true,  24,    0,    WORK)                                 \
        C(TOP,     "top",     "top",     false, 24,    0,    BOTH)                                 \
        C(P50,     "p50",     "p50",     true,  0,     0,    BOTH)                                 \
        C(P99,     "p99",     "p99",     true,  0,     0,    BOTH)                                 \
        C(UPTIME,  "uptime",  "%uptime", true,  0,     0,    BOTH)                                 \
        C(TAGS,    "tags",    "tags",    false, 12,    0,    BOTH)                                 \
        C(UNIT,    "unit",    "unit",    false, 0,     0,    BOTH)

/* Sets have these beside them, which have no names, because nobody can choose them. */
#define GROUP_SET_COLUMNS(C)                                                               \
        C(P,            "", "p (adj)",         true, 0, 0, SETS)                                   \
        C(RANGE_BEFORE, "", "before min..max", true, 0, 3, SETS)                                   \
        C(RANGE_AFTER,  "", "after min..max",  true, 0, 2, SETS)                                   \
        C(SAMPLES,      "", "n",               true, 0, 4, SETS)
// clang-format on

#define GROUP_COLUMN_ID(id, ...) GROUP_COLUMN_##id,
typedef enum GroupColumn {
        GROUP_COLUMNS(GROUP_COLUMN_ID) GROUP_SET_COLUMNS(GROUP_COLUMN_ID) _GROUP_COLUMN_MAX
} GroupColumn;

typedef struct GroupColumns {
        GroupColumn ids[_GROUP_COLUMN_MAX];
        size_t n;
        size_t n_default; /* how many at the front are default ones, which may be omitted */
        bool want_spread; /* one shows how a sum is spread over threads: the daemon has to tell */
} GroupColumns;

enum {
        GROUP_COLUMNS_OK,
        GROUP_COLUMNS_E_INVALID, /* *ret_complaint is a sentence */
};

#define GROUP_COLUMNS_COMPLAINT_BYTES 1024

/*
 * @list is the argument of --columns, or NULL for the default; a list that begins with '+' adds to
 * the default. Blanks around entries and the case of letters are ignored.
 */
_must_check_ int group_columns_parse(const char *list, ReportKind kind, GroupColumns *ret,
                                     char ret_complaint[static GROUP_COLUMNS_COMPLAINT_BYTES]);

/*
 * Returns the name of the first column that the user chose and that needs two sides: before, after,
 * arrow or "%". NULL when there is none.
 */
const char *group_columns_find_sided(const GroupColumns *columns);

/* Returns the layout of a column; @group_header is the header of the group's column. */
TableColumn group_column_table(GroupColumn id, ReportKind kind, const char *group_header);

/* One metric of one group; what is there is borrowed. */
typedef struct GroupRow {
        ReportKind kind;
        const char *metric;
        json_object *entry;
        CellStyle style;
        const Metric *registered; /* NULL for a derived or an unknown one */
} GroupRow;

/*
 * Returns whether a row says nothing that another one of the group does not say: a second name of a
 * counter whose first name has a value, or the peak of lives in an interval in which it did not
 * rise. @metrics are those of the group.
 */
bool group_row_is_idle(const GroupRow *row, json_object *metrics);
/* Returns the name of a metric for people, without the unit, which is behind its values. */
Span group_metric_text(const char *metric);

/* Appends the cell, whose column must be one of the metric and not of the group. */
void group_cell_append(Buffer *cell, GroupColumn column, const GroupRow *row);
