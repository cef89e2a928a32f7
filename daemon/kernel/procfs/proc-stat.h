/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcStat
 *
 * /proc/PID/task/TID/stat: one line of positional words (fs/proc/array.c, do_task_stat(); proc(5)).
 * The name is printed raw and may hold blanks, parentheses and newlines: the first '(' begins it
 * and the last ')' of the whole text ends it, as no later field can contain one.
 *
 * pid, name, state and start time identify a thread: without them nothing is used. Each of the
 * other fields is present or absent by itself.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/procfs/procfs.h"

#define PROC_STAT_PF_KTHREAD 0x00200000u /* include/linux/sched.h: in flags */

// clang-format off
/*        member       type      field of proc(5) */
#define PROC_STAT_FIELDS(F)                                                                        \
        F(ppid,        int32_t,  4)                                                                \
        F(flags,       uint32_t, 9)  /* PF_* */                                                    \
        F(minflt,      uint64_t, 10)                                                               \
        F(majflt,      uint64_t, 12)                                                               \
        F(utime,       uint64_t, 14) /* USER_HZ ticks */                                           \
        F(stime,       uint64_t, 15) /* USER_HZ ticks */                                           \
        F(priority,    int32_t,  18) /* 0..39 fair, -2..-100 FIFO and RR, -101 deadline */         \
        F(nice,        int32_t,  19)                                                               \
        F(num_threads, int32_t,  20) /* of the process */                                          \
        F(vsize,       uint64_t, 23) /* bytes; 0 without an address space */                       \
        F(start_stack, uint64_t, 28) /* address; 0 where we may not trace it, too */               \
        F(processor,   int32_t,  39) /* CPU it last ran on */                                      \
        F(rt_priority, uint32_t, 40)                                                               \
        F(policy,      int32_t,  41) /* SCHED_* */
// clang-format on

#define PROC_STAT_ID(member, ...) PROC_STAT_##member,
typedef enum ProcStatField { PROC_STAT_FIELDS(PROC_STAT_ID) _PROC_STAT_MAX } ProcStatField;

#define PROC_STAT_MEMBER(member, type, ...) type member;
typedef struct ProcStat {
        /* Always there after 0, and after PROCFS_E_MALFORMED exactly when has_identity. */
        bool has_identity;
        pid_t pid;
        Span comm;          /* raw bytes, borrowed; may be empty */
        char state;         /* R S D T t X Z P I */
        uint64_t starttime; /* USER_HZ ticks since boot */

        uint32_t present; /* bit per ProcStatField */
        PROC_STAT_FIELDS(PROC_STAT_MEMBER)
} ProcStat;

static inline bool proc_stat_has(const ProcStat *stat, ProcStatField field) {
        return stat->present >> field & 1;
}
/* A thread of the kernel itself: no address space, no executable, no smaps. */
static inline bool proc_stat_is_kthread(const ProcStat *stat) {
        return proc_stat_has(stat, PROC_STAT_flags) && (stat->flags & PROC_STAT_PF_KTHREAD) != 0;
}

_must_check_ int proc_stat_parse(Span text, ProcStat *ret);
