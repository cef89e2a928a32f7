/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-family.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "analysis/key/thread-group.h"
#include "analysis/set/rank-test.h"
#include "analysis/account/weight.h"

/* false discoveries */

typedef struct Ranked {
        double p;
        size_t index;
} Ranked;

static int by_p(const void *a, const void *b) {
        const Ranked *left = a, *right = b;

        if (left->p < right->p)
                return -1;
        if (left->p > right->p)
                return 1;
        return left->index < right->index ? -1 : left->index > right->index;
}

int false_discovery_adjust(double *p, size_t n) {
        Ranked *ranked;
        double least = 1;

        if (n == 0)
                return 0;
        ranked = calloc(n, sizeof(*ranked));
        if (!ranked)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                ranked[i] = (Ranked){ p[i], i };
        qsort(ranked, n, sizeof(*ranked), by_p);
        for (size_t rank = n; rank > 0; rank--) {
                double scaled = ranked[rank - 1].p * (double) n / (double) rank;

                least = MIN_OF(least, scaled);
                p[ranked[rank - 1].index] = least;
        }
        free(ranked);
        return 0;
}

#define LEAST_SAMPLES 2 /* per side: one sample says nothing about the scatter */

_Static_assert(SET_MAX_CAPTURES <= RANK_TEST_MAX_POOLED, "all samples can be pooled");

/* the scale */

static void init_scale(SetFamily *family, SetGroup *const *groups, size_t n_groups) {
        double values[SET_MAX_CAPTURES];

        for (size_t slot = 0; slot < family->list->n_slots; slot++) {
                unsigned id = family->list->indexes[slot];
                double totals[SIDES] = { 0, 0 }, floor;

                if (id >= _METRIC_MAX || metric_table[id].shape != METRIC_SHAPE_SUM)
                        continue;
                for (size_t i = 0; i < n_groups; i++)
                        for (unsigned side = 0; side < SIDES; side++) {
                                size_t n = set_samples_get(&groups[i]->rows[slot].samples,
                                                           family->sides[side], values);

                                totals[side] += n > 0 ? quartiles_of(values, n).median : 0;
                        }
                /*
                 * Floors are amounts that matter in an interval: a rate's is divided by its length.
                 */
                floor = (double) impact_floor(metric_table[id].unit);
                if (set_row_kind(id) == SET_ROW_RATE && family->window_ns > 0)
                        floor = floor * (double) NSEC_PER_SEC / family->window_ns;
                family->scale.denominators[id] = fmax(fmax(totals[0], totals[1]), floor);
        }
}

/* tests */

static int test_row(SetFamily *family, RankTest *test, SetGroup *group, size_t slot) {
        double before[SET_MAX_CAPTURES], after[SET_MAX_CAPTURES];
        SetRow *row = &group->rows[slot];
        SetRowKind kind = set_row_kind(family->list->indexes[slot]);
        size_t n_before, n_after;
        RankResult result;
        int r;

        /* Rows whose samples are all equal, or prove nothing, cannot distinguish the sets. */
        if (!family->list->wanted[slot] || !row->samples.values ||
            (kind != SET_ROW_RATE && kind != SET_ROW_LEVEL &&
             (kind != SET_ROW_RECORD || group->lives_on)))
                return 0;
        n_before = set_samples_get(&row->samples, family->sides[0], before);
        n_after = set_samples_get(&row->samples, family->sides[1], after);
        if (rank_test_least_p(n_before, n_after) >= family->alpha)
                family->n_short++;
        if (n_before < LEAST_SAMPLES || n_after < LEAST_SAMPLES)
                return 0;
        r = ARRAY_RESERVE(family->tests, family->n_allocated, family->n_tests + 1);
        if (r == 0)
                r = rank_test_run(test, before, n_before, after, n_after, &result);
        if (r != 0)
                return r;
        family->tests[family->n_tests++] = (SetTest){
                .u = result.u,
                .p = result.p,
                .least_p = result.least_p,
        };
        row->test = (uint32_t) family->n_tests;
        return 0;
}

