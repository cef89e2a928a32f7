/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupCell
 *
 * One metric of one group, as the cells of a table.
 */

#include <json-c/json.h>
#include "render/cell.h"
#include "report/group/group-columns.h"

typedef struct GroupRow {
        ReportKind kind;
        const char *metric;
        json_object *entry;
        CellStyle style;
        const Metric *registered; /* NULL for a derived or an unknown one */
} GroupRow;

/* @entry is borrowed. */
GroupRow group_row_of(ReportKind kind, const char *metric, json_object *entry, bool raw,
                      uint32_t user_hz);

/* Ticks a second, as the heads of the first reply have it; 0 where none does. */
uint32_t group_user_hz(json_object *reply);
/*
 * Whether a row says nothing that another one of the group does not say: a second name of a counter
 * whose first name has a value, or the peak of lives in an interval in which it did not rise.
 * @metrics: of the group.
 */
bool group_row_is_idle(const GroupRow *row, json_object *metrics);
/* The name of a metric for people, whose values have units: without the unit. */
Span group_metric_text(const char *metric);

/* Appends the cell, whose column must be one of the metric and not of the group. */
void group_cell_append(Buffer *cell, GroupColumn column, const GroupRow *row);
/* Whether the cell stands out: a large percentage, a significant p. */
bool group_cell_is_bold(GroupColumn column, const GroupRow *row);
