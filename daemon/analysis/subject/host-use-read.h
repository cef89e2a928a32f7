/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostUseRead
 *
 * Takes what the accounts of groups are measured against (analysis/group/host-use.h) from what
 * snapshots recorded of their hosts. A file of an earlier version records little of it: the number
 * of CPUs in its host context, if anything.
 */

#include "base/macro.h"
#include "analysis/group/host-use.h"
#include "analysis/host/host-totals.h"
#include "analysis/subject/subject.h"

/* Since the boot. */
HostUse host_use_since_boot(const HostTotals *totals);
/* Between two snapshots of one boot, the earlier first. @difference: host_totals_difference(). */
HostUse host_use_between(const HostTotals *before, const HostTotals *after,
                         const HostTotals *difference);

/*
 * The same of subjects, after a pass; without @before, since the boot. SUBJECT_E_UNREADABLE with
 * the fault in *ret_culprit, or -ENOMEM. What it comes from between two is in *ret_difference,
 * which may be NULL; call host_totals_done() on it in any case.
 */
_must_check_ int subject_host_use(Subject *before, Subject *after, Subject **ret_culprit,
                                  HostUse *ret, HostTotals *ret_difference);