static int adjust(SetFamily *family) {
        double *p = calloc(family->n_family + 1, sizeof(*p));
        size_t n = 0;
        int r;

        if (!p)
                return -ENOMEM;
        for (size_t i = 0; i < family->n_tests; i++)
                if (!isnan(family->tests[i].adjusted))
                        p[n++] = family->tests[i].p;
        r = false_discovery_adjust(p, n);
        n = 0;
        for (size_t i = 0; r == 0 && i < family->n_tests; i++) {
                SetTest *test = &family->tests[i];

                if (isnan(test->adjusted))
                        continue;
                test->adjusted = p[n++];
                family->n_significant += test->adjusted < family->alpha;
        }
        free(p);
        return r;
}

int set_family_test(SetFamily *family, SetGroup *const *groups, size_t n_groups) {
        _cleanup_(rank_test_freep) RankTest *test = NULL;
        int r;

        init_scale(family, groups, n_groups);
        r = rank_test_new(&test);
        for (size_t i = 0; i < n_groups && r == 0; i++) {
                if (!group_passes(groups[i]->group, family->view))
                        continue;
                for (size_t slot = 0; slot < family->list->n_slots && r == 0; slot++)
                        r = test_row(family, test, groups[i], slot);
        }
        if (r != 0)
                return r;

        /*
         * A row that could not be significant even alone, because its samples are few or equal,
         * would only weaken the others. That depends only on the number of samples and on their
         * pooled values, so leaving it out is unbiased. If all rows are such, they form the family
         * and show how far from significance they are.
         */
        for (size_t i = 0; i < family->n_tests; i++)
                family->n_able += family->tests[i].least_p < family->alpha;
        family->least_p = 1;
        for (size_t i = 0; i < family->n_tests; i++) {
                SetTest *tested = &family->tests[i];

                tested->adjusted = NAN;
                if (family->n_able > 0 && !(tested->least_p < family->alpha))
                        continue;
                tested->adjusted = tested->p;
                family->n_family++;
                family->least_p = fmin(family->least_p, tested->least_p);
        }
        return adjust(family);
}

/* views */

void set_family_view(const SetFamily *family, const SetGroup *group, size_t slot, SetRowView *ret) {
        const SetRow *row = &group->rows[slot];
        unsigned index = family->list->indexes[slot];
        double values[SET_MAX_CAPTURES];

        *ret = (SetRowView){
                .row.index = index,
                .row.is_derived = index >= _METRIC_MAX,
                .row.id = index < _METRIC_MAX ? index : index - _METRIC_MAX,
        };
        for (unsigned side = 0; side < SIDES; side++) {
                size_t n = set_samples_get(&row->samples, family->sides[side], values);

                ret->sides[side] = quartiles_of(values, n);
                if (n > 0)
                        ret->row.values[side] =
                                (Value){ .kind = VALUE_REAL, .real = ret->sides[side].median };
                ret->row.outcomes[side] = (DerivedOutcome) row->outcomes[side];
                ret->row.inputs[side] = (MetricId) row->inputs[side];
        }
        if (set_row_kind(index) != SET_ROW_LABEL)
                ret->row.delta = delta_between(&ret->row.values[0], &ret->row.values[1]);
        ret->row.has_number = ret->row.delta.kind != DELTA_NONE;
        ret->row.changed = fabs(delta_number(&ret->row.delta)) > 0;
        ret->row.impact = IMPACT_NONE;
        if (ret->row.has_number && index < _METRIC_MAX &&
            metric_table[index].shape == METRIC_SHAPE_SUM)
                ret->row.impact = fabs(ret->row.delta.real) / family->scale.denominators[index];
        if (row->test > 0) {
                ret->test = &family->tests[row->test - 1];
                ret->is_in_family = !isnan(ret->test->adjusted);
                ret->row.significant = ret->is_in_family && ret->test->adjusted < family->alpha;
        }
}

