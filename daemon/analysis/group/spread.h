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
 * at most 1 %, described below.
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
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name-set.h"
#include "base/span.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

/*
 * A logarithmic scale with 64 equal steps per power of two, on which every 64-bit number has a
 * bucket that fits 16 bits. Numbers below 128 have a bucket each. For all others the middle of the
 * bucket differs from the number by at most 1/128 of it. Buckets are monotonic: a larger number
 * never has a smaller bucket.
 */
#define SPREAD_OCTAVE 64u /* steps */
#define SPREAD_OCTAVES 59u
#define SPREAD_BUCKETS (SPREAD_OCTAVES * SPREAD_OCTAVE)

static inline unsigned spread_bucket_of(uint64_t value) {
        unsigned shift;

        if (value < 2 * SPREAD_OCTAVE)
                return (unsigned) value;
        /* Shift until a number from SPREAD_OCTAVE to 2 * SPREAD_OCTAVE - 1 is left. */
        shift = 63 - 6 - (unsigned) __builtin_clzll(value);
        return shift * SPREAD_OCTAVE + (unsigned) (value >> shift);
}

static inline uint64_t spread_bucket_middle(unsigned bucket) {
        unsigned shift;

        if (bucket < 2 * SPREAD_OCTAVE)
                return bucket;
        shift = bucket / SPREAD_OCTAVE - 1;
        return ((uint64_t) (bucket - shift * SPREAD_OCTAVE) << shift) +
               (UINT64_C(1) << (shift - 1));
}

/*
 * The names of threads that have the top of some sum. Each name is kept once and referred to by a
 * number; names are never removed.
 */
#define SPREAD_NAME_BYTES 64 /* longer names are cut to this length */

/* Empty when zeroed. */
typedef struct SpreadNames {
        NameSet set;
        uint32_t last; /* the number added or found last: a thread asks once for each sum */
} SpreadNames;

/* Finds or adds @name. 0 or -ENOMEM. */
_must_check_ int spread_names_add(SpreadNames *names, Span name, uint32_t *ret);

#define SPREAD_MAX_FEW 8
#define SPREAD_MAX_ROWS 8192

/* Empty when zeroed. */
typedef struct Spread {
        struct SpreadThread *few; /* owned */
        unsigned n_few;
        struct SpreadMany *many; /* owned; NULL as long as there are few */
} Spread;

/* The figures of one sum. */
typedef struct SpreadFigures {
        uint64_t n_threads; /* that have it */
        pid_t top_tid;      /* of several with the same value, the smallest */
        Span top_name;      /* comm, cut to SPREAD_NAME_BYTES; borrowed from the names */
        uint64_t top;
        uint64_t p50, p99;
} SpreadFigures;

void spread_done(Spread *spread);

/* All that one thread has; 0 or -ENOMEM. */
_must_check_ int spread_add_sample(Spread *spread, SpreadNames *names, const ThreadSample *sample);

/* False when no thread has a value, and for what is no sum. */
bool spread_read(const Spread *spread, const SpreadNames *names, MetricId id, SpreadFigures *ret);
/* The memory that it takes, in bytes, without the names; tests hold it against a limit. */
size_t spread_bytes(const Spread *spread);
