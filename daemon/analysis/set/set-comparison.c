/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-comparison.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"
#include "analysis/account/weight.h"
#include "analysis/compare/order.h"
#include "analysis/compare/row.h"
#include "analysis/key/thread-group.h"
#include "analysis/set/rank-test.h"

_Static_assert(SET_MAX_CAPTURES <= RANK_TEST_MAX_POOLED, "all samples can be pooled");

int set_comparison_new(const View *view, size_t n_captures, double alpha, SetComparison **ret) {
        _cleanup_(set_comparison_freep) SetComparison *comparison = calloc(1, sizeof(*comparison));
        int r;

        assert(n_captures > 0 && n_captures <= SET_MAX_CAPTURES);
        if (!comparison)
                return -ENOMEM;
        comparison->view = *view;
        comparison->alpha = alpha;
        comparison->n_captures = n_captures;
        set_row_list_init(&comparison->list, &comparison->view);
        r = column_table_init(&comparison->table, &comparison->view, 1, BOOTS_UNKNOWN);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(comparison);
        return 0;
}

SetComparison *set_comparison_free(SetComparison *comparison) {
        if (!comparison)
                return NULL;
        free(comparison->tests);
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
        comparison->sides[capture->side] |= UINT64_C(1) << comparison->n_begun;
        comparison->defects[capture->side] |= capture->column.defects;
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

/* tests */

/*
 * Sets the denominators by which the change of a row is measured. They are made of the medians of
 * all groups, as those of impact_scale_init() are made of their totals.
 */
static void init_scale(SetComparison *comparison) {
        double values[SET_MAX_CAPTURES];

        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                double totals[SIDES] = { 0, 0 }, floor;

                if (comparison->list.slots[id] == SET_NO_SLOT ||
                    metric_table[id].shape != METRIC_SHAPE_SUM)
                        continue;
                for (size_t i = 0; i < comparison->n_groups; i++)
                        for (unsigned side = 0; side < SIDES; side++) {
                                const SetRow *row =
                                        set_group_row(comparison->groups[i], &comparison->list, id);
                                size_t n = set_samples_get(&row->samples, comparison->sides[side],
                                                           values);

                                totals[side] += n > 0 ? quartiles_of(values, n).median : 0;
                        }
                /*
                 * Floors are amounts that matter in an interval: a rate's is divided by its mean
                 * length.
                 */
                floor = (double) impact_floor(metric_table[id].unit);
                if (row_has_rate(id) && comparison->n_windows > 0)
                        floor = floor * (double) NSEC_PER_SEC /
                                (comparison->windows_ns / (double) comparison->n_windows);
                comparison->scale.denominators[id] = fmax(fmax(totals[0], totals[1]), floor);
        }
}

static int test_row(SetComparison *comparison, RankTest *test, SetGroup *group, unsigned index,
                    size_t *n_short) {
        double before[SET_MAX_CAPTURES], after[SET_MAX_CAPTURES];
        SetRow *row = set_group_row(group, &comparison->list, index);
        SetRowKind kind = set_row_kind(index);
        size_t n_before, n_after;
        bool is_tested;
        int r;

        /* Rows whose samples are all equal, or prove nothing, cannot distinguish the sets. */
        if (!comparison->list.wanted[index] || !row->samples.values ||
            (kind != SET_ROW_RATE && kind != SET_ROW_LEVEL &&
             (kind != SET_ROW_RECORD || group->lives_on)))
                return 0;
        n_before = set_samples_get(&row->samples, comparison->sides[0], before);
        n_after = set_samples_get(&row->samples, comparison->sides[1], after);
        /* No number of captures brings a row into the family that one side does not have. */
        if ((n_before == 0 && !(row->seen & 1u << SIDE_BEFORE)) ||
            (n_after == 0 && !(row->seen & 1u << SIDE_AFTER)))
                return 0;
        r = ARRAY_RESERVE(comparison->tests, comparison->n_tests_allocated,
                          comparison->n_tests + 1);
        if (r == 0)
                r = set_test_run(test, before, n_before, after, n_after, comparison->alpha, n_short,
                                 &comparison->tests[comparison->n_tests], &is_tested);
        if (r != 0 || !is_tested)
                return r;
        comparison->n_tests++;
        row->test = (uint32_t) comparison->n_tests;
        return 0;
}

