/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Column
 *
 * A view is groups by columns. A column has an end, which is a snapshot, and an interval has a
 * begin, too. The kinds of views differ in their columns only:
 *
 *     state       one, without a begin
 *     interval    one with a begin, whose levels are kept
 *     totals      two without a begin
 *     intervals   two with a begin
 *     sets        one capture after the other, each with a begin or without
 *
 * A group has an account of each column: a GroupColumn, to which column_add() adds every thread and
 * column_add_ended() every row of the ledgers at both ends.
 *
 * Without a begin it has whatever the threads have at the end, sums of whole lives among it. In an
 * interval sums are the work done inside. A survivor adds what its counter grew by, if both of its
 * values are known or one follows from the other (life_before()) and it did not fall. A thread that
 * was born adds its whole value, unless it may have inherited it (life_may_inherit()). A thread
 * that is gone adds to no sum: only the exit accounting tells what it did since, and what threads
 * did that were born and ended inside. column_settle() adds that. All other metrics and
 * thread_count are those of all threads at the end.
 *
 * Where levels at the begin are kept, so are the sums that the survivors began with, and what a
 * group had whose threads are all gone, so that it can be listed as it stood.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/bits.h"
#include "base/macro.h"
#include "analysis/group/aggregate.h"
#include "json/amount.h"
#include "analysis/group/group-exited.h"
#include "analysis/group/host-use.h"
#include "analysis/group/judge.h"
#include "analysis/group/life-tally.h"
#include "analysis/group/life.h"
#include "analysis/group/member-list.h"
#include "analysis/group/side.h"
#include "analysis/group/spread.h"
#include "metric/kernel-defect.h"
#include "snapshot/exited-row.h"

/* ColumnSetup is known of a column before its threads are read. */
typedef struct ColumnSetup {
        bool has_begin;
        bool keeps_begin;     /* its levels at the begin are shown */
        JudgeTime begin, end; /* of the captures */
        uint64_t elapsed_ns;  /* how long an interval is, by which its work is a rate; 0: unknown */
        bool has_ledger;      /* of an interval: one ledger tells what threads did that ended */
        KernelDefects defects; /* of the kernel that counted */
        /* Without a begin: when the account of waits began, and that of waits by reason. */
        Amount waits_since_ns, reasons_since_ns;
} ColumnSetup;

/* A column, whatever the groups. */
typedef struct Column {
        ColumnSetup setup;
        Period period;
        HostUse host; /* what the host did in it */
        const char
                *no_reasons; /* why waits were not counted by reason; borrowed; NULL: they were */
        SpreadNames *spread_names; /* borrowed; NULL: no spread is wanted */
        uint64_t life_seed;        /* of the hashes of lives */
        bool by_process;           /* a group has all threads of its processes */

        /* These are of an interval, over all groups. */
        LifeCounts lives;
        uint64_t n_exits; /* by the ledger; modulo 2^64 */
        LedgerPlaces places;
        bool lost_names; /* of its ledger: what threads did that ended is in no group then */
        VanishedPeaks vanished_peaks; /* of threads that ended */
        bool finds_excess;            /* @ended is kept */
        GroupExited ended;            /* all threads that ended, whatever their groups */
} Column;

/* Survivors that have a sum on one side only, by that side. */
typedef struct ColumnGaps {
        uint32_t only[SIDES][_METRIC_MAX];
} ColumnGaps;

/* Survivors whose sum fell: what they had of it at each end. They have no part in other sums. */
typedef struct ColumnFalls {
        Sum sums[SIDES][_METRIC_MAX];
} ColumnFalls;

/* Peaks and minima are numbered one after the other; RECORD_END_* are no numbers. */
#define RECORD_IS_KEPT(type) \
        (METRIC_KIND_OF(type) == METRIC_KIND_PEAK || METRIC_KIND_OF(type) == METRIC_KIND_FLOOR)
#define RECORD_ID(member, type, ...) \
        RECORD_##member, RECORD_END_##member = RECORD_##member + (int) RECORD_IS_KEPT(type) - 1,
enum { METRICS(RECORD_ID) _RECORD_MAX };

/*
 * The peaks that rose and the minima that fell inside: the furthest that those threads have now
 * whose record moved, and the furthest that they had before. The record of a group does not tell,
 * because another thread may have had it since long ago.
 */
