/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/order.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/number.h"

/* impact */

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

void impact_scale_init(ImpactScale *scale, const GroupTable *table) {
        uint64_t totals[SIDES][_METRIC_MAX] = { { 0 } };

        for (size_t i = 0; i < table->n_groups; i++)
                for (unsigned side = 0; side < SIDES; side++) {
                        if (!group_side(table->groups[i], side))
                                continue;
                        for (unsigned id = 0; id < _METRIC_MAX; id++)
                                if (metric_table[id].shape == METRIC_SHAPE_SUM)
                                        totals[side][id] = number_add_saturating(
                                                totals[side][id],
                                                group_scaled_sum(table->groups[i], side,
                                                                 (MetricId) id));
                }
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                uint64_t larger = MAX_OF(totals[0][id], totals[1][id]);

                scale->denominators[id] =
                        (double) MAX_OF(larger, impact_floor(metric_table[id].unit));
        }
}

void impact_rank_group(const ImpactScale *scale, unsigned n_sides, Group *group) {
        unsigned only = group_side(group, SIDE_BEFORE) ? SIDE_BEFORE : SIDE_AFTER;
        bool has_delta =
                n_sides > 1 && group_side(group, SIDE_BEFORE) && group_side(group, SIDE_AFTER);

        group->rank = IMPACT_NONE;
        group->rank_row = _METRIC_MAX;
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                MetricId id = (MetricId) i;
                uint64_t magnitude, before, after;
                double impact;

                if (metric_table[id].shape != METRIC_SHAPE_SUM ||
                    metric_table[id].section == METRIC_SECTION_TASKSTATS_ACCOUNTING)
                        continue;
                if (!has_delta) {
                        if (!group_has_sum(group, only, id))
                                continue;
                        magnitude = group_scaled_sum(group, only, id);
                } else {
                        /* A sum that is at its limit moved by nobody knows how much. */
                        if (!group_has_sum(group, SIDE_BEFORE, id) ||
                            !group_has_sum(group, SIDE_AFTER, id) ||
                            group_refutes_growth(group, id) ||
                            group_sum(group, SIDE_BEFORE, id).saturated ||
                            group_sum(group, SIDE_AFTER, id).saturated)
                                continue;
                        before = group_scaled_sum(group, SIDE_BEFORE, id);
                        after = group_scaled_sum(group, SIDE_AFTER, id);
                        magnitude = after > before ? after - before : before - after;
                }
                impact = (double) magnitude / scale->denominators[id];
                if (impact > group->rank) {
                        group->rank = impact;
                        group->rank_row = id;
                }
        }
}

