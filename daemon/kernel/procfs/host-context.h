/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostContext
 *
 * The machine and its kernel, and how they are tuned: a JSON object for the snapshot, and
 * the few facts that the capture itself needs. A member that could not be read
 * is left out. Everything comes from below two descriptors, /proc and /sys.
 *
 * Members (string unless said): cpu_model, cpu_vendor (cpuinfo); total_memory_kib, hugepages_total,
 * hugepages_free, hugepages_size_kib (integers; meminfo); thp_enabled, thp_defrag
 * (mm/transparent_hugepage); sched_tunables (object of name: text; /proc/sys/kernel/sched_*);
 * sched_schedstats, task_delayacct (integers; /proc/sys/kernel); delayacct_booted (bool; cmdline);
 * cgroup_v1 (the caller's: controllers in hierarchies of version 1, "cpu, memory", or "" for none);
 * online_cpus, numa_nodes (integers), cpufreq_governor (object of CPU id: text) (devices/system);
 * kernel_name, kernel_release, arch, kernel_cmdline, host_name, boot_id; user_hz, page_size
 * (integers). In kernel_cmdline the values of words whose key sounds like a secret are replaced by
 * "***".
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "json/json-writer.h"
#include "kernel/procfs/procfs.h"
#include "snapshot/source.h"

#define HOST_TEXT_BYTES 256

typedef struct HostContext {
        bool has_schedstats, has_delayacct, has_cmdline, has_online_cpus;
        uint64_t schedstats;   /* kernel.sched_schedstats: 0 or 1 */
        uint64_t delayacct;    /* kernel.task_delayacct: 0 or 1 */
        bool delayacct_booted; /* "delayacct" is on the kernel command line, so every task has an
                                  accounting block; false also without has_cmdline */
        uint64_t online_cpus;
        char boot_id[33];                     /* 32 hex digits; "" unknown */
        char host_name[HOST_TEXT_BYTES];      /* "" unknown, or too long */
        char kernel_release[HOST_TEXT_BYTES]; /* "" unknown, or too long */
        uint32_t user_hz;                     /* ticks a second of utime, stime and starttime */
        uint32_t page_size;                   /* bytes */
        uint64_t counts
                [_SOURCE_OUTCOME_MAX]; /* of the source "host", one per file that should exist */
} HostContext;

/*
 * Writes the object into @json and fills *ret. 0 however little could be read; -ENOMEM. Errors of
 * @json are the writer's to report. @sys_fd may be negative: its members are left out.
 */
_must_check_ int host_context_read(int proc_fd, int sys_fd, const char *cgroup_v1, JsonWriter *json,
                                   HostContext *ret);
