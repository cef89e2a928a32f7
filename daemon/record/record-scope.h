/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordScope
 *
 * What a recording takes samples of: which threads, and intervals of which length. Programs decide
 * nearly all of it, so that what is left out costs nothing more; names are looked at by who reads
 * the ring, as there is no glob in the kernel.
 */

#include <stdbool.h>
#include <stdint.h>
#include "kernel/bpf/ledger-record.h"

#define RECORD_COMM_BYTES 256u
#define RECORD_CGROUP_BYTES 4096u

typedef struct RecordScope {
        RecordFilter filter;
        uint64_t min_ns, max_ns;          /* of intervals that are no running time; 0: any */
        char comm[RECORD_COMM_BYTES];     /* a glob for a thread or its process; "": any */
        char cgroup[RECORD_CGROUP_BYTES]; /* its path, while @filter has its id; "": any */
} RecordScope;

/* All of its conditions are there: says whether there is one for threads. */
static inline void record_scope_settle(RecordScope *scope) {
        RecordFilter *filter = &scope->filter;

        filter->is_on = filter->threads != RECORD_THREADS_ALL || filter->starter != 0 ||
                        filter->n_pids > 0 || filter->n_uids > 0 || scope->comm[0] != '\0' ||
                        scope->cgroup[0] != '\0';
}

static inline bool record_scope_has_lengths(const RecordScope *scope) {
        return scope->min_ns > 0 || scope->max_ns > 0;
}
