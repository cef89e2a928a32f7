/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcStatus
 *
 * /proc/PID/task/TID/status: "Key:\tvalue" lines (fs/proc/array.c, proc_pid_status()). Its Name
 * line writes newlines and backslashes as escapes, so a name cannot forge a line here.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/procfs/procfs.h"

typedef struct ProcStatus {
        bool has_state, has_tgid, has_ppid, has_uid, has_gid, has_kthread, has_threads;
        bool has_cpus_allowed, has_voluntary_switches, has_nonvoluntary_switches;
        char state;   /* R S D T t X Z P I */
        bool kthread; /* printed by 6.12 but not 6.1; proc_stat_is_kthread() works on all */
        pid_t tgid;
        pid_t ppid;
        uid_t uid; /* real, as the reader's user namespace sees it */
        gid_t gid; /* real */
        uint64_t threads;
        Span cpus_allowed; /* "0-3,7", borrowed, unchecked; may list offline CPUs */
        uint64_t voluntary_switches;
        uint64_t nonvoluntary_switches;
} ProcStatus;

_must_check_ int proc_status_parse(Span text, ProcStatus *ret);
