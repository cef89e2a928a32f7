/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Coverage
 *
 * How much of what the host did in an interval its threads account for. Every thread of the two
 * snapshots counts, also those that a view leaves out. What threads did that ended nobody saw: it
 * is part of what cannot be attributed.
 */

#include <stdint.h>
#include "analysis/account/host-use.h"
#include "analysis/group/amount.h"
#include "analysis/group/side.h"
#include "json/json-writer.h"
#include "snapshot/head.h"
#include "snapshot/thread-sample.h"

/* One sum over threads of one kind. Zeroed: of no thread. */
typedef struct CoverageSum {
        uint64_t n_threads, n_known; /* threads of the kind, and those whose work is known */
        uint64_t sum;
} CoverageSum;

/* Zeroed: of no thread. */
typedef struct Coverage {
        CoverageSum survived_ns, born_ns; /* run time of user threads */
        CoverageSum kernel_ns;            /* run time of kernel threads, survivors and born */
        CoverageSum waiting_ns;           /* waiting for a CPU, of all threads */
        CoverageSum read_bytes, write_bytes;
} Coverage;

/* One thread of an interval: both samples, or the only one. */
void coverage_add(Coverage *coverage, const ThreadSample *before, const ThreadSample *after);

/* Known when there was no thread of the kind, or the work of any is known. */
Amount coverage_amount(const CoverageSum *sum);

/*
 * By how much the host's CPU time and that of its threads may differ although both are right: on
 * each CPU two ticks, for the host is counted in ticks, and as long as the captures took. Not known
 * without the number of CPUs or the times of the captures.
 */
Amount coverage_bound_ns(const HostUse *host, const Head *const heads[static SIDES]);

/*
 * Writes the object Coverage of the interface. @absence says why run times are not known, where
 * those of no thread are.
 */
void coverage_write_json(JsonWriter *writer, const Coverage *coverage, const HostUse *host,
                         Amount bound_ns, const char *absence);
