/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskstatsLayouts
 *
 * The two shapes of the kernel's struct taskstats, member by member as its headers had them, so
 * that the compiler works out the offsets that the decoder under test has as numbers.
 */

#include <stddef.h>
#include <stdint.h>
#include "metric/metric.h"
#include "kernel/taskstats/taskstats-message.h"

typedef struct DelayPair {
        uint64_t count, total;
} DelayPair;
typedef struct DelayExtremes {
        uint64_t max, min;
} DelayExtremes;

/* Versions 8 to 17: grew at the end only. Alignment of 8 as on 64-bit kernels. */
typedef struct GrownTaskstats {
        uint16_t version;
        uint32_t ac_exitcode;
        uint8_t ac_flag, ac_nice;
        _Alignas(8) DelayPair cpu;
        DelayPair blkio, swapin;
        uint64_t cpu_run_real_total, cpu_run_virtual_total;
        char ac_comm[32];
        _Alignas(8) uint8_t ac_sched;
        uint8_t ac_pad[3];
        _Alignas(8) uint32_t ac_uid;
        uint32_t ac_gid, ac_pid, ac_ppid, ac_btime;
        _Alignas(8) uint64_t ac_etime;
        uint64_t ac_utime, ac_stime, ac_minflt, ac_majflt, coremem, virtmem, hiwater_rss,
                hiwater_vm;
        uint64_t read_char, write_char, read_syscalls, write_syscalls;
        uint64_t read_bytes, write_bytes, cancelled_write_bytes;
        uint64_t nvcsw, nivcsw, ac_utimescaled, ac_stimescaled, cpu_scaled_run_real_total;
        DelayPair freepages;
        DelayPair thrashing; /* 9 */
        uint64_t ac_btime64; /* 10 */
        DelayPair compact;   /* 11 */
        uint32_t ac_tgid;    /* 12 */
        _Alignas(8) uint64_t ac_tgetime;
        uint64_t ac_exe_dev, ac_exe_inode;
        DelayPair wpcopy;     /* 13 */
        DelayPair irq;        /* 14 */
        DelayExtremes of_cpu; /* 16 */
        DelayExtremes of_blkio, of_swapin, of_freepages, of_thrashing, of_compact, of_wpcopy,
                of_irq;
        int64_t of_the_longest[8][2]; /* 17 */
} GrownTaskstats;

typedef struct Delay15 {
        uint64_t count, total, max, min;
} Delay15;

/* Version 15. */
typedef struct Taskstats15 {
        uint16_t version;
        uint32_t ac_exitcode;
        uint8_t ac_flag, ac_nice;
        _Alignas(8) Delay15 cpu;
        Delay15 blkio, swapin;
        uint64_t cpu_run_real_total, cpu_run_virtual_total;
        char ac_comm[32];
        _Alignas(8) uint8_t ac_sched;
        uint8_t ac_pad[3];
        _Alignas(8) uint32_t ac_uid;
        uint32_t ac_gid, ac_pid, ac_ppid, ac_btime;
        _Alignas(8) uint64_t ac_etime;
        uint64_t ac_utime, ac_stime, ac_minflt, ac_majflt, coremem, virtmem, hiwater_rss,
                hiwater_vm;
        uint64_t read_char, write_char, read_syscalls, write_syscalls;
        uint64_t read_bytes, write_bytes, cancelled_write_bytes;
        uint64_t nvcsw, nivcsw, ac_utimescaled, ac_stimescaled, cpu_scaled_run_real_total;
        Delay15 freepages, thrashing;
        uint64_t ac_btime64;
        Delay15 compact;
        uint32_t ac_tgid;
        _Alignas(8) uint64_t ac_tgetime;
        uint64_t ac_exe_dev, ac_exe_inode;
        Delay15 wpcopy, irq;
} Taskstats15;

_Static_assert(sizeof(GrownTaskstats) == 688, "version 17");
_Static_assert(sizeof(Taskstats15) == 560, "version 15");

/*
 * M(metric, member in the grown layout, member in version 15, scale), every metric of the struct.
 */