/*
 * Tests the rows of all groups. Groups that the filter of the view matches form the family; all
 * groups form the host that impacts refer to.
 */
static int test_all(SetComparison *comparison) {
        _cleanup_(rank_test_freep) RankTest *test = NULL;
        size_t n_short = 0;
        int r;

        r = rank_test_new(&test);
        for (size_t i = 0; i < comparison->n_groups && r == 0; i++) {
                if (!group_passes(comparison->groups[i]->group, &comparison->view))
                        continue;
                for (unsigned index = 0; index < ROW_MAX && r == 0; index++)
                        r = test_row(comparison, test, comparison->groups[i], index, &n_short);
        }
        return r == 0 ? set_family_settle(comparison->tests, comparison->n_tests, n_short,
                                          comparison->alpha, &comparison->figures.family)
                      : r;
}

/* rows */

/* One row of one group with its test. */
typedef struct SetRowView {
        Row row; /* values are medians */
        const SetRow *samples;
        Quartiles sides[SIDES];
        const SetTest *test; /* borrowed; NULL: not tested */
        bool is_in_family;
} SetRowView;

static bool has_side(const SetComparison *comparison, const SetGroup *group, unsigned side) {
        return set_group_captures(group) & comparison->sides[side];
}

static SetRowView view_row(const SetComparison *comparison, SetGroup *group, unsigned index) {
        const SetRow *samples = set_group_row(group, &comparison->list, index);
        SetRowView ret = {
                .row = { .index = index,
                         .is_derived = index >= _METRIC_MAX,
                         .id = index < _METRIC_MAX ? index : index - _METRIC_MAX,
                         .impact = IMPACT_NONE },
                .samples = samples,
        };
        double values[SET_MAX_CAPTURES];
        Row *row = &ret.row;

        assert(samples); /* only rows of the list are viewed */
        for (unsigned side = 0; side < SIDES; side++) {
                size_t n = set_samples_get(&samples->samples, comparison->sides[side], values);

                ret.sides[side] = quartiles_of(values, n);
                if (n > 0)
                        row->values[side] =
                                (Value){ .kind = VALUE_REAL, .real = ret.sides[side].median };
                row->outcomes[side] = (DerivedOutcome) samples->outcomes[side];
                row->inputs[side] = (MetricId) samples->inputs[side];
        }
        if (set_row_kind(index) != SET_ROW_LABEL)
                row->delta = delta_between(&row->values[0], &row->values[1]);
        row->has_number = row->delta.kind != DELTA_NONE;
        row->changed = fabs(delta_number(&row->delta)) > 0;
        if (row->has_number && index < _METRIC_MAX && metric_table[index].shape == METRIC_SHAPE_SUM)
                row->impact = fabs(row->delta.real) / comparison->scale.denominators[index];
        if (samples->test > 0) {
                ret.test = &comparison->tests[samples->test - 1];
                ret.is_in_family = !isnan(ret.test->adjusted);
                row->significant = ret.is_in_family && ret.test->adjusted < comparison->alpha;
        }
        return ret;
}

/* The row is significant and above the threshold. */
static bool is_above(const SetComparison *comparison, const Row *row) {
        double percent;

        return row->significant && row_growth(row, &percent) &&
               percent > comparison->view.threshold;
}

