/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupWindow
 *
 * What is known of a group besides its two sides when lives of threads are followed from one
 * snapshot to the other. A life is in the group of its later names, one that is gone in that of its
 * earlier. Sums then tell work: a survivor adds to both sides of a sum, or to neither when one of
 * its two values is missing; a thread that was born adds what it did since to the later side and 0
 * to the earlier; one that is gone adds to no sum, because what it did last nobody saw. Sums can so
 * only grow, unless a counter was set back, and never shrink because threads went. All other
 * metrics, and thread_count, are those of all threads of each side.
 *
 * A group whose threads are all gone keeps its sums as they stood, to be listed on its own.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "analysis/group/aggregate.h"
#include "analysis/group/side.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

/* Lives of threads by what became of them between two snapshots; each is counted once. */
typedef struct LifeCounts {
        uint64_t survived, born, gone;
} LifeCounts;

/* Survivors that had a sum on one side only, by that side. */
typedef struct GroupWindowGaps {
        uint32_t only[SIDES][_METRIC_MAX];
} GroupWindowGaps;

typedef struct GroupWindow {
        LifeCounts lives;
        uint64_t fell[(_METRIC_MAX + 63) / 64]; /* sums that a survivor has less of than before */
        GroupWindowGaps *gaps;                  /* owned; NULL: none */
        Aggregate *gone;                        /* owned; all of the threads that are gone; NULL */
} GroupWindow;

_must_check_ int group_window_new(GroupWindow **ret);
GroupWindow *group_window_free(GroupWindow *window);

/* One life: both samples, or the one that there is; @sides are those of the group. 0 or -ENOMEM. */
_must_check_ int group_window_fold(GroupWindow *window, Aggregate *sides[static SIDES],
                                   const ThreadSample *before, const ThreadSample *after);
/* Once all lives are in and no group is adopted any more: makes the sides what is told above. */
_must_check_ int group_window_settle(GroupWindow *window, Aggregate *sides[static SIDES]);
/* Adds what @from knows, when both groups have both sides; frees @from. */
void group_window_adopt(GroupWindow *window, GroupWindow *from);

/* The sum of a survivor fell. */
bool group_window_fell(const GroupWindow *window, MetricId id);
/* Survivors that took no part in a sum because a side of theirs lacks it. */
uint64_t group_window_left_out(const GroupWindow *window, MetricId id);

/* Which lives two samples are, one of which may be NULL: counts it. */
void life_counts_add(LifeCounts *counts, const ThreadSample *before, const ThreadSample *after);
/*
 * What a survivor did: @after with each sum reduced to what it grew by; those that fell, or that
 * @before lacks, are absent. Names are borrowed from @after.
 */
void life_work(const ThreadSample *before, const ThreadSample *after, ThreadSample *ret);
