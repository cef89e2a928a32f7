/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SourceReport
 *
 * Makes of counts and gates what users read: the state of each source and, unless all was well, one
 * sentence that says why and what would turn it on. The backend explains the sources that it reads.
 */

#include <stdbool.h>
#include <stdint.h>
#include "capture/heap/heap.h"
#include "capture/host-record.h"
#include "capture/rollup.h"
#include "capture/batch/backend.h"

typedef struct SourceReport {
        const Backend *backend;
        const Gates *gates;
        const Tally *tally; /* of everything: threads, cgroups and host */
        const RollupBudget *smaps;
        const Heap *heap;
        const Ledger *ledger;   /* NULL: programs count neither exits nor waits */
        const char *no_ledger;  /* why not; NULL: nobody asked for it */
        const char *no_exits;   /* why the listener told none; NULL: nobody asked it */
        uint64_t reason_epoch;  /* of the account of waits by reason; 0: it was off */
        bool lost_reasons;      /* it was switched off meanwhile */
        const char *no_reasons; /* why it was not switched on; NULL: it was to be */
        bool hears_exits;       /* messages tell of them, or in a trial would */
        bool is_trial;          /* the ledger was not to be read */
        int cgroup_mount;       /* 0, CGROUPFS_E_NO_MOUNT, TEXT_E_DENIED, -errno */
        const char *cgroup_v1;  /* of cgroup_v1_read() */
        int sched_ext;          /* of sched_ext_read() */
        const HostRecord *record;
} SourceReport;

void source_report_write(const SourceReport *report, SourceTable *ret);