typedef struct ColumnRecords {
        uint64_t known[SIDES][BITS_WORDS(_METRIC_MAX)]; /* at the end: of those that moved */
        uint64_t values[SIDES][_RECORD_MAX];
} ColumnRecords;

/* Totals of whole lives that are read as levels at the end of an interval. */
typedef enum LifeTotal {
        LIFE_TOTAL_ALLOCATED,
        LIFE_TOTAL_DEALLOCATED,
        LIFE_TOTAL_AGE,
        _LIFE_TOTAL_MAX,
} LifeTotal;

/* ColumnWork is there in an interval only. */
typedef struct ColumnWork {
        LifeCounts lives;
        Sum totals[_LIFE_TOTAL_MAX];
        uint64_t inherited[BITS_WORDS(_METRIC_MAX)]; /* sums that threads may have been born with */
        ColumnFalls *falls;                          /* owned; NULL: none */
        ColumnGaps *gaps;                            /* owned; NULL: none */
        ColumnRecords *records; /* owned; NULL: none moved, or levels at the begin are not kept */
        Aggregate *vanished;    /* owned; all that threads had that are gone; likewise */
} ColumnWork;

/* The account of one group. Zeroed: of no thread. */
typedef struct GroupColumn {
        Aggregate *ends[SIDES]; /* owned; NULL: no thread there; the begin only where it is kept */
        uint64_t lives;         /* without a begin: the sum of the hashes of the threads */
        Spread spreads[SIDES];  /* of sums over threads; at the begin of those that are gone */
        LifeTally tally;
        ColumnWork *work;    /* owned; NULL: of no interval */
        GroupExited *exited; /* owned; threads that ended; NULL: none did, or no ledger tells */
        /*
         * The threads whose children these were; @tells_starters: the ledger says it of some of
         * them.
         */
        MemberList starters;
        bool tells_starters;
} GroupColumn;

void group_column_done(GroupColumn *of);

/*
 * Adds one thread: both samples, or the only one; without a begin @after alone. 0 or -ENOMEM.
 */
_must_check_ int column_add(const Column *column, GroupColumn *of, const ThreadSample *before,
                            const ThreadSample *after);
/* Adds a row of the ledger at the @end of an interval. 0 or -ENOMEM. */
_must_check_ int column_add_ended(GroupColumn *of, Side end, const ExitedRow *row);
/* Moves all of @from, which has threads at no end where @of has some, and nothing is left in it. */
_must_check_ int group_column_merge(GroupColumn *of, GroupColumn *from);
/*
 * Call once all threads are added and all accounts merged: adds what the ended did, if @tells, and
 * makes the two ends comparable. A group may have none but threads that ended: it has no thread at
 * either end then, and is a group all the same. 0 or -ENOMEM.
 */
_must_check_ int column_settle(const Column *column, GroupColumn *of, bool tells);

/*
 * A sum at the end: of an interval what was done inside. Where levels at the begin are kept and a
 * total stopped at 2^64-1, it is not known.
 */
Sum column_sum(const GroupColumn *of, MetricId id);
/* A sum of whole lives at either end of an interval whose begin is kept, over the same threads. */
Sum column_total(const GroupColumn *of, Side end, MetricId id);
/* A sum as a level at the end: also of an interval one of whole lives, where LifeTotal has it. */
Sum column_level(const GroupColumn *of, MetricId id);

/* The sum fell for some survivor: the counter was reset. */
static inline bool column_fell(const GroupColumn *of, MetricId id) {
        return of->work && of->work->falls && of->work->falls->sums[SIDE_AFTER][id].present > 0;
}
/* The first input of @derived that fell: nothing follows from its work. _METRIC_MAX: none did. */
MetricId column_fallen_input(const GroupColumn *of, const Derived *derived);
/* Threads have the sum at the end, whether or not their work is known. */
bool column_holds(const GroupColumn *of, MetricId id);
/*
 * A peak rose, or a minimum fell, for a survivor, or a thread that was born has one: it happened
 * inside. False for all other metrics.
 */
bool column_moved(const GroupColumn *of, MetricId id);
/*
 * The furthest that those threads had at one end whose record moved. Absent where that is not known
 * of any, or where no record moved.
 */
Value column_record(const GroupColumn *of, Side end, MetricId id);
/*
 * The names whose children the threads were that ended inside, of some of them if parents were
 * forgotten to make room. NULL: it is not known.
 */
const MemberList *column_starters(const GroupColumn *of);
