/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Impact
 *
 * How much of a whole host's movement one row is: |delta| of a sum over the larger of the metric's
 * two totals, with a floor for what is too little to matter. It has no unit, so nanoseconds do not
 * drown counts, and an idle daemon's one page fault does not lead. With one side, where nothing
 * moves, the value stands for the delta: its share of the host.
 *
 * Only sums have one, and of those the taskstats accounting ranks no groups: it repeats run time
 * and ticks that rank already, in rows that are shown only when named.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/group.h"
#include "analysis/compare/row.h"
#include "metric/metric.h"

#define IMPACT_NONE (-1.0) /* less than any impact */

typedef struct ImpactScale {
        double denominators[_METRIC_MAX]; /* of sums */
} ImpactScale;

/* Over all groups of the table, one-sided ones included. */
void impact_scale_init(ImpactScale *scale, const GroupTable *table);
/* The floor under a unit's totals: 1 s, 100 ticks, 1 MiB, 1000 of anything else. */
uint64_t impact_floor(MetricUnit unit);

/* IMPACT_NONE unless @id is a sum. */
double impact_of(const ImpactScale *scale, MetricId id, uint64_t magnitude);

/*
 * The best impact among the group's rows and which metric has it: what the group ranks by. With
 * @n_sides 2, deltas count; with 1, values of the first side. IMPACT_NONE when no row has a number.
 */
void impact_rank_group(const ImpactScale *scale, unsigned n_sides, Group *group);
/* Puts groups into the order of display: rank, then the registry's order of best rows, then key. */
void impact_sort_groups(Group **groups, size_t n_groups);
/* Groups that are on one side only: largest run time first, then key; without run time last. */
void impact_sort_one_sided(Group **groups, size_t n_groups, unsigned side);

/*
 * Puts the rows of one group into the order of display: sums by impact, then other metrics, then
 * those without a number, each in the registry's order; derived values after them, likewise.
 */
void impact_sort_rows(Row *rows, size_t n_rows);
