/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/order.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

unsigned order_unit_family(MetricUnit unit) {
        switch (unit) {
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
        return ORDER_UNIT_FAMILIES - 1;
}

static unsigned family_of(const Row *row) {
        return order_unit_family(row_unit(row_index(row->is_derived, row->id)));
}

/* The delta of a row; with one side, its value. */
static Delta movement(const Order *order, const Row *row) {
        return order->n_sides == 1 && row->has_number ? delta_of_value(&row->values[0])
                                                      : row->delta;
}

/* Which side the rows of the group are about. */
static unsigned side_of(const Order *order, const Group *group) {
        if (order->n_sides == 1)
                return order->side;
        if (!group_side(group, SIDE_BEFORE))
                return SIDE_AFTER;
        return group_side(group, SIDE_AFTER) ? BOTH_SIDES : SIDE_BEFORE;
}

/* With one side there is no percent to order by. */
static ViewOrder kind_of(const Order *order) {
        return order->n_sides == 1 && order->sort->order == VIEW_ORDER_PERCENT ? VIEW_ORDER_IMPACT
                                                                               : order->sort->order;
}

static unsigned n_keys_of(const Order *order) {
        switch (order->sort->order) {
        case VIEW_ORDER_DELTA:
                return ORDER_UNIT_FAMILIES;
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
 * Of a group that only one of two sides has, the other is 0 and not unknown. What threads had done
 * that nobody saw end is not what they did in between.
 */
static void init_row(const Order *order, const Group *group, unsigned index, Row *ret) {
        unsigned side = side_of(order, group);
        bool is_life =
                columns_are_ends(group->columns) && side == SIDE_BEFORE && row_has_rate(index);

        row_init(ret, group, side, index, order->in_order);
        if (order->n_sides == 1 || side == BOTH_SIDES)
                return;
        ret->has_number = ret->has_number && !is_life;
        if (!ret->has_number)
                return;
        ret->delta = delta_of_value(&ret->values[0]);
        if (side == SIDE_BEFORE)
                ret->delta = delta_negate(ret->delta);
        else
                ret->values[0] = (Value){ .kind = VALUE_INTEGER };
}

/* By how much the figure of a column differs between two accounts, or what the only one has. */
static Delta figure_movement(const Order *order, const Group *group, ViewColumn column) {
        unsigned first = 0, n = group->columns->n;
        double figures[COLUMNS_MAX] = {};

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

static void add_row(const Order *order, const Row *row, unsigned index, Group *group, Delta *keys) {
        Delta delta = movement(order, row);
        double percent;

        if (order->sort->order == VIEW_ORDER_DELTA) {
                if (delta.kind != DELTA_NONE)
                        raise_key(&keys[family_of(row)], fabs(delta_number(&delta)), group, index);
        } else if (row_growth(row, &percent)) {
                raise_key(&keys[0], percent, group, index);
        }
}

static void init_keys(const Order *order, Group *group, Delta *keys) {
        const ViewSort *sort = order->sort;
        Row row;

        group->rank_row = 0;
        if (sort->order == VIEW_ORDER_METRICS)
                for (unsigned i = 0; i < sort->n_keys; i++) {
                        const ViewSortKey *key = &sort->keys[i];

                        if (key->kind == VIEW_KEY_COLUMN) {
                                keys[i] = figure_movement(order, group, (ViewColumn) key->id);
                                continue;
                        }
                        init_row(order, group, row_index(key->kind == VIEW_KEY_DERIVED, key->id),
                                 &row);
                        keys[i] = movement(order, &row);
                }
        if (sort->order != VIEW_ORDER_DELTA && sort->order != VIEW_ORDER_PERCENT)
                return;
        for (unsigned index = 0; index < ROW_MAX; index++) {
                if (!row_ranks(index))
                        continue;
                init_row(order, group, index, &row);
                add_row(order, &row, index, group, keys);
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
        const Order *order = userdata;

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

static int sort_by_keys(const Order *order, Group **groups, size_t n_groups) {
        Order context = *order;
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

static int compare_weights(const Order *order, const Group *left, const Group *right) {
        double a = fabs(left->weights[order->figures]), b = fabs(right->weights[order->figures]);

        if (left->has_weight != right->has_weight)
                return left->has_weight ? -1 : 1;
        return left->has_weight ? (a < b) - (a > b) : 0;
}

static int by_weight(const void *a, const void *b, void *userdata) {
        return compare_weights(userdata, *(Group *const *) a, *(Group *const *) b);
}

static void sort_by_impact(const Order *order, Group **groups, size_t n_groups) {
        for (size_t i = 0; i < n_groups; i++)
                impact_rank_group(order->scale, order->n_sides, groups[i]);
        impact_sort_groups(groups, n_groups);
}

/* Only groups that weigh the same are ranked by impact, which looks at all of their sums. */
static void sort_by_weight(const Order *order, Group **groups, size_t n_groups) {
        Order context = *order;
        size_t end;

        if (n_groups > 1)
                qsort_r(groups, n_groups, sizeof(*groups), by_weight, &context);
        for (size_t begin = 0; begin < n_groups; begin = end) {
                end = begin + 1;
                while (end < n_groups && compare_weights(order, groups[begin], groups[end]) == 0)
                        end++;
                if (end - begin > 1)
                        sort_by_impact(order, groups + begin, end - begin);
        }
}

int order_groups(const Order *order, Group **groups, size_t n_groups) {
        switch (kind_of(order)) {
        case VIEW_ORDER_WEIGHT:
                sort_by_weight(order, groups, n_groups);
                return 0;
        case VIEW_ORDER_IMPACT:
                sort_by_impact(order, groups, n_groups);
                return 0;
        case VIEW_ORDER_DELTA:
        case VIEW_ORDER_PERCENT:
        case VIEW_ORDER_NAME:
        case VIEW_ORDER_METRICS:
                break;
        }
        return sort_by_keys(order, groups, n_groups);
}

/* rows */

static int by_movement(const void *a, const void *b, void *userdata) {
        const Row *left = a, *right = b;
        const Order *order = userdata;
        Delta of_left = movement(order, left), of_right = movement(order, right);
        unsigned left_family = family_of(left), right_family = family_of(right);
        double left_number, right_number;

        if (left->has_number != right->has_number)
                return left->has_number ? -1 : 1;
        if (left_family != right_family)
                return left_family < right_family ? -1 : 1;
        left_number = fabs(delta_number(&of_left));
        right_number = fabs(delta_number(&of_right));
        if (left_number > right_number || left_number < right_number)
                return left_number > right_number ? -1 : 1;
        return left->id < right->id ? -1 : left->id > right->id;
}

static int by_growth(const void *a, const void *b, void *userdata) {
        const Row *left = a, *right = b;
        double left_percent = 0, right_percent = 0;
        bool left_has = row_growth(left, &left_percent);
        bool right_has = row_growth(right, &right_percent);

        if (left_has != right_has)
                return left_has ? -1 : 1;
        if (left_percent > right_percent || left_percent < right_percent)
                return left_percent > right_percent ? -1 : 1;
        if (left->has_number != right->has_number)
                return left->has_number ? -1 : 1;
        return left->id < right->id ? -1 : left->id > right->id;
}

void order_rows(const Order *order, Row *rows, size_t n_rows) {
        int (*compare)(const void *a, const void *b, void *userdata) = by_growth;
        Order context = *order;
        size_t n_metrics = 0;

        switch (kind_of(order)) {
        case VIEW_ORDER_WEIGHT:
        case VIEW_ORDER_IMPACT:
                impact_sort_rows(rows, n_rows);
                return;
        case VIEW_ORDER_NAME:
        case VIEW_ORDER_METRICS:
                return; /* they are in registry order already */
        case VIEW_ORDER_DELTA:
                compare = by_movement;
                break;
        case VIEW_ORDER_PERCENT:
                break;
        }
        /* Derived values stay after the metrics. */
        while (n_metrics < n_rows && !rows[n_metrics].is_derived)
                n_metrics++;
        if (n_metrics > 1)
                qsort_r(rows, n_metrics, sizeof(*rows), compare, &context);
        if (n_rows - n_metrics > 1)
                qsort_r(rows + n_metrics, n_rows - n_metrics, sizeof(*rows), compare, &context);
}
