/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group-window.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

#define WORDS ELEMENTSOF(((ThreadSample *) NULL)->present)

/* Every thread counts in thread_count, whatever it did. */
static bool is_work(unsigned id) {
        return metric_table[id].shape == METRIC_SHAPE_SUM && id != METRIC_thread_count;
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

static int obtain(Aggregate **aggregate) {
        return *aggregate ? 0 : aggregate_new(aggregate);
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

/* Of the sums of a survivor, leaves those in both that both have. */
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

static int fold_survivor(Group *group, const ThreadSample *before, const ThreadSample *after) {
        ThreadSample parts[GROUP_SIDES] = { *before, *after };
        int r;

        r = match_sums(group->window, &parts[0], &parts[1]);
        for (unsigned side = 0; side < GROUP_SIDES && r == 0; side++) {
                r = obtain(&group->sides[side]);
                if (r == 0)
                        r = aggregate_fold(group->sides[side], &parts[side]);
        }
        return r;
}

static int fold_gone(Group *group, const ThreadSample *before) {
        ThreadSample part = *before;
        int r;

        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (is_work(id))
                        thread_sample_drop(&part, (MetricId) id);
        r = obtain(&group->sides[0]);
        if (r == 0)
                r = aggregate_fold(group->sides[0], &part);
        if (r == 0)
                r = obtain(&group->window->gone);
        return r == 0 ? aggregate_fold(group->window->gone, before) : r;
}

static int fold_born(Group *group, const ThreadSample *after) {
        int r = obtain(&group->sides[1]);

        return r == 0 ? aggregate_fold(group->sides[1], after) : r;
}

int group_fold_life(Group *group, const ThreadSample *before, const ThreadSample *after) {
        if (!group->window) {
                group->window = calloc(1, sizeof(*group->window));
                if (!group->window)
                        return -ENOMEM;
        }
        life_counts_add(&group->window->lives, before, after);
        if (before && after)
                return fold_survivor(group, before, after);
        return before ? fold_gone(group, before) : fold_born(group, after);
}

/* settling */

int group_settle_window(Group *group) {
        Aggregate *before, *after = group->sides[1];
        int r;

        if (!group->window)
                return 0;
        if (!after) { /* nothing is left of it: listed as it stood */
                aggregate_free(group->sides[0]);
                group->sides[0] = TAKE_PTR(group->window->gone);
                return 0;
        }
        r = obtain(&group->sides[0]);
        if (r != 0)
                return r;
        before = group->sides[0];
        /* Whoever takes part in a sum does so on both sides; those that were born began at 0. */
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (is_work(id))
                        before->present[id] = after->present[id];
        if (!aggregate_has(before, METRIC_thread_count))
                before->present[METRIC_thread_count] = 1; /* is known to be 0 */
        return 0;
}

static void adopt_gaps(GroupWindow *window, GroupWindow *from) {
        if (!from->gaps)
                return;
        if (!window->gaps) {
                window->gaps = TAKE_PTR(from->gaps);
                return;
        }
        for (unsigned side = 0; side < GROUP_SIDES; side++)
                for (unsigned id = 0; id < _METRIC_MAX; id++)
                        window->gaps->only[side][id] += from->gaps->only[side][id];
}

void group_window_adopt(Group *group, Group *from) {
        GroupWindow *window = group->window, *other = from->window;

        if (!window || !other)
                return;
        window->lives.survived += other->lives.survived;
        window->lives.born += other->lives.born;
        window->lives.gone += other->lives.gone;
        for (unsigned i = 0; i < ELEMENTSOF(window->fell); i++)
                window->fell[i] |= other->fell[i];
        adopt_gaps(window, other);
        from->window = group_window_free(other);
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
