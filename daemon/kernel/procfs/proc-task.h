/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcTask
 *
 * The files of a thread, and smaps_rollup of a process. The largest, sched, has a parser of its
 * own: proc-sched.h.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/procfs/procfs.h"
#include "kernel/text/keyed-numbers.h"
#include "metric/counter-list.h"

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

/* include/linux/sched.h: in flags */
#define PROC_STAT_PF_IO_WORKER 0x00000010u   /* since 5.12; before, of a CPU of a guest */
#define PROC_STAT_PF_USER_WORKER 0x00004000u /* since 6.4 */
/* A thread of the kernel itself: no address space, no executable, no smaps. */
#define PROC_STAT_PF_KTHREAD 0x00200000u

// clang-format off
#define PROC_STAT_OF_COUNTER(metric, field, member, needs, F)                                      \
        F(metric, uint64_t, field, METRIC_##metric)
/*        member       type      field of proc(5), and the metric that it is */
#define PROC_STAT_FIELDS(F)                                                                        \
        F(ppid,        int32_t,  4,  _METRIC_MAX)                                                  \
        F(flags,       uint32_t, 9,  _METRIC_MAX) /* PF_* */                                       \
        COUNTERS_OF_STAT(PROC_STAT_OF_COUNTER, F)                                                  \
        F(utime,       uint64_t, 14, METRIC_utime_clock_ticks)                                     \
        F(stime,       uint64_t, 15, METRIC_stime_clock_ticks)                                     \
        F(priority,    int32_t,  18, METRIC_priority) /* 0..39 fair, -2..-100 FIFO and RR,         \
                                                         -101 deadline */                          \
        F(nice,        int32_t,  19, METRIC_nice)                                                  \
        F(num_threads, int32_t,  20, _METRIC_MAX) /* of the process */                             \
        F(vsize,       uint64_t, 23, _METRIC_MAX) /* bytes; 0 without an address space */          \
        F(start_stack, uint64_t, 28, _METRIC_MAX) /* address; 0 where we may not trace it, too */  \
        F(processor,   int32_t,  39, METRIC_processor) /* CPU it last ran on */                    \
        F(rt_priority, uint32_t, 40, METRIC_rt_priority)                                           \
        F(policy,      int32_t,  41, METRIC_policy) /* SCHED_* */
// clang-format on

#define PROC_STAT_ID(member, ...) PROC_STAT_##member,
typedef enum ProcStatField { PROC_STAT_FIELDS(PROC_STAT_ID) _PROC_STAT_MAX } ProcStatField;

#define PROC_STAT_MEMBER(member, type, ...) type member;
typedef struct ProcStat {
        /* Always there after 0, and after TEXT_E_MALFORMED exactly when has_identity. */
        bool has_identity;
        pid_t pid;
        Span comm;          /* raw bytes, borrowed; may be empty */
        char state;         /* R S D T t X Z P I */
        uint64_t starttime; /* USER_HZ ticks since boot */

        uint32_t present; /* bit per ProcStatField; members that are not are 0 */
        PROC_STAT_FIELDS(PROC_STAT_MEMBER)
} ProcStat;

_must_check_ int proc_stat_parse(Span text, ProcStat *ret);

/*
 * ProcStatus
 *
 * /proc/PID/task/TID/status: "Key:\tvalue" lines (fs/proc/array.c, proc_pid_status()). Its Name
 * line writes newlines and backslashes as escapes, so a name cannot forge a line here.
 */

#define PROC_STATUS_COUNTER(metric, ...) \
        bool has_##metric;               \
        uint64_t metric;
typedef struct ProcStatus {
        COUNTERS_OF_STATUS(PROC_STATUS_COUNTER)
        bool has_state, has_tgid, has_ppid, has_uid, has_gid, has_kthread, has_threads;
        bool has_cpus_allowed;
        bool has_rss_peak, has_rss_anon, has_rss_file, has_rss_shmem, has_swap;
        bool has_library_code, has_n_namespaces;
        char state;   /* R S D T t X Z P I */
        bool kthread; /* printed by 6.12 but not 6.1; the flags of stat tell it on all */
        pid_t tgid;
        pid_t ppid;
        uid_t uid; /* real, as the reader's user namespace sees it */
        gid_t gid; /* real */
        uint64_t threads;
        Span cpus_allowed; /* "0-3,7", borrowed, unchecked; may list offline CPUs */
        /* These are of the whole process, in bytes, and not printed without an address space. */
        uint64_t rss_peak, rss_anon, rss_file, rss_shmem, swap;
        uint64_t library_code; /* mapped to be executed, in bytes, without the program itself */
        /*
         * The task has so many numbers (NSpid): one in the reader's pid namespace, and one in each
         * nested one it lives in.
         */
        unsigned n_namespaces;
} ProcStatus;

_must_check_ int proc_status_parse(Span text, ProcStatus *ret);

/*
 * ProcSchedstat
 *
 * /proc/PID/task/TID/schedstat: three numbers (fs/proc/base.c, proc_pid_schedstat()). Needs
 * CONFIG_SCHED_INFO only; "0 0 0" where sched_info is off at run time. Further words are ignored.
 */

#define PROC_SCHEDSTAT_COUNTER(metric, ...) \
        bool has_##metric;                  \
        uint64_t metric;
typedef struct ProcSchedstat {
        COUNTERS_OF_SCHEDSTAT(PROC_SCHEDSTAT_COUNTER)
} ProcSchedstat;

_must_check_ int proc_schedstat_parse(Span text, ProcSchedstat *ret);

/* The second number of /proc/PID/statm: resident pages of all kinds, 0 without an address space. */
_must_check_ int proc_statm_parse(Span text, uint64_t *ret_resident_pages);

/*
 * ProcIo
 *
 * /proc/PID/task/TID/io: seven "key: value" lines (fs/proc/base.c, do_io_accounting();
 * CONFIG_TASK_IO_ACCOUNTING). Reading wants ptrace-read permission on the target.
 */

#define PROC_IO_ID(key, ...) PROC_IO_##key,
typedef enum ProcIoKey { COUNTERS_OF_IO(PROC_IO_ID) _PROC_IO_MAX } ProcIoKey;

typedef struct ProcIo {
        uint32_t present; /* bit per ProcIoKey */
        uint64_t values[_PROC_IO_MAX];
} ProcIo;

_must_check_ int proc_io_parse(Span text, ProcIo *ret);

/*
 * ProcCgroup
 *
 * /proc/PID/task/TID/cgroup: a line "id:controllers:path" for each hierarchy; the one of cgroup v2
 * is "0::path" (kernel/cgroup/cgroup.c, proc_cgroup_show()). The path is taken verbatim to the end
 * of the line; the kernel refuses newlines in cgroup names, nothing else.
 */

#define PROC_CGROUP_DELETED_SUFFIX " (deleted)"
/*
 * A path of so many bytes is most probably the beginning of a longer one, and no cgroup's name
 * (proc_cgroup_show() of kernel/cgroup/cgroup.c writes into PATH_MAX bytes): it is malformed.
 */
#define PROC_CGROUP_CUT_BYTES 4095

typedef struct ProcCgroup {
        bool has_path; /* false on a host with v1 only */
        Span path;     /* raw bytes from its '/', borrowed */
        /* It ends in PROC_CGROUP_DELETED_SUFFIX, which is left in place: the cgroup was removed
         * under a zombie, unless it was given that very name. */
        bool deleted;
        bool outside; /* it has a ".." component: outside of the reader's cgroup namespace */
} ProcCgroup;

/* The path has a ".." component: it lies outside of the reader's cgroup namespace. */
bool cgroup_path_is_outside(Span path);

/* 0 also when there is no v2 line; TEXT_E_MALFORMED for two, or for a path that is not one. */
_must_check_ int proc_cgroup_parse(Span text, ProcCgroup *ret);

/*
 * ProcSmaps
 *
 * /proc/PID/smaps_rollup: a header with the address range, then "Key:  n kB" lines
 * (fs/proc/task_mmu.c, show_smaps_rollup()). The keys differ between kernels; all are kept,
 * in bytewise order. Opening fails with ESRCH where there is no address space: kernel threads
 * and zombies.
 */

/* Keys are ASCII letters, digits and '_'; values are in kB of 1024 bytes. */
typedef NumberMap ProcSmaps;

/* TEXT_E_MALFORMED also when there are more keys than fit: the later ones are left out. */
_must_check_ int proc_smaps_parse(Span text, ProcSmaps *ret);
