/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupWindow
 *
 * A group whose threads are followed from one snapshot to the other. A thread belongs to the group
 * of its later names, or of its earlier names if it is gone.
 *
 * Sums then measure the work done in between. A survivor adds to both sides of a sum, or to neither
 * if one of its two values is missing and does not follow from the other (life_before()). A thread
 * that was born adds its whole value to the later side and 0 to the earlier, or to neither side of
 * a sum that it may have inherited (life_may_inherit()). A thread that is gone adds to no sum here:
 * what it did since, and what threads did that were born and ended in between, only the ledger of
 * the dead tells, which the group adds to the later side (group_settle_dead()). So a sum grows
 * unless a counter was reset, and never shrinks because threads ended. All other metrics, and
 * thread_count, cover all threads of each side.
 *
 * A group whose threads are all gone keeps its sums as they stood, so that it can be listed on its
 * own, unless a ledger tells what they did.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/bits.h"
#include "base/macro.h"
#include "analysis/group/aggregate.h"
#include "analysis/group/amount.h"
#include "analysis/group/side.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

/* Threads by what became of them between two snapshots; each thread is counted once. */
typedef struct LifeCounts {
        uint64_t survived, born, gone;
        /*
         * Born and ended inside, which only the ledger of the dead tells; of a group at least as
         * many, if some had other names before (group-dead.h).
         */
        Amount fleeting;
        Amount exits; /* threads that ended under the names of the group, those that are gone too */
} LifeCounts;

/* Survivors that have a sum on one side only, by that side. */
typedef struct GroupWindowGaps {
        uint32_t only[SIDES][_METRIC_MAX];
} GroupWindowGaps;

/* Survivors whose sum fell, by metric, and by how much in all. */
typedef struct GroupWindowFalls {
        uint32_t n[_METRIC_MAX];
        uint64_t lost[_METRIC_MAX];
} GroupWindowFalls;

/* Peaks and minima are numbered one after the other; RECORD_END_* are no numbers. */
#define RECORD_IS_KEPT(type) \
        (METRIC_KIND_OF(type) == METRIC_KIND_PEAK || METRIC_KIND_OF(type) == METRIC_KIND_FLOOR)
#define RECORD_ID(member, type, ...) \
        RECORD_##member, RECORD_END_##member = RECORD_##member + (int) RECORD_IS_KEPT(type) - 1,
enum { METRICS(RECORD_ID) _RECORD_MAX };

/*
 * The peaks that rose and the minima that fell inside: the furthest that those threads have now
 * whose record moved, and the furthest that they had before. The record of a group does not tell,
 * because another thread may have had it since long ago.
 */
typedef struct GroupWindowRecords {
        uint64_t moved[BITS_WORDS(_METRIC_MAX)];
        uint64_t had[BITS_WORDS(_METRIC_MAX)]; /* what one of them had before is known */
        uint64_t values[SIDES][_RECORD_MAX];
} GroupWindowRecords;

typedef struct GroupWindow {
        LifeCounts lives;
        GroupWindowRecords records;
        uint64_t inherited[BITS_WORDS(_METRIC_MAX)]; /* sums that threads may have been born with */
        GroupWindowFalls *falls;                     /* owned; NULL: none */
        GroupWindowGaps *gaps;                       /* owned; NULL: none */
        Aggregate *gone; /* owned; everything the gone threads had; NULL: none is gone */
} GroupWindow;

_must_check_ int group_window_new(GroupWindow **ret);
GroupWindow *group_window_free(GroupWindow *window);

/* One thread: both samples, or the only one. @sides are those of the group. 0 or -ENOMEM. */
_must_check_ int group_window_fold(GroupWindow *window, Aggregate *sides[static SIDES],
                                   const ThreadSample *before, const ThreadSample *after);
/* Call after all threads are folded and all groups adopted: makes @sides comparable as above. */
_must_check_ int group_window_settle(GroupWindow *window, Aggregate *sides[static SIDES]);
/* Adds @from, the window of a group that was merged into this one, and frees it. */
void group_window_adopt(GroupWindow *window, GroupWindow *from);

