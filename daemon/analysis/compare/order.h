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
 *     impact     as in impact.h
 *     delta      units cannot be added, so groups are compared by their largest |delta| in
 *                nanoseconds first, then in ticks, bytes, events, plain numbers and ratios; rows
 *                are sorted by unit in the same way, the largest |delta| first
 *     percent    by the largest |percent|, growth from zero first; with one side by impact
 *     name       by key; rows in registry order
 *     metrics    by their deltas with their signs; rows in registry order
 *
 * A column of the overview stands for the figure that its cell has. What a group lacks that only
 * one of two sides has is 0, so that a newcomer counts with its whole value and what is gone with
 * less than nothing. With one side there are no deltas and values are used instead. Groups and rows
 * without a number come last, ascending or not; ties are broken by the registry, then by key.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/macro.h"
#include "analysis/group/group.h"
#include "analysis/compare/group-account.h"
#include "analysis/compare/impact.h"
#include "analysis/compare/row.h"
#include "view/view-sort.h"

typedef struct Order {
        const ViewSort *sort;     /* borrowed */
        const ImpactScale *scale; /* borrowed */
        unsigned n_sides;
        unsigned side; /* with one side: which */
        bool in_order;
        Figures figures; /* of which the weights are */
} Order;

/* The rank of a unit in the order by delta. */
#define ORDER_UNIT_FAMILIES 6
unsigned order_unit_family(MetricUnit unit);

/*
 * Some @groups may lack one of two sides. By weight, they have been weighed. 0 or -ENOMEM.
 */
_must_check_ int order_groups(const Order *order, Group **groups, size_t n_groups);
/* @rows are the rows of one group in registry order. */
void order_rows(const Order *order, Row *rows, size_t n_rows);
