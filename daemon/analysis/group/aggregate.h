/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Aggregate
 *
 * The threads of one group on one side, reduced to one value a metric by the metric's rule. A
 * thread adds to a metric only when it has a value for it, so a metric that no thread had is
 * absent, whatever the others have. The order in which threads arrive does not matter.
 *
 * Fixed size but for two things that most groups do not need: words beyond the first of a mode, and
 * one list of CPUs.
 */

#include <stdint.h>
#include "base/macro.h"
#include "analysis/group/value.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

/* How many numbers and tallies a metric of each rule needs. */
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

/*
 * Distinct words of one mode that are told apart. A kernel has seven policies and a dozen states;
 * what a damaged file has beyond this many counts in the total and cannot win.
 */
#define AGGREGATE_MAX_WORDS 64

typedef struct TallyEntry {
        uint64_t word; /* as a ThreadSample holds it */
        uint64_t count;
} TallyEntry;

/* How often each word was seen. The first needs no allocation: most groups are of one mind. */
typedef struct Tally {
        TallyEntry first;
        TallyEntry *more; /* owned */
        unsigned n_words;
} Tally;

typedef struct Aggregate {
        uint64_t n_threads;
        /* In ticks since boot: the sum over threads of which it is known, how many, the last. */
        uint64_t start_ticks, n_started, last_start;
        uint32_t present[_METRIC_MAX]; /* threads that had it */
        uint64_t numbers[_AGGREGATE_NUMBER_MAX];
        Tally tallies[_AGGREGATE_TALLY_MAX];
        char *cpus; /* owned, terminated: the list that all threads have; NULL once they differ */
        bool cpus_differ;
} Aggregate;

_must_check_ int aggregate_new(Aggregate **ret);
Aggregate *aggregate_free(Aggregate *aggregate);
DEFINE_CLEANUP(Aggregate *, aggregate_free);

/* Adds one thread; thread_count counts it whether or not the sample has that metric. */
_must_check_ int aggregate_fold(Aggregate *aggregate, const ThreadSample *sample);

static inline bool aggregate_has(const Aggregate *aggregate, MetricId id) {
        return aggregate->present[id] > 0;
}
/* The saturating sum of a metric of shape SUM; 0 when absent, so ask first. */
uint64_t aggregate_sum(const Aggregate *aggregate, MetricId id);
/* The reduced value; a list of CPUs in it is borrowed. */
Value aggregate_value(const Aggregate *aggregate, MetricId id);
