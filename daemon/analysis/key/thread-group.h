/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadGroups
 *
 * Groups threads as one view wants it: leaves ctprof's own threads out, finds the patterns that
 * names share, and finds or makes the group of a thread, which learns its names from each of its
 * threads.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "base/span.h"
#include "analysis/group/group.h"
#include "analysis/group/side.h"
#include "analysis/key/thread-key.h"
#include "snapshot/thread-sample.h"
#include "view/view.h"
#include "json/json-writer.h"

typedef struct ThreadGroups {
        const View *view; /* borrowed */
        ThreadKeys keys;
        GroupTable table;
} ThreadGroups;

/* ctprof marks its own threads; a view shows them only when asked to. */
static inline bool thread_is_left_out(const View *view, const ThreadSample *sample) {
        return sample->self && !view->self;
}

/* Counts the names of a thread, if keys.has_census. 0 or -ENOMEM. */
_must_check_ int thread_groups_census(ThreadGroups *groups, const ThreadSample *sample);
/* Counts a cgroup by its path, which may have no threads of its own. 0 or -ENOMEM. */
_must_check_ int thread_groups_census_cgroup(ThreadGroups *groups, Span path);
/* The thread, which is not left out, counts among the group's members. 0 or -ENOMEM. */
_must_check_ int thread_groups_obtain(ThreadGroups *groups, Side side, const ThreadSample *sample,
                                      Group **ret);

/*
 * The group of threads that ended with the names of @sample: that of the living who have them, but
 * where each of these is a group, one of its own for each process, thread name and cgroup. Nobody
 * tells with which command one ended, so they are called by their process there. @n threads, modulo
 * 2^64, count among its members. 0 or -ENOMEM.
 */
_must_check_ int thread_groups_obtain_exited(ThreadGroups *groups, const ThreadSample *sample,
                                             uint64_t n, Group **ret);

/*
 * Finds the group that has what the ledger tells of @vanished, which is in @group, if its rows have
 * no cgroups. 0 or -ENOMEM.
 */
_must_check_ int thread_groups_note_unplaced(ThreadGroups *groups, const ThreadSample *vanished,
                                             Group *group);
/* It is of threads in one cgroup, so a ledger without cgroups does not tell which ended. */
bool group_is_placed(const Group *group, ViewAxis axis);

/*
 * Splits the key of a group into the names it is made of. The axis alone decides which names there
 * are.
 */

/* Borrowed from the group; bytes are NULL where the axis has no such name. */
typedef struct GroupNames {
        Span cgroup, process, thread, command;
} GroupNames;

GroupNames group_names(const Group *group, ViewAxis axis);
/* The view's filter matches the whole key or one of its names. */
bool group_passes(const Group *group, const View *view);
/* Writes the members that identify the group into an open object: its key and its names. */
void group_write_names(JsonWriter *writer, const Group *group, ViewAxis axis);
/* The same, the commands that its threads were started as, and the members of a pattern. */
void group_write_key(JsonWriter *writer, const Group *group, ViewAxis axis);
