/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SourceReport
 *
 * From counts and gates to what users read: the state of each source and, unless all was well, one
 * sentence that says why and what would turn it on. ctprof never turns anything on itself.
 */

#include <stdbool.h>
#include <stdint.h>
#include "capture/gates.h"
#include "capture/tally.h"
#include "snapshot/source.h"

typedef struct SourceReport {
        const Gates *gates;
        const Tally *tally; /* of all threads, host and cgroups included */
        bool smaps_wanted;
        uint64_t smaps_limit_ns;
        bool processes_hidden; /* /proc does not list them all */
        int cgroup_mount;      /* 0, CGROUPFS_E_NO_MOUNT, CGROUPFS_E_DENIED, -errno */
        int sched_ext;         /* of sched_ext_read() */
} SourceReport;

void source_report_write(const SourceReport *report, SourceTable *ret);
