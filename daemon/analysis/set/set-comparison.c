/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-comparison.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "analysis/compare/order.h"
#include "analysis/compare/row.h"
#include "analysis/key/thread-group.h"
#include "analysis/set/rank-test.h"

int set_comparison_new(const View *view, size_t n_captures, double alpha, SetComparison **ret) {
        _cleanup_(set_comparison_freep) SetComparison *comparison = calloc(1, sizeof(*comparison));
        int r;

        assert(n_captures > 0 && n_captures <= SET_MAX_CAPTURES);
        if (!comparison)
                return -ENOMEM;
        comparison->view = *view;
        comparison->n_captures = n_captures;
        set_row_list_init(&comparison->list, &comparison->view);
        comparison->family = (SetFamily){
                .view = &comparison->view,
                .list = &comparison->list,
                .alpha = alpha,
        };
        r = column_table_init(&comparison->table, &comparison->view, 1, BOOTS_UNKNOWN);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(comparison);
        return 0;
}

SetComparison *set_comparison_free(SetComparison *comparison) {
        if (!comparison)
                return NULL;
        free(comparison->family.tests);
        for (size_t i = 0; i < comparison->n_groups; i++)
                set_group_free(comparison->groups[i], &comparison->list);
        free(comparison->groups);
        free(comparison->shown);
        column_table_done(&comparison->table);
        free(comparison);
        return NULL;
}

void set_comparison_begin(SetComparison *comparison, const SetCapture *capture) {
        assert(comparison->n_begun < comparison->n_captures && capture->side < SIDES);
        comparison->capture = *capture;
        column_table_begin(&comparison->table, 0, &capture->column);
        comparison->family.sides[capture->side] |= UINT64_C(1) << comparison->n_begun;
        comparison->family.defects[capture->side] |= capture->column.defects;
        comparison->n_begun++;
        if (capture->column.elapsed_ns > 0) {
                comparison->windows_ns += (double) capture->column.elapsed_ns;
                comparison->n_windows++;
        }
}

/* Makes the SetGroup of each group of the table that has none yet: both have the same numbers. */
static int make_groups(SetComparison *comparison) {
        const GroupTable *table = &comparison->table.threads.table;
        int r = ARRAY_RESERVE(comparison->groups, comparison->n_allocated, table->n_groups);

        while (r == 0 && comparison->n_groups < table->n_groups) {
                r = set_group_new(table->groups[comparison->n_groups], &comparison->list,
                                  &comparison->groups[comparison->n_groups]);
                comparison->n_groups += r == 0;
        }
        return r;
}

int set_comparison_add(SetComparison *comparison, const ThreadSample *before,
                       const ThreadSample *after) {
        const SetCapture *capture = &comparison->capture;
        Group *group;
        int r;

        if (!after && !capture->column.has_ledger)
                return 0;
        r = column_table_add(&comparison->table, 0, before, after, &group);
        if (r != 0 || !group || !after)
                return r;
        /* The samples of a thread that an earlier capture has, too, are not independent. */
        if (!(before && !capture->is_interval) &&
            !(capture->has_earlier && after->start_ticks <= capture->earlier_ticks))
                return 0;
        r = make_groups(comparison);
        if (r == 0)
                comparison->groups[group->index]->lives_on = true;
        return r;
}

int set_comparison_end(SetComparison *comparison) {
        const Column *column = &comparison->table.columns.of[0];
        uint64_t bit = UINT64_C(1) << (comparison->n_begun - 1);
        int r;

        if (column->setup.has_ledger && !column->lost_names) {
                comparison->ledgers |= bit;
                if (column_table_place_vanished(&comparison->table, 0))
                        comparison->unplaced |= bit;
        }
        r = column_table_settle(&comparison->table, 0);
        if (r == 0)
                r = make_groups(comparison);
        for (size_t i = 0; i < comparison->n_groups && r == 0; i++)
                r = set_group_take(comparison->groups[i], &comparison->list, column,
                                   comparison->capture.side, comparison->n_captures,
                                   comparison->n_begun - 1);
        return r;
}

/*
 * The order of display: groups with significant rows first, then groups that both sets have, then
 * groups of one set alone; within each group, significant rows before the others. By weight
 * (set-family.h) groups of one set stand among those with significant rows, and where there are
 * none, among all. Within these classes groups and rows have the order of the view (order.h), by
 * their medians; in a group with significant rows only those count.
 */

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
                if (!row.row.has_number || (significant && !row.row.significant))
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

