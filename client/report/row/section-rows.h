/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionRows
 *
 * Sections as rows for programs, one per value, with the columns of groups; ctprof-rows(5) is their
 * contract.
 */

#include <json-c/json.h>
#include "report/overview/overview.h"
#include "report/row/group-rows.h"
#include "report/row/row-writer.h"
#include "view/view.h"

/* @row: one row of the section. Of a pair, only the values that @view wants to see are written. */
void section_rows_add(RowWriter *writer, ReportKind kind, const View *view, SectionId id,
                      json_object *row, RowChoice choice);
