/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sections
 *
 * The sections of show and compare that have tables of their own, about cgroups, processes and the
 * host, in the order of display. A list of sections may name these and the sections of the metrics
 * (metric.h). Messages, completions, the interface and the manual page follow from both lists.
 */

#include <stdbool.h>
#include "metric/host-part.h"
#include "metric/source-list.h"

typedef enum SectionAbout {
        SECTION_ABOUT_PROCESSES,
        SECTION_ABOUT_CGROUPS, /* only where groups have a cgroup */
        SECTION_ABOUT_HOST,
        SECTION_ABOUT_HOST_PART, /* a part of metric/host-part.h: totals, some by CPU, disk, ... */
} SectionAbout;

/*
 * The properties of the rows of a section, and the words for them. All pointers are to static data.
 */
typedef struct SectionForm {
        bool is_of_states; /* of which two intervals have one at each end */
        SourceId source;
        const char *item;       /* the member that names what a row is about; NULL: the host */
        const char *one, *many; /* words for these */
        const char *key;        /* the member of the value's name, and the header over names */
        const char *value;      /* the member of the only value; NULL: there are several */
        const char *not_there, *no_value;
} SectionForm;

// clang-format off
/*
 *        id             name             what it is about, what it holds
 *        whether its rows are STATES, or COUNTS since the boot, which say nothing of two intervals;
 *        its source
 *        what a row is about (NULL: the host), one and many of them; for rows of one value the
 *        members of its name and of the value
 *        why a value is absent: nothing is there that a row could be about; it has no such value */
#define SECTIONS(S)                                                                                \
        S(SMAPS_ROLLUP,  "smaps-rollup",  PROCESSES,                                               \
          "memory maps of processes, added up over the processes of one name",                     \
          STATES, SMAPS_ROLLUP, "process", "process", "processes", "key", "value",                 \
          "no process of this name has readable memory maps", "this kernel has no such line")      \
        S(CGROUP_STATS,  "cgroup-stats",  CGROUPS,                                                 \
          "CPU time, throttling and memory of cgroups", COUNTS, CGROUP_STATS,                      \
          "cgroup", "cgroup", "cgroups", "counter", NULL,                                          \
          "there is no such cgroup", "this cgroup has no such file")                               \
        S(CGROUP_LIMITS, "cgroup-limits", CGROUPS,                                                 \
          "limits and weights of cgroups, where any is set", STATES, CGROUP_STATS,                 \
          "cgroup", "cgroup", "cgroups", "limit", NULL,                                            \
          "there is no such cgroup", "this cgroup has no such file")                               \
        S(MEMORY_STAT,   "memory-stat",   CGROUPS,                                                 \
          "the file memory.stat of cgroups", COUNTS, CGROUP_STATS,                                 \
          "cgroup", "cgroup", "cgroups", "key", "value",                                           \
          "there is no such cgroup", "this cgroup has no such line")                               \
        S(MEMORY_EVENTS, "memory-events", CGROUPS,                                                 \
          "the file memory.events of cgroups", COUNTS, CGROUP_STATS,                               \
          "cgroup", "cgroup", "cgroups", "event", "count",                                         \
          "there is no such cgroup", "this cgroup has no such line")                               \
        S(PRESSURE,      "pressure",      CGROUPS,                                                 \
          "how long tasks of a cgroup stalled because CPU, memory or I/O was short",               \
          COUNTS, CGROUP_PRESSURE, "cgroup", "cgroup", "cgroups", NULL, NULL,                      \
          "there is no such cgroup", "this cgroup has no such file")                               \
        S(HOST_PRESSURE, "host-pressure", HOST,                                                    \
          "how long tasks of the host stalled because CPU, memory or I/O was short",               \
          COUNTS, HOST_PRESSURE, NULL, "row", "rows", NULL, NULL,                                  \
          "this kernel keeps no pressure", "this kernel has no such file")                         \
        HOST_PARTS(SECTION_OF_PART, S)                                                             \
        S(SCHED_EXT,     "sched-ext",     HOST,                                                    \
          "the extensible scheduler class and the BPF scheduler that it runs", COUNTS, SCHED_EXT,  \
          NULL, "row", "rows", "attr", "value", "this kernel has no sched_ext",                    \
          "this kernel has no such file, or there is no scheduler")

#define SECTION_OF_PART(id, name, item, one, many, not_there, columns, n, ranks, n_ranks, text, S) \
        S(HOST_##id, "host-" name, HOST_PART, text, COUNTS, HOST_##id, item, one, many, "key",     \
          "value", not_there, "this kernel does not tell it")

/*
 * The values of the sections whose rows have several: where the rows and the documents have them,
 * and how rows for programs call them. Only the daemon expands the last two columns, as what it
 * reads a value and by which rule those become one that land on one key (count-map.h).
 *        id           object    member            name              unit     read as  of one key */
#define SECTION_STATS(F)                                                                           \
        F(USAGE,       "cpu",    "usage_usec",     "cpu_usage_usec", US,      COUNT,   SUM)        \
        F(NR_THROTTLED, "cpu",   "nr_throttled",   "nr_throttled",   COUNT,   COUNT,   SUM)        \
        F(THROTTLED,   "cpu",    "throttled_usec", "throttled_usec", US,      COUNT,   SUM)        \
        F(MEMORY,      "memory", "current",        "memory_current", BYTES,   COUNT,   PEAK)

/* CPUS is the quota over the period, and in no document. */
#define SECTION_LIMITS(F)                                                                          \
        F(QUOTA,       "cpu",    "max_quota_us",   "cpu.max.quota",  US,      LIMIT,   LARGEST)    \
        F(PERIOD,      "cpu",    "max_period_us",  "cpu.max.period", US,      COUNT,   PEAK)       \
        F(CPUS,        "cpu",    "cpus",           "cpu.max.cpus",   CPUS,    COUNT,   LARGEST)    \
        F(WEIGHT,      "cpu",    "weight",         "cpu.weight",     NONE,    COUNT,   LARGEST)    \
        F(NICE,        "cpu",    "weight_nice",    "cpu.weight.nice", NONE,   SIGNED,  LARGEST)    \
        F(MEMORY_MAX,  "memory", "max",            "memory.max",     BYTES,   LIMIT,   LARGEST)    \
        F(MEMORY_HIGH, "memory", "high",           "memory.high",    BYTES,   LIMIT,   LARGEST)    \
        F(MEMORY_LOW,  "memory", "low",            "memory.low",     BYTES,   LIMIT,   SMALLEST)   \
        F(MEMORY_MIN,  "memory", "min",            "memory.min",     BYTES,   LIMIT,   SMALLEST)   \
        F(PIDS,        "pids",   "current",        "pids.current",   COUNT,   COUNT,   SUM)        \
        F(PIDS_MAX,    "pids",   "max",            "pids.max",       COUNT,   LIMIT,   LARGEST)

/* Averages are hundredths of a percent and may pass 100 %. */
#define SECTION_PRESSURES(F)                                                                       \
        F(AVG10,       NULL,     "avg10",          "avg10",          PERCENT, COUNT,   PEAK)       \
        F(AVG60,       NULL,     "avg60",          "avg60",          PERCENT, COUNT,   PEAK)       \
        F(AVG300,      NULL,     "avg300",         "avg300",         PERCENT, COUNT,   PEAK)       \
        F(TOTAL,       NULL,     "total_usec",     "total",          US,      COUNT,   SUM)
// clang-format on

#define SECTION_ID(id, ...) SECTION_##id,
typedef enum SectionId { SECTIONS(SECTION_ID) _SECTION_MAX } SectionId;
