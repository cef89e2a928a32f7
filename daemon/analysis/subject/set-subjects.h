/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetSubjects
 *
 * The snapshots of two sets in the order of their captures, and for each the capture at which its
 * interval begins: the previous capture of the same boot, unless that is of the other side. Work
 * done while the other side was captured does not belong to this side.
 *
 * A member can also be an interval of the caller: it begins where that does, and no other one
 * is made from its ends.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "analysis/group/host-use.h"
#include "analysis/set/set-comparison.h"
#include "analysis/subject/subject.h"

typedef struct SetSubject {
        Subject *subject; /* owned; of an interval its end */
        Subject *begin;   /* owned; of an interval where it begins; NULL: one snapshot */
        size_t position;  /* its place in the call, per side */
        Side side;
        uint64_t boot_realtime_ns; /* of the first capture of this boot: orders boots */
} SetSubject;

typedef struct SetSubjects {
        SetSubject members[SET_MAX_CAPTURES]; /* side after side, each in the order of time */
        size_t n;
        size_t n_sides[SIDES];
} SetSubjects;

void set_subjects_done(SetSubjects *subjects);
/*
 * Adds a member of @side: its end, and where it begins. The caller opens them; a member that turns
 * out to be one snapshot was opened where it begins. 0 or -ENOMEM.
 */
_must_check_ int set_subjects_add(SetSubjects *subjects, Side side, SetSubject **ret);
void set_subject_is_snapshot(SetSubject *member);
/*
 * Sorts the subjects; call once. NULL, or the first of two subjects that are the same capture, with
 * the second in *ret_other.
 */
const SetSubject *set_subjects_sort(SetSubjects *subjects, const SetSubject **ret_other);

/*
 * Describes the @index-th capture. *ret_previous is the subject at which its interval begins, or
 * NULL.
 */
SetCapture set_subjects_relate(const SetSubjects *subjects, size_t index, Subject **ret_previous);

/*
 * Finds what the host of one side did in a second, by which the weights of groups are measured: the
 * CPUs of its last capture, and the bytes that its disks read and wrote, medians over the intervals
 * in which these are known. Call after the subjects were read. SUBJECT_E_UNREADABLE with the
 * subject that is at fault in *ret_culprit, or -ENOMEM.
 */
_must_check_ int set_host_find(SetSubjects *subjects, unsigned side, HostUse *ret,
                               Subject **ret_culprit);
