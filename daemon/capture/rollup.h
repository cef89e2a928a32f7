/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Rollup
 *
 * The memory of each process by kind, from smaps_rollup. While the kernel walks a process's page
 * tables for it, it holds the mmap lock of the process, milliseconds for a large one; and to open
 * and read the file of a tiny one takes longer than all else that is read of it. So it is read only
 * of processes that have memory, by default only of the largest of the small ones, and only until
 * the capture's time for it is used up.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "capture/batch/largest.h"
#include "capture/batch/readings.h"
#include "metric/choice.h"

/* The processes of which it is read, and the time that all workers have spent on it together. */
typedef struct RollupBudget {
        SmapsMode mode;
        Largest largest; /* with SMAPS_MODE_SMALL: the processes, settled, and their bound */
        uint64_t limit_ns;
        _Atomic uint64_t spent_ns;
} RollupBudget;

/*
 * The rollup of @process as one JSON object in readings->texts; not set when there is none. The
 * leader's sample tells when it was not asked for.
 */
TextPlace rollup_read(RollupBudget *budget, Readings *readings, const BatchProcess *process);