/* Finds the shown rows in their order, metrics before derived values; returns how many. */
static size_t find_rows(const SetComparison *comparison, SetGroup *group, Row ret_rows[ROW_MAX]) {
        const View *view = &comparison->view;
        const GroupOrder order = { .sort = &view->sort, .n_sides = SIDES };
        size_t n = 0;

        for (unsigned index = 0; index < ROW_MAX; index++) {
                if (!comparison->list.wanted[index])
                        continue;
                ret_rows[n] = view_row(comparison, group, index).row;
                n += (!view->has_threshold || is_above(comparison, &ret_rows[n])) &&
                     (!view->changed_only || ret_rows[n].significant);
        }
        order_rows(&order, ret_rows, n);
        return n;
}

/* weights */

/* One side of a group. Its account has only the members that are written as "rates". */
typedef struct SetRates {
        bool has_group; /* some capture of the side has threads of the group */
        Account second; /* what the group did in a second */
} SetRates;

static Amount median_of(const SetComparison *comparison, const SetSamples *samples, unsigned side) {
        double values[SET_MAX_CAPTURES];
        size_t n = set_samples_get(samples, comparison->sides[side], values);

        if (n == 0)
                return (Amount){ .known = false };
        return amount_of(number_of_real(quartiles_of(values, n).median + 0.5));
}

static Amount rate_of(const SetComparison *comparison, SetGroup *group, unsigned side,
                      MetricId id) {
        return median_of(comparison, &set_group_row(group, &comparison->list, id)->samples, side);
}

static SetRates find_rates(const SetComparison *comparison, SetGroup *group, unsigned side) {
        const MetricId delay = METRIC_blkio_delay_total_ns;
        const Amount threads = median_of(comparison, &group->figures[SET_THREADS], side);
        SetRates ret = { .has_group = threads.known };
        Account *second = &ret.second;
        char text[ABSENCE_BYTES];
        SetRowView row;
        Amount rest;

        *second = (Account){
                .threads = threads.n,
                .is_of_kernel = !group->group->has_program,
                .alive_ns = median_of(comparison, &group->figures[SET_ALIVE], side),
                .running_ns = rate_of(comparison, group, side, METRIC_run_time_ns),
                .waiting_ns = rate_of(comparison, group, side, METRIC_wait_time_ns),
                .storage_ns = rate_of(comparison, group, side, METRIC_storage_wait_ns),
                .storage_exact = true,
                .blocked_ns = rate_of(comparison, group, side, METRIC_uninterruptible_ns),
                .read_bytes = rate_of(comparison, group, side, METRIC_read_bytes),
                .write_bytes = rate_of(comparison, group, side, METRIC_write_bytes),
                .rss_growth_bytes = median_of(comparison, &group->figures[SET_GROWN], side),
        };
        second->reasons_ns[WAIT_REASON_lock] =
                rate_of(comparison, group, side, METRIC_lock_wait_ns);
        if (!second->blocked_ns.known)
                second->blocked_ns =
                        amount_subtract(rate_of(comparison, group, side, METRIC_block_sum),
                                        rate_of(comparison, group, side, METRIC_iowait_sum));
        if (!second->storage_ns.known)
                second->storage_ns = rate_of(comparison, group, side, METRIC_iowait_sum);
        if (second->storage_ns.known)
                return ret;
        /* As account_of() has it: cut to what running and waiting leave, where it is not exact. */
        second->storage_ns = rate_of(comparison, group, side, delay);
        row = view_row(comparison, group, delay);
        if (!second->storage_ns.known ||
            !approximation_of_value(&row.row, side, comparison->defects[side], text))
                return ret;
        second->storage_exact = false;
        if (!second->alive_ns.known)
                return ret;
        rest = amount_subtract(
                second->alive_ns,
                amount_of(number_add_saturating(second->running_ns.n, second->waiting_ns.n)));
        second->storage_ns.n = MIN_OF(second->storage_ns.n, rest.n);
        return ret;
}

/*
 * Finds the weight: the share that moved more, after minus before. A host of unknown size counts as
 * one CPU. False: unknown.
 */