/* The delta of a row; NAN where it has no number. A side that lacks the group counts as 0. */
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
                return delta_of(ranked, family,
                                key->kind == VIEW_KEY_DERIVED ? _METRIC_MAX + key->id : key->id);
        /* The first of its metrics that has a number, or all together. */
        column = &view_columns[key->id];
        for (unsigned i = 0; i < column->n_metrics; i++) {
                double delta = delta_of(ranked, family, column->metrics[i]);

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

static int order_groups_of_sets(const SetFamily *family, SetGroup **groups, size_t n_groups) {
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

/* Finds the slots of the shown rows, metrics before derived values; returns how many. */
static size_t order_rows_of_group(const SetFamily *family, const SetGroup *group,
                                  size_t ret_slots[ROW_MAX]) {
        const GroupOrder order = { .sort = &family->view->sort,
                                   .scale = &family->scale,
                                   .n_sides = SIDES };
        const SetRowList *list = family->list;
        Row rows[ROW_MAX];
        size_t n = 0;

        for (size_t slot = 0; slot < list->n_slots; slot++) {
                SetRowView row;

                if (!list->wanted[slot])
                        continue;
                set_family_view(family, group, slot, &row);
                if ((!family->view->has_threshold || set_family_is_above(family, &row)) &&
                    (!family->view->changed_only || row.row.significant))
                        rows[n++] = row.row;
        }
        order_rows(&order, rows, n);
        for (size_t i = 0; i < n; i++)
                ret_slots[i] = set_row_list_find(list, rows[i].index);
        return n;
}

/* the end */

static int choose_groups(SetComparison *comparison) {
        const SetFamily *family = &comparison->family;
        const SetRowList *list = &comparison->list;
        const View *view = &comparison->view;
        SetFigures *figures = &comparison->figures;
        bool hides_rows = view->changed_only || view->has_threshold;
        size_t slots[ROW_MAX], n_left = 0, limit = view->limit;
        int r;

        comparison->shown = calloc(comparison->n_groups + 1, sizeof(SetGroup *));
        if (!comparison->shown)
                return -ENOMEM;
        for (size_t i = 0; i < comparison->n_groups; i++) {
                SetGroup *group = comparison->groups[i];
                bool has_side[SIDES];

                /* A ledger also tells of threads that ended before all captures. */
                if (!group->threads.present || !group_passes(group->group, view))
                        continue;
                figures->n_matched++;
                for (unsigned side = 0; side < SIDES; side++) {
                        has_side[side] = group->threads.present & family->sides[side];
                        figures->n_only[1 - side] += !has_side[side];
                }
                /*
                 * Groups that no test can say anything about are shown by their weight alone: those
                 * of one side, and all of them where the samples are too few for any test. A
                 * threshold wants rows that moved.
                 */
                if (!hides_rows || order_rows_of_group(family, group, slots) > 0 ||
                    (!view->has_threshold &&
                     (!figures->could_succeed || !has_side[0] || !has_side[1])))
                        comparison->shown[n_left++] = group;
                else
                        figures->n_hidden_rows += list->n_wanted;
        }
        r = order_groups_of_sets(family, comparison->shown, n_left);
        if (r != 0)
                return r;
        comparison->n_shown = limit > 0 ? MIN_OF(limit, n_left) : n_left;
        figures->n_hidden_groups = n_left - comparison->n_shown;
        for (size_t i = 0; i < n_left; i++) {
                const SetGroup *group = comparison->shown[i];

                if (i < comparison->n_shown) {
                        member_list_sort(&group->group->members);
                        member_list_sort(&group->group->commands);
                        if (hides_rows)
                                figures->n_hidden_rows +=
                                        list->n_wanted - order_rows_of_group(family, group, slots);
                }
                for (size_t slot = 0; view->has_threshold && slot < list->n_slots; slot++) {
                        SetRowView row;

                        if (!list->wanted[slot] || group->rows[slot].test == 0)
                                continue;
                        set_family_view(family, group, slot, &row);
                        figures->n_above_threshold += set_family_is_above(family, &row);
                }
        }
        return 0;
}

int set_comparison_finish(SetComparison *comparison,
                          const SourceTable *const sources[static SIDES]) {
        SetFamily *family = &comparison->family;
        SetFigures *figures = &comparison->figures;
        size_t n_able;
        int r;

        assert(comparison->n_begun == comparison->n_captures);
        for (unsigned side = 0; side < SIDES; side++)
                comparison->sources[side] = sources[side];
        if (comparison->n_windows > 0)
                family->window_ns = comparison->windows_ns / (double) comparison->n_windows;
        /* A group may be found in the last capture only, so this waits for all of them. */
        for (size_t i = 0; i < comparison->n_groups; i++) {
                SetGroup *group = comparison->groups[i];
                uint64_t captures = comparison->ledgers;

                if (group_is_placed(group->group, comparison->view.axis))
                        captures &= ~comparison->unplaced;
                for (unsigned side = 0; side < SIDES; side++) {
                        r = set_group_take_nothing(group, &comparison->list, family->sides[side],
                                                   captures, comparison->n_captures);
                        if (r != 0)
                                return r;
                }
        }
        r = set_family_test(family, comparison->groups, comparison->n_groups);
        if (r != 0)
                return r;
        n_able = family->n_able;
        figures->n_tested = family->n_family;
        figures->n_significant = family->n_significant;
        figures->least_p = family->least_p;
        figures->could_succeed = family->n_significant > 0 ||
                                 (family->n_family > 0 &&
                                  family->least_p * (double) family->n_family < family->alpha);
        if (family->n_short > 0 ||
            (n_able > 0 && !(family->least_p * (double) n_able < family->alpha)))
                figures->n_needed = rank_test_enough(n_able + family->n_short, family->alpha);
        return choose_groups(comparison);
}

/* output */

typedef const SourceTable *const *Sources;

static const char *const side_names[SIDES] = { "before", "after" };

/* Both sides have samples. */
static const char *reason_of_no_test(const SetGroup *group, unsigned index, const SetRowView *row) {
        SetRowKind kind = set_row_kind(index);

        if (kind == SET_ROW_LABEL)
                return "not tested: the number of a CPU is a name";
        if (kind == SET_ROW_RECORD && group->lives_on)
                return "not tested: a thread keeps its record for life, so captures of the same "
                       "threads are not independent";
        if (row->test)
                return "not adjusted: with so few or so equal samples it could not be significant "
                       "even alone";
        if (row->sides[0].n < 2 || row->sides[1].n < 2)
                return "not tested: needs two samples per side";
        return "not tested: all samples are equal";
}

/* Says why there is no sample, or no test. */
static void write_reason(JsonWriter *writer, const SetFamily *family, Sources sources,
                         const SetGroup *group, size_t slot, const SetRowView *row) {
        char absence[ABSENCE_BYTES], text[SIDES * ABSENCE_BYTES + 32] = "";
        const SetRow *samples = &group->rows[slot];
        const char *why;
        size_t n = 0;

        if (row->sides[0].n > 0 && row->sides[1].n > 0) {
                if (!row->is_in_family)
                        json_write_member_text(
                                writer, "reason",
                                reason_of_no_test(group, family->list->indexes[slot], row));
                return;
        }
        for (unsigned side = 0; side < SIDES; side++) {
                bool seen = samples->seen & 1u << side;

                if (row->sides[side].n > 0)
                        continue;
                if (!(group->threads.present & family->sides[side]))
                        why = "no capture has a thread of this group";
                else if (samples->reset & 1u << side)
                        why = "the counter was reset";
                else if (seen && samples->outcomes[side] != DERIVED_DENOMINATOR_ZERO)
                        why = "no two consecutive captures of one boot have these threads";
                else if (!seen && set_row_kind(family->list->indexes[slot]) == SET_ROW_WORD)
                        why = "a word has no median";
                else
                        why = absence_of_value(&row->row, side, sources[side], absence);
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s: %s", n > 0 ? "; " : "",
                                       side_names[side], why);
        }
        /* A reason from a file may end within a character. */
        json_write_member_name(writer, "reason", span_of(text));
}

static void write_row(JsonWriter *writer, const SetFamily *family, Sources sources,
                      const SetGroup *group, size_t slot) {
        static const SetTest none = { .u = 0 };
        char text[ABSENCE_BYTES];
        const char *approximation = NULL;
        const SetTest *test;
        double percent = 0;
        SetRowView row;
        bool has;

        set_family_view(family, group, slot, &row);
        test = row.test ? row.test : &none;
        json_write_key(writer, row_name(family->list->indexes[slot]));
        json_write_object(writer);
        for (unsigned side = 0; side < SIDES; side++) {
                const Quartiles *quartiles = &row.sides[side];

                if (quartiles->n == 0) {
                        json_write_member_null(writer, side_names[side]);
                        continue;
                }
                json_write_key(writer, side_names[side]);
                json_write_object(writer);
                json_write_member_u64(writer, "n", quartiles->n);
                double_write_json(writer, "median", true, quartiles->median);
                double_write_json(writer, "min", true, quartiles->min);
                double_write_json(writer, "max", true, quartiles->max);
                double_write_json(writer, "q1", true, quartiles->q1);
                double_write_json(writer, "q3", true, quartiles->q3);
                json_write_end(writer);
                if (!approximation)
                        approximation =
                                approximation_of_value(&row.row, side, family->defects[side], text);
        }
        double_write_json(writer, "delta", row.row.has_number, row.row.delta.real);
        has = row_percent(&row.row, &percent);
        double_write_json(writer, "percent", has, percent);
        double_write_json(writer, "u", row.test, test->u);
        double_write_json(writer, "p", row.test, test->p);
        double_write_json(writer, "pAdjusted", row.is_in_family, test->adjusted);
        json_write_member_bool(writer, "significant", row.row.significant);
        json_write_member_bool(writer, "perSecond",
                               set_row_kind(family->list->indexes[slot]) == SET_ROW_RATE);
        if (group->rows[slot].reset)
                json_write_member_bool(writer, "reset", true);
        write_reason(writer, family, sources, group, slot, &row);
        if (approximation)
                json_write_member_text(writer, "approximate", approximation);
        json_write_end(writer);
}

void set_comparison_write(const SetComparison *comparison, size_t index, JsonWriter *writer) {
        static const char *const threads[SIDES] = { "threadsBefore", "threadsAfter" };
        const SetFamily *family = &comparison->family;
        double values[SET_MAX_CAPTURES], weight;
        size_t slots[ROW_MAX], n_rows, i = 0;
        const SetGroup *group;
        SetRates rates[SIDES];
        bool known;

        assert(index < comparison->n_shown);
        group = comparison->shown[index];
        n_rows = order_rows_of_group(family, group, slots);
        json_write_object(writer);
        group_write_key(writer, group->group, family->view->axis);
        for (unsigned side = 0; side < SIDES; side++) {
                size_t n = set_samples_get(&group->threads, family->sides[side], values);

                double_write_json(writer, threads[side], true,
                                  n > 0 ? quartiles_of(values, n).median : 0);
        }
        /* The weight on a host of unknown size is null. */
        known = set_weight_find(family, group, rates, &weight);
        for (unsigned side = 0; side < SIDES; side++)
                known = known && (!rates[side].has_group || family->hosts[side].n_cpus.n > 0);
        double_write_json(writer, "weight", known, weight);
        json_write_key(writer, "rates");
        json_write_object(writer);
        for (unsigned side = 0; side < SIDES; side++) {
                const Account *second = &rates[side].second;

                if (!rates[side].has_group) {
                        json_write_member_null(writer, side_names[side]);
                        continue;
                }
                json_write_key(writer, side_names[side]);
                json_write_object(writer);
                amount_write_json(writer, "runningNs", second->running_ns);
                amount_write_json(writer, "waitingNs", second->waiting_ns);
                amount_write_json(writer, "storageNs", second->storage_ns);
                json_write_member_bool(writer, "exact", second->storage_exact);
                amount_write_json(writer, "blockedNs", second->blocked_ns);
                amount_write_json(writer, "lockNs", second->reasons_ns[WAIT_REASON_lock]);
                amount_write_json(writer, "readBytes", second->read_bytes);
                amount_write_json(writer, "writeBytes", second->write_bytes);
                amount_write_json(writer, "memoryGrowthBytes", second->rss_growth_bytes);
                json_write_end(writer);
        }
        json_write_end(writer);
        json_write_key(writer, "metrics");
        json_write_object(writer);
        for (; i < n_rows && family->list->indexes[slots[i]] < _METRIC_MAX; i++)
                write_row(writer, family, comparison->sources, group, slots[i]);
        json_write_end(writer);
        json_write_key(writer, "derived");
        json_write_object(writer);
        for (; i < n_rows; i++)
                write_row(writer, family, comparison->sources, group, slots[i]);
        json_write_end(writer);
        json_write_end(writer);
}
