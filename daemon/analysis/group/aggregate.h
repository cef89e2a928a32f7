/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Aggregate
 *
 * The threads of one group on one side, reduced to one value per metric by the metric's rule. A
 * thread contributes to a metric only if it has a value for it; a metric that no thread had is
 * absent. The order in which threads arrive does not matter.
 *
 * An aggregate has a fixed size except for three things that few groups need: further words of a
 * mode, one list of CPUs, and how many values are in doubt.
 */

#include <stdint.h>
#include "base/bits.h"
#include "base/macro.h"
#include "analysis/group/value.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

/* The numbers and tallies that the rules of each shape need. */
enum {
        AGGREGATE_NUMBERS_SUM = 1,
        AGGREGATE_NUMBERS_MAX = 1,
        AGGREGATE_NUMBERS_MIN = 1,
        AGGREGATE_NUMBERS_RANGE = 2,
        AGGREGATE_NUMBERS_MODE = 0,
        AGGREGATE_NUMBERS_AFFINITY = 2,
        AGGREGATE_TALLIES_SUM = 0,
        AGGREGATE_TALLIES_MAX = 0,
        AGGREGATE_TALLIES_MIN = 0,
        AGGREGATE_TALLIES_RANGE = 0,
        AGGREGATE_TALLIES_MODE = 1,
        AGGREGATE_TALLIES_AFFINITY = 0,
};
#define AGGREGATE_NEEDS(rule, shape, folds)                      \
        AGGREGATE_NUMBERS_OF_##rule = AGGREGATE_NUMBERS_##shape, \
        AGGREGATE_TALLIES_OF_##rule = AGGREGATE_TALLIES_##shape,
enum { METRIC_RULES(AGGREGATE_NEEDS) };

#define AGGREGATE_NUMBER_ID(member, type, rule, ...) \
        AGGREGATE_NUMBER_##member,                   \
                AGGREGATE_NUMBER_END_##member =      \
                        AGGREGATE_NUMBER_##member + (int) AGGREGATE_NUMBERS_OF_##rule - 1,
enum { METRICS(AGGREGATE_NUMBER_ID) _AGGREGATE_NUMBER_MAX };

#define AGGREGATE_TALLY_ID(member, type, rule, ...) \
        AGGREGATE_TALLY_##member,                   \
                AGGREGATE_TALLY_END_##member =      \
                        AGGREGATE_TALLY_##member + (int) AGGREGATE_TALLIES_OF_##rule - 1,
enum { METRICS(AGGREGATE_TALLY_ID) _AGGREGATE_TALLY_MAX };

/* In the initialiser of a set of metrics, a word of bits for each 64 of them. */
#define METRIC_BIT(word, is_in, member) \
        | ((is_in) && METRIC_##member / 64 == (word) ? UINT64_C(1) << METRIC_##member % 64 : 0)

/*
 * Distinct words that one mode can count. A kernel has seven policies and a dozen states; a damaged
 * file may have more, and words beyond this limit count in the total but cannot win.
 */
#define AGGREGATE_MAX_WORDS 64

typedef struct TallyEntry {
        uint64_t word; /* as a ThreadSample holds it */
        uint64_t count;
} TallyEntry;

/*
 * A Tally counts how often each word was seen. The first needs no allocation: most groups have only
 * one.
 */
typedef struct Tally {
        TallyEntry first;
        TallyEntry *more; /* owned */
        unsigned n_words;
} Tally;

/* Threads whose value was dropped as implausible or was corrected (judge.h), by metric. */
typedef struct Doubts {
        uint32_t implausible[_METRIC_MAX], corrected[_METRIC_MAX];
} Doubts;

typedef struct Aggregate {
        uint64_t n_threads;
        /*
         * In ticks since boot: the sum of the known starts, how many are known, and the last one.
         */
        uint64_t start_ticks, n_started, last_start;
        uint32_t present[_METRIC_MAX]; /* threads that have the metric */
        uint64_t numbers[_AGGREGATE_NUMBER_MAX];
        uint64_t saturated[BITS_WORDS(_METRIC_MAX)]; /* sums that stopped at 2^64-1 */
        Tally tallies[_AGGREGATE_TALLY_MAX];
        char *cpus; /* owned, terminated: the list that all threads share; NULL when they differ */
        bool cpus_differ;
        Doubts *doubts; /* owned; NULL: none */
} Aggregate;

/* One sum: over how many threads, and whether it stopped at 2^64-1. Zeroed: absent. */
typedef struct Sum {
        uint32_t present; /* threads that have it; 0: none */
        bool saturated;
        uint64_t value;
} Sum;

/* Value and threads saturate. */
void sum_add(Sum *sum, Sum more);
/* Its value; absent if no thread has it. */
Value sum_value(Sum sum);

Aggregate *aggregate_free(Aggregate *aggregate);
DEFINE_CLEANUP(Aggregate *, aggregate_free);

/*
 * Adds one thread; makes the aggregate if *to is NULL. It counts in thread_count whether or not the
 * sample has that metric. 0 or -ENOMEM.
 */
_must_check_ int aggregate_add(Aggregate **to, const ThreadSample *sample);
/* A metric of shape SUM; absent when @aggregate is NULL. */
Sum aggregate_read_sum(const Aggregate *aggregate, MetricId id);
/* Adds the sum of @present threads that are not counted otherwise; saturates. */
void aggregate_add_sum(Aggregate *aggregate, MetricId id, uint64_t value, uint32_t present);
/* Takes a peak or a minimum of threads that are not counted otherwise. */
void aggregate_add_peak(Aggregate *aggregate, MetricId id, uint64_t value);
/* Threads whose value of a mode is @word, as a ThreadSample holds it. */
uint64_t aggregate_n_with_word(const Aggregate *aggregate, MetricId id, uint64_t word);
/* The reduced value; its list of CPUs is borrowed from the aggregate. */
Value aggregate_value(const Aggregate *aggregate, MetricId id);
