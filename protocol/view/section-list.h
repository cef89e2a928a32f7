/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sections
 *
 * The sections of show and compare that have tables of their own, about cgroups, processes and the
 * host, in the order of display. A list of sections may name these and the sections of the metrics
 * (metric.h). Messages, completions, the interface and the manual page follow from both lists.
 */

typedef enum SectionAbout {
        SECTION_ABOUT_PROCESSES,
        SECTION_ABOUT_CGROUPS, /* only where groups have a cgroup */
        SECTION_ABOUT_HOST,
        SECTION_ABOUT_HOST_PART, /* a part of metric/host-part.h: totals, some by CPU, disk, ... */
} SectionAbout;

// clang-format off
/*        id             name             what it is about, what it holds */
#define SECTIONS(S)                                                                                \
        S(SMAPS_ROLLUP,  "smaps-rollup",  PROCESSES,                                               \
          "memory maps of processes, added up over the processes of one name")                     \
        S(CGROUP_STATS,  "cgroup-stats",  CGROUPS,                                                 \
          "CPU time, throttling and memory of cgroups")                                            \
        S(CGROUP_LIMITS, "cgroup-limits", CGROUPS,                                                 \
          "limits and weights of cgroups, where any is set")                                       \
        S(MEMORY_STAT,   "memory-stat",   CGROUPS,                                                 \
          "the file memory.stat of cgroups")                                                       \
        S(MEMORY_EVENTS, "memory-events", CGROUPS,                                                 \
          "the file memory.events of cgroups")                                                     \
        S(PRESSURE,      "pressure",      CGROUPS,                                                 \
          "how long tasks of a cgroup stalled because CPU, memory or I/O was short")               \
        S(HOST_PRESSURE, "host-pressure", HOST,                                                    \
          "how long tasks of the host stalled because CPU, memory or I/O was short")               \
        S(HOST_CPU,      "host-cpu",      HOST_PART,                                               \
          "what the CPUs did, each and together, context switches, new threads and load")        \
        S(HOST_MEMORY,   "host-memory",   HOST_PART,                                               \
          "the memory of the host, and how it was paged, reclaimed and swapped")                   \
        S(HOST_DISK,     "host-disk",     HOST_PART,                                               \
          "requests, bytes and times of the disks, each and together")                             \
        S(HOST_NETWORK,  "host-network",  HOST_PART,                                               \
          "bytes, packets and losses of the network interfaces, and of TCP and UDP")               \
        S(SCHED_EXT,     "sched-ext",     HOST,                                                    \
          "the extensible scheduler class and the BPF scheduler that it runs")
// clang-format on

#define SECTION_ID(id, ...) SECTION_##id,
typedef enum SectionId { SECTIONS(SECTION_ID) _SECTION_MAX } SectionId;
