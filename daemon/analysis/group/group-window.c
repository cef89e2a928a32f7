/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group-window.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

#define WORDS ELEMENTSOF(((ThreadSample *) NULL)->present)

/* thread_count is cumulative by its type, but it counts threads and does not measure work. */
static bool is_work(unsigned id) {
        return metric_is_cumulative((MetricId) id) && id != METRIC_thread_count;
}

int group_window_new(GroupWindow **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

GroupWindow *group_window_free(GroupWindow *window) {
        if (!window)
                return NULL;
        aggregate_free(window->gone);
        free(window->gaps);
        free(window);
        return NULL;
}

void life_counts_add(LifeCounts *counts, const ThreadSample *before, const ThreadSample *after) {
        counts->survived += before && after;
        counts->born += !before;
        counts->gone += !after;
}

void life_work(const ThreadSample *before, const ThreadSample *after, ThreadSample *ret) {
        ThreadSample work = *after;

        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                MetricId id = (MetricId) i;

                if (!is_work(i) || !thread_sample_has(&work, id))
                        continue;
                if (thread_sample_has(before, id) &&
                    thread_sample_get(before, id) <= thread_sample_get(&work, id))
                        thread_sample_put(&work, id,
                                          thread_sample_get(&work, id) -
                                                  thread_sample_get(before, id));
                else
                        thread_sample_drop(&work, id);
        }
        *ret = work;
}

/* folding */

static int note_gap(GroupWindow *window, unsigned side, unsigned id) {
        if (!window->gaps) {
                window->gaps = calloc(1, sizeof(*window->gaps));
                if (!window->gaps)
                        return -ENOMEM;
        }
        window->gaps->only[side][id]++;
        return 0;
}

/* Keeps the sums that both samples of a survivor have and drops the others. */
static int match_sums(GroupWindow *window, ThreadSample *before, ThreadSample *after) {
        for (unsigned word = 0; word < WORDS; word++) {
                uint64_t bits = before->present[word] | after->present[word];

                for (; bits != 0; bits &= bits - 1) {
                        unsigned id = word * 64 + (unsigned) __builtin_ctzll(bits);
                        bool in_before, in_after;
                        int r;

                        if (!is_work(id))
                                continue;
                        in_before = thread_sample_has(before, (MetricId) id);
                        in_after = thread_sample_has(after, (MetricId) id);
                        if (in_before && in_after) {
                                if (thread_sample_get(after, (MetricId) id) <
                                    thread_sample_get(before, (MetricId) id))
                                        window->fell[id / 64] |= UINT64_C(1) << id % 64;
                                continue;
                        }
                        thread_sample_drop(in_before ? before : after, (MetricId) id);
                        r = note_gap(window, in_before ? 0 : 1, id);
                        if (r != 0)
                                return r;
                }
        }
        return 0;
}

static int fold_side(Aggregate **side, const ThreadSample *sample) {
        int r = *side ? 0 : aggregate_new(side);

        return r == 0 ? aggregate_fold(*side, sample) : r;
}

int group_window_fold(GroupWindow *window, Aggregate *sides[static SIDES],
                      const ThreadSample *before, const ThreadSample *after) {
        ThreadSample parts[SIDES];
        int r;

        life_counts_add(&window->lives, before, after);
        if (!before)
                return fold_side(&sides[SIDE_AFTER], after);
        parts[SIDE_BEFORE] = *before;
        if (after) {
                parts[SIDE_AFTER] = *after;
                r = match_sums(window, &parts[SIDE_BEFORE], &parts[SIDE_AFTER]);
                if (r == 0)
                        r = fold_side(&sides[SIDE_BEFORE], &parts[SIDE_BEFORE]);
                return r == 0 ? fold_side(&sides[SIDE_AFTER], &parts[SIDE_AFTER]) : r;
        }
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (is_work(id))
                        thread_sample_drop(&parts[SIDE_BEFORE], (MetricId) id);
        r = fold_side(&sides[SIDE_BEFORE], &parts[SIDE_BEFORE]);
        return r == 0 ? fold_side(&window->gone, before) : r;
}

/* settling */

int group_window_settle(GroupWindow *window, Aggregate *sides[static SIDES]) {
        Aggregate *before, *after = sides[SIDE_AFTER];
        int r;

        if (!after) { /* the group is gone: list it as it stood */
                aggregate_free(sides[SIDE_BEFORE]);
                sides[SIDE_BEFORE] = TAKE_PTR(window->gone);
                return 0;
        }
        if (!sides[SIDE_BEFORE]) {
                r = aggregate_new(&sides[SIDE_BEFORE]);
                if (r != 0)
                        return r;
        }
        before = sides[SIDE_BEFORE];
        /*
         * A thread takes part in a sum on both sides or on neither; threads that were born began at
         * 0.
         */
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (is_work(id))
                        before->present[id] = after->present[id];
        if (!aggregate_has(before, METRIC_thread_count))
                before->present[METRIC_thread_count] = 1; /* it is known to be 0 */
        return 0;
}

static void adopt_gaps(GroupWindow *window, GroupWindow *from) {
        if (!from->gaps)
                return;
        if (!window->gaps) {
                window->gaps = TAKE_PTR(from->gaps);
                return;
        }
        for (unsigned side = 0; side < SIDES; side++)
                for (unsigned id = 0; id < _METRIC_MAX; id++)
                        window->gaps->only[side][id] += from->gaps->only[side][id];
}

void group_window_adopt(GroupWindow *window, GroupWindow *from) {
        window->lives.survived += from->lives.survived;
        window->lives.born += from->lives.born;
        window->lives.gone += from->lives.gone;
        for (unsigned i = 0; i < ELEMENTSOF(window->fell); i++)
                window->fell[i] |= from->fell[i];
        adopt_gaps(window, from);
        group_window_free(from);
}

/* asking */

bool group_window_fell(const GroupWindow *window, MetricId id) {
        return window->fell[id / 64] >> id % 64 & 1;
}

uint64_t group_window_left_out(const GroupWindow *window, MetricId id) {
        if (!window->gaps)
                return 0;
        return (uint64_t) window->gaps->only[0][id] + window->gaps->only[1][id];
}
