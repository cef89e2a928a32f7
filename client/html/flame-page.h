/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FlamePage
 *
 * One file that a browser shows without loading anything else: the stacks of a recording as a flame
 * graph of all time, or those of two with what changed. Its data are items of a page (html-page.h),
 * which flame.js reads:
 *
 *     info       {version, snapshot, elapsedNs, recording, places, stacks, frames, rests}; the last
 *                are numbers of places in which threads have nothing to do. Of two recordings these
 *                are of the later, and "before" has the first four but the version of the earlier
 *     places     [NAME...]: where threads were
 *     names      [NAME...]: of processes and threads
 *     functions  [NAME...]
 *     stacks     [NUMBER...]: for each stack the numbers of its process, thread and place; its
 *                nanoseconds and samples; the standard error, or 0; these three of the later
 *                recording, if there are two; how many functions, from the outermost on, are those
 *                of the stack before; how many more it has; and these
 *     course     {rows, steps}, of a recording with steps, some of which may be one here. "rows"
 *                are [GROUP, PLACE] of groups of threads, the heaviest first, and of all others.
 *                "steps" are [BEGIN, END, NUMBER...]: nanoseconds since the first one began, and
 *                those of each row
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
