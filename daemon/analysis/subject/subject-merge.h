/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SubjectMerge
 *
 * Reads two snapshots of one boot side by side, so that both samples of a thread are available at
 * once. A thread is identified by process, thread and start time: a reused id is one thread that is
 * gone and one that was born. Both documents must list each thread once, in ascending order of
 * process and thread id, as captures do; so only two threads are in memory at a time.
 */

#include "base/macro.h"
#include "snapshot/thread-sample.h"
#include "analysis/group/side.h"
#include "analysis/subject/subject.h"

typedef struct MergeSide {
        Subject *subject; /* different on each side */
        /*
         * Receives the threads and cgroups of this side alone, each thread before it is passed on
         * with that of the other side. Threads of one side arrive in order; sides alternate
         * arbitrarily.
         */
        const SubjectVisitor *visitor;
        void *userdata; /* of @visitor */
} MergeSide;

/*
 * Called once for every thread. If both are set, they have the same tgid, tid and start_ticks.
 * @after is NULL for a thread that is gone, @before for one that was born; never both. Returns 0 to
 * go on or a negative errno, which is passed on. Samples are borrowed for the call.
 */
typedef int (*MergeLife)(void *userdata, const ThreadSample *before, const ThreadSample *after);

/*
 * One pass over both; the caller must know that they are of one boot. 0; SUBJECT_E_UNREADABLE, also
 * when threads are out of order, with the fault in the subject of side *ret_culprit; or a negative
 * errno, with *ret_culprit set to the side that was being read when a visitor failed.
 */
_must_check_ int subject_merge(const MergeSide sides[static SIDES], MergeLife on_life,
                               void *userdata, unsigned *ret_culprit);
