/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Metric list
 *
 * The registry, with one row for each metric. A metric whose source is already read is a row here,
 * and a row where its number is found: for a counter of a task see counter-list.h. The order of
 * rows is the order of display and breaks the last ties. Names go over the wire and to disk, so
 * they never change; the numbers of rows never leave the program.
 *
 * Columns: name, type and rule (metric-type.h), section of the output, scheduling classes that have
 * it, kernel options it needs, the source whose state explains its absence (source-list.h), text.
 */

#include "metric/reason-list.h"

/* A pair for each reason to wait. */
#define METRIC_ROWS_OF_REASON(reason, text, M)                                         \
        M(reason##_wait_ns, MonotonicNs, SumNs, WAITS, ANY, REASONS, "", "Time " text) \
        M(reason##_wait_count, MonotonicCount, SumCount, WAITS, ANY, REASONS, "",      \
          "Number of waits " text)

/* The text for the metrics in the first row of kernel-defect.h. */
#define METRIC_TEXT_OF_BLKIO_DEFECT                                                             \
        "approximate on kernels from 6.12, which often begin such a wait at the wrong time or " \
        "miss it"

// clang-format off
#define METRICS(M) \
        M(thread_count,                MonotonicCount,    SumCount,      PRIMARY,              ANY,         STAT, "", \
          "Number of threads in the group") \
        M(policy,                      CategoricalString, Mode,          PRIMARY,              ANY,         STAT, "", \
          "Scheduling policy name (SCHED_OTHER, SCHED_FIFO, SCHED_RR, SCHED_BATCH, SCHED_IDLE, SCHED_DEADLINE, SCHED_EXT or SCHED_UNKNOWN(n))") \
        M(nice,                        OrdinalI32,        RangeI32,      PRIMARY,              ANY,         STAT, "", \
          "Nice level, -20 to 19") \
        M(priority,                    OrdinalI32,        RangeI32,      PRIMARY,              ANY,         STAT, "", \
          "Priority as /proc/PID/stat shows it: 0 to 39 fair, -2 to -100 FIFO and RR, -101 deadline") \
        M(rt_priority,                 OrdinalU32,        RangeU32,      PRIMARY,              ANY,         STAT, "", \
          "Real-time priority, 1 to 99; 0 for threads that are neither FIFO nor RR") \
        M(cpu_affinity,                CpuSet,            Affinity,      PRIMARY,              ANY,         AFFINITY, "", \
          "CPUs that the thread may run on, in ascending order") \
        M(processor,                   OrdinalI32,        RangeI32,      PRIMARY,              ANY,         STAT, "", \
          "CPU that the thread last ran on") \
        M(state,                       CategoricalChar,   ModeChar,      PRIMARY,              ANY,         STAT, "", \
          "Run state at the moment of reading, one letter: R S D T t X Z P I") \
        M(ext_enabled,                 CategoricalBool,   ModeBool,      PRIMARY,              ANY,         SCHED_EXT, "CONFIG_SCHED_CLASS_EXT", \
          "Whether the thread is scheduled by sched_ext now") \
        M(nr_threads,                  GaugeCount,        MaxGaugeCount, PRIMARY,              ANY,         STAT, "", \
          "Number of threads of the process, recorded with its leader only") \
        M(run_time_ns,                 MonotonicNs,       SumNs,         PRIMARY,              ANY,         SCHEDSTAT, "CONFIG_SCHED_INFO", \
          "Time on a CPU") \
        M(wait_time_ns,                MonotonicNs,       SumNs,         PRIMARY,              ANY,         SCHEDSTAT, "CONFIG_SCHED_INFO", \
          "Time runnable but waiting for a CPU; the same kernel counter as cpu_delay_total_ns") \
        M(timeslices,                  MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTAT, "CONFIG_SCHED_INFO", \
          "Times that the thread was put on a CPU; the same kernel counter as cpu_delay_count") \
        M(voluntary_csw,               MonotonicCount,    SumCount,      PRIMARY,              ANY,         STATUS, "", \
          "Context switches in which the thread gave up the CPU") \
        M(nonvoluntary_csw,            MonotonicCount,    SumCount,      PRIMARY,              ANY,         STATUS, "", \
          "Context switches in which the CPU was taken from the thread") \
        M(nr_wakeups,                  MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups of the thread") \
        M(nr_wakeups_local,            MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups onto the CPU of the waker") \
        M(nr_wakeups_remote,           MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups onto another CPU than that of the waker") \
        M(nr_wakeups_sync,             MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups with the sync hint: the waker said that it was about to sleep") \
        M(nr_wakeups_migrate,          MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups that moved the thread to another CPU") \
        M(nr_wakeups_affine,           MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Wakeups that the wake-affine heuristic pulled to the CPU of the waker") \
        M(nr_wakeups_affine_attempts,  MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Times that the wake-affine heuristic was evaluated") \
        M(nr_migrations,               MonotonicCount,    SumCount,      PRIMARY,              ANY,         SCHED, "", \
          "Moves from one CPU to another") \
        M(nr_forced_migrations,        MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Moves by the load balancer although the thread's cache was hot") \
        M(nr_failed_migrations_affine, MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Moves that the load balancer gave up because the thread may not run on the other CPU") \
        M(nr_failed_migrations_running, MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Moves that the load balancer gave up because the thread was running") \
        M(nr_failed_migrations_hot,    MonotonicCount,    SumCount,      PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Moves that the load balancer gave up because the thread's cache was hot") \
        M(wait_sum,                    MonotonicNs,       SumNs,         PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Time waiting on a run queue") \
        M(wait_count,                  MonotonicCount,    SumCount,      PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Number of waits on a run queue") \
        M(wait_max,                    PeakNs,            MaxPeak,       PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest wait on a run queue") \
        M(voluntary_sleep_ns,          MonotonicNs,       SumNs,         PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Time asleep, without uninterruptible sleep") \
        M(sleep_max,                   PeakNs,            MaxPeak,       PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest sleep") \
        M(block_sum,                   MonotonicNs,       SumNs,         PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Time in uninterruptible sleep (I/O, locks, faults)") \
        M(block_max,                   PeakNs,            MaxPeak,       PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest uninterruptible sleep") \
        M(iowait_sum,                  MonotonicNs,       SumNs,         PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "The part of block_sum that the kernel counted as I/O wait") \
        M(iowait_count,                MonotonicCount,    SumCount,      PRIMARY,              NON_EXT,     SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Number of I/O waits") \
        M(exec_max,                    PeakNs,            MaxPeak,       PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest time between two updates of the run time while on a CPU (also kept for sched_ext threads)") \
        M(slice_max,                   PeakNs,            MaxPeak,       PRIMARY,              CFS_ONLY,    SCHEDSTATS, "CONFIG_SCHEDSTATS", \
          "Longest slice that the thread used as a fair-class thread") \
        M(core_forceidle_sum,          MonotonicNs,       SumNs,         PRIMARY,              ANY,         SCHEDSTATS, "CONFIG_SCHED_CORE,CONFIG_SCHEDSTATS", \
          "Time that core scheduling kept SMT siblings idle because the thread ran (any class)") \
        M(fair_slice_ns,               GaugeNs,           MaxGaugeNs,    PRIMARY,              FAIR_POLICY, SCHED, "", \
          "Slice that the fair scheduler gives the thread now; on sched_ext left over from before; printed for the policies NORMAL, BATCH and EXT only") \
        M(allocated_bytes,             Bytes,             SumBytes,      PRIMARY,              ANY,         JEMALLOC, "", \
          "Bytes that the thread has allocated through jemalloc; a forked child begins with those of the thread that forked") \
        M(deallocated_bytes,           Bytes,             SumBytes,      PRIMARY,              ANY,         JEMALLOC, "", \
          "Bytes that the thread has freed through jemalloc; a forked child begins with those of the thread that forked") \
        M(minflt,                      MonotonicCount,    SumCount,      PRIMARY,              ANY,         STAT, "", \
          "Page faults served without I/O") \
        M(majflt,                      MonotonicCount,    SumCount,      PRIMARY,              ANY,         STAT, "", \
          "Page faults that needed I/O") \
        M(utime_clock_ticks,           ClockTicks,        SumTicks,      PRIMARY,              ANY,         STAT, "", \
          "User CPU time, in USER_HZ ticks (100 per second)") \
        M(stime_clock_ticks,           ClockTicks,        SumTicks,      PRIMARY,              ANY,         STAT, "", \
          "Kernel CPU time, in USER_HZ ticks (100 per second)") \
        M(rchar,                       Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Bytes read by system calls, also from the page cache") \
        M(wchar,                       Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Bytes written by system calls, whether or not they reached storage") \
        M(syscr,                       MonotonicCount,    SumCount,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Number of read system calls") \
        M(syscw,                       MonotonicCount,    SumCount,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Number of write system calls") \
        M(read_bytes,                  Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Bytes that the thread caused to be read from storage") \
        M(write_bytes,                 Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Bytes that the thread caused to be written to storage, as a whole page-cache folio each time that one is made dirty: with large folios far more than was written (500 MiB for 2 MiB on ext4 from 6.16)") \
        M(cancelled_write_bytes,       Bytes,             SumBytes,      PRIMARY,              ANY,         IO, "CONFIG_TASK_IO_ACCOUNTING", \
          "Dirty bytes discarded before they were written (by truncation, say); counted for the thread that discarded them and not for the writer, so never subtract them per thread") \
        M(cpu_delay_count,             MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of waits for a CPU (counted even with delayacct off; count and total are not read atomically)") \
        M(cpu_delay_total_ns,          MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Time waiting for a CPU") \
        M(cpu_delay_max_ns,            PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest wait for a CPU") \
        M(cpu_delay_min_ns,            FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest wait for a CPU longer than 0 ns; 0: none yet") \
        M(blkio_delay_count,           MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of waits for synchronous block I/O; " METRIC_TEXT_OF_BLKIO_DEFECT) \
        M(blkio_delay_total_ns,        MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Time waiting for synchronous block I/O; " METRIC_TEXT_OF_BLKIO_DEFECT) \
        M(blkio_delay_max_ns,          PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest wait for synchronous block I/O; " METRIC_TEXT_OF_BLKIO_DEFECT) \
        M(blkio_delay_min_ns,          FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest wait for synchronous block I/O longer than 0 ns; 0: none yet; " METRIC_TEXT_OF_BLKIO_DEFECT) \
        M(swapin_delay_count,          MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of waits for pages to come back from swap (overlaps thrashing)") \
        M(swapin_delay_total_ns,       MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Time waiting for pages to come back from swap") \
        M(swapin_delay_max_ns,         PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest wait for a page to come back from swap") \
        M(swapin_delay_min_ns,         FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest wait for a page to come back from swap longer than 0 ns; 0: none yet") \
        M(freepages_delay_count,       MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of direct reclaims") \
        M(freepages_delay_total_ns,    MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Time in direct memory reclaim") \
        M(freepages_delay_max_ns,      PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest direct memory reclaim") \
        M(freepages_delay_min_ns,      FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest direct memory reclaim longer than 0 ns; 0: none yet") \
        M(thrashing_delay_count,       MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of waits for recently evicted pages (overlaps swapin)") \
        M(thrashing_delay_total_ns,    MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Time waiting for recently evicted pages") \
        M(thrashing_delay_max_ns,      PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest wait for a recently evicted page") \
        M(thrashing_delay_min_ns,      FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest wait for a recently evicted page longer than 0 ns; 0: none yet") \
        M(compact_delay_count,         MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of memory compactions") \
        M(compact_delay_total_ns,      MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Time in memory compaction") \
        M(compact_delay_max_ns,        PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest memory compaction") \
        M(compact_delay_min_ns,        FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest memory compaction longer than 0 ns; 0: none yet") \
        M(wpcopy_delay_count,          MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of copy-on-write faults") \
        M(wpcopy_delay_total_ns,       MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Time handling copy-on-write faults") \
        M(wpcopy_delay_max_ns,         PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest copy-on-write fault") \
        M(wpcopy_delay_min_ns,         FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_DELAY, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest copy-on-write fault longer than 0 ns; 0: none yet") \
        M(irq_delay_count,             MonotonicCount,    SumCount,      TASKSTATS_DELAY,      ANY,         TASKSTATS_IRQ, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Number of interrupts charged to the thread") \
        M(irq_delay_total_ns,          MonotonicNs,       SumNs,         TASKSTATS_DELAY,      ANY,         TASKSTATS_IRQ, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Time taken by interrupts charged to the thread") \
        M(irq_delay_max_ns,            PeakNs,            MaxPeak,       TASKSTATS_DELAY,      ANY,         TASKSTATS_IRQ, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Longest interrupt charged to the thread") \
        M(irq_delay_min_ns,            FloorNs,           MinFloor,      TASKSTATS_DELAY,      ANY,         TASKSTATS_IRQ, "CONFIG_TASKSTATS,CONFIG_TASK_DELAY_ACCT", \
          "Shortest interrupt charged to the thread longer than 0 ns; 0: none yet") \
        M(hiwater_rss_bytes,           PeakBytes,         MaxPeakBytes,  TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_XACCT", \
          "Largest resident size of the process so far; the same for all its threads, 0 for kernel threads; never below the present size where that is exact (from 6.16), but a peak that has passed may be noted short by 3 x max(32, 2 x CPUs) pages for each CPU (before 6.2: 3 x 64 pages for each thread), which the kernel has not added up yet") \
        M(hiwater_vm_bytes,            PeakBytes,         MaxPeakBytes,  TASKSTATS_DELAY,      ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_XACCT", \
          "Largest virtual size of the process so far; the same for all its threads, 0 for kernel threads") \
        M(acct_run_real_ns,            MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "CPU time, corrected for time stolen by a hypervisor where the architecture does so") \
        M(acct_run_virtual_ns,         MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "CPU time by the scheduler's own clock") \
        M(acct_run_scaled_ns,          MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "CPU time scaled by frequency or SMT share, where the architecture does so") \
        M(acct_utime_ns,               MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "User CPU time, finer than the ticks of utime_clock_ticks") \
        M(acct_stime_ns,               MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "Kernel CPU time, finer than the ticks of stime_clock_ticks") \
        M(acct_utime_scaled_ns,        MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "User CPU time, scaled like acct_run_scaled_ns") \
        M(acct_stime_scaled_ns,        MonotonicNs,       SumNs,         TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "Kernel CPU time, scaled like acct_run_scaled_ns") \
        M(acct_elapsed_ns,             GaugeNs,           MaxGaugeNs,    TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS", \
          "Age of the thread when it was read") \
        M(acct_rss_mb_us,              MonotonicCount,    SumCount,      TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_XACCT", \
          "Resident size integrated over CPU time, in MB times microseconds") \
        M(acct_vm_mb_us,               MonotonicCount,    SumCount,      TASKSTATS_ACCOUNTING, ANY,         TASKSTATS, "CONFIG_TASKSTATS,CONFIG_TASK_XACCT", \
          "Virtual size integrated over CPU time, in MB times microseconds") \
        M(rss_anon_bytes,              GaugeBytes,        SumGaugeBytes, PRIMARY,              ANY,         STATUS, "", \
          "Resident anonymous memory of the process, recorded with its leader only; kernels count it in batches of some pages per CPU or thread, so it can lag by that much") \
        M(rss_file_bytes,              GaugeBytes,        SumGaugeBytes, PRIMARY,              ANY,         STATUS, "", \
          "Resident pages of mapped files, like rss_anon_bytes; pages that several processes share count in each") \
        M(rss_shmem_bytes,             GaugeBytes,        SumGaugeBytes, PRIMARY,              ANY,         STATUS, "", \
          "Resident shared memory (tmpfs, System V, shared anonymous mappings), like rss_file_bytes") \
        M(swap_bytes,                  GaugeBytes,        SumGaugeBytes, PRIMARY,              ANY,         STATUS, "", \
          "Anonymous memory of the process in swap, recorded with its leader only; swapped shared memory is not in it") \
        M(storage_wait_ns,             MonotonicNs,       SumNs,         PRIMARY,              ANY,         WAITS, "", \
          "Time in uninterruptible waits for storage: the thread slept in state D and the kernel counted it as waiting for I/O. ctprof's programs in the kernel count it from when they were attached, a wait in progress up to the moment of reading; exact where the kernel's own block I/O delay is not") \
        M(storage_wait_count,          MonotonicCount,    SumCount,      PRIMARY,              ANY,         WAITS, "", \
          "Number of uninterruptible waits for storage, one in progress included") \
        M(uninterruptible_ns,          MonotonicNs,       SumNs,         PRIMARY,              ANY,         WAITS, "", \
          "Time in other uninterruptible waits: locks in the kernel, memory reclaim, network file systems; counted like storage_wait_ns, and not part of it") \
        M(uninterruptible_count,       MonotonicCount,    SumCount,      PRIMARY,              ANY,         WAITS, "", \
          "Number of other uninterruptible waits, one in progress included") \
        WAIT_REASONS(METRIC_ROWS_OF_REASON, M) \
        M(other_wait_call,             OrdinalU32,        RangeU32,      WAITS,                ANY,         REASONS, "", \
          "Number of the system call in which the thread last waited for an other reason; 4294967295: it was a 32-bit program's") \
        M(off_cpu_max_ns,              PeakNs,            MaxPeak,       WAITS,                ANY,         REASONS, "", \
          "Longest single wait of any reason, uninterruptible ones included, from leaving the CPU to the wake-up") \
        M(off_cpu_min_ns,              FloorNs,           MinFloor,      WAITS,                ANY,         REASONS, "", \
          "Shortest such wait; 0: none yet")
// clang-format on