static bool find_weight(const SetComparison *comparison, SetGroup *group,
                        SetRates ret_rates[static SIDES], double *ret) {
        Shares shares[SIDES];

        for (unsigned side = 0; side < SIDES; side++) {
                WeightScale scale =
                        weight_scale_of(&comparison->hosts[side], amount_of(NSEC_PER_SEC));

                ret_rates[side] = find_rates(comparison, group, side);
                shares[side] = shares_of(&scale, ret_rates[side].has_group ? &ret_rates[side].second
                                                                           : NULL);
        }
        return weight_between(&shares[0], &shares[1], ret);
}

/*
 * The order of display: groups with significant rows first, then groups that both sets have, then
 * groups of one set alone; within each group, significant rows before the others. By weight groups
 * of one set stand among those with significant rows, and where there are none, among all. Within
 * these classes groups and rows have the order of the view (order.h), by their medians; in a group
 * with significant rows only those count.
 */

enum {
        TIER_TOLD, /* some row is significant, or by weight: only one side has it */
        TIER_BOTH,
        TIER_ONE_SIDED,
};

static unsigned tier_of(const SetComparison *comparison, SetGroup *group) {
        bool is_of_both =
                has_side(comparison, group, SIDE_BEFORE) && has_side(comparison, group, SIDE_AFTER);
        ViewOrder order = comparison->view.sort.order;

        /* A newcomer that eats a CPU is no appendix. */
        if (!is_of_both && (order == VIEW_ORDER_WEIGHT || order == VIEW_ORDER_METRICS))
                return comparison->figures.family.n_significant > 0 ? TIER_TOLD : TIER_BOTH;
        if (!is_of_both)
                return TIER_ONE_SIDED;
        for (size_t slot = 0; slot < comparison->list.n_slots; slot++) {
                uint32_t test = group->rows[slot].test;

                /* NAN, the value of a test outside the family, compares false. */
                if (test > 0 && comparison->tests[test - 1].adjusted < comparison->alpha)
                        return TIER_TOLD;
        }
        return TIER_BOTH;
}

/* A row by which a group is ordered. By metrics the side that it lacks counts as 0. */
static bool make_row(const void *userdata, const Group *group, unsigned index, Row *ret) {
        const SetComparison *comparison = userdata;
        SetGroup *of = comparison->groups[group->index];
        bool is_named = comparison->view.sort.order == VIEW_ORDER_METRICS;

        if (!is_named && !comparison->list.wanted[index])
                return false;
        *ret = view_row(comparison, of, index).row;
        if (!is_named)
                return ret->has_number && (group->tier != TIER_TOLD || ret->significant);
        if (ret->values[SIDE_BEFORE].kind != VALUE_ABSENT && !has_side(comparison, of, SIDE_AFTER))
                ret->delta =
                        delta_between(&ret->values[SIDE_BEFORE], &(Value){ .kind = VALUE_REAL });
        else if (ret->values[SIDE_AFTER].kind != VALUE_ABSENT &&
                 !has_side(comparison, of, SIDE_BEFORE))
                ret->delta = delta_of_value(&ret->values[SIDE_AFTER]);
        return true;
}

/* the end */

