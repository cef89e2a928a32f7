/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Order
 *
 * The order in which groups and the rows of each are shown, as the view wants it. What orders
 * groups does not depend on which rows are shown of them, except that the taskstats accounting,
 * which repeats other rows, orders none unless it is named.
 *
 *     impact     as impact.h has it
 *     delta      units cannot be added up, so groups are compared by their largest |delta| in
 *                nanoseconds first, then in ticks, bytes, events, plain numbers and ratios; rows
 *                come unit by unit likewise, the largest |delta| first
 *     percent    by the largest |percent|, growth from zero before all; with one side by impact
 *     name       by key; rows as the registry has them
 *     metrics    by their deltas with their signs; rows as the registry has them
 *
 * With one side, where there are no deltas, values stand for them. What has no number comes last,
 * ascending or not; ties go by the registry, then by key.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/macro.h"
#include "analysis/group/group.h"
#include "analysis/compare/impact.h"
#include "analysis/compare/row.h"
#include "view/view-sort.h"

typedef struct Order {
        const ViewSort *sort;     /* borrowed */
        const ImpactScale *scale; /* borrowed */
        unsigned n_sides;
        bool same_boot;
} Order;

/* Units as they follow each other. */
#define ORDER_UNIT_FAMILIES 6
unsigned order_unit_family(MetricUnit unit);

/* All of @groups have the sides of the order. 0 or -ENOMEM. */
_must_check_ int order_groups(const Order *order, Group **groups, size_t n_groups);
/* @rows are those of one group, in the order of the registry. */
void order_rows(const Order *order, Row *rows, size_t n_rows);
