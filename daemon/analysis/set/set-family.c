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

void set_family_done(SetFamily *family) {
        free(family->tests);
        family->tests = NULL;
}

/* the scale */

static double median_of_row(const SetFamily *family, const SetRow *row, unsigned side) {
        double values[SET_MAX_CAPTURES];
        size_t n = set_samples_get(&row->samples, family->sides[side], values);

        return n > 0 ? quartiles_of(values, n).median : 0;
}

/* The floors are amounts that matter in a window; for rates they are divided by its length. */
static double floor_of(const SetFamily *family, MetricId id) {
        double floor = (double) impact_floor(metric_table[id].unit);

        if (set_row_kind(id) != SET_ROW_RATE || !(family->window_ns > 0))
                return floor;
        return floor * (double) NSEC_PER_SEC / family->window_ns;
}

static void init_scale(SetFamily *family, SetGroup *const *groups, size_t n_groups) {
        for (size_t slot = 0; slot < family->list->n_slots; slot++) {
                unsigned id = family->list->indexes[slot];
                double totals[SIDES] = { 0, 0 };

                if (id >= _METRIC_MAX || metric_table[id].shape != METRIC_SHAPE_SUM)
                        continue;
                for (size_t i = 0; i < n_groups; i++)
                        for (unsigned side = 0; side < SIDES; side++)
                                totals[side] += median_of_row(family, &groups[i]->rows[slot], side);
                family->scale.denominators[id] =
                        fmax(fmax(totals[0], totals[1]), floor_of(family, (MetricId) id));
        }
}

/* tests */

/* Whether the samples of the row can distinguish the sets at all. */
static bool is_evidence(const SetGroup *group, unsigned index) {
        switch (set_row_kind(index)) {
        case SET_ROW_RATE:
        case SET_ROW_LEVEL:
                return true;
        case SET_ROW_RECORD:
                return !group->lives_on;
        case SET_ROW_LABEL:
        case SET_ROW_WORD:
                break;
        }
        return false;
}

