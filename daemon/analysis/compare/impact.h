/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Impact
 *
 * How much of the change of the whole host one row is: |delta| of a sum divided by the larger of
 * the metric's two totals, with a floor under amounts too small to matter. It has no unit, so
 * nanoseconds do not outweigh counts, and a single page fault of an idle daemon does not lead. With
 * one side the value replaces the delta: the group's share of the host.
 *
 * Only sums have an impact. Taskstats accounting does not rank groups: it repeats run time and
 * ticks, which rank already, in rows that are shown only when named.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/group.h"
#include "analysis/compare/row.h"
#include "metric/metric.h"

#define IMPACT_NONE (-1.0) /* less than every impact */

typedef struct ImpactScale {
        double denominators[_METRIC_MAX]; /* of each sum */
} ImpactScale;

/* Adds up all groups of the table, one-sided groups included. */
void impact_scale_init(ImpactScale *scale, const GroupTable *table);
/* The floor of a unit: 1 s, 100 ticks, 1 MiB, 1000 of anything else. */
uint64_t impact_floor(MetricUnit unit);

/* IMPACT_NONE unless @id is a sum. */
double impact_of(const ImpactScale *scale, MetricId id, uint64_t magnitude);
double impact_of_real(const ImpactScale *scale, MetricId id, double magnitude);

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

/*
 * Sorts the rows of one group for display: sums by impact, then other metrics, then rows without a
 * number, each in registry order; then derived values likewise.
 */
void impact_sort_rows(Row *rows, size_t n_rows);
