/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostView
 *
 * Shows what a host did in an interval: the member "host" of the replies. Everything comes from
 * what the two snapshots recorded of their host as a whole, but for the time that threads waited
 * for a CPU. A number that a snapshot lacks is null.
 */

#include "base/macro.h"
#include "json/json-writer.h"
#include "json/amount.h"
#include "analysis/group/host-use.h"
#include "analysis/group/side.h"
#include "analysis/host/host-totals.h"
#include "analysis/section/cgroup-record.h"
#include "analysis/subject/subject.h"

/* More are left out, so that a reply has a bound. No kernel has as many CPUs. */
#define HOST_VIEW_MAX_CPUS 4096
#define HOST_VIEW_MAX_DISKS 512

/* Zeroed: nothing is known. Its difference is to be freed: host_totals_done(). */
typedef struct HostView {
        HostTotals difference;          /* for the caller to fill in: subject_host_use() */
        PressureRecord pressure[SIDES]; /* since boot, at both ends */
        Amount page_bytes;
        Amount n_cpus;     /* online at the end; for the caller to fill in */
        Amount waiting_ns; /* of all threads; for the caller to fill in */
} HostView;

/*
 * Reads the rest from two subjects of one boot, the earlier first, after a pass.
 * SUBJECT_E_UNREADABLE with the fault in *ret_culprit, or -ENOMEM.
 */
_must_check_ int subject_host_view(Subject *before, Subject *after, Subject **ret_culprit,
                                   HostView *view);

/*
 * Tells for how long some task, or all (PRESSURE_HALF_SOME, ...), were held up for a resource
 * (PRESSURE_RESOURCE_CPU, ...); it is not known when the counter fell.
 */
Amount host_view_stalled_ns(const HostView *view, unsigned resource, unsigned half);

/* Writes the object HostView of the interface. */
void host_view_write_json(const HostView *view, JsonWriter *writer);

/*
 * HostUse
 *
 * The accounts of groups are measured against it (analysis/group/host-use.h). A file of an earlier
 * version records little of it: the number of CPUs in its host context, if anything.
 */

/*
 * Between two snapshots of one boot, the earlier first. @difference: host_totals_difference().
 * Without @before and @difference, since the boot.
 */
HostUse host_use_of(const HostTotals *before, const HostTotals *after,
                    const HostTotals *difference);

/*
 * The same of subjects, after a pass; without @before, since the boot. SUBJECT_E_UNREADABLE with
 * the fault in *ret_culprit, or -ENOMEM. *ret_difference, which may be NULL, tells between two how
 * far everything rose; call host_totals_done() on it in any case.
 */
_must_check_ int subject_host_use(Subject *before, Subject *after, Subject **ret_culprit,
                                  HostUse *ret, HostTotals *ret_difference);
