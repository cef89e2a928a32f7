/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SampledTimes
 *
 * The time that each thread spent in each place while samples were taken: the difference of the
 * accounts of the thread between two readings, one when sampling has begun and one before it ends.
 *
 * The snapshots of a recording are taken before and after these readings. The time that a thread
 * spent between a snapshot and the samples must not be divided among stacks, so it has to be known
 * apart from the rest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "kernel/bpf/task-table.h"
#include "metric/record-place.h"

/* A thread, in one reading or between two. */
typedef struct SampledTime {
        uint64_t start_boottime_ns;
        uint32_t tid, tgid;
        uint64_t ns[_RECORD_PLACE_MAX];
} SampledTime;

/* The state of the accounts when they were read. */
typedef struct SampledTerms {
        uint64_t epoch; /* of the account of waits by reason; 0: it is off */
        bool has_waits; /* others are counted */
} SampledTerms;

typedef struct SampledTimes {
        SampledTime *begin; /* owned; by process and thread */
        size_t n;
        SampledTerms terms;
} SampledTimes;

void sampled_times_done(SampledTimes *times);
/* The first reading. -ENOMEM. */
_must_check_ int sampled_times_begin(SampledTimes *times, const TaskTable *tasks,
                                     const SampledTerms *terms);
/*
 * Takes the second reading, and gives @tell the times of the threads that live, some threads at a
 * time. Nothing is told if the account of waits by reason was begun anew between the two readings.
 * Returns 0 or the failure of @tell.
 */
_must_check_ int sampled_times_end(const SampledTimes *times, const TaskTable *tasks,
                                   const SampledTerms *terms,
                                   int (*tell)(void *userdata, const SampledTime *all, size_t n),
                                   void *userdata);

/*
 * The accounts of a thread as they are read: a wait that goes on counts, unless the thread is not
 * waiting (capture/bpf/task-sample.c).
 */
void sampled_time_read(const Task *task, const SampledTerms *terms, SampledTime *ret);
/* The order of a table of tasks; one life of a number is not another. */
int sampled_time_compare(const SampledTime *a, const SampledTime *b);
/*
 * Returns true if the thread has ended. The time that it has spent is in its row of the ledger
 * then, and the time that it spends until it is freed will be added there.
 */
bool sampled_time_is_over(const TaskRecord *record);
