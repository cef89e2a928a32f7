/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Spread
 *
 * How the sums of one group on one side are distributed over its threads: for each sum the thread
 * that has the most of it, and the values that 50 % and 99 % of the threads do not exceed. The
 * order in which threads arrive does not matter.
 *
 * The top is exact. The two percentiles are the nearest rank among the threads that have a value,
 * zeros included. They are exact for up to SPREAD_MAX_FEW threads, below 128, where they equal the
 * top, and where all threads have the same value; otherwise they come from a scale with an error of
 * at most 1 % (spread-bucket.h).
 *
 * thread_count has no spread: every thread has one.
 *
 * Memory: up to SPREAD_MAX_FEW threads are kept as they are. Up to SPREAD_MAX_ROWS take two bytes
 * per sum and thread, with at most half of that to spare. Beyond that threads are only counted, at
 * four bytes per bucket of each sum that is not all zero.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/spread-names.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

#define SPREAD_MAX_FEW 8
#define SPREAD_MAX_ROWS 8192

/* Empty when zeroed. */
typedef struct Spread {
        struct SpreadThread *few; /* owned */
        unsigned n_few;
        struct SpreadMany *many; /* owned; NULL as long as there are few */
} Spread;

/* Of one sum. */
typedef struct SpreadFigures {
        uint64_t n_threads; /* that have it */
        pid_t top_tid;      /* of several with the same value, the smallest */
        Span top_name;      /* comm, cut to SPREAD_NAME_BYTES; borrowed from the names */
        uint64_t top;
        uint64_t p50, p99;
} SpreadFigures;

void spread_done(Spread *spread);

/* All that one thread has; 0 or -ENOMEM. */
_must_check_ int spread_fold_sample(Spread *spread, SpreadNames *names, const ThreadSample *sample);

/* False when no thread has a value, and for what is no sum. */
bool spread_read(const Spread *spread, const SpreadNames *names, MetricId id, SpreadFigures *ret);
/* What it takes, in bytes, without the names. */
size_t spread_bytes(const Spread *spread);
