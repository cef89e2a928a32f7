/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/legend.h"

#include "base/macro.h"
#include "metric/metric.h"
#include "view/section-list.h"

#define METRIC_SECTION_TERM(id, name, shown, text) { name, text },
#define TABLE_SECTION_TERM(id, name, needs_cgroups, text) { name, text },
static const LegendTerm sections[] = { METRIC_SECTIONS(METRIC_SECTION_TERM)
                                               SECTIONS(TABLE_SECTION_TERM) };

static const LegendTerm rules[] = {
        { "SumCount", "events, added up over the threads" },
        { "SumNs", "nanoseconds, added up" },
        { "SumBytes", "bytes, added up" },
        { "SumTicks", "clock ticks, added up" },
        { "MaxPeak", "the longest of any thread" },
        { "MaxPeakBytes", "the largest high-water mark of any thread" },
        { "MinFloor", "the shortest of any thread that had the event at all" },
        { "MaxGaugeCount", "the largest present value" },
        { "MaxGaugeNs", "the longest present value" },
        { "RangeI32", "least to greatest" },
        { "RangeU32", "least to greatest" },
        { "Mode", "the most frequent word and how many threads have it" },
        { "ModeChar", "the most frequent letter and how many threads have it" },
        { "ModeBool", "the value that most threads have, and how many have it" },
        { "Affinity", "how many CPUs the threads may use, and which when all agree" },
};

static const LegendTerm classes[] = {
        { "-", "threads of every scheduling class" },
        { "cfs-only", "counted by the fair class alone: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE" },
        { "non-ext", "not counted for threads that sched_ext runs" },
        { "fair-policy", "meaningful only under the fair policies" },
};

static const LegendTerm gates[] = {
        { "CONFIG_SCHED_INFO", "built into every distribution's kernel" },
        { "CONFIG_SCHEDSTATS", "and switched on: sysctl kernel.sched_schedstats=1" },
        { "CONFIG_SCHED_CORE", "core scheduling" },
        { "CONFIG_SCHED_CLASS_EXT", "schedulers written as BPF programs, since Linux 6.12" },
        { "CONFIG_TASKSTATS", "and CAP_NET_ADMIN for the process that asks" },
        { "CONFIG_TASK_DELAY_ACCT", "and switched on: sysctl kernel.task_delayacct=1" },
        { "CONFIG_TASK_IO_ACCOUNTING", "bytes read and written, /proc/PID/io" },
        { "CONFIG_TASK_XACCT", "extended accounting of memory" },
};

const LegendList legend_lists[_LEGEND_MAX] = {
        [LEGEND_SECTIONS] = { "sections", "sections", sections, ELEMENTSOF(sections) },
        [LEGEND_RULES] = { "rules", "rules: how the values of threads become one value of a group",
                           rules, ELEMENTSOF(rules) },
        [LEGEND_CLASSES] = { "classes", "classes: the threads that have a metric", classes,
                             ELEMENTSOF(classes) },
        [LEGEND_GATES] = { "gates", "gates: what the kernel must be built with", gates,
                           ELEMENTSOF(gates) },
};
