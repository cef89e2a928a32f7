/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetSubjects
 *
 * The snapshots of two sets in the order of their captures, and which of them begins the window
 * that each ends: the capture before it of the same boot, unless that is of the other side. What
 * was done while the other side was captured is not this side's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "analysis/set/set-comparison.h"
#include "analysis/subject/subject.h"

typedef struct SetSubject {
        Subject *subject; /* owned */
        size_t position;  /* as the call had it, in its side */
        Side side;
        uint64_t boot_realtime_ns; /* of the first capture of this boot: boots follow each other */
} SetSubject;

typedef struct SetSubjects {
        SetSubject members[SET_MAX_CAPTURES]; /* side after side, each in the order of time */
        size_t n;
        size_t n_sides[SIDES];
} SetSubjects;

void set_subjects_done(SetSubjects *subjects);
/* Adds a subject of @side, which the caller opens. 0 or -ENOMEM. */
_must_check_ int set_subjects_add(SetSubjects *subjects, Side side, Subject **ret);
/*
 * Puts all into order, once. NULL, or two of them that are one and the same capture: then
 * *ret_other is the second.
 */
const SetSubject *set_subjects_sort(SetSubjects *subjects, const SetSubject **ret_other);

/* What the comparison has to know of the @index-th; *ret_previous begins its window, or is NULL. */
SetCapture set_subjects_relate(const SetSubjects *subjects, size_t index, Subject **ret_previous);