static int test_row(SetFamily *family, RankTest *test, SetGroup *group, size_t slot) {
        double before[SET_MAX_CAPTURES], after[SET_MAX_CAPTURES];
        SetRow *row = &group->rows[slot];
        size_t n_before, n_after;
        RankResult result;
        int r;

        if (!family->list->wanted[slot] || !set_samples_vary(&row->samples) ||
            !is_evidence(group, family->list->indexes[slot]))
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

static bool can_be_significant(const SetFamily *family, const SetTest *test) {
        return test->least_p < family->alpha;
}

/*
 * A row that could not be significant even alone, because its samples are few or equal, would only
 * weaken the others. Whether it could depends only on the number of samples and on their pooled
 * values, so leaving it out is unbiased. If all rows are such, they form the family and show how
 * far from significance they are.
 */
static void choose_family(SetFamily *family) {
        size_t n_able = 0;

        for (size_t i = 0; i < family->n_tests; i++)
                n_able += can_be_significant(family, &family->tests[i]);
        family->least_p = 1;
        for (size_t i = 0; i < family->n_tests; i++) {
                SetTest *test = &family->tests[i];

                test->adjusted = NAN;
                if (n_able > 0 && !can_be_significant(family, test))
                        continue;
                test->adjusted = test->p;
                family->n_family++;
                family->least_p = fmin(family->least_p, test->least_p);
        }
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
        choose_family(family);
        return adjust(family);
}

bool set_family_could_succeed(const SetFamily *family) {
        return family->n_significant > 0 ||
               (family->n_family > 0 &&
                family->least_p * (double) family->n_family < family->alpha);
}

size_t set_family_samples_needed(const SetFamily *family) {
        size_t n_able = 0;

        for (size_t i = 0; i < family->n_tests; i++)
                n_able += can_be_significant(family, &family->tests[i]);
        if (n_able + family->n_short == 0)
                return 0;
        if (family->n_short == 0 && family->least_p * (double) n_able < family->alpha)
                return 0;
        return rank_test_enough(n_able + family->n_short, family->alpha);
}

/* views */

static double impact(const SetFamily *family, const Row *row) {
        if (!row->has_number || row->is_derived || metric_table[row->id].shape != METRIC_SHAPE_SUM)
                return IMPACT_NONE;
        return fabs(row->delta.real) / family->scale.denominators[row->id];
}

void set_family_view(const SetFamily *family, const SetGroup *group, size_t slot, SetRowView *ret) {
        const SetRow *row = &group->rows[slot];
        unsigned index = family->list->indexes[slot];
        double values[SET_MAX_CAPTURES];

        *ret = (SetRowView){
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
        ret->row.impact = impact(family, &ret->row);
        if (row->test > 0) {
                ret->test = &family->tests[row->test - 1];
                ret->is_in_family = !isnan(ret->test->adjusted);
                ret->significant = ret->is_in_family && ret->test->adjusted < family->alpha;
        }
}

bool set_family_is_above(const SetFamily *family, const SetRowView *row) {
        double percent;

        return row->significant && row_growth(&row->row, &percent) &&
               percent > family->view->threshold;
}

bool set_family_shows(const SetFamily *family, const SetRowView *row) {
        if (family->view->has_threshold && !set_family_is_above(family, row))
                return false;
        return !family->view->changed_only || row->significant;
}

/* weights */

/* rates */

static Amount median_of(const SetFamily *family, const SetSamples *samples, unsigned side) {
        double values[SET_MAX_CAPTURES];
        size_t n = set_samples_get(samples, family->sides[side], values);

        if (n == 0)
                return (Amount){ .known = false };
        return amount_of((uint64_t) (quartiles_of(values, n).median + 0.5));
}

static Amount rate_of(const SetFamily *family, const SetGroup *group, unsigned side, MetricId id) {
        size_t slot = set_row_list_find(family->list, row_index(false, id));

        if (slot == SET_NO_SLOT)
                return (Amount){ .known = false };
        return median_of(family, &group->rows[slot].samples, side);
}

static bool is_exact(const SetFamily *family, const SetGroup *group, unsigned side) {
        size_t slot =
                set_row_list_find(family->list, row_index(false, METRIC_blkio_delay_total_ns));
        char text[ABSENCE_BYTES];
        SetRowView row;

        if (slot == SET_NO_SLOT)
                return true;
        set_family_view(family, group, slot, &row);
        return !approximation_of_value(&row.row, side, family->defects[side], text);
}

/* As account_of() has it: cut to what running and waiting leave, where it is not exact. */
static void find_storage(const SetFamily *family, const SetGroup *group, unsigned side,
                         Account *second) {
        Amount rest;

        second->storage_exact = true;
        second->storage_ns = rate_of(family, group, side, METRIC_storage_wait_ns);
        if (!second->storage_ns.known)
                second->storage_ns = rate_of(family, group, side, METRIC_iowait_sum);
        if (second->storage_ns.known)
                return;
        second->storage_ns = rate_of(family, group, side, METRIC_blkio_delay_total_ns);
        if (!second->storage_ns.known || is_exact(family, group, side))
                return;
        second->storage_exact = false;
        if (!second->alive_ns.known)
                return;
        rest = amount_subtract(
                second->alive_ns,
                amount_of(number_add_saturating(second->running_ns.n, second->waiting_ns.n)));
        second->storage_ns.n = MIN_OF(second->storage_ns.n, rest.n);
}

static void find_blocked(const SetFamily *family, const SetGroup *group, unsigned side,
                         Account *second) {
        second->is_of_kernel = !group->group->has_program;
        second->blocked_ns = rate_of(family, group, side, METRIC_uninterruptible_ns);
        if (!second->blocked_ns.known)
                second->blocked_ns =
                        amount_subtract(rate_of(family, group, side, METRIC_block_sum),
                                        rate_of(family, group, side, METRIC_iowait_sum));
}

void set_rates_find(const SetFamily *family, const SetGroup *group, unsigned side, SetRates *ret) {
        Amount threads = median_of(family, &group->threads, side);

        *ret = (SetRates){
                .has_group = threads.known,
                .second = {
                        .threads = threads.n,
                        .alive_ns = median_of(family, &group->alive, side),
                        .running_ns = rate_of(family, group, side, METRIC_run_time_ns),
                        .waiting_ns = rate_of(family, group, side, METRIC_wait_time_ns),
                        .read_bytes = rate_of(family, group, side, METRIC_read_bytes),
                        .write_bytes = rate_of(family, group, side, METRIC_write_bytes),
                        .rss_growth_bytes = median_of(family, &group->grown, side),
                },
        };
        ret->second.reasons_ns[WAIT_REASON_lock] =
                rate_of(family, group, side, METRIC_lock_wait_ns);
        find_storage(family, group, side, &ret->second);
        find_blocked(family, group, side, &ret->second);
}

bool set_weight_between(const HostUse hosts[static SIDES], const SetRates rates[static SIDES],
                        double *ret) {
        Shares shares[SIDES];

        for (unsigned side = 0; side < SIDES; side++) {
                WeightScale scale = weight_scale_of(&hosts[side], amount_of(NSEC_PER_SEC));

                shares[side] =
                        shares_of(&scale, rates[side].has_group ? &rates[side].second : NULL);
        }
        return weight_between(&shares[0], &shares[1], ret);
}

/* JSON */

static void write_rates(JsonWriter *writer, const char *key, const SetRates *rates) {
        json_write_key(writer, key);
        if (!rates->has_group) {
                json_write_null(writer);
                return;
        }
        json_write_object(writer);
        amount_write_json(writer, "runningNs", rates->second.running_ns);
        amount_write_json(writer, "waitingNs", rates->second.waiting_ns);
        amount_write_json(writer, "storageNs", rates->second.storage_ns);
        json_write_member_bool(writer, "exact", rates->second.storage_exact);
        amount_write_json(writer, "blockedNs", rates->second.blocked_ns);
        amount_write_json(writer, "lockNs", rates->second.reasons_ns[WAIT_REASON_lock]);
        amount_write_json(writer, "readBytes", rates->second.read_bytes);
        amount_write_json(writer, "writeBytes", rates->second.write_bytes);
        amount_write_json(writer, "memoryGrowthBytes", rates->second.rss_growth_bytes);
        json_write_end(writer);
}

void set_weight_write_json(JsonWriter *writer, const SetFamily *family, const SetGroup *group) {
        SetRates rates[SIDES];
        double weight;
        bool known;

        for (unsigned side = 0; side < SIDES; side++)
                set_rates_find(family, group, side, &rates[side]);
        known = set_weight_between(family->hosts, rates, &weight);
        for (unsigned side = 0; side < SIDES; side++)
                known = known && (!rates[side].has_group || family->hosts[side].n_cpus.n > 0);
        json_write_key(writer, "weight");
        if (known)
                json_write_double(writer, weight);
        else
                json_write_null(writer);
        json_write_key(writer, "rates");
        json_write_object(writer);
        write_rates(writer, "before", &rates[0]);
        write_rates(writer, "after", &rates[1]);
        json_write_end(writer);
}
