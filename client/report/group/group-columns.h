/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupColumns
 *
 * Which columns the rows of groups can have, and which a user chose. A column that only makes sense
 * with two snapshots is unknown where there is one.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/macro.h"
#include "render/table.h"
#include "report/overview/overview.h"

/*         id       name        header     right  shrink omit  reports that have it */
// clang-format off
#define GROUP_COLUMNS(C)                                                                   \
        C(GROUP,   "group",    NULL,      false, 12,    0,    BOTH)                                \
        C(THREADS, "threads",  "threads", true,  0,     1,    BOTH)                                \
        C(METRIC,  "metric",   "metric",  false, 0,     0,    BOTH)                                \
        C(BEFORE,  "before",   "before",  true,  11,    0,    TWO)                                 \
        C(AFTER,   "after",    "after",   true,  11,    0,    TWO)                                 \
        C(ARROW,   "arrow",    "value",   false, 27,    0,    TWO)                                 \
        C(DELTA,   "delta",    "delta",   true,  0,     0,    TWO)                                 \
        C(PERCENT, "%",        "%",       true,  0,     0,    TWO)                                 \
        C(RATE,    "rate",     "rate",    true,  0,     2,    TWO)                                 \
        C(VALUE,   "value",    "value",   true,  24,    0,    ONE)                                 \
        C(TOP,     "top",      "top",     false, 24,    0,    BOTH)                                \
        C(P50,     "p50",      "p50",     true,  0,     0,    BOTH)                                \
        C(P99,     "p99",      "p99",     true,  0,     0,    BOTH)                                \
        C(UPTIME,  "uptime",   "%uptime", true,  0,     0,    BOTH)                                \
        C(TAGS,    "tags",     "tags",    false, 12,    0,    BOTH)                                \
        C(UNIT,    "unit",     "unit",    false, 0,     0,    BOTH)
// clang-format on

#define GROUP_COLUMN_ID(id, ...) GROUP_COLUMN_##id,
typedef enum GroupColumn { GROUP_COLUMNS(GROUP_COLUMN_ID) _GROUP_COLUMN_MAX } GroupColumn;

typedef struct GroupColumns {
        GroupColumn ids[_GROUP_COLUMN_MAX];
        size_t n;
        size_t n_default; /* the first ones, which nobody named: they may be left out */
} GroupColumns;

enum {
        GROUP_COLUMNS_OK,
        GROUP_COLUMNS_E_INVALID, /* the complaint is a sentence */
};

#define GROUP_COLUMNS_COMPLAINT_BYTES 1024

/*
 * @list: of --columns, NULL for the default; one that begins with '+' adds to the default. Blanks
 * around entries and letters of either case pass.
 */
_must_check_ int group_columns_parse(const char *list, ReportKind kind, GroupColumns *ret,
                                     char ret_complaint[static GROUP_COLUMNS_COMPLAINT_BYTES]);

/* One of them tells how a sum is spread over threads, which has to be asked for. */
bool group_columns_want_spread(const GroupColumns *columns);

/* How the table lays it out; @group_header heads the group's column. */
TableColumn group_column_table(GroupColumn id, const char *group_header);
