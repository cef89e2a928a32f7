/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Gates
 *
 * This kernel, as it was built, booted and tuned, can tell about threads so much and no more. That
 * is found out once, before the walk, from the host's settings and by reading the calling thread as
 * a sample. A gate that is shut makes values absent, with the reason; it never makes them zero.
 */

#include <stdbool.h>
#include <stdint.h>
#include "capture/batch/capture-system.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/procfs/host-context.h"
#include "metric/source-list.h"

/* A thread without accounting shows zeros as well, so a delay of 0 is believed only so far. */
typedef enum DelayTrust {
        DELAY_TRUST_ALWAYS,  /* accounting was on from boot: every thread has it */
        DELAY_TRUST_YOUNG,   /* it is on, but threads older than the switch lack it */
        DELAY_TRUST_COUNTED, /* it is off; only threads that have counted a delay have it */
} DelayTrust;

typedef struct Gates {
        /* /proc is of another pid namespace: its numbers must not be given to system calls. */
        bool foreign_pids;

        /* By source: this kernel has that file for threads. */
        bool has_file[_SOURCE_MAX];
        bool has_sysctl_schedstats, schedstats_on;
        /*
         * From 5.16 to 7.0 the kernel takes the wait time of a real-time or deadline thread from a
         * clock of another CPU after a migration (fixed by c0e1832ba6da): wait_sum and wait_max of
         * such threads are then wrong by any amount, and are left out.
         */
        bool realtime_waits_broken;

        /*
         * 0: it answers; otherwise TASKSTATS_E_NO_FAMILY or -errno. The former also when it was not
         * tried, because of foreign_pids or a test system.
         */
        int taskstats;
        uint16_t taskstats_version;
        bool has_delay_members; /* CONFIG_TASK_DELAY_ACCT */
        bool has_xacct_members; /* CONFIG_TASK_XACCT */
        bool has_irq_members;   /* the struct's version has them */
        DelayTrust delay_trust;
        bool irq_time_accounted; /* /proc/pressure/irq can be read */
        bool has_pressure;       /* /proc/pressure exists, so a missing irq file means something */

        bool only_processes; /* /proc is mounted with subset=pid: it has no files of the host */
        bool has_sys_ptrace, has_dac_read_search; /* capabilities that are effective */
        bool in_user_namespace; /* not the initial one: capabilities do not reach other processes */
        bool root_is_threaded;  /* threads of one process in "/" may be in different cgroups */
} Gates;

/* @cgroupfs may be NULL. A gate that cannot be found out keeps its cautious value. */
void gates_read(int proc_fd, const CaptureSystem *system, const HostContext *host,
                const Cgroupfs *cgroupfs, Gates *ret);
