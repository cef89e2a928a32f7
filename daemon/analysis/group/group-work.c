/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group-work.h"

#include "base/bits.h"

void group_work_done(GroupWork *work) {
        work->totals = aggregate_free(work->totals);
}

/* The work of the thread by one sum that it has at the end; false when it is not known. */
static bool find_work(GroupWork *work, const ThreadSample *before, const ThreadSample *after,
                      MetricId id, uint64_t *ret) {
        uint64_t from = 0, to = thread_sample_get(after, id);

        if (before ? !life_before(before, after, id, &from) : life_may_inherit(after, id))
                return false;
        if (to < from) {
                bits_set(work->fallen, id);
                return false;
        }
        *ret = to - from;
        return true;
}

static void keep_work(GroupWork *work, const ThreadSample *before, const ThreadSample *after,
                      bool knows, ThreadSample *sample) {
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                MetricId id = (MetricId) i;
                uint64_t amount = 0;

                if (!group_work_counts(id) || !thread_sample_has(after, id))
                        continue;
                bits_set(work->held, i);
                if (knows && find_work(work, before, after, id, &amount))
                        thread_sample_put(sample, id, amount);
                else
                        thread_sample_drop(sample, id);
        }
}

/* Adds up the lifetime totals that differences are computed from. */
static int fold_totals(GroupWork *work, const ThreadSample *after) {
        ThreadSample totals;
        bool has_any = false;
        int r;

        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                const Derived *derived = &derived_table[id];

                if (derived->formula != DERIVED_FORMULA_DIFFERENCE)
                        continue;
                for (unsigned i = 0; i < derived->n_inputs; i++) {
                        MetricId input = derived->inputs[i];

                        if (!thread_sample_has(after, input))
                                continue;
                        if (!has_any)
                                thread_sample_clear(&totals);
                        has_any = true;
                        thread_sample_put(&totals, input, thread_sample_get(after, input));
                }
        }
        if (!has_any)
                return 0;
        r = work->totals ? 0 : aggregate_new(&work->totals);
        return r == 0 ? aggregate_fold(work->totals, &totals) : r;
}

int group_work_fold(GroupWork *work, Aggregate **sums, const ThreadSample *before,
                    const ThreadSample *after, bool knows, ThreadSample *ret_sample) {
        int r;

        *ret_sample = *after;
        r = *sums ? 0 : aggregate_new(sums);
        if (r == 0)
                r = fold_totals(work, after);
        if (r != 0)
                return r;
        keep_work(work, before, after, knows, ret_sample);
        return aggregate_fold(*sums, ret_sample);
}

void group_work_add_ended(GroupWork *work, Aggregate *sums, MetricId id, uint64_t value,
                          uint32_t threads) {
        bits_set(work->held, id);
        aggregate_add_sum(sums, id, value, threads);
}
