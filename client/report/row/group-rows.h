/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupRows
 *
 * Groups as rows for programs, one per group and metric, and sections likewise, one per value; each
 * with all that is needed to read it alone. Every row has the same columns in the same order,
 * whatever the metric and the axis; ctprof-rows(5) is their contract. What is written is forgotten,
 * so memory does not grow with the number of groups.
 */

#include <json-c/json.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "view/view.h"
#include "report/group/group-columns.h"
#include "report/row/row-writer.h"

/* Which of two snapshots have the group. */
typedef enum RowSide {
        ROW_SIDE_BOTH, /* also of a single one */
        ROW_SIDE_BEFORE,
        ROW_SIDE_AFTER,
} RowSide;

typedef struct GroupRows GroupRows;

/* @view and @out are borrowed. */
_must_check_ int group_rows_new(RowStyle style, ReportKind kind, const View *view, FILE *out,
                                GroupRows **ret);
GroupRows *group_rows_free(GroupRows *rows);
DEFINE_CLEANUP(GroupRows *, group_rows_free);

/* The line of names of CSV. */
_must_check_ int group_rows_add_names(GroupRows *rows);
/* @reply: the first of Show or Compare, with what all rows have in common. */
_must_check_ int group_rows_begin(GroupRows *rows, json_object *reply);
/* One Group of the interface. */
_must_check_ int group_rows_add(GroupRows *rows, json_object *group, RowSide side);
/* One row of a section, as a row for each of its values. */
_must_check_ int group_rows_add_section(GroupRows *rows, SectionId id, json_object *row);
