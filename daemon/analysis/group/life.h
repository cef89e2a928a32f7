/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Life
 *
 * What one thread did between two snapshots of one boot, by its samples in them: both, or the only
 * one. The later sample is missing where the thread is gone, and the earlier one where it was born.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "json/amount.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

/* Threads by what became of them between two snapshots; each thread is counted once. */
typedef struct LifeCounts {
        uint64_t survived, born, vanished;
        /*
         * Threads that were born and ended inside, which only the exit accounting tells; a group
         * has at least as many, if some had other names before (group-exited.h).
         */
        Amount short_lived;
        Amount exits; /* threads that ended under the names of the group, those that are gone too */
} LifeCounts;

/* The larger of two maxima or the smaller of two minima, where 0 is no event. */
uint64_t metric_further(MetricId id, uint64_t a, uint64_t b);

/* The sample lacks the delay because it was 0: the thread has delay accounting at all. */
bool life_left_delays_out(const ThreadSample *sample, MetricId id);
/*
 * Finds the value that a survivor had at the earlier snapshot; false when that is not known.
 *
 * A capture leaves delays of 0 out where the thread may have no accounting. A value in @after shows
 * that the thread has it, so the zeros that the kernel answered for @before were measured: its
 * first delays are work of the interval, not a value without a past. This holds only if taskstats
 * answered for @before at all, which its cpu delays tell, and if none of the delays was kept.
 */
static inline bool life_before(const ThreadSample *before, const ThreadSample *after, MetricId id,
                               uint64_t *ret) {
        *ret = 0;
        if (thread_sample_has(before, id)) {
                *ret = thread_sample_get(before, id);
                return true;
        }
        return thread_sample_has(after, id) && life_left_delays_out(before, id);
}
/*
 * Finds the value of a thread that ended in the snapshot that has it, where delays of 0 were left
 * out likewise: its accounting, if it had any, began with them. False when that is not known.
 */
bool life_value_of_vanished(const ThreadSample *vanished, MetricId id, uint64_t *ret);
/*
 * True if the value of @born, which the earlier snapshot lacks, may be the work of another thread.
 * The counters of jemalloc lie in memory that a forked child gets a copy of: the first thread of a
 * process begins with those of the thread that forked, unless it has executed a program since,
 * which a snapshot does not tell. All other counters begin at 0.
 */
static inline bool life_may_inherit(const ThreadSample *born, MetricId id) {
        return metric_table[id].explained_by == SOURCE_JEMALLOC && born->tid == born->tgid;
}
/* Finds by how much a sum of a survivor grew; false when that is not known, or when it fell. */
bool life_grown(const ThreadSample *before, const ThreadSample *after, MetricId id, uint64_t *ret);

/* A sum has a rate over time. An age only adds up, and is a level of the end. */
static inline bool work_has_rate(MetricId id) {
        return metric_is_work(id) && id != METRIC_acct_elapsed_ns;
}
