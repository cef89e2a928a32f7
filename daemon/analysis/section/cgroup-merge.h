/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupMerge
 *
 * Records of several cgroups that land on one key, as one: what counts is added, what is held is
 * the largest, a limit is as loose as the loosest and a protection as weak as the weakest; a limit
 * that one of them has not set, or whose state is not known, does not become a number. The order in
 * which records are merged makes no difference.
 */

#include "analysis/section/cgroup-record.h"

/* Both must have come from files: an empty record would unset every limit. 0 or -ENOMEM. */
_must_check_ int cgroup_record_merge(CgroupRecord *record, const CgroupRecord *from);
