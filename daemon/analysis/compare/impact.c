/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/impact.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/number.h"

uint64_t impact_floor(MetricUnit unit) {
        switch (unit) {
        case METRIC_UNIT_NS:
                return NSEC_PER_SEC;
        case METRIC_UNIT_TICKS:
                return 100;
        case METRIC_UNIT_BYTES:
                return 1024 * 1024;
        case METRIC_UNIT_NONE:
        case METRIC_UNIT_COUNT:
        case METRIC_UNIT_RATIO:
                break;
        }
        return 1000;
}

static void add_sums(uint64_t totals[static _METRIC_MAX], const Group *group, unsigned side) {
        for (unsigned i = 0; i < _METRIC_MAX; i++)
                if (metric_table[i].shape == METRIC_SHAPE_SUM)
                        totals[i] = number_add_saturating(
                                totals[i], group_scaled_sum(group, side, (MetricId) i));
}

void impact_scale_init(ImpactScale *scale, const GroupTable *table) {
        uint64_t totals[SIDES][_METRIC_MAX] = { { 0 } };

        for (size_t i = 0; i < table->n_groups; i++)
                for (unsigned side = 0; side < SIDES; side++)
                        if (group_side(table->groups[i], side))
                                add_sums(totals[side], table->groups[i], side);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                uint64_t larger = MAX_OF(totals[0][id], totals[1][id]);

                scale->denominators[id] =
                        (double) MAX_OF(larger, impact_floor(metric_table[id].unit));
        }
}

double impact_of_real(const ImpactScale *scale, MetricId id, double magnitude) {
        if (metric_table[id].shape != METRIC_SHAPE_SUM)
                return IMPACT_NONE;
        return magnitude / scale->denominators[id];
}

double impact_of(const ImpactScale *scale, MetricId id, uint64_t magnitude) {
        return impact_of_real(scale, id, (double) magnitude);
}

/* The |delta| of one sum of @group, or its value with one side; false when there is none. */
static bool movement(const Group *group, unsigned n_sides, MetricId id, uint64_t *ret) {
        uint64_t before, after;

        if (n_sides == 1 || !group_side(group, SIDE_BEFORE) || !group_side(group, SIDE_AFTER)) {
                unsigned only = group_side(group, SIDE_BEFORE) ? SIDE_BEFORE : SIDE_AFTER;

                *ret = group_scaled_sum(group, only, id);
                return group_has_sum(group, only, id);
        }
        if (!group_has_sum(group, SIDE_BEFORE, id) || !group_has_sum(group, SIDE_AFTER, id) ||
            group_refutes_growth(group, id))
                return false;
        /* By how much a sum moved that is at its limit is not known. */
        if (group_sum(group, SIDE_BEFORE, id).saturated ||
            group_sum(group, SIDE_AFTER, id).saturated)
                return false;
        before = group_scaled_sum(group, SIDE_BEFORE, id);
        after = group_scaled_sum(group, SIDE_AFTER, id);
        *ret = after > before ? after - before : before - after;
        return true;
}

void impact_rank_group(const ImpactScale *scale, unsigned n_sides, Group *group) {
        group->rank = IMPACT_NONE;
        group->rank_row = _METRIC_MAX;
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                uint64_t magnitude;
                double impact;

                if (metric_table[id].shape != METRIC_SHAPE_SUM ||
                    metric_table[id].section == METRIC_SECTION_TASKSTATS_ACCOUNTING ||
                    !movement(group, n_sides, (MetricId) id, &magnitude))
                        continue;
                impact = impact_of(scale, (MetricId) id, magnitude);
                if (impact > group->rank) {
                        group->rank = impact;
                        group->rank_row = id;
                }
        }
}

static int by_rank(const void *a, const void *b) {
        const Group *left = *(Group *const *) a, *right = *(Group *const *) b;

        if (left->rank > right->rank)
                return -1;
        if (left->rank < right->rank)
                return 1;
        if (left->rank_row != right->rank_row)
                return left->rank_row < right->rank_row ? -1 : 1;
        return span_compare(group_key(left), group_key(right));
}

void impact_sort_groups(Group **groups, size_t n_groups) {
        if (n_groups > 1)
                qsort(groups, n_groups, sizeof(*groups), by_rank);
}

void impact_sort_one_sided(Group **groups, size_t n_groups, unsigned side) {
        for (size_t i = 0; i < n_groups; i++) {
                Sum ran = group_sum(groups[i], side, METRIC_run_time_ns);

                groups[i]->rank_row = METRIC_run_time_ns;
                groups[i]->rank = ran.present > 0 ? (double) ran.value : IMPACT_NONE;
        }
        impact_sort_groups(groups, n_groups);
}

/* The block of rows that a row belongs to; blocks are shown in this order. */
static unsigned row_block(const Row *row) {
        unsigned block = row->is_derived ? 3 : 0;

        if (!row->has_number)
                return block + 2;
        return block + (row->impact > IMPACT_NONE ? 0 : 1);
}

static int by_impact(const void *a, const void *b) {
        const Row *left = a, *right = b;
        unsigned left_block = row_block(left), right_block = row_block(right);

        if (left_block != right_block)
                return left_block < right_block ? -1 : 1;
        if (left->impact > right->impact)
                return -1;
        if (left->impact < right->impact)
                return 1;
        return left->id < right->id ? -1 : left->id > right->id;
}

void impact_sort_rows(Row *rows, size_t n_rows) {
        if (n_rows > 1)
                qsort(rows, n_rows, sizeof(*rows), by_impact);
}
