/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Derived list
 *
 * Values computed from a group's reduced metrics, one row each, in display order after the metrics.
 *
 * Columns: name, unit, section, formula (metric.h) over the inputs, text.
 */

// clang-format off
#define DERIVED_INPUTS(...) { __VA_ARGS__ }
#define DERIVED_DELAY_AVERAGE(D, family, noun)                                                     \
        D(avg_##family##_delay_ns, NS, TASKSTATS_DELAY, QUOTIENT,                                  \
          DERIVED_INPUTS(METRIC_##family##_delay_total_ns, METRIC_##family##_delay_count),         \
          "Average " noun)

#define DERIVED_WAIT_AVERAGE(reason, text, D)                                                      \
        D(avg_##reason##_wait_ns, NS, WAITS, QUOTIENT,                                             \
          DERIVED_INPUTS(METRIC_##reason##_wait_ns, METRIC_##reason##_wait_count),                 \
          "Average wait " text)
#define DERIVED_WAIT_INPUT(reason, text, ...) METRIC_##reason##_wait_ns,

#define DERIVED(D)                                                                                 \
        D(affine_success_ratio, RATIO, DERIVED, QUOTIENT,                                          \
          DERIVED_INPUTS(METRIC_nr_wakeups_affine, METRIC_nr_wakeups_affine_attempts),             \
          "Share of wake-affine decisions that pulled the thread to the CPU of the waker")         \
        D(avg_wait_ns, NS, DERIVED, QUOTIENT,                                                      \
          DERIVED_INPUTS(METRIC_wait_sum, METRIC_wait_count),                                      \
          "Average wait on a run queue, by schedstats")                                            \
        D(cpu_efficiency, RATIO, DERIVED, SHARE,                                                   \
          DERIVED_INPUTS(METRIC_run_time_ns, METRIC_wait_time_ns),                                 \
          "Time on a CPU as a share of the time on a CPU or waiting for one")                      \
        D(avg_slice_ns, NS, DERIVED, QUOTIENT,                                                     \
          DERIVED_INPUTS(METRIC_run_time_ns, METRIC_timeslices),                                   \
          "Average time on a CPU for each time that the thread was put on one")                    \
        D(involuntary_csw_ratio, RATIO, DERIVED, SHARE,                                            \
          DERIVED_INPUTS(METRIC_nonvoluntary_csw, METRIC_voluntary_csw),                           \
          "Share of context switches in which the CPU was taken from the thread")                  \
        D(disk_io_fraction, RATIO, DERIVED, QUOTIENT,                                              \
          DERIVED_INPUTS(METRIC_read_bytes, METRIC_rchar),                                         \
          "Bytes read from storage per byte read by system calls; above 1 with readahead or "      \
          "mapped files")                                                                          \
        D(live_heap_estimate, BYTES, DERIVED, DIFFERENCE,                                          \
          DERIVED_INPUTS(METRIC_allocated_bytes, METRIC_deallocated_bytes),                        \
          "Bytes allocated and not freed by the same threads; negative when they free for others") \
        D(avg_iowait_ns, NS, DERIVED, QUOTIENT,                                                    \
          DERIVED_INPUTS(METRIC_iowait_sum, METRIC_iowait_count),                                  \
          "Average I/O wait, by schedstats")                                                       \
        DERIVED_DELAY_AVERAGE(D, cpu, "wait for a CPU")                                            \
        DERIVED_DELAY_AVERAGE(D, blkio,                                                            \
                              "wait for synchronous block I/O; " METRIC_TEXT_OF_BLKIO_DEFECT)      \
        DERIVED_DELAY_AVERAGE(D, swapin, "wait for a page to come back from swap")                 \
        DERIVED_DELAY_AVERAGE(D, freepages, "direct memory reclaim")                               \
        DERIVED_DELAY_AVERAGE(D, thrashing, "wait for a recently evicted page")                    \
        DERIVED_DELAY_AVERAGE(D, compact, "memory compaction")                                     \
        DERIVED_DELAY_AVERAGE(D, wpcopy, "copy-on-write fault")                                    \
        DERIVED_DELAY_AVERAGE(D, irq, "interrupt charged to the thread")                           \
        D(total_offcpu_delay_ns, NS, TASKSTATS_DELAY, OFFCPU,                                      \
          DERIVED_INPUTS(METRIC_cpu_delay_total_ns, METRIC_blkio_delay_total_ns,                   \
                         METRIC_freepages_delay_total_ns, METRIC_compact_delay_total_ns,           \
                         METRIC_wpcopy_delay_total_ns, METRIC_irq_delay_total_ns,                  \
                         METRIC_swapin_delay_total_ns, METRIC_thrashing_delay_total_ns),           \
          "All delays together; of swapin and thrashing, which overlap, only the larger; block "   \
          "I/O is " METRIC_TEXT_OF_BLKIO_DEFECT)                                                   \
        D(avg_storage_wait_ns, NS, WAITS, QUOTIENT,                                                \
          DERIVED_INPUTS(METRIC_storage_wait_ns, METRIC_storage_wait_count),                       \
          "Average uninterruptible wait for storage")                                              \
        D(avg_uninterruptible_wait_ns, NS, WAITS, QUOTIENT,                                        \
          DERIVED_INPUTS(METRIC_uninterruptible_ns, METRIC_uninterruptible_count),                 \
          "Average other uninterruptible wait")                                                    \
        WAIT_REASONS(DERIVED_WAIT_AVERAGE, D)                                                      \
        D(off_cpu_ns, NS, WAITS, SUM,                                                              \
          DERIVED_INPUTS(METRIC_wait_time_ns, METRIC_storage_wait_ns, METRIC_uninterruptible_ns,   \
                         WAIT_REASONS_APART(DERIVED_WAIT_INPUT)),                                  \
          "Time off the CPU: waiting for one, and all waits")
// clang-format on