static int by_rank(const void *a, const void *b) {
        const Group *left = *(Group *const *) a, *right = *(Group *const *) b;

        if (left->tier != right->tier)
                return left->tier < right->tier ? -1 : 1;
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

/* order */

/* The rank of the unit of a row in the order by delta. */
#define UNIT_FAMILIES 6
static unsigned family_of(const Row *row) {
        switch (row_unit(row->index)) {
        case METRIC_UNIT_NS:
                return 0;
        case METRIC_UNIT_TICKS:
                return 1;
        case METRIC_UNIT_BYTES:
                return 2;
        case METRIC_UNIT_COUNT:
                return 3;
        case METRIC_UNIT_NONE:
                return 4;
        case METRIC_UNIT_RATIO:
                break;
        }
        return UNIT_FAMILIES - 1;
}

/* The delta of a row; with one side, its value. */
static Delta movement(const GroupOrder *order, const Row *row) {
        return order->n_sides == 1 && row->has_number ? delta_of_value(&row->values[0])
                                                      : row->delta;
}

static unsigned n_keys_of(const GroupOrder *order) {
        switch (order->sort->order) {
        case VIEW_ORDER_DELTA:
                return UNIT_FAMILIES;
        case VIEW_ORDER_PERCENT:
                return 1;
        case VIEW_ORDER_METRICS:
                return order->sort->n_keys;
        case VIEW_ORDER_WEIGHT:
        case VIEW_ORDER_IMPACT:
        case VIEW_ORDER_NAME:
                break;
        }
        return 0;
}

/* The keys of one group */

/*
 * The side that a group lacks is 0 and not unknown. The work of threads that nobody saw end is not
 * what they did in between. False: the row does not count.
 */
static bool init_row(const GroupOrder *order, const Group *group, unsigned index, Row *ret) {
        unsigned side = BOTH_SIDES;
        bool is_life;

        if (order->make_row)
                return order->make_row(order->userdata, group, index, ret);
        if (order->n_sides == 1)
                side = order->side;
        else if (!group_side(group, SIDE_BEFORE))
                side = SIDE_AFTER;
        else if (!group_side(group, SIDE_AFTER))
                side = SIDE_BEFORE;
        is_life = group->columns->are_ends && side == SIDE_BEFORE && row_has_rate(index);
        row_init(ret, group, side, index, order->in_order);
        if (order->n_sides == 1 || side == BOTH_SIDES)
                return true;
        ret->has_number = ret->has_number && !is_life;
        if (!ret->has_number)
                return true;
        if (side == SIDE_BEFORE) {
                ret->delta =
                        delta_between(&ret->values[0], &(Value){ .kind = ret->values[0].kind });
        } else {
                ret->delta = delta_of_value(&ret->values[0]);
                ret->values[0] = (Value){ .kind = VALUE_INTEGER };
        }
        return true;
}

/* The difference of the figure of a column between two accounts, or that of the only one. */
static Delta figure_movement(const GroupOrder *order, const Group *group, ViewColumn column) {
        const ViewColumnRow *view_column = &view_columns[column];
        Delta delta = { .kind = DELTA_NONE };
        unsigned first = 0, n = group->columns->n;
        double figures[COLUMNS_MAX] = {};
        Row row;

        /* Without accounts it is the first of its metrics that has a number, or their sum. */
        for (unsigned i = 0; order->make_row && i < view_column->n_metrics; i++) {
                if (!init_row(order, group, view_column->metrics[i], &row) ||
                    row.delta.kind == DELTA_NONE)
                        continue;
                delta = (Delta){ .kind = DELTA_REAL,
                                 .real = delta.real + delta_number(&row.delta) };
                if (!view_column->is_sum)
                        break;
        }
        if (order->make_row)
                return delta;
        if (n > 1 && order->n_sides == 1) {
                first = order->side;
                n = 1;
        }
        for (unsigned i = 0; i < n; i++)
                if (!group_figure(group, first + i, order->figures, column, &figures[i]))
                        return (Delta){ .kind = DELTA_NONE };
        return (Delta){ .kind = DELTA_REAL, .real = n == 1 ? figures[0] : figures[1] - figures[0] };
}

static void raise_key(Delta *key, double magnitude, Group *group, unsigned index) {
        if (key->kind != DELTA_NONE && !(magnitude > key->real))
                return;
        *key = (Delta){ .kind = DELTA_REAL, .real = magnitude };
        group->rank_row = index;
}

static void init_keys(const GroupOrder *order, Group *group, Delta *keys) {
        const ViewSort *sort = order->sort;
        double percent;
        Delta delta;
        Row row;

        group->rank_row = 0;
        if (sort->order == VIEW_ORDER_METRICS)
                for (unsigned i = 0; i < sort->n_keys; i++) {
                        const ViewSortKey *key = &sort->keys[i];

                        if (key->kind == VIEW_KEY_COLUMN) {
                                keys[i] = figure_movement(order, group, (ViewColumn) key->id);
                                continue;
                        }
                        if (init_row(order, group,
                                     key->kind == VIEW_KEY_DERIVED ? _METRIC_MAX + key->id
                                                                   : key->id,
                                     &row))
                                keys[i] = movement(order, &row);
                }
        if (sort->order != VIEW_ORDER_DELTA && sort->order != VIEW_ORDER_PERCENT)
                return;
        for (unsigned index = 0; index < ROW_MAX; index++) {
                if (!row_ranks(index) || !init_row(order, group, index, &row))
                        continue;
                delta = movement(order, &row);
                if (sort->order == VIEW_ORDER_DELTA && delta.kind != DELTA_NONE)
                        raise_key(&keys[family_of(&row)], fabs(delta_number(&delta)), group, index);
                else if (sort->order == VIEW_ORDER_PERCENT && row_growth(&row, &percent))
                        raise_key(&keys[0], percent, group, index);
        }
        if (sort->order == VIEW_ORDER_DELTA)
                group->rank_row = 0; /* ties are not broken by the row: it could be of any family */
}

/* groups */

typedef struct Ranked {
        Group *group;
        const Delta *keys;
} Ranked;

static int by_keys(const void *a, const void *b, void *userdata) {
        const Ranked *left = a, *right = b;
        const GroupOrder *order = userdata;

        if (left->group->tier != right->group->tier)
                return left->group->tier < right->group->tier ? -1 : 1;
        for (unsigned i = 0; i < n_keys_of(order); i++) {
                bool ascending =
                        order->sort->order == VIEW_ORDER_METRICS && order->sort->keys[i].ascending;
                int r;

                if (left->keys[i].kind == DELTA_NONE && right->keys[i].kind == DELTA_NONE)
                        continue;
                if (left->keys[i].kind == DELTA_NONE || right->keys[i].kind == DELTA_NONE)
                        return left->keys[i].kind == DELTA_NONE ? 1 : -1;
                r = delta_compare(&left->keys[i], &right->keys[i]);
                if (r != 0)
                        return ascending ? r : -r;
        }
        if (left->group->rank_row != right->group->rank_row)
                return left->group->rank_row < right->group->rank_row ? -1 : 1;
        return span_compare(group_key(left->group), group_key(right->group));
}

static int sort_by_keys(const GroupOrder *order, Group **groups, size_t n_groups) {
        GroupOrder context = *order;
        size_t n_keys = n_keys_of(order);
        Ranked *ranked = calloc(n_groups + 1, sizeof(*ranked));
        Delta *keys = calloc(n_groups * n_keys + 1, sizeof(*keys));

        if (!ranked || !keys) {
                free(ranked);
                free(keys);
                return -ENOMEM;
        }
        for (size_t i = 0; i < n_groups; i++) {
                ranked[i] = (Ranked){ .group = groups[i], .keys = &keys[i * n_keys] };
                init_keys(order, groups[i], &keys[i * n_keys]);
        }
        qsort_r(ranked, n_groups, sizeof(*ranked), by_keys, &context);
        for (size_t i = 0; i < n_groups; i++)
                groups[i] = ranked[i].group;
        free(keys);
        free(ranked);
        return 0;
}

static int by_weight(const void *a, const void *b, void *userdata) {
        const Group *left = *(Group *const *) a, *right = *(Group *const *) b;
        const GroupOrder *order = userdata;
        double first = fabs(left->weights[order->figures]);
        double second = fabs(right->weights[order->figures]);

        if (left->tier != right->tier)
                return left->tier < right->tier ? -1 : 1;
        if (left->has_weight != right->has_weight)
                return left->has_weight ? -1 : 1;
        return left->has_weight ? (first < second) - (first > second) : 0;
}

static void rank_by_rows(const GroupOrder *order, Group *group) {
        Row row;

        group->rank = IMPACT_NONE;
        group->rank_row = ROW_MAX;
        for (unsigned index = 0; index < ROW_MAX; index++)
                if (row_ranks(index) && init_row(order, group, index, &row) &&
                    row.impact > group->rank) {
                        group->rank = row.impact;
                        group->rank_row = index;
                }
}

int order_groups(const GroupOrder *order, Group **groups, size_t n_groups) {
        GroupOrder context = *order;
        ViewOrder kind = order->sort->order;
        size_t end;

        /* With one side there is no percent to order by. */
        if (kind == VIEW_ORDER_PERCENT && order->n_sides == 1)
                kind = VIEW_ORDER_IMPACT;
        if (kind != VIEW_ORDER_WEIGHT && kind != VIEW_ORDER_IMPACT)
                return sort_by_keys(order, groups, n_groups);
        if (kind == VIEW_ORDER_WEIGHT && n_groups > 1)
                qsort_r(groups, n_groups, sizeof(*groups), by_weight, &context);
        /* By weight, only equals are ranked by impact, which looks at all of their sums. */
        for (size_t begin = 0; begin < n_groups; begin = end) {
                end = kind == VIEW_ORDER_IMPACT ? n_groups : begin + 1;
                while (end < n_groups && by_weight(&groups[begin], &groups[end], &context) == 0)
                        end++;
                if (end - begin == 1)
                        continue;
                for (size_t i = begin; i < end; i++)
                        if (order->make_row)
                                rank_by_rows(order, groups[i]);
                        else
                                impact_rank_group(order->scale, order->n_sides, groups[i]);
                impact_sort_groups(groups + begin, end - begin);
        }
        return 0;
}

/* rows */

static int by_block(const void *a, const void *b) {
        const Row *left = a, *right = b;

        if (left->block != right->block)
                return left->block < right->block ? -1 : 1;
        if (left->order > right->order || left->order < right->order)
                return left->order > right->order ? -1 : 1;
        return left->id < right->id ? -1 : left->id > right->id;
}

void order_rows(const GroupOrder *order, Row *rows, size_t n_rows) {
        ViewOrder kind = order->sort->order;

        /* With one side there is no percent here, either. */
        if (kind == VIEW_ORDER_PERCENT && order->n_sides == 1)
                kind = VIEW_ORDER_IMPACT;
        for (size_t i = 0; i < n_rows; i++) {
                Row *row = &rows[i];
                Delta moved = movement(order, row);

                row->order = row->block = 0; /* registry order */
                switch (kind) {
                case VIEW_ORDER_WEIGHT:
                case VIEW_ORDER_IMPACT:
                        row->order = row->impact;
                        row->block = !row->has_number ? 2 : row->impact > IMPACT_NONE ? 0 : 1;
                        break;
                case VIEW_ORDER_DELTA:
                        row->order = fabs(delta_number(&moved));
                        row->block = family_of(row) + (row->has_number ? 0 : UNIT_FAMILIES);
                        break;
                case VIEW_ORDER_PERCENT:
                        row->block = row_growth(row, &row->order) ? 0 : row->has_number ? 1 : 2;
                        break;
                case VIEW_ORDER_NAME:
                case VIEW_ORDER_METRICS:
                        break;
                }
                /* Derived values stay after the metrics. */
                if (row->is_derived)
                        row->block += 4 * UNIT_FAMILIES;
                if (!row->significant)
                        row->block += 2 * UNIT_FAMILIES;
        }
        if (n_rows > 1)
                qsort(rows, n_rows, sizeof(*rows), by_block);
}
