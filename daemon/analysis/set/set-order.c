/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/compare/order.h"
#include "analysis/set/set-family.h"

/* groups */

typedef enum Tier {
        TIER_TOLD, /* some row is significant, or by weight: only one side has it */
        TIER_BOTH,
        TIER_ONE_SIDED,
} Tier;

typedef struct Ranked {
        SetGroup *group;
        Tier tier;
        size_t slot; /* the slot with the best key; ties are broken by the registry */
        double keys[VIEW_SORT_MAX_KEYS]; /* larger first; NAN: no key, comes last */
} Ranked;

_Static_assert(VIEW_SORT_MAX_KEYS >= ORDER_UNIT_FAMILIES, "a key for each family of units");

static void raise_key(Ranked *ranked, unsigned key, double value, size_t slot) {
        if (isnan(ranked->keys[key]) || value > ranked->keys[key]) {
                ranked->keys[key] = value;
                ranked->slot = slot;
        }
}

static void add_rows(Ranked *ranked, const SetFamily *family, bool significant) {
        ViewOrder order = family->view->sort.order;

        for (size_t slot = 0; slot < family->list->n_slots; slot++) {
                double percent;
                SetRowView row;

                if (!family->list->wanted[slot] || !row_ranks(family->list->indexes[slot]))
                        continue;
                set_family_view(family, ranked->group, slot, &row);
                if (!row.row.has_number || (significant && !row.significant))
                        continue;
                switch (order) {
                case VIEW_ORDER_WEIGHT: /* the first key is the weight */
                case VIEW_ORDER_IMPACT:
                        if (row.row.impact > IMPACT_NONE)
                                raise_key(ranked, order == VIEW_ORDER_WEIGHT, row.row.impact, slot);
                        break;
                case VIEW_ORDER_PERCENT:
                        if (row_growth(&row.row, &percent))
                                raise_key(ranked, 0, percent, slot);
                        break;
                case VIEW_ORDER_DELTA:
                        raise_key(ranked, order_unit_family(row_unit(family->list->indexes[slot])),
                                  fabs(row.row.delta.real), slot);
                        ranked->slot = 0; /* no tie is broken by it: it could be of any family */
                        break;
                case VIEW_ORDER_NAME:
                case VIEW_ORDER_METRICS:
                        break;
                }
        }
}

static bool has_side(const SetFamily *family, const SetGroup *group, unsigned side) {
        return group->threads.present & family->sides[side];
}

/* Of a row; NAN where it has no number. What one side lacks altogether is 0 there. */
static double delta_of(const Ranked *ranked, const SetFamily *family, unsigned index) {
        SetRowView row;

        set_family_view(family, ranked->group, set_row_list_find(family->list, index), &row);
        if (row.row.has_number)
                return row.row.delta.real;
        for (unsigned side = 0; side < SIDES; side++)
                if (row.row.values[side].kind == VALUE_REAL &&
                    !has_side(family, ranked->group, 1 - side))
                        return side == SIDE_AFTER ? row.row.values[side].real
                                                  : -row.row.values[side].real;
        return NAN;
}

static double delta_of_key(const Ranked *ranked, const SetFamily *family, const ViewSortKey *key) {
        const ViewColumnRow *column;
        double sum = NAN;

        if (key->kind != VIEW_KEY_COLUMN)
                return delta_of(ranked, family, row_index(key->kind == VIEW_KEY_DERIVED, key->id));
        /* The first of its metrics that has a number, or all together. */
        column = &view_columns[key->id];
        for (unsigned i = 0; i < column->n_metrics; i++) {
                double delta = delta_of(ranked, family, row_index(false, column->metrics[i]));

                if (!column->is_sum && !isnan(delta))
                        return delta;
                if (column->is_sum && !isnan(delta))
                        sum = isnan(sum) ? delta : sum + delta;
        }
        return sum;
}

