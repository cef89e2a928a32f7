/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Coverage
 *
 * How much of what the host did in an interval its threads account for. Every thread of the two
 * snapshots counts, also those that a view leaves out, and so does every row of the exit
 * accounting. Without one ledger for both snapshots nobody saw what threads did that ended: it is
 * part of what cannot be attributed.
 *
 * Names do not matter here, so that the sums of the ended are exact (group-exited.h).
 */

#include <stdint.h>
#include "analysis/group/host-use.h"
#include "json/amount.h"
#include "analysis/group/side.h"
#include "json/json-writer.h"
#include "snapshot/exited-row.h"
#include "snapshot/head.h"
#include "snapshot/thread-sample.h"

/* One sum over threads of one kind. Zeroed: of no thread. */
typedef struct CoverageSum {
        uint64_t n_threads, n_known; /* threads of the kind, and those whose work is known */
        uint64_t sum;
} CoverageSum;

/*
 * The same of threads that ended: rows of the later ledger less rows of the earlier one and what
 * those had before that are gone; modulo 2^64.
 */
typedef struct CoverageExited {
        bool unknown; /* a row or a thread lacks it */
        uint64_t sum;
} CoverageExited;

/* Two snapshots tell what threads did that ended in between, or they do not. */
typedef struct CoverageLedger {
        bool known;
        /* No capture was made in between: who is young in the later ledger was born inside. */
        bool in_a_row;
        const char *absence; /* why it is not known; a sentence without a full stop */
} CoverageLedger;

/* Zeroed: of no thread. */
typedef struct Coverage {
        CoverageSum survived_ns, born_ns; /* run time of user threads */
        CoverageSum kernel_ns;            /* run time of kernel threads, survivors and born */
        CoverageSum own_ns;     /* of ctprof's own among the user threads: views leave these out */
        CoverageSum waiting_ns; /* waiting for a CPU, of all threads */
        CoverageSum read_bytes, write_bytes;

        /* These are of threads that ended; used only if the ledger is known. */
        CoverageExited exited_ns, exited_kernel_ns; /* run time of user and of kernel threads */
        CoverageExited young_ns;                    /* of user threads that were born inside, too */
        CoverageExited exited_own_ns;               /* of ctprof's own */
        CoverageExited exited_waiting_ns, exited_read_bytes, exited_write_bytes;
} Coverage;

/* One thread of an interval: both samples, or the only one. */
void coverage_add(Coverage *coverage, const ThreadSample *before, const ThreadSample *after);

/* A row of the ledger of the snapshot at the @end of the interval. */
void coverage_add_exited(Coverage *coverage, Side end, const ExitedRow *row);
/*
 * The time that threads waited for a CPU, those that ended included where a ledger tells of them.
 */
Amount coverage_waiting_ns(const Coverage *coverage, const CoverageLedger *ledger);

/* Known when there was no thread of the kind, or the work of any is known. */
Amount coverage_amount(const CoverageSum *sum);

/* The length of an interval, and how exactly its ends are known. Zeroed: nothing is known of it. */
typedef struct CoverageSpan {
        Amount elapsed_ns;
        /*
         * The host's CPU time and that of its threads may differ by so much although both are
         * right: on each CPU two ticks, for the host is counted in ticks, and as long as the
         * captures took.
         */
        Amount bound_ns;
} CoverageSpan;

/* Not known without the number of CPUs or the times of the captures. */
CoverageSpan coverage_span_of(const HostUse *host, const Head *const heads[static SIDES]);

/*
 * The CPU time that was used at least, where threads ran for longer than the host counted and the
 * bound allows: ticks miss work that is over before they come. The kernel counts that of threads by
 * its clock, which is believed instead, up to the time that all CPUs had. Not known elsewhere.
 */
Amount coverage_believed_ns(const Coverage *coverage, const CoverageLedger *ledger,
                            const HostUse *host, const CoverageSpan *span);

/*
 * Writes the object Coverage of the interface. @absence says why run times are not known, where
 * those of no thread are.
 */
void coverage_write_json(JsonWriter *writer, const Coverage *coverage, const CoverageLedger *ledger,
                         const HostUse *host, const CoverageSpan *span, const char *absence);
