/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Counter list
 *
 * The counters that the kernel keeps of each task and that are metrics as they stand. A row names
 * where every source finds its counter: in a file of the thread under /proc, and in the kernel's
 * structs. From the rows follow the parsers of these files, the types that BPF programs are built
 * with, what these read of living threads and add up of those that end, and what a capture makes
 * of both. So another counter of one of these files is a row here and one in metric-list.h. A
 * release that has one raises PROFILER_LAYOUT (profiler.c): programs and captures share the rows.
 *
 * Taskstats, where it answers, stands for status and schedstat, which are not read then. The place
 * of a counter in its struct depends on the version: see taskstats-message.c.
 */

// clang-format off

/*
 * Columns: metric, its place in the file, its member of struct task_struct, and what a TaskRecord
 * or a row of threads that ended must have for it to be there (task-record.h; 0: nothing).
 */

/* The place is the number of the field. */
#define COUNTERS_OF_STAT(C, ...)                                                                   \
        C(minflt, 10, min_flt, 0, __VA_ARGS__)                                                     \
        C(majflt, 12, maj_flt, 0, __VA_ARGS__)

/* The place is the key. */
#define COUNTERS_OF_STATUS(C, ...)                                                                 \
        C(voluntary_csw, "voluntary_ctxt_switches", nvcsw, 0, __VA_ARGS__)                         \
        C(nonvoluntary_csw, "nonvoluntary_ctxt_switches", nivcsw, 0, __VA_ARGS__)

/* In the order of the file, which has nothing else. */
#define COUNTERS_OF_SCHEDSTAT(C, ...)                                                              \
        C(run_time_ns, 1, se.sum_exec_runtime, TASK_HAS_RUN_DELAY, __VA_ARGS__)                    \
        C(wait_time_ns, 2, sched_info.run_delay, TASK_HAS_RUN_DELAY, __VA_ARGS__)                  \
        C(timeslices, 3, sched_info.pcount, TASK_HAS_RUN_DELAY, __VA_ARGS__)

/* The place is the key, of a line that is there whether or not schedstats are on. */
#define COUNTERS_OF_SCHED(C, ...)                                                                  \
        C(nr_migrations, nr_migrations, se.nr_migrations, TASK_IS_READ, __VA_ARGS__)

/* The key is the name of the metric. */
#define COUNTERS_OF_IO(C, ...)                                                                     \
        C(rchar, same, ioac.rchar, TASK_HAS_IO_CALLS, __VA_ARGS__)                                 \
        C(wchar, same, ioac.wchar, TASK_HAS_IO_CALLS, __VA_ARGS__)                                 \
        C(syscr, same, ioac.syscr, TASK_HAS_IO_CALLS, __VA_ARGS__)                                 \
        C(syscw, same, ioac.syscw, TASK_HAS_IO_CALLS, __VA_ARGS__)                                 \
        C(read_bytes, same, ioac.read_bytes, TASK_HAS_IO_BYTES, __VA_ARGS__)                       \
        C(write_bytes, same, ioac.write_bytes, TASK_HAS_IO_BYTES, __VA_ARGS__)                     \
        C(cancelled_write_bytes, same, ioac.cancelled_write_bytes, TASK_HAS_IO_BYTES, __VA_ARGS__)

#define TASK_COUNTERS(C, ...)                                                                      \
        COUNTERS_OF_STAT(C, __VA_ARGS__)                                                           \
        COUNTERS_OF_STATUS(C, __VA_ARGS__)                                                         \
        COUNTERS_OF_SCHEDSTAT(C, __VA_ARGS__)                                                      \
        COUNTERS_OF_SCHED(C, __VA_ARGS__)                                                          \
        COUNTERS_OF_IO(C, __VA_ARGS__)

/*
 * The other lines of the file sched: members of struct sched_statistics, which the kernel counts
 * while the sysctl is on, in the order of the file (faster).
 *
 * Columns: key and member, its value in the file (a plain number, or milliseconds with a fraction),
 * what becomes of it in a row of threads that ended, metric.
 */
#define COUNTERS_OF_SCHEDSTATS(C, ...)                                                             \
        C(sum_block_runtime, MS, SUM, block_sum, __VA_ARGS__) /* in the file since 5.16 */         \
        C(sleep_max, MS, MAX, sleep_max, __VA_ARGS__)                                              \
        C(block_max, MS, MAX, block_max, __VA_ARGS__)                                              \
        C(exec_max, MS, MAX, exec_max, __VA_ARGS__)                                                \
        C(slice_max, MS, MAX, slice_max, __VA_ARGS__)                                              \
        C(wait_max, MS, MAX, wait_max, __VA_ARGS__)                                                \
        C(wait_sum, MS, SUM, wait_sum, __VA_ARGS__)                                                \
        C(wait_count, COUNT, SUM, wait_count, __VA_ARGS__)                                         \
        C(iowait_sum, MS, SUM, iowait_sum, __VA_ARGS__)                                            \
        C(iowait_count, COUNT, SUM, iowait_count, __VA_ARGS__)                                     \
        C(nr_failed_migrations_affine, COUNT, SUM, nr_failed_migrations_affine, __VA_ARGS__)       \
        C(nr_failed_migrations_running, COUNT, SUM, nr_failed_migrations_running, __VA_ARGS__)     \
        C(nr_failed_migrations_hot, COUNT, SUM, nr_failed_migrations_hot, __VA_ARGS__)             \
        C(nr_forced_migrations, COUNT, SUM, nr_forced_migrations, __VA_ARGS__)                     \
        C(nr_wakeups, COUNT, SUM, nr_wakeups, __VA_ARGS__)                                         \
        C(nr_wakeups_sync, COUNT, SUM, nr_wakeups_sync, __VA_ARGS__)                               \
        C(nr_wakeups_migrate, COUNT, SUM, nr_wakeups_migrate, __VA_ARGS__)                         \
        C(nr_wakeups_local, COUNT, SUM, nr_wakeups_local, __VA_ARGS__)                             \
        C(nr_wakeups_remote, COUNT, SUM, nr_wakeups_remote, __VA_ARGS__)                           \
        C(nr_wakeups_affine, COUNT, SUM, nr_wakeups_affine, __VA_ARGS__)                           \
        C(nr_wakeups_affine_attempts, COUNT, SUM, nr_wakeups_affine_attempts, __VA_ARGS__)
// clang-format on
