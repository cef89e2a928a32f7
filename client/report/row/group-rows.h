/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupRows
 *
 * Groups as rows for programs, one per group and metric. Every row can be read alone, and all rows
 * of a report have the same columns in the same order, whatever the metric and the axis;
 * ctprof-rows(5) is their contract.
 */

#include <json-c/json.h>
#include "report/overview/overview.h"
#include "report/row/row-writer.h"

/* Which of two snapshots has the group. */
typedef enum RowSide {
        ROW_SIDE_BOTH, /* also for a report on one snapshot */
        ROW_SIDE_BEFORE,
        ROW_SIDE_AFTER,
} RowSide;

/* In the column "rule" of values that are made of others: they cannot be added. */
#define GROUP_ROWS_RULE_DERIVED "Derived"

/* Which rows are wanted. */
typedef struct RowChoice {
        bool present; /* only those that have a value */
        bool lives;   /* of an interval: those of its threads, and how much of it is known */
} RowChoice;

/* The line of names of CSV; the head has to be begun anew after it. */
void group_rows_add_names(RowWriter *writer, ReportKind kind);
/*
 * A Group, OneSidedGroup or SetGroup of the interface. @coverage: of the reply, for why something
 * is not known of lives; may be NULL.
 */
void group_rows_add(RowWriter *writer, ReportKind kind, json_object *group, RowSide side,
                    RowChoice choice, json_object *coverage);
/* How much of an interval is known, as rows of the section "coverage", which are of no group. */
void group_rows_add_coverage(RowWriter *writer, json_object *coverage, RowChoice choice);
/* One row without a group, metric and value; the columns are those of an interval. */
void group_rows_add_gap(RowWriter *writer, Span reason);

/* The parts of a row that rows of sections have, too. */

/* A VALUE of the interface, in columns of one type each; NULL is absent. */
typedef struct RowValue {
        json_object *number;
        const char *digits; /* the number as text instead */
        json_object *min, *max, *text, *count, *total;
} RowValue;

typedef enum RowValueName {
        ROW_VALUE,
        ROW_VALUE_BEFORE,
        ROW_VALUE_AFTER,
        ROW_VALUE_A, /* of two intervals */
        ROW_VALUE_B,
} RowValueName;

/* @side is absent if its bytes are NULL; @group may be any object with members of a Group. */
void group_rows_begin_group(RowWriter *writer, ReportKind kind, Span side, RowSide row_side,
                            json_object *group);
void group_rows_write_value(RowWriter *writer, RowValueName name, const RowValue *value);
/* How a sum is spread over threads. @entry NULL: the columns are absent. */
void group_rows_write_spreads(RowWriter *writer, ReportKind kind, json_object *entry, RowSide side);
