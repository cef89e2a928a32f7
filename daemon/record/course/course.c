/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/course/course.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "metric/record-place.h"

void course_done(Course *course) {
        free(course->groups);
        index_done(&course->by_group);
        free(course->steps);
        free(course->cells);
        *course = (Course){};
}

static Span key_of_group(const void *owner, size_t element) {
        const Course *course = owner;

        return (Span){ (const char *) &course->groups[element], sizeof(CourseGroup) };
}

static CourseGroup without_rest(const CourseGroup *named) {
        CourseGroup group = {};

        memcpy(group.process, named->process, strnlen(named->process, sizeof(group.process)));
        memcpy(group.comm, named->comm, strnlen(named->comm, sizeof(group.comm)));
        return group;
}

size_t course_find_group(const Course *course, const CourseGroup *named) {
        const CourseGroup group = without_rest(named);

        return index_find(&course->by_group, (Span){ (const char *) &group, sizeof(group) },
                          key_of_group, course);
}

int course_add_group(Course *course, const CourseGroup *named, uint32_t *ret) {
        const CourseGroup group = without_rest(named);
        const Span key = { (const char *) &group, sizeof(group) };
        size_t found = course_find_group(course, &group);
        int r;

        if (found == INDEX_NONE) {
                r = ARRAY_RESERVE(course->groups, course->n_groups_allocated, course->n_groups + 1);
                if (r == 0)
                        r = index_add(&course->by_group, key, course->n_groups);
                if (r < 0)
                        return r;
                found = course->n_groups++;
                course->groups[found] = group;
        }
        *ret = (uint32_t) found;
        return 0;
}

int course_add_step(Course *course, const CourseStep *step) {
        const CourseStep *last = course->n_steps > 0 ? &course->steps[course->n_steps - 1] : NULL;
        int r;

        if (step->end_boottime_ns < step->begin_boottime_ns || course->n_steps >= UINT32_MAX ||
            (last && last->end_boottime_ns != step->begin_boottime_ns))
                return -EBADMSG;
        r = ARRAY_RESERVE(course->steps, course->n_steps_allocated, course->n_steps + 1);
        if (r < 0)
                return r;
        course->steps[course->n_steps++] = *step;
        return 0;
}

static bool is_behind(const CourseCell *last, const CourseCell *cell) {
        if (cell->step != last->step)
                return cell->step > last->step;
        return cell->group != last->group ? cell->group > last->group : cell->place > last->place;
}

int course_add_cell(Course *course, const CourseCell *cell) {
        int r;

        if (cell->step >= course->n_steps || cell->group >= course->n_groups ||
            cell->place >= _RECORD_PLACE_MAX ||
            (course->n_cells > 0 && !is_behind(&course->cells[course->n_cells - 1], cell)))
                return -EBADMSG;
        r = ARRAY_RESERVE(course->cells, course->n_cells_allocated, course->n_cells + 1);
        if (r == 0)
                course->cells[course->n_cells++] = *cell;
        return r;
}
