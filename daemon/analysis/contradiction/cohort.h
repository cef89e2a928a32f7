/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cohort
 *
 * Threads that have the same process name, cgroup, CPUs and scheduling class, and for how long they
 * ran and waited together in an interval: who contends with whom, whatever groups a view makes. All
 * threads of the host are in some cohort, those that ended included, of which neither CPUs nor
 * class are known.
 *
 * Rows of a ledger and threads that exited arrive in any order, so what the ended did is kept
 * modulo 2^64. Where they ended under other names than they had, a cohort can have less than
 * nothing: then it did nothing.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/life-tally.h"
#include "analysis/group/side.h"
#include "analysis/section/count-map.h"
#include "snapshot/exited-row.h"
#include "snapshot/thread-sample.h"

/* These are added up, each of the first of its metrics that a thread has. */
typedef enum CohortTime {
        COHORT_RUNNING,
        COHORT_WAITING,  /* for a CPU */
        COHORT_STORAGE,  /* blocked on storage */
        COHORT_MEMORY,   /* held up for memory: reclaim, compaction, pages that were evicted */
        COHORT_EVICTED,  /* the part of that in which pages were read that had been in memory */
        COHORT_ASYNC_IO, /* waiting for a ring of requests, which is no storage wait of a thread */
        _COHORT_TIME_MAX
} CohortTime;

typedef struct Cohort {
        Span process, cgroup; /* borrowed from the tree; empty: not known */
        Span cpus;            /* a list ("0-3,7"); empty: not known */
        bool has_class;
        int64_t policy, nice;
        uint64_t n_threads;            /* that lived at the end, and ran or waited */
        uint64_t ns[_COHORT_TIME_MAX]; /* negative: less than nothing */
} Cohort;

/* Threads of one name that are in state D at the end of an interval. */
typedef struct StuckName {
        Span process, thread; /* borrowed from the tree */
        bool kthread;
        uint64_t n, n_before; /* of these, those that were in state D at the beginning, too */
} StuckName;

/* Zeroed: there is none. */
typedef struct Cohorts {
        KeyTree tree;  /* of Cohort */
        KeyTree stuck; /* of StuckName */
        KeyNode *last; /* threads of one process follow each other */
        Buffer key;    /* scratch */
} Cohorts;

void cohorts_done(Cohorts *cohorts);

/* One thread of an interval: both samples, or the only one. 0 or -ENOMEM. */
_must_check_ int cohorts_add(Cohorts *cohorts, const Period *period, const ThreadSample *before,
                             const ThreadSample *after);
/* A row of the ledger of the snapshot at the @end of the interval. 0 or -ENOMEM. */
_must_check_ int cohorts_add_exited(Cohorts *cohorts, Side end, const ExitedRow *row);

static inline const StuckName *stuck_name_of(const KeyNode *node) {
        return (const StuckName *) (const void *) node->payload;
}
