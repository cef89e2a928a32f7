/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Judge
 *
 * Holds what the kernel said of one thread against arithmetic, because some kernels say what cannot
 * be (metric/kernel-defect.h). The rules, and nothing else, make a value implausible:
 *
 *     life          no total of times and no longest or shortest event exceeds the age of the
 *                   thread when it was read
 *     account       nor does running, waiting for a CPU and being blocked together, which exclude
 *                   each other; the blocked time is the one that is not believed then
 *     interval      between two snapshots no total grows by more than the time between them, except
 *                   for a thread that was already waiting at the start: a wait is added to its
 *                   total as a whole when it ends
 *
 * An implausible value is dropped and noted in the sample. If a total is spoiled by its longest
 * event alone, which is longer than the rule allows, the total without that event remains, marked
 * as corrected. The total of a later snapshot contains the same event, so it is corrected likewise.
 *
 * Every bound has some slack, because the clocks are read at different moments and start times are
 * counted in ticks: one tick and a thousandth of the bound.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/aggregate.h"
#include "analysis/group/side.h"
#include "metric/metric.h"
#include "snapshot/head.h"
#include "snapshot/thread-sample.h"

/* When the threads of one snapshot were read, since boot; not known for format version 0. */
typedef struct JudgeTime {
        bool known;
        uint64_t start_ns, end_ns;
        uint64_t tick_ns; /* the grain of start times */
} JudgeTime;

JudgeTime judge_time_of(const Head *head);
/* The most that any thread can have done between two snapshots of one boot; 0: not known. */
uint64_t judge_interval_ns(const JudgeTime times[static SIDES]);

/*
 * Judges a thread that is in two snapshots of one boot, each sample by itself and their difference,
 * or in one of them: the other sample is NULL. Changes both.
 */
void judge_life(const JudgeTime times[static SIDES], ThreadSample *before, ThreadSample *after);

/*
 * Totals of times of threads that ended, by number. The work of such threads in an interval is held
 * against it, too: it is computed from the sums under the names that they ended with, so it is too
 * much if they were counted under others before (group-exited.h).
 */
#define JUDGE_N_TOTALS 41u
MetricId judge_total(unsigned i);
/*
 * Adds to each total by how much the interval can add to it for what began before: for an event
 * that @vanished was in the middle of when the earlier snapshot had it, which was @age_ns after its
 * start.
 */
void judge_add_early(uint64_t early_ns[static JUDGE_N_TOTALS], const ThreadSample *vanished,
                     uint64_t age_ns);
/* The most that @n_threads can have that were alive in an interval; saturates. */
uint64_t judge_most_ns(uint64_t n_threads, uint64_t interval_ns, uint64_t tick_ns);
/* A value of a metric of time in ns. */
uint64_t judge_ns(MetricId id, uint64_t value, uint64_t tick_ns);

/*
 * True if a sum over threads that are all in both snapshots grew by more than their interval
 * allows. @before: the threads at its start; @n_threads have a value; @growth as in the unit of the
 * metric. False for what is not a total of times, or when one of the threads was already waiting.
 */
bool judge_refutes_growth(MetricId id, const Aggregate *before, uint64_t n_threads, uint64_t growth,
                          uint64_t interval_ns);