#define LAYOUT_DELAY(M, family)                                   \
        M(family##_delay_count, family.count, family.count, 1)    \
        M(family##_delay_total_ns, family.total, family.total, 1) \
        M(family##_delay_max_ns, of_##family.max, family.max, 1)  \
        M(family##_delay_min_ns, of_##family.min, family.min, 1)
#define LAYOUT_SAME(M, metric, member, scale) M(metric, member, member, scale)

// clang-format off
#define LAYOUT_METRICS(M)                                                                          \
        LAYOUT_DELAY(M, cpu)                                                                       \
        LAYOUT_DELAY(M, blkio)                                                                     \
        LAYOUT_DELAY(M, swapin)                                                                    \
        LAYOUT_DELAY(M, freepages)                                                                 \
        LAYOUT_DELAY(M, thrashing)                                                                 \
        LAYOUT_DELAY(M, compact)                                                                   \
        LAYOUT_DELAY(M, wpcopy)                                                                    \
        LAYOUT_DELAY(M, irq)                                                                       \
        LAYOUT_SAME(M, hiwater_rss_bytes, hiwater_rss, 1024)                                       \
        LAYOUT_SAME(M, hiwater_vm_bytes, hiwater_vm, 1024)                                         \
        LAYOUT_SAME(M, acct_run_real_ns, cpu_run_real_total, 1)                                    \
        LAYOUT_SAME(M, acct_run_virtual_ns, cpu_run_virtual_total, 1)                              \
        LAYOUT_SAME(M, acct_run_scaled_ns, cpu_scaled_run_real_total, 1)                           \
        LAYOUT_SAME(M, acct_utime_ns, ac_utime, 1000)                                              \
        LAYOUT_SAME(M, acct_stime_ns, ac_stime, 1000)                                              \
        LAYOUT_SAME(M, acct_utime_scaled_ns, ac_utimescaled, 1000)                                 \
        LAYOUT_SAME(M, acct_stime_scaled_ns, ac_stimescaled, 1000)                                 \
        LAYOUT_SAME(M, acct_elapsed_ns, ac_etime, 1000)                                            \
        LAYOUT_SAME(M, minflt, ac_minflt, 1)                                                       \
        LAYOUT_SAME(M, majflt, ac_majflt, 1)                                                       \
        LAYOUT_SAME(M, acct_rss_mb_us, coremem, 1)                                                 \
        LAYOUT_SAME(M, acct_vm_mb_us, virtmem, 1)                                                  \
        LAYOUT_SAME(M, timeslices, cpu.count, 1)                                                   \
        LAYOUT_SAME(M, wait_time_ns, cpu.total, 1)                                                 \
        LAYOUT_SAME(M, run_time_ns, cpu_run_virtual_total, 1)                                      \
        LAYOUT_SAME(M, voluntary_csw, nvcsw, 1)                                                    \
        LAYOUT_SAME(M, nonvoluntary_csw, nivcsw, 1)
// clang-format on

/* The offset of each metric in bytes, and the factor from the kernel's unit to ours. */
#define LAYOUT_ROW(metric, grown, of_15, scale) \
        { METRIC_##metric, offsetof(GrownTaskstats, grown), offsetof(Taskstats15, of_15), scale },
static const struct {
        MetricId metric;
        size_t at, at_15;
        uint64_t scale;
} layout_rows[] = { LAYOUT_METRICS(LAYOUT_ROW) };
#undef LAYOUT_ROW

/* Where each member is that is no metric, and how many bytes. */
#define MEMBER_ROW(member, field)                                                      \
        {                                                                              \
                member, offsetof(GrownTaskstats, field), offsetof(Taskstats15, field), \
                        sizeof(((GrownTaskstats *) 0)->field)                          \
        }
static const struct {
        TaskstatsMember member;
        size_t at, at_15, n_bytes;
} member_rows[] = {
        MEMBER_ROW(TASKSTATS_UID, ac_uid),
        MEMBER_ROW(TASKSTATS_GID, ac_gid),
        MEMBER_ROW(TASKSTATS_TID, ac_pid),
        MEMBER_ROW(TASKSTATS_PPID, ac_ppid),
        MEMBER_ROW(TASKSTATS_AGE_US, ac_etime),
        MEMBER_ROW(TASKSTATS_EXE_DEV, ac_exe_dev),
        MEMBER_ROW(TASKSTATS_EXE_INODE, ac_exe_inode),
        MEMBER_ROW(TASKSTATS_CPU_COUNT, cpu.count),
        MEMBER_ROW(TASKSTATS_CPU_RUN_VIRTUAL_NS, cpu_run_virtual_total),
        MEMBER_ROW(TASKSTATS_HIWATER_VM_KIB, hiwater_vm),
        MEMBER_ROW(TASKSTATS_IRQ_COUNT, irq.count),
        MEMBER_ROW(TASKSTATS_TGID, ac_tgid),
};
#undef MEMBER_ROW
