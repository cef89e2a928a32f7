/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Group
 *
 * Threads that share a key, per side, and the table in which they are found by it. A group exists
 * from the first thread that has its key and has an aggregate only for sides that had one.
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
#include "analysis/group/group-window.h"
#include "analysis/group/member-list.h"
#include "analysis/group/side.h"
#include "analysis/group/spread.h"

typedef struct Group {
        char *id; /* owned: what makes two threads one group */
        size_t n_id;
        size_t index; /* among the groups of its table */
        char *label;  /* owned: the key that is shown, when it says more than the id; else NULL */
        size_t n_label;

        bool is_pattern;
        MemberList members;
        /* Of a group that is one thread: the parts of its label. */
        pid_t pid, tid;
        uint64_t start_ticks;

        /* Of a label with several parts: bytes of those. */
        size_t n_cgroup, n_process;

        Aggregate *sides[SIDES]; /* owned; NULL: no thread there */
        Spread spreads[SIDES];   /* of sums over threads; empty unless somebody folds into them */
        uint64_t lives[SIDES];   /* sum of hashes of the threads' lives, whatever their order */
        GroupWindow *window;     /* owned; NULL: lives are not followed */

        /* Place in the order of display, filled in at the end. */
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
/* NULL when there is no group of @id. */
Group *group_table_find(const GroupTable *table, Span id);
/* The group of @id, made when there is none. Borrowed; it stays where it is. */
_must_check_ int group_table_obtain(GroupTable *table, Span id, Group **ret);

/* The key that is shown. */
Span group_key(const Group *group);
/* Shows @label instead of the id. */
_must_check_ int group_set_label(Group *group, Span label);

/* One more thread; the aggregate is made for the first. */
_must_check_ int group_fold(Group *group, unsigned side, const ThreadSample *sample);
/*
 * One life of a thread between two snapshots of one boot: both samples, or the only one. See
 * group-window.h.
 */
_must_check_ int group_fold_life(Group *group, const ThreadSample *before,
                                 const ThreadSample *after);
/*
 * Call after all lives are folded and all groups adopted: makes the sides comparable as
 * group-window.h describes.
 */
_must_check_ int group_settle_window(Group *group);
/* There is no thread in it, any more. */
bool group_is_empty(const Group *group);
/*
 * Moves the threads of @from, which are on @side only, to @group, which has none there; @from is
 * empty then.
 */
_must_check_ int group_adopt(Group *group, unsigned side, Group *from);
/* Both sides are made of the same lives of threads, however many. */
bool group_survived(const Group *group);