bool set_family_is_above(const SetFamily *family, const SetRowView *row) {
        double percent;

        return row->row.significant && row_growth(&row->row, &percent) &&
               percent > family->view->threshold;
}

/* weights */

static Amount median_of(const SetFamily *family, const SetSamples *samples, unsigned side) {
        double values[SET_MAX_CAPTURES];
        size_t n = set_samples_get(samples, family->sides[side], values);

        if (n == 0)
                return (Amount){ .known = false };
        return amount_of((uint64_t) (quartiles_of(values, n).median + 0.5));
}

static Amount rate_of(const SetFamily *family, const SetGroup *group, unsigned side, MetricId id) {
        size_t slot = set_row_list_find(family->list, id);

        if (slot == SET_NO_SLOT)
                return (Amount){ .known = false };
        return median_of(family, &group->rows[slot].samples, side);
}

static void find_rates(const SetFamily *family, const SetGroup *group, unsigned side,
                       SetRates *ret) {
        const unsigned delay = METRIC_blkio_delay_total_ns;
        Amount threads = median_of(family, &group->threads, side), rest;
        Account *second = &ret->second;
        char text[ABSENCE_BYTES];
        SetRowView row;

        *ret = (SetRates){
                .has_group = threads.known,
                .second = {
                        .threads = threads.n,
                        .is_of_kernel = !group->group->has_program,
                        .alive_ns = median_of(family, &group->alive, side),
                        .running_ns = rate_of(family, group, side, METRIC_run_time_ns),
                        .waiting_ns = rate_of(family, group, side, METRIC_wait_time_ns),
                        .storage_ns = rate_of(family, group, side, METRIC_storage_wait_ns),
                        .storage_exact = true,
                        .blocked_ns = rate_of(family, group, side, METRIC_uninterruptible_ns),
                        .read_bytes = rate_of(family, group, side, METRIC_read_bytes),
                        .write_bytes = rate_of(family, group, side, METRIC_write_bytes),
                        .rss_growth_bytes = median_of(family, &group->grown, side),
                },
        };
        second->reasons_ns[WAIT_REASON_lock] = rate_of(family, group, side, METRIC_lock_wait_ns);
        if (!second->blocked_ns.known)
                second->blocked_ns =
                        amount_subtract(rate_of(family, group, side, METRIC_block_sum),
                                        rate_of(family, group, side, METRIC_iowait_sum));
        if (!second->storage_ns.known)
                second->storage_ns = rate_of(family, group, side, METRIC_iowait_sum);
        if (second->storage_ns.known)
                return;
        /* As account_of() has it: cut to what running and waiting leave, where it is not exact. */
        second->storage_ns = rate_of(family, group, side, METRIC_blkio_delay_total_ns);
        if (!second->storage_ns.known)
                return;
        set_family_view(family, group, set_row_list_find(family->list, delay), &row);
        if (!approximation_of_value(&row.row, side, family->defects[side], text))
                return;
        second->storage_exact = false;
        if (!second->alive_ns.known)
                return;
        rest = amount_subtract(
                second->alive_ns,
                amount_of(number_add_saturating(second->running_ns.n, second->waiting_ns.n)));
        second->storage_ns.n = MIN_OF(second->storage_ns.n, rest.n);
}

bool set_weight_find(const SetFamily *family, const SetGroup *group,
                     SetRates ret_rates[static SIDES], double *ret) {
        Shares shares[SIDES];

        for (unsigned side = 0; side < SIDES; side++) {
                WeightScale scale = weight_scale_of(&family->hosts[side], amount_of(NSEC_PER_SEC));
                const SetRates *rates = &ret_rates[side];

                find_rates(family, group, side, &ret_rates[side]);
                shares[side] = shares_of(&scale, rates->has_group ? &rates->second : NULL);
        }
        return weight_between(&shares[0], &shares[1], ret);
}
