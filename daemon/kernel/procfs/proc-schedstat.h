/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcSchedstat
 *
 * /proc/PID/task/TID/schedstat: three numbers (fs/proc/base.c, proc_pid_schedstat()). Needs
 * CONFIG_SCHED_INFO only; "0 0 0" where sched_info is off at run time. Further words are ignored.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/procfs/procfs.h"

typedef struct ProcSchedstat {
        bool has_run_time, has_wait_time, has_timeslices;
        uint64_t run_time_ns;  /* on a CPU: se.sum_exec_runtime */
        uint64_t wait_time_ns; /* runnable but waiting: sched_info.run_delay */
        uint64_t timeslices;   /* times put on a CPU: sched_info.pcount */
} ProcSchedstat;

_must_check_ int proc_schedstat_parse(Span text, ProcSchedstat *ret);
