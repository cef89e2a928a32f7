/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Group
 *
 * Threads that share a key, on each side, and the table that finds a group by its key. A group is
 * made for the first thread with its key and has an aggregate only for sides with threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/index.h"
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/aggregate.h"
#include "analysis/group/group-dead.h"
#include "analysis/group/group-window.h"
#include "analysis/group/group-work.h"
#include "analysis/group/life-tally.h"
#include "analysis/group/member-list.h"
#include "analysis/group/side.h"
#include "analysis/group/spread.h"

typedef struct Group {
        char *id; /* owned: threads with this id are in the group */
        size_t n_id;
        size_t index; /* its number in the table */
        char *label;  /* owned: the key to show, if it differs from the id; else NULL */
        size_t n_label;

        bool is_pattern;
        MemberList members;
        MemberList commands; /* that threads of it were seen to have been started as */
        bool is_ended;       /* threads that ended, on an axis where each that lives is a group */
        bool has_program;    /* one of its threads is no thread of the kernel */
        /* If the group is one thread: the parts of its label. */
        pid_t pid, tid;
        uint64_t start_ticks;

        /* If the label has several parts: their lengths. */
        size_t n_cgroup, n_process;

        Aggregate *sides[SIDES]; /* owned; NULL: no thread on that side */
        Spread spreads[SIDES];   /* of sums over threads; empty unless the view wants it */
        uint64_t lives[SIDES];   /* sum of the hashes of its threads, independent of their order */
        uint64_t life_seed;      /* of those hashes */
        GroupWindow *window;     /* owned; NULL: threads are not followed */
        /* Of threads that are followed, all under SIDE_AFTER; of two intervals under each. */
        LifeTally tallies[SIDES];
        /* Of two intervals: what beside its aggregate a side is about; owned; NULL: not of them. */
        GroupWork *works[SIDES];
        /*
         * Threads that ended, by the same rule; owned; NULL: none did, or no ledger tells.
         */
        GroupDead *dead[SIDES];
        /* Whose children these were; @tells_starters: the ledger says it of some of them. */
        MemberList starters[SIDES];
        bool tells_starters[SIDES];
        /* Borrowed; of a thread that ended: the group of its names without its cgroup; or NULL. */
        struct Group *unplaced;
        uint64_t elapsed_ns[SIDES]; /* the length of each of two intervals; 0: not of them */
        uint64_t interval_ns;       /* judge_interval_ns() of its sides; 0: not known */

        /* The place in the order of display, set at the end. */
        bool has_weight;
        double weights[_FIGURES_MAX];
        double rank;
        unsigned rank_row;
} Group;

typedef struct GroupTable {
        Group **groups; /* owned, in order of appearance */
        size_t n_groups;
        size_t n_allocated;
        Index index; /* finds them by their ids */
} GroupTable;

void group_table_done(GroupTable *table);
/* Finds the group of @id; NULL when there is none. */
Group *group_table_find(const GroupTable *table, Span id);
/* Finds or makes the group of @id; borrowed, its address does not change. */
_must_check_ int group_table_obtain(GroupTable *table, Span id, Group **ret);

/* The key to show. */
Span group_key(const Group *group);
/* Sets the key to show. */
_must_check_ int group_set_label(Group *group, Span label);

/*
 * Adds a thread; makes the aggregate of the side for its first thread. What is alive in which
 * period the caller adds to the tally.
 */
_must_check_ int group_fold(Group *group, unsigned side, const ThreadSample *sample);
/*
 * Adds a thread that is followed between two snapshots of one boot: both samples, or the only one.
 * See group-window.h. The tally is the caller's here, too.
 */
_must_check_ int group_fold_life(Group *group, const ThreadSample *before,
                                 const ThreadSample *after);
/*
 * Adds a thread of one of two intervals to that side, as group-work.h says: both samples, or the
 * only one. *ret_sample is what was added; it is only set for a thread with @after.
 */
_must_check_ int group_fold_work(Group *group, unsigned side, const ThreadSample *before,
                                 const ThreadSample *after, ThreadSample *ret_sample);
/* Adds a row of the ledger at the @end of the interval that @side is about. 0 or -ENOMEM. */
_must_check_ int group_fold_dead(Group *group, unsigned side, Side end, const DeadRow *row);
/*
 * Whose children the threads were that ended in the interval of @side, of some of them if parents
 * were forgotten to make room. NULL: it is not known.
 */
const MemberList *group_starters(const Group *group, unsigned side);
/* Adds a thread that is gone in that interval to what is said of the ended. 0 or -ENOMEM. */
_must_check_ int group_fold_gone(Group *group, unsigned side, const Period *period,
                                 const ThreadSample *gone);
/* What the ledger of an interval tells of all groups together. */
typedef struct LedgerSight {
        const Period *period;
        const GonePeaks *peaks;
        const GroupDead *all; /* who ended, of all groups */
        Amount n_cpus;
        bool by_process; /* a group has all threads of its processes */
} LedgerSight;
/*
 * Call after all threads are folded and all groups adopted, and before group_settle_window(): adds
 * what the ended did in the interval that @side is about. A group may have none but such threads;
 * it has no thread at either end then, and is a group all the same.
 */
_must_check_ int group_settle_dead(Group *group, unsigned side, const LedgerSight *sight);
/*
 * Call after all threads are folded and all groups adopted: makes the sides comparable as
 * group-window.h describes.
 */
_must_check_ int group_settle_window(Group *group);
/* Moves what is said of the ended in the interval of @side from @from to @group. */
void group_adopt_dead(Group *group, unsigned side, Group *from);
/* The group has no thread, or no longer any. */
bool group_is_empty(const Group *group);
/*
 * Moves the threads of @from, which are all on @side, to @group, which has none there. @from is
 * empty afterwards.
 */
_must_check_ int group_adopt(Group *group, unsigned side, Group *from);
/* Both sides consist of the same threads. */
bool group_survived(const Group *group);
/*
 * The sum grew by more than its threads, which are in both snapshots, can have done in between. In
 * a window each thread was judged by itself.
 */
bool group_refutes_growth(const Group *group, MetricId id);

/*
 * A sum on a side that the group has; 0 also when it is absent. Of two intervals it is what the
 * work would have been at the same rate in the longer one, so that the sides can be compared.
 */
uint64_t group_sum(const Group *group, unsigned side, MetricId id);
/* The sums of that side are not what group_sum() says. */
bool group_is_scaled(const Group *group, unsigned side);
/* How long that is; 0 where sums are not of intervals. */
uint64_t group_sum_ns(const Group *group);
/* False for a sum that is not known because it fell for some thread. */
bool group_has_sum(const Group *group, unsigned side, MetricId id);

/*
 * How old the threads of a group are compared with other groups. The start of the youngest thread
 * on the later side counts as "now"; a group's age is the mean age of its threads at that time. The
 * oldest group that is on both sides has 100 percent.
 */
typedef struct Uptimes {
        uint64_t last_start; /* in ticks since boot, of all threads after; 0: none is known */
        uint64_t oldest;     /* in ticks, of groups on both sides; at least 1 */
} Uptimes;

void uptimes_init(Uptimes *uptimes, const GroupTable *table);
/* False when no start is known for its threads on the later side. */
bool uptimes_percent(const Uptimes *uptimes, const Group *group, double *ret);