static int choose_groups(SetComparison *comparison) {
        const SetRowList *list = &comparison->list;
        const View *view = &comparison->view;
        const GroupOrder order = {
                .sort = &view->sort, .n_sides = SIDES, .make_row = make_row, .userdata = comparison
        };
        SetFigures *figures = &comparison->figures;
        bool hides_rows = view->changed_only || view->has_threshold;
        size_t n_left = 0, limit = view->limit;
        SetRates rates[SIDES];
        Row rows[ROW_MAX];
        int r;

        comparison->shown = calloc(comparison->n_groups + 1, sizeof(Group *));
        if (!comparison->shown)
                return -ENOMEM;
        for (size_t i = 0; i < comparison->n_groups; i++) {
                SetGroup *group = comparison->groups[i];
                Group *shown = group->group;
                bool is_one_sided = false;

                /* A ledger also tells of threads that ended before all captures. */
                if (!set_group_captures(group) || !group_passes(shown, view))
                        continue;
                figures->n_matched++;
                for (unsigned side = 0; side < SIDES; side++)
                        if (!has_side(comparison, group, side)) {
                                figures->n_only[1 - side]++;
                                is_one_sided = true;
                        }
                /*
                 * Groups that no test can say anything about are shown by their weight alone: those
                 * of one side, and all of them where the samples are too few for any test. A
                 * threshold wants rows that moved.
                 */
                if (hides_rows && find_rows(comparison, group, rows) == 0 &&
                    (view->has_threshold || (figures->family.could_succeed && !is_one_sided))) {
                        figures->n_hidden_rows += list->n_wanted;
                        continue;
                }
                shown->tier = tier_of(comparison, group);
                if (view->sort.order == VIEW_ORDER_WEIGHT)
                        shown->has_weight = find_weight(comparison, group, rates,
                                                        &shown->weights[FIGURES_WHOLE]);
                comparison->shown[n_left++] = shown;
        }
        r = order_groups(&order, comparison->shown, n_left);
        if (r != 0)
                return r;
        comparison->n_shown = limit > 0 ? MIN_OF(limit, n_left) : n_left;
        figures->n_hidden_groups = n_left - comparison->n_shown;
        for (size_t i = 0; i < n_left; i++) {
                Group *shown = comparison->shown[i];
                SetGroup *group = comparison->groups[shown->index];

                if (i < comparison->n_shown) {
                        member_list_sort(&shown->members);
                        member_list_sort(&shown->commands);
                        if (hides_rows)
                                figures->n_hidden_rows +=
                                        list->n_wanted - find_rows(comparison, group, rows);
                }
                for (unsigned index = 0; view->has_threshold && index < ROW_MAX; index++)
                        if (list->wanted[index] && set_group_row(group, list, index)->test > 0) {
                                rows[0] = view_row(comparison, group, index).row;
                                figures->n_above_threshold += is_above(comparison, &rows[0]);
                        }
        }
        return 0;
}

int set_comparison_finish(SetComparison *comparison,
                          const SourceTable *const sources[static SIDES]) {
        int r;

        assert(comparison->n_begun == comparison->n_captures);
        for (unsigned side = 0; side < SIDES; side++)
                comparison->sources[side] = sources[side];
        /* A group may be found in the last capture only, so this waits for all of them. */
        for (size_t i = 0; i < comparison->n_groups; i++) {
                SetGroup *group = comparison->groups[i];
                uint64_t captures = comparison->ledgers;

                if (group_is_placed(group->group, comparison->view.axis))
                        captures &= ~comparison->unplaced;
                for (unsigned side = 0; side < SIDES; side++) {
                        r = set_group_take_nothing(group, &comparison->list,
                                                   comparison->sides[side], captures,
                                                   comparison->n_captures);
                        if (r != 0)
                                return r;
                }
        }
        init_scale(comparison);
        r = test_all(comparison);
        return r == 0 ? choose_groups(comparison) : r;
}

/* output */

static const char *const side_names[SIDES] = { "before", "after" };

/* Both sides have samples. */
static const char *reason_of_no_test(const SetGroup *group, const SetRowView *row) {
        SetRowKind kind = set_row_kind(row->row.index);

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
static void write_reason(JsonWriter *writer, const SetComparison *comparison, const SetGroup *group,
                         const SetRowView *row) {
        char absence[ABSENCE_BYTES], text[SIDES * ABSENCE_BYTES + 32] = "";
        const SetRow *samples = row->samples;
        const char *why;
        size_t n = 0;

        if (row->sides[0].n > 0 && row->sides[1].n > 0) {
                if (!row->is_in_family)
                        json_write_member_text(writer, "reason", reason_of_no_test(group, row));
                return;
        }
        for (unsigned side = 0; side < SIDES; side++) {
                bool seen = samples->seen & 1u << side;

                if (row->sides[side].n > 0)
                        continue;
                if (!has_side(comparison, group, side))
                        why = "no capture has a thread of this group";
                else if (samples->reset & 1u << side)
                        why = "the counter was reset";
                else if (seen && samples->outcomes[side] != DERIVED_DENOMINATOR_ZERO)
                        why = "no two consecutive captures of one boot have these threads";
                else if (!seen && set_row_kind(row->row.index) == SET_ROW_WORD)
                        why = "a word has no median";
                else
                        why = absence_of_value(&row->row, side, comparison->sources[side], absence);
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s: %s", n > 0 ? "; " : "",
                                       side_names[side], why);
        }
        /* A reason from a file may end within a character. */
        json_write_member_name(writer, "reason", span_of(text));
}

