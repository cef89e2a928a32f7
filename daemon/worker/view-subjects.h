/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ViewSubjects
 *
 * The subject of a call of Show or Compare: the snapshots that it names, in their order, and the
 * kind of view that follows from them. A view that its subjects cannot give is refused here, before
 * any thread is read.
 *
 *     state       [0]
 *     interval    [0] to [1]: of one boot, the earlier first
 *     totals      [0] before, [1] after
 *     intervals   [0] to [1] before (A), [2] to [3] after (B): each pair as in "interval"
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "analysis/group/side.h"
#include "analysis/subject/subject.h"
#include "view/view.h"
#include "worker/work.h"

#define VIEW_SUBJECTS_MAX 4

typedef struct ViewSubjects {
        View view; /* window is set for the kind interval alone, whatever the call said */
        ViewKind kind;
        bool is_interval; /* each side is one: two snapshots, or a recording */
        Subject subjects[VIEW_SUBJECTS_MAX];
        unsigned n;
        /* The two sides, or the ends of two intervals, are related so in time. */
        Boots boots;
        bool has_elapsed;
        uint64_t elapsed_ns; /* of one boot, with both start times known; it may be 0 */
        bool swapped;        /* the caller's "before" was the later capture */
} ViewSubjects;

/*
 * Refuses two snapshots that are not the ends of an interval, the earlier first: NoWindow. In an
 * interval that a call names nothing is swapped.
 */
_must_check_ int view_subjects_check_interval(Work *work, const Subject *from, const Subject *to);

/* The snapshot whose state is that of @side: of two intervals, the one at the end. */
Subject *view_subjects_end(ViewSubjects *subjects, unsigned side);
/*
 * Opens what one subject of a call is: a snapshot, in @ret_from alone, or both ends of an interval.
 * Both are initialised, and the caller's to free in any case, @ret_to last.
 */
_must_check_ int view_subjects_open_one(Work *work, const OrderSubject *order, Subject *ret_from,
                                        Subject *ret_to, bool *ret_is_interval);
void view_subjects_done(ViewSubjects *subjects);
/*
 * Fills in @ret, which is the caller's to free in any case. 0; WORK_E_ANSWERED, when the call was
 * refused; or a negative errno.
 */
_must_check_ int view_subjects_open(Work *work, ViewSubjects *ret);
