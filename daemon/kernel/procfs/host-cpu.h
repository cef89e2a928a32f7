/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostCpu
 *
 * What the CPUs of the host have done since boot: /proc/stat (fs/proc/stat.c) and /proc/loadavg
 * (fs/proc/loadavg.c). Times stay in ticks. The line "cpu" also has the times of CPUs that are
 * offline now; those have no line of their own.
 */

#include <stdbool.h>
#include <stdint.h>
#include "kernel/procfs/host-row.h"

#define HOST_CPU_LEAST_COLUMNS 4 /* user, nice, system, idle: all that there ever was at first */

typedef struct CpuLine {
        bool is_all;
        uint32_t cpu;
        HostRow row;
} CpuLine;

/* "cpu  1 2 3 4 ...", "cpu7 1 2 3 4 ..."; *ret_is_cpu: the line is one of those, be it wrong. */
bool cpu_line_parse(Span line, CpuLine *ret, bool *ret_is_cpu);

typedef struct LoadAverage {
        uint64_t load[3];              /* of 1, 5 and 15 minutes, in hundredths */
        uint64_t n_running, n_threads; /* of all threads: runnable now, and there */
} LoadAverage;

/* "0.20 0.18 0.12 1/80 11206" */
bool load_average_parse(Span text, LoadAverage *ret);

/*
 * Members: counts {ctxt, intr, softirqs, processes}, levels {procs_running, procs_blocked,
 * threads}, levels_hundredths {load1, load5, load15}, and the CPUs, "all" first, in ascending
 * order. @text is scratch memory.
 */
void host_cpu_read(int proc_fd, Buffer *text, JsonWriter *json,
                   uint64_t counts[static _SOURCE_OUTCOME_MAX]);

/* Context switches of all CPUs since the boot; false when that cannot be told. */
bool host_cpu_count_switches(int proc_fd, uint64_t *ret);
