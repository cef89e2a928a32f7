/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Group as JSON
 *
 * The object Group of the interface: which rows of a group a view wants, in which order, and what
 * is written of each. The same selection counts what is hidden, so that the two cannot disagree.
 *
 * @side is everywhere the side that is shown, or BOTH_SIDES to compare them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/group/group.h"
#include "analysis/compare/impact.h"
#include "analysis/compare/row.h"
#include "analysis/group/spread-names.h"
#include "analysis/group/uptime.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/source.h"

/* What a group is seen with; all borrowed. */
typedef struct GroupLens {
        const View *view;
        const ImpactScale *scale;
        const SpreadNames *spread_names;   /* NULL: how sums are spread is not written */
        const Uptimes *uptimes;            /* with two sides only */
        const SourceTable *sources[SIDES]; /* NULL: not recorded */
        bool changed_only; /* hide rows that did not change; of one side, those without a value */
        bool threshold;    /* hide rows that moved by no more than the view's, too */
        bool same_boot;
        uint64_t elapsed_ns;
} GroupLens;

/* How many rows the view wants of any group. */
size_t group_lens_n_rows(const GroupLens *lens);
/* Those of @group that are not hidden, in the order of the registry; at most ROW_MAX. */
size_t group_lens_rows(const GroupLens *lens, const Group *group, unsigned side, Row *ret_rows);
/* There is at least one of these. */
bool group_lens_has_rows(const GroupLens *lens, const Group *group, unsigned side);

/* The members "survived", "born" and "gone". */
void life_counts_write_json(JsonWriter *writer, const LifeCounts *lives);
void group_write_json(JsonWriter *writer, const GroupLens *lens, const Group *group, unsigned side);
