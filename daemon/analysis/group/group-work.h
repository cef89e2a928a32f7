/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupWork
 *
 * What the threads of a group did in one interval, where only their work counts: one sample of a
 * set, or one side of two intervals. The aggregate beside it has a thread for each that is there at
 * the end. Its sums are the work of those of which it is known; all other metrics are those of the
 * end. Threads that ended are counted and add nothing here: what they did the ledger of the dead
 * tells, if there is one (group-dead.h), and group_settle_dead() adds it.
 *
 * See group-window.h for a group whose values at both ends of one interval are shown.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/aggregate.h"
#include "analysis/group/group-window.h"
#include "base/bits.h"
#include "base/macro.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

/* Zeroed: of no thread. */
typedef struct GroupWork {
        LifeCounts lives;
        /* Lifetime totals, from which differences are derived; owned; NULL: no thread has them. */
        Aggregate *totals;
        /* Sums that threads have, their work known or not; and that fell for one: it was reset. */
        uint64_t held[BITS_WORDS(_METRIC_MAX)], fallen[BITS_WORDS(_METRIC_MAX)];
} GroupWork;

void group_work_done(GroupWork *work);
/*
 * Adds one thread that is there at the end. @before is its sample at the beginning; NULL: it was
 * born since. Its work is not known unless @knows. *ret_sample is what *@sums, made when needed,
 * gets: names are borrowed from @after. 0 or -ENOMEM.
 */
_must_check_ int group_work_fold(GroupWork *work, Aggregate **sums, const ThreadSample *before,
                                 const ThreadSample *after, bool knows, ThreadSample *ret_sample);

/* Adds what @threads threads that ended did of one sum. */
void group_work_add_ended(GroupWork *work, Aggregate *sums, MetricId id, uint64_t value,
                          uint32_t threads);

/* Its sum is that of the work, and has a rate; an age only adds up, and is a level of the end. */
static inline bool group_work_counts(MetricId id) {
        return metric_is_work(id) && id != METRIC_acct_elapsed_ns;
}
static inline bool group_work_held(const GroupWork *work, MetricId id) {
        return bits_has(work->held, id);
}
static inline bool group_work_fell(const GroupWork *work, MetricId id) {
        return bits_has(work->fallen, id);
}
