/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Order
 *
 * The order in which the view wants groups and their rows. The order of groups does not depend on
 * which of their rows are shown, except that taskstats accounting, which repeats other rows, orders
 * groups only when it is named.
 *
 *     weight     as in account/weight.h, without its sign; groups of equal weight by impact, and so
 *                rows
 *     impact     as below
 *     delta      units cannot be added, so groups are compared by their largest |delta| in
 *                nanoseconds first, then in ticks, bytes, events, plain numbers and ratios; rows
 *                are sorted by unit in the same way, the largest |delta| first
 *     percent    by the largest |percent|, growth from zero first; with one side by impact
 *     name       by key; rows in registry order
 *     metrics    by their deltas with their signs; rows in registry order
 *
 * A column of the overview stands for the figure that its cell has. The side that a group lacks
 * counts as 0, so that a newcomer counts with its whole value and a group that is gone with less
 * than nothing. With one side there are no deltas and values are used instead. Groups and rows
 * without a number come last, ascending or not; ties are broken by the registry, then by key.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/account/account.h"
#include "analysis/compare/row.h"
#include "analysis/group/group.h"
#include "base/macro.h"
#include "metric/metric.h"
#include "view/view-sort.h"

/*
 * The impact of a row is how much of the change of the whole host it is: |delta| of a sum divided
 * by the larger of the metric's two totals, with a floor under amounts too small to matter. It has
 * no unit, so nanoseconds do not outweigh counts, and a single page fault of an idle daemon does
 * not lead. With one side the value replaces the delta: the group's share of the host.
 *
 * Only sums have an impact. Taskstats accounting does not rank groups: it repeats run time and
 * ticks, which rank already, in rows that are shown only when named.
 */

#define IMPACT_NONE (-1.0) /* less than every impact */

typedef struct ImpactScale {
        double denominators[_METRIC_MAX]; /* of each sum */
} ImpactScale;

/* Adds up all groups of the table, one-sided groups included. */
void impact_scale_init(ImpactScale *scale, const GroupTable *table);
/* The floor of a unit: 1 s, 100 ticks, 1 MiB, 1000 of anything else. */
uint64_t impact_floor(MetricUnit unit);

/*
 * Finds the largest impact among the rows of the group, and which metric has it; groups are ordered
 * by it. With @n_sides 2, deltas count, and of a group that is on one side only its values; with 1,
 * the values of the first side. IMPACT_NONE when no row has a number.
 */
void impact_rank_group(const ImpactScale *scale, unsigned n_sides, Group *group);
/* Sorts groups for display: by rank, then by the registry order of their best row, then by key. */
void impact_sort_groups(Group **groups, size_t n_groups);
/* Sorts one-sided groups: largest run time first, then by key; groups without run time last. */
void impact_sort_one_sided(Group **groups, size_t n_groups, unsigned side);

typedef struct GroupOrder {
        const ViewSort *sort;     /* borrowed */
        const ImpactScale *scale; /* borrowed */
        unsigned n_sides;
        unsigned side; /* with one side: which */
        bool in_order;
        Figures figures; /* of which the weights are */
        /*
         * Makes rows that are no values of accounts, with their impact: the medians of sets. False
         * for one that does not rank the group, or not in this order. NULL: accounts have them.
         */
        bool (*make_row)(const void *userdata, const Group *group, unsigned index, Row *ret);
        const void *userdata; /* borrowed */
} GroupOrder;

/*
 * Groups of a lower tier come first, and those of one tier in the order. Some @groups may lack one
 * of two sides. By weight, they have been weighed. 0 or -ENOMEM.
 */
_must_check_ int order_groups(const GroupOrder *order, Group **groups, size_t n_groups);
/*
 * Sorts @rows, which are those of one group in registry order. By impact: sums, then other metrics,
 * then rows without a number, the latter two in registry order; then derived values likewise.
 * Significant ones stand before the others, of metrics and of derived values.
 */
void order_rows(const GroupOrder *order, Row *rows, size_t n_rows);