static Tier tier_of(const SetFamily *family, const SetGroup *group) {
        bool is_of_both =
                has_side(family, group, SIDE_BEFORE) && has_side(family, group, SIDE_AFTER);
        ViewOrder order = family->view->sort.order;

        /* A newcomer that eats a CPU is no appendix. */
        if (!is_of_both && (order == VIEW_ORDER_WEIGHT || order == VIEW_ORDER_METRICS))
                return family->n_significant > 0 ? TIER_TOLD : TIER_BOTH;
        if (!is_of_both)
                return TIER_ONE_SIDED;
        for (size_t slot = 0; slot < family->list->n_slots; slot++) {
                uint32_t test = group->rows[slot].test;

                /* NAN, the value of a test outside the family, compares false. */
                if (test > 0 && family->tests[test - 1].adjusted < family->alpha)
                        return TIER_TOLD;
        }
        return TIER_BOTH;
}

static int by_rank(const void *a, const void *b) {
        const Ranked *left = a, *right = b;

        if (left->tier != right->tier)
                return left->tier < right->tier ? -1 : 1;
        for (size_t i = 0; i < ELEMENTSOF(left->keys); i++) {
                bool has_left = !isnan(left->keys[i]), has_right = !isnan(right->keys[i]);

                if (has_left != has_right)
                        return has_left ? -1 : 1;
                if (has_left && left->keys[i] > right->keys[i])
                        return -1;
                if (has_left && left->keys[i] < right->keys[i])
                        return 1;
        }
        if (left->slot != right->slot)
                return left->slot < right->slot ? -1 : 1;
        return span_compare(group_key(left->group->group), group_key(right->group->group));
}

int set_order_groups(const SetFamily *family, SetGroup **groups, size_t n_groups) {
        const ViewSort *sort = &family->view->sort;
        Ranked *ranked = calloc(n_groups + 1, sizeof(*ranked));

        if (!ranked)
                return -ENOMEM;
        for (size_t i = 0; i < n_groups; i++) {
                Ranked *rank = &ranked[i];
                SetRates rates[SIDES];
                double weight;

                *rank = (Ranked){ .group = groups[i], .tier = tier_of(family, groups[i]) };
                for (size_t key = 0; key < ELEMENTSOF(rank->keys); key++)
                        rank->keys[key] = NAN;
                if (sort->order == VIEW_ORDER_WEIGHT &&
                    set_weight_find(family, groups[i], rates, &weight))
                        rank->keys[0] = fabs(weight);
                if (sort->order == VIEW_ORDER_METRICS) {
                        for (unsigned key = 0; key < sort->n_keys; key++) {
                                double delta = delta_of_key(rank, family, &sort->keys[key]);

                                rank->keys[key] = sort->keys[key].ascending ? -delta : delta;
                        }
                } else if (sort->order != VIEW_ORDER_NAME) {
                        add_rows(rank, family, rank->tier == TIER_TOLD);
                }
        }
        qsort(ranked, n_groups, sizeof(*ranked), by_rank);
        for (size_t i = 0; i < n_groups; i++)
                groups[i] = ranked[i].group;
        free(ranked);
        return 0;
}

/* rows */

size_t set_order_rows(const SetFamily *family, const SetGroup *group, size_t ret_slots[ROW_MAX]) {
        const GroupOrder order = { .sort = &family->view->sort,
                                   .scale = &family->scale,
                                   .n_sides = SIDES };
        const SetRowList *list = family->list;
        Row rows[ROW_MAX];
        size_t n_slots = 0;

        /* Metrics before derived values, and of both the significant ones first. */
        for (unsigned block = 0; block < 4; block++) {
                bool is_derived = block / 2, significant = block % 2 == 0;
                size_t n = 0;

                for (size_t slot = 0; slot < list->n_slots; slot++) {
                        SetRowView row;

                        if (!list->wanted[slot] ||
                            is_derived != (list->indexes[slot] >= _METRIC_MAX))
                                continue;
                        set_family_view(family, group, slot, &row);
                        if (row.significant != significant ||
                            (family->view->has_threshold && !set_family_is_above(family, &row)) ||
                            (family->view->changed_only && !row.significant))
                                continue;
                        rows[n++] = row.row;
                }
                order_rows(&order, rows, n);
                for (size_t i = 0; i < n; i++)
                        ret_slots[n_slots++] =
                                set_row_list_find(list, row_index(rows[i].is_derived, rows[i].id));
        }
        return n_slots;
}
