/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RowHead
 *
 * What all rows of a view have in common: its kind and axis, and where its snapshots come from, so
 * that rows of many hosts and times can lie in one table. ctprof-rows(5) is the contract.
 */

#include <json-c/json.h>
#include "base/span.h"
#include "report/overview/overview.h"
#include "report/row/row-writer.h"

/* @axis: as --group-by takes it. @reply: the first one; NULL while names are written. */
void row_head_begin(RowWriter *writer, ReportKind kind, Span axis, json_object *reply);
/*
 * Of the time between two snapshots of which nothing is known; it has the columns of an interval.
 * @ends: {before, after, sameBoot}, heads or null.
 */
void row_head_begin_gap(RowWriter *writer, Span axis, json_object *ends);
