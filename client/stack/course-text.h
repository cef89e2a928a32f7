/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CourseText
 *
 * The course of a recording for people: what there is on average and at most, and below it a line
 * for each step or, where there are many, a line for each group and place with a curve over time.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/macro.h"
#include "render/table.h"
#include "render/terminal.h"
#include "stack/course-store.h"

/* So many steps have a line each. */
#define COURSE_LINES 24u

typedef struct CourseText {
        FILE *out;
        const Terminal *terminal;
        TableLegend legend;
        json_object *first; /* the first reply about the recording */
        size_t limit;       /* of lines that have a curve; 0: all */
        bool has_rest;      /* places where threads have nothing to do are there, too */
        bool is_chatty;
} CourseText;

/* 0 or -errno. */
_must_check_ int course_text_print(const CourseText *text, const CourseStore *store);
