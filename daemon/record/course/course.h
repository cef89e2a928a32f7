/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Course
 *
 * What groups of threads did in each step of a recording: how long they ran, waited for a CPU and
 * waited for each reason, as the kernel counts it. A group has the names of threads and of their
 * processes, as stacks have them. Where a group has no cell for a place, it was not there at all.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/index.h"
#include "base/macro.h"

typedef struct CourseGroup {
        char process[16], comm[16]; /* NUL where there is room for it */
} CourseGroup;

typedef struct CourseStep {
        uint64_t begin_boottime_ns, end_boottime_ns; /* CLOCK_BOOTTIME */
        uint64_t n_threads;                          /* at its end */
        uint64_t n_ended;                            /* threads, in it */
} CourseStep;

typedef struct CourseCell {
        uint32_t step, group, place; /* a RecordPlace */
        uint32_t unused;
        uint64_t ns; /* of all threads of the group; not 0 */
} CourseCell;

/* Empty when zeroed. */
typedef struct Course {
        CourseGroup *groups;
        size_t n_groups, n_groups_allocated;
        Index by_group;
        CourseStep *steps;
        size_t n_steps, n_steps_allocated;
        CourseCell *cells; /* those of a step follow each other, in the order of steps */
        size_t n_cells, n_cells_allocated;
} Course;

void course_done(Course *course);
/* The number of the group, as below, or INDEX_NONE. */
size_t course_find_group(const Course *course, const CourseGroup *group);
/*
 * Sets *ret to the number of the group. A new group is added, and *ret is then the former number of
 * groups. The bytes behind a NUL are not part of a name. Returns -ENOMEM if there is no memory.
 */
_must_check_ int course_add_group(Course *course, const CourseGroup *group, uint32_t *ret);
/* -EBADMSG unless it begins where the last one ends; -ENOMEM. */
_must_check_ int course_add_step(Course *course, const CourseStep *step);
/*
 * -EBADMSG unless its step, group and place are there, and it is behind the last one in the order
 * of steps, in each of groups, and in each of places; -ENOMEM.
 */
_must_check_ int course_add_cell(Course *course, const CourseCell *cell);
