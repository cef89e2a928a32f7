/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcSched
 *
 * /proc/PID/task/TID/sched: "key : value" lines (kernel/sched/debug.c, proc_sched_show_task()). The
 * schedstat keys are printed only while kernel.sched_schedstats is 1. They were spelt
 * "se.statistics.wait_max" up to 5.15 and "wait_max" since; only the part after the last dot
 * counts.
 *
 * The first line is "<comm> (<pid>, #threads: n)" with the name raw, newlines and all, so it can
 * forge lines; a rule of 67 dashes follows. The header ends at the first line of
 * PROC_SCHED_MIN_DASHES dashes or more, which is longer than any name, and is skipped. A text
 * without such a line is malformed and has no values.
 *
 * "ms.frac" values become nanoseconds. A negative value is absent and marked; the kernel prints the
 * remainder of a negative one as its absolute value, so that small negatives cannot be seen.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/procfs/procfs.h"
#include "metric/counter-list.h"

#define PROC_SCHED_MIN_DASHES 64

// clang-format off
#define PROC_SCHED_OF_COUNTER(metric, key, member, needs, K) K(key, COUNT, ALWAYS)
#define PROC_SCHED_OF_SCHEDSTAT(key, value, fold, metric, K) K(key, value, STATS)
/*        key, as after the last dot    value  printed (rows in the kernel's order: faster) */
#define PROC_SCHED_KEYS(K)                                                                         \
        COUNTERS_OF_SCHED(PROC_SCHED_OF_COUNTER, K)                                                \
        K(sum_sleep_runtime,            MS,    STATS)                                              \
        COUNTERS_OF_SCHEDSTATS(PROC_SCHED_OF_SCHEDSTAT, K)                                         \
        K(core_forceidle_sum,           MS,    STATS) /* CONFIG_SCHED_CORE */                      \
        K(nr_switches,                  COUNT, ALWAYS)                                             \
        K(nr_voluntary_switches,        COUNT, ALWAYS)                                             \
        K(nr_involuntary_switches,      COUNT, ALWAYS)                                             \
        K(slice,                        COUNT, ALWAYS) /* ns: fair policies of some kernels */
// clang-format on

#define PROC_SCHED_ID(key, ...) PROC_SCHED_##key,
typedef enum ProcSchedKey { PROC_SCHED_KEYS(PROC_SCHED_ID) _PROC_SCHED_MAX } ProcSchedKey;

typedef struct ProcSched {
        uint64_t present;  /* bit per ProcSchedKey */
        uint64_t negative; /* the value had a minus sign; such a key is never present */
        uint64_t values[_PROC_SCHED_MAX]; /* COUNT as printed, MS in ns; only where present */
        bool has_schedstats; /* any of the STATS keys was printed, even if its value is unusable */
        bool has_ext_enabled;
        bool ext_enabled; /* "ext.enabled", the whole key: CONFIG_SCHED_CLASS_EXT, 6.12+ */
} ProcSched;

/*
 * Time asleep voluntarily. The kernel adds blocked time to the sleep total as well, so it is
 * subtracted. The kernel adds to the sleep total first, so the difference can be negative for a
 * moment; it is 0 then. False unless both totals are present.
 */
bool proc_sched_voluntary_sleep(const ProcSched *sched, uint64_t *ret_ns);

/* Values that are not numbers, too large or negative are absent and make it TEXT_E_MALFORMED. */
_must_check_ int proc_sched_parse(Span text, ProcSched *ret);
