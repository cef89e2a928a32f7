/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * What the host of one side of two sets did in a second, by which the weights of groups are
 * measured: the CPUs of its last capture, and the bytes that its disks read and wrote, medians over
 * the windows in which these are known.
 */

#include "base/macro.h"
#include "analysis/group/host-use.h"
#include "analysis/subject/set-subjects.h"

/*
 * After the subjects were read. SUBJECT_E_UNREADABLE with the subject that
 * is at fault in *ret_culprit, or -ENOMEM.
 */
_must_check_ int set_host_find(SetSubjects *subjects, unsigned side, HostUse *ret,
                               Subject **ret_culprit);
