/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/thread-family.h"

#include "base/macro.h"

// clang-format off
#define DELAYS(category)                                                                           \
        METRIC_##category##_delay_count, METRIC_##category##_delay_total_ns,                       \
        METRIC_##category##_delay_max_ns, METRIC_##category##_delay_min_ns
#define BLOCK_DELAYS                                                                               \
        DELAYS(blkio), DELAYS(swapin), DELAYS(freepages), DELAYS(thrashing), DELAYS(compact),      \
        DELAYS(wpcopy), DELAYS(irq)
#define XACCT METRIC_hiwater_rss_bytes, METRIC_hiwater_vm_bytes

const ThreadFamily thread_families[THREAD_FAMILIES] = {
#define FAMILY(key, ...)                                                                           \
        { key, { __VA_ARGS__ }, ELEMENTSOF(((const MetricId[]) { __VA_ARGS__ })) }
        FAMILY("taskstats_measured", DELAYS(cpu), BLOCK_DELAYS, XACCT),
        FAMILY("cpu_delay_active",   DELAYS(cpu)),
        FAMILY("delay_block_active", BLOCK_DELAYS),
        FAMILY("xacct_active",       XACCT),
        FAMILY("jemalloc_measured",  METRIC_allocated_bytes, METRIC_deallocated_bytes),
};
// clang-format on