/* The sum fell for some survivor. */
bool group_window_fell(const GroupWindow *window, MetricId id);
/* A thread that was born takes no part in the sum, because it may have inherited what it has. */
bool group_window_inherited(const GroupWindow *window, MetricId id);
/*
 * A peak rose, or a minimum fell, for a survivor, or a thread that was born has one: it happened
 * between the two snapshots. False for all other metrics.
 */
bool group_window_moved(const GroupWindow *window, MetricId id);
/* Notes the same of threads that ended: what they had before is not known. */
void group_window_note_record(GroupWindow *window, MetricId id, uint64_t value);
/*
 * What those threads had on one side whose record moved, the furthest of them. False where that is
 * not known of any, or where no record moved.
 */
bool group_window_record(const GroupWindow *window, unsigned side, MetricId id, uint64_t *ret);
/*
 * The work done in between, for a group that has threads after; call after it is settled. It has
 * the sums that @sides have, of survivors what each of them did more and of the born all; a
 * survivor whose sum fell is left out, as in life_work(). It has no other metric, its doubts are
 * borrowed from @sides, and it must not be freed.
 */
void group_window_work(const GroupWindow *window, Aggregate *const sides[static SIDES],
                       Aggregate *ret);
/* The work done of one sum, as group_window_work() puts it, for who needs few of them. */
typedef struct WindowSum {
        uint64_t value;
        uint32_t present; /* threads that it is of; 0: it is not known */
} WindowSum;

WindowSum group_window_sum(const GroupWindow *window, Aggregate *const sides[static SIDES],
                           MetricId id);
/* Survivors that do not take part in the sum because they lack it on one side. */
uint64_t group_window_left_out(const GroupWindow *window, MetricId id);

/* The larger of two maxima or the smaller of two minima, where 0 is no event. */
uint64_t metric_further(MetricId id, uint64_t a, uint64_t b);

/* Counts one thread; one of the samples may be NULL. */
void life_counts_add(LifeCounts *counts, const ThreadSample *before, const ThreadSample *after);
void life_counts_merge(LifeCounts *counts, const LifeCounts *from);
/*
 * What a survivor had of @id at the earlier snapshot; false when that is not known.
 *
 * A capture leaves delays of 0 out where the thread may have no accounting. A value in @after shows
 * that the thread has it, so the zeros that the kernel answered for @before were measured: its
 * first delays are work of the interval, not a value without a past. This holds only if taskstats
 * answered for @before at all, which its cpu delays tell, and if none of the delays was kept.
 */
bool life_before(const ThreadSample *before, const ThreadSample *after, MetricId id, uint64_t *ret);
/*
 * What a thread that ended had of @id in the snapshot that has it, where delays of 0 were left out
 * likewise: its accounting, if it had any, began with them. False when that is not known.
 */
bool life_value_of_gone(const ThreadSample *gone, MetricId id, uint64_t *ret);
/*
 * Whether what @born, which the earlier snapshot lacks, has of @id may be the work of another
 * thread. The counters of jemalloc lie in memory that a forked child gets a copy of: the first
 * thread of a process begins with those of the thread that forked, unless it has executed a program
 * since, which a snapshot does not tell. All other counters begin at 0.
 */
static inline bool life_may_inherit(const ThreadSample *born, MetricId id) {
        return metric_table[id].explained_by == SOURCE_JEMALLOC && born->tid == born->tgid;
}
/* What a thread that was born did: all that it has, without the sums that it may have inherited. */
void life_work_of_born(const ThreadSample *born, ThreadSample *ret);
/* What a survivor did of one sum; false when that is not known, or when the sum fell. */
bool life_grown(const ThreadSample *before, const ThreadSample *after, MetricId id, uint64_t *ret);
/*
 * What a survivor did: @after with each sum replaced by its growth. Sums that fell, or whose
 * earlier value is not known, are absent. Names are borrowed from @after.
 */
void life_work(const ThreadSample *before, const ThreadSample *after, ThreadSample *ret);
