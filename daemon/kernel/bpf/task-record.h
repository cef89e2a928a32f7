/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskRecord
 *
 * The task iterator writes this of one thread: the record, and behind it the parts that its member
 * @parts names, in the order of their bits. The program in the kernel (task.bpf.c) and its reader
 * (task-table.c) share this layout. Everything is a multiple of 8 bytes long, so that all members
 * are aligned wherever a record lies.
 *
 * The parts exist because a program has 512 bytes of stack, and one buffer for all runs would be
 * shared by two readers of the iterator; and because most threads need few of them.
 *
 * Numbers are those of the kernel, in its units: nanoseconds, pages, bytes. A member whose bit in
 * @has is clear is not there on this kernel, or not for this thread, and is 0.
 */

#ifdef __bpf__
#include "kernel/bpf/kernel-type.bpf.h"
#else
#include <linux/types.h>
#endif
#include "metric/counter-list.h"
#include "metric/reason-list.h"

#define TASK_TICK_NS 10000000ull /* of USER_HZ, on all architectures that we know */

enum {
        TASK_PART_AFFINITY = 1 << 0, /* as many words of a CPU mask as were asked for */
        TASK_PART_MEMORY = 1 << 1,   /* TaskMemory: of leaders, and of siblings that outlived one */
        TASK_PART_DELAYS = 1 << 2,   /* TaskDelays: the thread has the accounting block */
        TASK_PART_SCHEDSTATS = 1 << 3, /* TaskSchedstats: the kernel has them, on or off */
        TASK_PART_WAITS = 1 << 4,      /* TaskWaits: the account of waits knows the thread */
        TASK_PART_REASONS = 1 << 5,    /* TaskReasons: of the epoch that is on */
        TASK_PART_MARK = 1 << 6,       /* LedgerMark, and what comes behind it (ledger-record.h) */
        TASK_PARTS = (1 << 7) - 1,
};

enum {
        TASK_HAS_RUN_DELAY = 1 << 0,       /* CONFIG_SCHED_INFO */
        TASK_HAS_RUN_DELAY_PEAKS = 1 << 1, /* since 6.14 */
        TASK_HAS_IO_CALLS = 1 << 2,        /* CONFIG_TASK_XACCT */
        TASK_HAS_IO_BYTES = 1 << 3,        /* CONFIG_TASK_IO_ACCOUNTING */
        TASK_HAS_INTEGRALS = 1 << 4,       /* CONFIG_TASK_XACCT */
        TASK_HAS_SLICE = 1 << 5,           /* since 6.6 */
        TASK_HAS_EXT = 1 << 6,             /* CONFIG_SCHED_CLASS_EXT */
        TASK_HAS_CGROUP = 1 << 7,          /* CONFIG_CGROUPS */
        TASK_HAS_SPACE = 1 << 8,           /* the thread has an address space */
        TASK_HAS_THREAD_POINTER = 1 << 9,  /* this architecture is known */
        TASK_IS_EXT = 1 << 10,             /* scheduled by sched_ext now */
        TASK_HAS_PREV_TIMES = 1 << 11,     /* not with CONFIG_VIRT_CPU_ACCOUNTING_NATIVE */
        TASK_IS_DEAD = 1 << 12,            /* it is in the ledger of exits */
        TASK_IS_READ = 1 << 13,            /* of the task itself; no message told it */
};

#define TASK_COMM_BYTES 16

#define TASK_COUNTER_MEMBER(metric, ...) __u64 metric;

typedef struct TaskRecord {
        __u32 n_bytes; /* of the record and its parts */
        __u32 parts, has;
        __u32 tid, tgid, ppid; /* in the initial pid namespace */
        __u32 uid, gid;        /* real, in the initial user namespace */
        __u32 owner, unused;   /* uid: who answers for it, see owner.bpf.h */
        char comm[TASK_COMM_BYTES];
        __u64 start_boottime_ns, start_ns; /* CLOCK_BOOTTIME, CLOCK_MONOTONIC */
        __u64 seen_ns;                     /* CLOCK_MONOTONIC, when the record was made */

        __u32 state;      /* __state, with its flags */
        __u32 exit_state; /* EXIT_ZOMBIE, EXIT_DEAD */
        __u32 flags;      /* PF_* */
        __u32 policy;
        __s32 priority, static_priority; /* the kernel's: 0 to 139 */
        __u32 rt_priority;
        __u32 processor;
        __u32 n_threads; /* of the process */
        __u32 level;     /* of the pid namespace: 0 for the initial one */
        __u64 cgroup;    /* id of the cgroup of the default hierarchy */

        TASK_COUNTERS(TASK_COUNTER_MEMBER)
        __u64 run_delay_max_ns, run_delay_min_ns, slice_ns;
        __u64 user_ns, system_ns; /* as sampled: task_cpu_times() makes of them what procfs shows */
        __u64 prev_user_ns, prev_system_ns;
        __u64 rss_integral, vm_integral; /* pages x ns / 1024 */
        __u64 thread_pointer;            /* saved when the thread last left a CPU */
        __u64 ledger_generation; /* of an exit: in which it was added; 0: it is being added */
} TaskRecord;

