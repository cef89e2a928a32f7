/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Metric list
 *
 * The registry: one row a metric, and the only place to touch to add one whose source is read
 * already. The order is the order of display and the last tie-break. Names travel on the wire and
 * to disk and are for ever; numbers of rows do not.
 *
 * Columns: name, type and rule (metric-type.h), section of the output, scheduling classes that have
 * it, kernel options it needs, the source whose state explains its absence (source-list.h), text.
 */

// clang-format off
#define METRICS(M) \
        M(thread_count,                MonotonicCount,    SumCount,      PRIMARY,              ANY,         STAT, "", \
          "Head count of the group; every thread record adds one") \
        M(policy,                      CategoricalString, Mode,          PRIMARY,              ANY,         STAT, "", \
          "Scheduling policy name (SCHED_OTHER, SCHED_FIFO, SCHED_RR, SCHED_BATCH, SCHED_IDLE, SCHED_DEADLINE, SCHED_EXT or SCHED_UNKNOWN(n))") \
        M(nice,                        OrdinalI32,        RangeI32,      PRIMARY,              ANY,         STAT, "", \
          "Nice level, -20 to 19") \
        M(priority,                    OrdinalI32,        RangeI32,      PRIMARY,              ANY,         STAT, "", \
          "Kernel-side priority as procfs prints it: 0..39 fair, -2..-100 FIFO/RR, -101 deadline") \
        M(rt_priority,                 OrdinalU32,        RangeU32,      PRIMARY,              ANY,         STAT, "", \
          "Real-time priority 0..99, zero for anything that is not FIFO/RR") \
        M(cpu_affinity,                CpuSet,            Affinity,      PRIMARY,              ANY,         AFFINITY, "", \
          "CPUs the thread may run on, ascending list of ids") \
        M(processor,                   OrdinalI32,        RangeI32,      PRIMARY,              ANY,         STAT, "", \
          "CPU number the thread was last on") \
        M(state,                       CategoricalChar,   ModeChar,      PRIMARY,              ANY,         STAT, "", \
          "One-letter run state at the instant of reading (R S D T t X Z P I)") \
        M(ext_enabled,                 CategoricalBool,   ModeBool,      PRIMARY,              ANY,         SCHED_EXT, "CONFIG_SCHED_CLASS_EXT", \
          "Whether sched_ext currently runs the thread") \
        M(nr_threads,                  GaugeCount,        MaxGaugeCount, PRIMARY,              ANY,         STAT, "", \
          "Live thread total of the process, stored on the leader record alone") \
        M(run_time_ns,                 MonotonicNs,       SumNs,         PRIMARY,              ANY,         SCHEDSTAT, "CONFIG_SCHED_INFO", \
          "Lifetime nanoseconds on a CPU") \
        M(wait_time_ns,                MonotonicNs,       SumNs,         PRIMARY,              ANY,         SCHEDSTAT, "CONFIG_SCHED_INFO", \
          "Lifetime nanoseconds runnable but waiting for a CPU; the same kernel counter as cpu_delay_total_ns") \
        M(timeslices,                  MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTAT, "CONFIG_SCHED_INFO", \
          "How many times the thread was put on a CPU; the same kernel counter as cpu_delay_count") \
        M(voluntary_csw,               MonotonicCount,    SumCount,      PRIMARY,              ANY,         STATUS, "", \
          "Context switches where the thread gave up the CPU") \
        M(nonvoluntary_csw,            MonotonicCount,    SumCount,      PRIMARY,              ANY,         STATUS, "", \
          "Context switches where the thread was pushed off the CPU") \
        M(nr_wakeups,                  MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "All wakeups of the thread") \
        M(nr_wakeups_local,            MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups whose target CPU was the waker's own") \
        M(nr_wakeups_remote,           MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups whose target CPU differed from the waker's") \
        M(nr_wakeups_sync,             MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups carrying the synchronous hint") \
        M(nr_wakeups_migrate,          MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups that also moved the thread away from its previous CPU") \
        M(nr_wakeups_affine,           MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups the cache-affinity heuristic pulled to the waking CPU") \
        M(nr_wakeups_affine_attempts,  MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Times that heuristic was evaluated") \
        M(nr_migrations,               MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHED, "", \
          "Moves between CPUs over the thread's life") \
        M(nr_forced_migrations,        MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Load-balancer moves made although the thread was cache-hot") \
        M(nr_failed_migrations_affine, MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Balancer moves refused by the affinity mask") \
        M(nr_failed_migrations_running, MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Balancer moves refused because the thread was on a CPU") \
        M(nr_failed_migrations_hot,    MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Balancer moves refused because its cache was still warm") \
        M(wait_sum,                    MonotonicNs,       SumNs,         PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Schedstat total of run-queue waiting, ns") \
        M(wait_count,                  MonotonicCount,    SumCount,      PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Number of schedstat run-queue waits") \
        M(wait_max,                    PeakNs,            MaxPeak,       PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest single run-queue wait, ns") \
        M(voluntary_sleep_ns,          MonotonicNs,       SumNs,         PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Off-CPU sleep with the uninterruptible-block share taken out, ns") \
        M(sleep_max,                   PeakNs,            MaxPeak,       PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest single sleep, ns") \
        M(block_sum,                   MonotonicNs,       SumNs,         PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Total time in uninterruptible sleep (I/O, locks, faults), ns") \
        M(block_max,                   PeakNs,            MaxPeak,       PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest single uninterruptible sleep, ns") \
        M(iowait_sum,                  MonotonicNs,       SumNs,         PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "The part of blocked time flagged as I/O wait, ns") \
        M(iowait_count,                MonotonicCount,    SumCount,      PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Number of I/O-wait episodes") \
        M(exec_max,                    PeakNs,            MaxPeak,       PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest accounting interval spent running, ns (also kept for sched_ext threads)") \
        M(slice_max,                   PeakNs,            MaxPeak,       PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest fair-class slice actually consumed, ns") \
        M(core_forceidle_sum,          MonotonicNs,       SumNs,         PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHED_CORE,CONFIG_SCHEDSTATS", \
          "Time the thread kept its SMT siblings idle under core scheduling, ns (any class)") \
        M(fair_slice_ns,               GaugeNs,           MaxGaugeNs,    PRIMARY,              FAIR_POLICY, SCHED, "", \
          "Slice length the fair scheduler holds for the thread now; left over from earlier when the thread is on sched_ext; line is printed for NORMAL, BATCH and EXT policies only") \
        M(allocated_bytes,             Bytes,             SumBytes,      PRIMARY,              ANY,         JEMALLOC, "", \
          "Bytes this thread ever allocated through jemalloc") \
        M(deallocated_bytes,           Bytes,             SumBytes,      PRIMARY,              ANY,         JEMALLOC, "", \
          "Bytes this thread ever freed through jemalloc") \
        M(minflt,                      MonotonicCount,    SumCount,      PRIMARY,              ANY,         STAT, "", \
          "Page faults served without I/O") \
        M(majflt,                      MonotonicCount,    SumCount,      PRIMARY,              ANY,         STAT, "", \
          "Page faults that needed I/O") \
        M(utime_clock_ticks,           ClockTicks,        SumTicks,      PRIMARY,              ANY,         STAT, "", \
          "User CPU time in USER_HZ ticks (100 per second)") \
        M(stime_clock_ticks,           ClockTicks,        SumTicks,      PRIMARY,              ANY,         STAT, "", \
          "Kernel CPU time in USER_HZ ticks") \
        M(rchar,                       Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Bytes returned by read-type syscalls, cache hits included") \
        M(wchar,                       Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Bytes handed to write-type syscalls, whether or not they reached storage") \
        M(syscr,                       MonotonicCount,    SumCount,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Count of read-type syscalls") \
        M(syscw,                       MonotonicCount,    SumCount,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Count of write-type syscalls") \
        M(read_bytes,                  Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Bytes the thread caused to be fetched from storage") \
        M(write_bytes,                 Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Bytes the thread caused to be sent to storage") \
        M(cancelled_write_bytes,       Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Dirty bytes dropped before writeback (truncate and the like), charged to whoever dropped them, not to the writer, so never subtract it per thread") \
        M(cpu_delay_count,             MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of runnable-but-waiting spells (sched_info, so live even with delayacct switched off; count and total are not read atomically)") \
        M(cpu_delay_total_ns,          MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Lifetime ns waiting for a CPU") \
        M(cpu_delay_max_ns,            PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest one-off spell waiting for a CPU, ns") \
        M(cpu_delay_min_ns,            FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest non-zero spell waiting for a CPU, ns; 0 = none seen yet") \
        M(blkio_delay_count,           MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of waits for synchronous block I/O") \
        M(blkio_delay_total_ns,        MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Lifetime ns waiting for synchronous block I/O") \
        M(blkio_delay_max_ns,          PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest one-off spell waiting for synchronous block I/O, ns") \
        M(blkio_delay_min_ns,          FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest non-zero spell waiting for synchronous block I/O, ns; 0 = none seen yet") \
        M(swapin_delay_count,          MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of waits for a page to come back from swap (overlaps thrashing)") \
        M(swapin_delay_total_ns,       MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Lifetime ns waiting for swap-in") \
        M(swapin_delay_max_ns,         PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest one-off spell waiting for swap-in, ns") \
        M(swapin_delay_min_ns,         FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest non-zero spell waiting for swap-in, ns; 0 = none seen yet") \
        M(freepages_delay_count,       MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of direct-reclaim episodes") \
        M(freepages_delay_total_ns,    MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Lifetime ns in direct memory reclaim") \
        M(freepages_delay_max_ns,      PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest one-off spell in direct memory reclaim, ns") \
        M(freepages_delay_min_ns,      FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest non-zero spell in direct memory reclaim, ns; 0 = none seen yet") \
        M(thrashing_delay_count,       MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of waits on recently evicted pages (overlaps swapin)") \
        M(thrashing_delay_total_ns,    MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Lifetime ns waiting on thrashing pages") \
        M(thrashing_delay_max_ns,      PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest one-off spell waiting on thrashing pages, ns") \
        M(thrashing_delay_min_ns,      FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest non-zero spell waiting on thrashing pages, ns; 0 = none seen yet") \
        M(compact_delay_count,         MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of memory-compaction episodes") \
        M(compact_delay_total_ns,      MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Lifetime ns in memory compaction") \
        M(compact_delay_max_ns,        PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest one-off spell in memory compaction, ns") \
        M(compact_delay_min_ns,        FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest non-zero spell in memory compaction, ns; 0 = none seen yet") \
        M(wpcopy_delay_count,          MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of copy-on-write fault episodes") \
        M(wpcopy_delay_total_ns,       MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Lifetime ns handling copy-on-write faults") \
        M(wpcopy_delay_max_ns,         PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest one-off spell handling copy-on-write faults, ns") \
        M(wpcopy_delay_min_ns,         FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest non-zero spell handling copy-on-write faults, ns; 0 = none seen yet") \
        M(irq_delay_count,             MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_IRQ, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of interrupt spells charged to the thread") \
        M(irq_delay_total_ns,          MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_IRQ, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Lifetime ns taken by interrupts charged to it") \
        M(irq_delay_max_ns,            PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_IRQ, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest one-off spell taken by interrupts charged to it, ns") \
        M(irq_delay_min_ns,            FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_IRQ, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest non-zero spell taken by interrupts charged to it, ns; 0 = none seen yet") \
        M(hiwater_rss_bytes,           PeakBytes,         MaxPeakBytes,  TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_XACCT", \
          "Highest resident size the process's address space ever had; same on every thread of the process, 0 for kernel threads") \
        M(hiwater_vm_bytes,            PeakBytes,         MaxPeakBytes,  TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_XACCT", \
          "Highest virtual size the process's address space ever had") \
        M(acct_run_real_ns,            MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "CPU time of the thread with the architecture's correction for time stolen by a hypervisor") \
        M(acct_run_virtual_ns,         MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "CPU time of the thread as the scheduler's own clock counts it") \
        M(acct_run_scaled_ns,          MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "CPU time scaled by frequency or SMT share, where the architecture does so") \
        M(acct_utime_ns,               MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "User CPU time, finer than the 10 ms ticks of stat") \
        M(acct_stime_ns,               MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "Kernel CPU time, finer than the 10 ms ticks of stat") \
        M(acct_utime_scaled_ns,        MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "User CPU time, scaled") \
        M(acct_stime_scaled_ns,        MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "Kernel CPU time, scaled") \
        M(acct_elapsed_ns,             GaugeNs,           MaxGaugeNs,    TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "Age of the thread when it was read") \
        M(acct_rss_mb_us,              MonotonicCount,    SumCount,      TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_XACCT", \
          "Resident size integrated over CPU time, MB times us") \
        M(acct_vm_mb_us,               MonotonicCount,    SumCount,      TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_XACCT", \
          "Virtual size integrated over CPU time, MB times us")
// clang-format on
