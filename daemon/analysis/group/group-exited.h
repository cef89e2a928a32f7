/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupExited
 *
 * What the threads of one group did in an interval that ended in it, from the ledgers of the two
 * snapshots (snapshot/exited-row.h). A row of the later ledger adds, a row of the earlier one takes
 * away, and so does what the threads had by then that the earlier snapshot shows alive and the
 * later one lacks:
 *
 *     work of the ended = dead after - dead before - what vanished threads had before
 *
 * Rows and threads arrive in any order, so differences are kept modulo 2^64 and read as signed in
 * the end.
 *
 * A thread is entered under the names that it ends with. One that had others in the earlier
 * snapshot is taken away from the group of those and is added to another: over all groups the sums
 * are exact, but one group has too much, and one too little, which shows when fewer threads ended
 * under its names than are gone, or when a sum is negative. A negative sum is left out as a whole,
 * and so is a total of times that is more than as many threads can have lived in the interval.
 *
 * Since the sums over all groups are exact, no group can have more than these, and none can have
 * run for longer than there were CPUs. The rest of a sum beyond that is its excess: it was brought
 * along from before the interval, under other names. Sums keep it, and whoever shows them can leave
 * it out.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/bits.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "json/amount.h"
#include "analysis/group/life-tally.h"
#include "analysis/group/side.h"
#include "metric/metric.h"
#include "snapshot/exited-row.h"
#include "snapshot/thread-sample.h"

/*
 * The figures that are shown of a group: all that was counted under its names, or without excess.
 */
typedef enum Figures { FIGURES_WHOLE, FIGURES_CUT, _FIGURES_MAX } Figures;

#define GROUP_EXITED_WORDS BITS_WORDS(_METRIC_MAX)

/* Differences are modulo 2^64, of threads modulo 2^32. */
typedef struct GroupExited {
        uint64_t exits, lives_ns, accounted, young; /* as in ExitedRow */
        bool had_row;                               /* threads had ended before the interval */
        uint64_t n_vanished;                        /* threads */
        uint64_t vanished_ages_ns; /* how long they had lived when the interval began */
        bool lacks_age;            /* of one of them that is not known */
        /* Sums; of maxima and minima those of the later ledger. */
        uint64_t values[_METRIC_MAX];
        uint32_t threads[_METRIC_MAX];     /* that ended and have the metric */
        uint64_t early_ns[JUDGE_N_TOTALS]; /* judge_add_early() of vanished threads */
        /* After group_exited_judge(). */
        uint64_t refuted[GROUP_EXITED_WORDS]; /* totals of times that are too much: left out */
        bool outlived; /* together they were alive for longer than there was time */
        /* After group_exited_find_excess(): by how much a sum that is not left out is too much. */
        uint64_t excess[_METRIC_MAX];
        uint64_t unknown
                [GROUP_EXITED_WORDS]; /* sums that a gone thread lacks, or that are too large */
} GroupExited;

/*
 * The largest maxima and the smallest minima that any thread had in the earlier snapshot that ended
 * in the interval, whatever its names. Zeroed: there is none.
 */
typedef struct VanishedPeaks {
        uint64_t values[_METRIC_MAX]; /* 0: no event */
        uint64_t unknown[GROUP_EXITED_WORDS];
} VanishedPeaks;

/*
 * The rows of an interval say in which cgroups threads ended, or they do not, as those of messages
 * of taskstats: then their rows are all without a cgroup, and what vanished threads had before has
 * to be taken away where these are. Zeroed: no row was seen.
 */
typedef struct LedgerPlaces {
        bool has_row, has_cgroup;
} LedgerPlaces;

/* A row of the ledger of the snapshot at which the interval begins, or ends. */
void group_exited_add_row(GroupExited *exited, Side side, const ExitedRow *row);
/* A thread that the earlier snapshot has and the later one lacks. */
void group_exited_add_vanished(GroupExited *exited, const Period *period,
                               const ThreadSample *vanished);
/* Moves all of *from_other, which may be NULL and is NULL afterwards, to *to, which may be NULL. */
void group_exited_adopt(GroupExited **to, GroupExited **from_other);
/* Call after all rows and threads were added: holds the sums against the time that there was. */
void group_exited_judge(GroupExited *exited, const Period *period);
/* Call after that: finds what is excess, by @all, what the ended of all groups did together. */
void group_exited_find_excess(GroupExited *exited, const Period *period, const GroupExited *all,
                              Amount n_cpus);
void vanished_peaks_add(VanishedPeaks *peaks, const ThreadSample *vanished);

/* Threads that ended under the names of the group. */
uint64_t group_exited_exits(const GroupExited *exited);
/* Those of them that were born in the interval, too; at least, if some had other names before. */
uint64_t group_exited_n_short_lived(const GroupExited *exited);
/* Threads are known to have changed their names: what the group says of the ended is not exact. */
bool group_exited_moved(const GroupExited *exited);

/* The part that the ended have in one sum. */
typedef struct ExitedSum {
        bool known;
        uint64_t value;
        uint32_t threads; /* that have it */
} ExitedSum;

ExitedSum group_exited_sum(const GroupExited *exited, MetricId id);
/* Threads that have the sum and ended under these names, if it is left out because of them. */
uint64_t group_exited_left_out(const GroupExited *exited, MetricId id);
/* The time that the ended were alive in the interval, added up; @tick_ns: the grain of starts. */
Amount group_exited_alive_ns(const GroupExited *exited, uint64_t tick_ns);
/*
 * The maximum or minimum of the ended, if it is known to have been reached in the interval: no
 * thread had ended under these names before, and the ended were all born inside or none of them can
 * have brought it along. That of the memory of a process is reached inside only where @new_process
 * says that all processes of the group began in the interval.
 */
Amount group_exited_peak(const GroupExited *exited, MetricId id, const VanishedPeaks *peaks,
                         bool new_process);