enum {
        TASK_MEMORY_HAS_RESIDENT = 1 << 0,
        TASK_MEMORY_HAS_EXE = 1 << 1,
};

/* include/linux/mm_types_task.h */
enum { TASK_MEMORY_FILE, TASK_MEMORY_ANON, TASK_MEMORY_SWAP, TASK_MEMORY_SHMEM, _TASK_MEMORY_MAX };

/* Programs of an earlier daemon write it as it was: whoever changes it raises PROFILER_LAYOUT. */
typedef struct TaskMemory {
        __u64 has;
        __u64 rss_peak, vm_peak, vm; /* in pages, as noted: the peaks may lie below the present */
        __u64 executable;            /* pages mapped to be executed */
        __u64 code_begin, code_end;  /* addresses of the program's own code */
        __u64 stack_begin;           /* address of the first thread's stack */
        __s64 resident[_TASK_MEMORY_MAX]; /* pages by kind; a sum in progress can be below 0 */
        __u64 exe_dev, exe_inode;         /* of the program; the device as the kernel encodes it */
} TaskMemory;

/* A row for each kind of delay, with the word that its members have in struct task_delay_info. */
// clang-format off
#define TASK_DELAY_KINDS(D)                                                                        \
        D(BLKIO,     blkio)                                                                        \
        D(SWAPIN,    swapin)                                                                       \
        D(FREEPAGES, freepages)                                                                    \
        D(THRASHING, thrashing)                                                                    \
        D(COMPACT,   compact)                                                                      \
        D(WPCOPY,    wpcopy)                                                                       \
        D(IRQ,       irq)
// clang-format on
#define TASK_DELAY_ID(id, word) TASK_DELAY_##id,
typedef enum TaskDelayKind { TASK_DELAY_KINDS(TASK_DELAY_ID) _TASK_DELAY_MAX } TaskDelayKind;

typedef struct TaskDelay {
        __u64 count, total_ns, max_ns, min_ns;
} TaskDelay;

typedef struct TaskDelays {
        __u32 has;       /* a bit for each kind */
        __u32 has_peaks; /* max_ns, min_ns: since 6.14 */
        TaskDelay kinds[_TASK_DELAY_MAX];
} TaskDelays;

#define TASK_SCHEDSTATS_MEMBER(member, ...) __u64 member;
/* Members of struct sched_statistics under their own names. */
typedef struct TaskSchedstats {
        COUNTERS_OF_SCHEDSTATS(TASK_SCHEDSTATS_MEMBER)
        __u64 sum_sleep_runtime;
        __u64 has_core_forceidle_sum; /* CONFIG_SCHED_CORE */
        __u64 core_forceidle_sum;
} TaskSchedstats;

/*
 * Uninterruptible waits since the account of them began: on storage (in_iowait), and others. A
 * thread without any has no such part.
 */
typedef struct TaskWaits {
        __u64 since_ns;   /* CLOCK_MONOTONIC: when the wait in progress began; 0: there is none */
        __u64 is_storage; /* of that */
        __u64 storage_ns, n_storage, other_ns, n_other; /* of those that are over */
} TaskWaits;

/* How a wait that was not seen to end is told from what came after it. */
typedef struct WaitBegin {
        __u64 n_voluntary, run_ns, run_delay_ns; /* of the thread, when the wait began */
} WaitBegin;

/* Every wait is counted under one reason: what a program has, and what becomes a sum. */
typedef struct ReasonSums {
        __u64 ns[_WAIT_REASON_MAX], n[_WAIT_REASON_MAX];
} ReasonSums;

/* Not one of the reasons: an uninterruptible wait, which the account of waits counts. */
#define REASON_OF_WAITS _WAIT_REASON_MAX
#define REASON_CALL_FOREIGN 0xffffffffu /* of a 32-bit program */

/*
 * Waits by reason (wait.bpf.h). They are counted in epochs. One begins when that is switched on;
 * what a thread had counted in an earlier one is forgotten when the thread is met in a new one, and
 * what is of another epoch than the one that is on counts as nothing.
 */
typedef struct TaskReasons {
        __u64 epoch;
        __u64 since_ns; /* CLOCK_MONOTONIC: when the wait in progress began; 0: there is none */
        WaitBegin begin;
        __u8 reason;      /* of that wait */
        __u8 call_reason; /* of the last wait in a system call, plus one; 0: there was none */
        __u8 has_other_call;
        __u8 unused;
        __u32 other_call;     /* number of the last system call whose reason was other */
        __u64 max_ns, min_ns; /* of single waits; 0: there was none */
        ReasonSums sums;      /* of those that are over */
} TaskReasons;
