/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SampledTimes
 *
 * How long each thread was in each place while samples were taken: the difference of its accounts
 * between two readings, one when sampling has begun and one before it ends.
 *
 * The snapshots of a recording are taken before and behind that. What a thread did between these
 * and the samples must not be divided among stacks, so it has to be known apart.
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

/* What the accounts were when they were read. */
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
 * The second one: tells of the threads that live, some at a time. Nothing where the account of
 * waits by reason was begun anew meanwhile. What @tell failed with.
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
 * Whether the thread has ended: what it has done is in its row of the ledger, and what it does
 * until it is freed will be.
 */
bool sampled_time_is_over(const TaskRecord *record);
