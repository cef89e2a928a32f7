/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Group
 *
 * Threads that share a key, with an account of each column of the view, and the table that finds a
 * group by its key. A group is made for the first thread with its key.
 *
 * Views show one or two sides: of one interval these are its two ends, and else each column is a
 * side.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/index.h"
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/column.h"
#include "analysis/group/member-list.h"
#include "analysis/group/side.h"

/* A side is one end of one column. A view of one side has no threads at the other one. */
typedef struct ColumnSide {
        unsigned column;
        Side end;
} ColumnSide;

/* The columns of one view. Zeroed: there is none. */
#define COLUMNS_MAX 2
typedef struct Columns {
        unsigned n;
        Column of[COLUMNS_MAX];
        bool are_ends;      /* there is one column, and its ends are the sides */
        bool are_intervals; /* there are two, and each is what was done in an interval */
        unsigned n_sides;
        ColumnSide sides[SIDES];
        uint64_t interval_ns; /* judge_interval_ns() of two without a begin; 0: not known */
        /* Work is compared over the longer of two intervals; 0: sums are not of two intervals. */
        uint64_t scale_ns;
} Columns;

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

        /* Borrowed; of a thread that ended: the group of its names without its cgroup; or NULL. */
        struct Group *unplaced;

        /* The place in the order of display, set at the end. */
        unsigned tier; /* of sets: a lower one comes first */
        bool has_weight;
        double weights[_FIGURES_MAX];
        double rank;
        unsigned rank_row;

        const Columns *columns; /* borrowed */
        GroupColumn of[];       /* owned; one of each column */
} Group;

typedef struct GroupTable {
        const Columns *columns; /* borrowed; NULL: its groups only have keys */
        Group **groups;         /* owned, in order of appearance */
        size_t n_groups;
        size_t n_allocated;
        Index index; /* finds them by their ids */
        Group *last; /* found or made: threads of one group often follow each other */
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

/* The threads of a side: their levels, and their sums without a begin. NULL: it has none. */
const Aggregate *group_side(const Group *group, unsigned side);
/* The account of the interval whose ends are both sides, if the view has that; else NULL. */
static inline const GroupColumn *group_interval(const Group *group) {
        return group->columns->are_ends && group->of[0].work ? &group->of[0] : NULL;
}
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
 * an interval each thread was judged by itself.
 */
bool group_refutes_growth(const Group *group, MetricId id);

/*
 * A sum on a side: at an end of one interval the total of the threads that are followed, of one of
 * two intervals what was done in it, and else the total.
 */
Sum group_sum(const Group *group, unsigned side, MetricId id);
/*
 * The same on a side that the group has; 0 also when it is absent. The work of two intervals is
 * scaled to the longer one at the same rate, so that the sides can be compared.
 */
uint64_t group_scaled_sum(const Group *group, unsigned side, MetricId id);
/* False for a sum that is not known because it fell for some thread of one of two intervals. */
bool group_has_sum(const Group *group, unsigned side, MetricId id);

/*
 * Uptimes tell how old the threads of a group are compared with other groups. The start of the
 * youngest thread on the later side counts as "now"; a group's age is the mean age of its threads
 * at that time. The oldest group that is on both sides has 100 percent.
 */
typedef struct Uptimes {
        uint64_t last_start; /* in ticks since boot, of all threads after; 0: none is known */
        uint64_t oldest;     /* in ticks, of groups on both sides; at least 1 */
} Uptimes;

void uptimes_init(Uptimes *uptimes, const GroupTable *table);
/* False when no start is known for its threads on the later side. */
bool uptimes_percent(const Uptimes *uptimes, const Group *group, double *ret);