static void write_row(JsonWriter *writer, const SetComparison *comparison, SetGroup *group,
                      unsigned index) {
        static const SetTest none = { .u = 0 };
        const SetRowView row = view_row(comparison, group, index);
        const SetTest *test = row.test ? row.test : &none;
        char texts[SIDES][ABSENCE_BYTES], text[JOINED_BYTES];
        const char *approximations[SIDES] = { NULL, NULL };
        double percent = 0;
        bool has;

        json_write_key(writer, row_name(index));
        json_write_object(writer);
        for (unsigned side = 0; side < SIDES; side++) {
                const Quartiles *quartiles = &row.sides[side];

                quartiles_write_json(writer, side_names[side], quartiles);
                if (quartiles->n > 0)
                        approximations[side] = approximation_of_value(
                                &row.row, side, comparison->defects[side], texts[side]);
        }
        double_write_json(writer, "delta", row.row.has_number, row.row.delta.real);
        has = row_percent(&row.row, &percent);
        double_write_json(writer, "percent", has, percent);
        double_write_json(writer, "u", row.test, test->u);
        double_write_json(writer, "p", row.test, test->p);
        double_write_json(writer, "pAdjusted", row.is_in_family, test->adjusted);
        json_write_member_bool(writer, "significant", row.row.significant);
        json_write_member_bool(writer, "perSecond", row_has_rate(index));
        if (row.samples->reset)
                json_write_member_bool(writer, "reset", true);
        write_reason(writer, comparison, group, &row);
        if (sides_join(side_names, approximations, text))
                json_write_member_text(writer, "approximate", text);
        json_write_end(writer);
}

void set_comparison_write(const SetComparison *comparison, size_t index, JsonWriter *writer) {
        static const char *const threads[SIDES] = { "threadsBefore", "threadsAfter" };
        double values[SET_MAX_CAPTURES], weight;
        SetRates rates[SIDES];
        SetGroup *group;
        Row rows[ROW_MAX];
        size_t n_rows, i = 0;
        bool known;

        assert(index < comparison->n_shown);
        group = comparison->groups[comparison->shown[index]->index];
        n_rows = find_rows(comparison, group, rows);
        json_write_object(writer);
        group_write_key(writer, group->group, comparison->view.axis);
        for (unsigned side = 0; side < SIDES; side++) {
                size_t n = set_samples_get(&group->figures[SET_THREADS], comparison->sides[side],
                                           values);

                double_write_json(writer, threads[side], true,
                                  n > 0 ? quartiles_of(values, n).median : 0);
        }
        /* The weight on a host of unknown size is null. */
        known = find_weight(comparison, group, rates, &weight);
        for (unsigned side = 0; side < SIDES; side++)
                known = known && (!rates[side].has_group || comparison->hosts[side].n_cpus.n > 0);
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
        for (; i < n_rows && !rows[i].is_derived; i++)
                write_row(writer, comparison, group, rows[i].index);
        json_write_end(writer);
        json_write_key(writer, "derived");
        json_write_object(writer);
        for (; i < n_rows; i++)
                write_row(writer, comparison, group, rows[i].index);
        json_write_end(writer);
        json_write_end(writer);
}
