/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sections
 *
 * The sections of show and compare that have tables of their own, about cgroups, processes and the
 * host, in the order of display. A list of sections may name these and the sections of the metrics
 * (metric.h). Messages, completions, the interface and the manual page follow from both lists.
 */

// clang-format off
/*        id             name             only where groups have a cgroup, what it holds */
#define SECTIONS(S)                                                                                \
        S(SMAPS_ROLLUP,  "smaps-rollup",  false,                                                   \
          "memory maps of processes, added up over the processes of one name")                     \
        S(CGROUP_STATS,  "cgroup-stats",  true,                                                    \
          "CPU time, throttling and memory of cgroups")                                            \
        S(CGROUP_LIMITS, "cgroup-limits", true,                                                    \
          "limits and weights of cgroups, where any is set")                                       \
        S(MEMORY_STAT,   "memory-stat",   true,                                                    \
          "the file memory.stat of cgroups")                                                       \
        S(MEMORY_EVENTS, "memory-events", true,                                                    \
          "the file memory.events of cgroups")                                                     \
        S(PRESSURE,      "pressure",      true,                                                    \
          "how long tasks of a cgroup stalled because CPU, memory or I/O was short")               \
        S(HOST_PRESSURE, "host-pressure", false,                                                   \
          "how long tasks of the host stalled because CPU, memory or I/O was short")               \
        S(HOST_CPU,      "host-cpu",      false,                                                   \
          "what the CPUs did, each and together, context switches, new processes and load")        \
        S(HOST_MEMORY,   "host-memory",   false,                                                   \
          "the memory of the host, and how it was paged, reclaimed and swapped")                   \
        S(HOST_DISK,     "host-disk",     false,                                                   \
          "requests, bytes and times of the disks, each and together")                             \
        S(HOST_NETWORK,  "host-network",  false,                                                   \
          "bytes, packets and losses of the network interfaces, and of TCP and UDP")               \
        S(SCHED_EXT,     "sched-ext",     false,                                                   \
          "the extensible scheduler class and the BPF scheduler that it runs")
// clang-format on

#define SECTION_ID(id, ...) SECTION_##id,
typedef enum SectionId { SECTIONS(SECTION_ID) _SECTION_MAX } SectionId;
