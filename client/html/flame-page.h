/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FlamePage
 *
 * One file that a browser shows without loading anything else: the stacks of a recording as a flame
 * graph of all time, or those of two with what changed. Its data are items of a page (html-page.h),
 * which flame.js reads:
 *
 *     info       {version, snapshot, elapsedNs, recording, places, stacks, frames, rests}; "rests"
 *                are the numbers of the places in which threads have nothing to do. For two
 *                recordings, snapshot, elapsedNs, recording and places are those of the later
 *                recording, and a member "before" has those of the earlier one
 *     places     [NAME...]: where threads were
 *     names      [NAME...]: of processes and threads
 *     functions  [NAME...]
 *     stacks     [NUMBER...]: for each stack the numbers of its process, thread and place; its
 *                nanoseconds and samples; the standard error, or 0; these three for the later
 *                recording, if there are two; how many functions, from the outermost on, it shares
 *                with the stack before it; how many other functions it has; and the numbers of
 *                these
 *     course     {rows, steps}, if the recording has steps; several steps of the recording may be
 *                one step here. "rows" are [GROUP, PLACE]: first the heaviest groups of threads,
 *                then the sums of all others. "steps" are [BEGIN, END, NUMBER...]: BEGIN and END
 *                are nanoseconds since the first step began, and each NUMBER is the nanoseconds of
 *                one row
 *     end        {}
 */

#include <json-c/json.h>
#include <stdio.h>
#include "base/macro.h"
#include "stack/course-store.h"
#include "stack/stack-store.h"

/* embed.py makes these from the files of the folder flame. */
extern const char flame_page_head[];
extern const char flame_page_tail[];

/*
 * Writes the whole page; sorts the store. @course: may have no steps. @firsts: the first reply
 * about each. 0 or -errno.
 */
_must_check_ int flame_page_write(FILE *out, StackStore *store, const CourseStore *course,
                                  json_object *const firsts[static 2]);
