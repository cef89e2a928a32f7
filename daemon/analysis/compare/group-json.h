/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Group as JSON
 *
 * The object Group of the interface: which rows of a group a view wants, in which order, and what
 * is written of each. The same code selects the rows that are written and counts the hidden ones,
 * so the two cannot disagree.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/group/group.h"
#include "analysis/compare/order.h"
#include "analysis/compare/row.h"
#include "analysis/group/spread.h"
#include "metric/kernel-defect.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/source.h"

/* A GroupContext is needed to write a group; all is borrowed. */
typedef struct GroupContext {
        const View *view;
        unsigned side; /* that is shown, or BOTH_SIDES to compare them */
        const ImpactScale *scale;
        const Columns *columns;
        const SpreadNames *spread_names;   /* NULL: the spread is not written */
        const Uptimes *uptimes;            /* NULL with one side */
        const SourceTable *sources[SIDES]; /* NULL: the file records none */
        bool changed_only; /* hide unchanged rows; with one side, rows without a value */
        bool threshold;    /* hide rows that changed by no more than the threshold of the view */
        bool in_order;
        uint64_t elapsed_ns;
} GroupContext;

/*
 * The rows of @group that are not hidden, in the order of the registry: the first @max. With
 * changed_only a group whose threads were all born in an interval has, unless the view names
 * metrics, only what they did (counters, derived values, peaks; nothing that is 0), and levels that
 * are not what any thread has.
 */
size_t group_context_rows(const GroupContext *context, const Group *group, size_t max,
                          Row *ret_rows);

/*
 * Writes the object Lives of the interface: @reason says why what the ended did is in no
 * group, and @folded what became of names that were lost; NULL: nothing.
 */
void life_counts_write_json(JsonWriter *writer, const LifeCounts *lives, const char *reason,
                            const char *folded);
void group_write_json(JsonWriter *writer, const GroupContext *context, const Group *group);
/* Writes the object OverviewRow of the interface. */
void group_write_overview_json(JsonWriter *writer, const GroupContext *context, const Group *group);
