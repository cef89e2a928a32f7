/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SubjectMerge
 *
 * Two snapshots of one boot read side by side, so that what both have of one life of a thread is at
 * hand at once. A life is told by process, thread and start time: an id that was given out again is
 * one life that is gone and one that was born. Both documents must have their threads in ascending
 * order of process and thread id, each once, as captures have them; so it takes two threads' memory
 * and not a table of all.
 */

#include "base/macro.h"
#include "snapshot/thread-sample.h"
#include "analysis/group/side.h"
#include "analysis/subject/subject.h"

typedef struct MergeSide {
        Subject *subject; /* another one for each side */
        /*
         * What a pass hands out of this side alone, before the thread is handed out with the other
         * side's; threads of one side come in their order, sides as they fall.
         */
        const SubjectVisitor *visitor;
        void *userdata; /* of @visitor */
} MergeSide;

/*
 * Called once for every life. Both set: it is in both, with one tgid, tid and start_ticks. @after
 * NULL: gone in between; @before NULL: born in between. Never both NULL. Returns 0 to go on or a
 * negative errno, which is passed on. Samples are borrowed for the call.
 */
typedef int (*MergeLife)(void *userdata, const ThreadSample *before, const ThreadSample *after);

/*
 * One pass over both. That they are of one boot is the caller's to know: lives of different boots
 * never are the same. 0; SUBJECT_E_UNREADABLE, also when threads are out of order, with the fault
 * in the subject of side *ret_culprit; or a negative errno, with *ret_culprit set to the side that
 * was being read when a visitor failed.
 */
_must_check_ int subject_merge(const MergeSide sides[static SIDES], MergeLife on_life,
                               void *userdata, unsigned *ret_culprit);
