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
          "memory of processes; with the axes cgroup and all, too, by process")                    \
        S(CGROUP_STATS,  "cgroup-stats",  true,                                                    \
          "CPU time, throttling and memory of cgroups; with the axes cgroup and all")              \
        S(CGROUP_LIMITS, "cgroup-limits", true,                                                    \
          "limits and weights of cgroups, where any is set; with the same axes")                   \
        S(MEMORY_STAT,   "memory-stat",   true,                                                    \
          "memory.stat of cgroups; with the same axes")                                            \
        S(MEMORY_EVENTS, "memory-events", true,                                                    \
          "memory.events of cgroups; with the same axes")                                          \
        S(PRESSURE,      "pressure",      true,                                                    \
          "stalls of cgroups for want of CPU, memory, I/O; with the same axes")                    \
        S(HOST_PRESSURE, "host-pressure", false,                                                   \
          "the same of the whole host")                                                            \
        S(SCHED_EXT,     "sched-ext",     false,                                                   \
          "the scheduler that BPF programs make, where the kernel can have one")
// clang-format on

#define SECTION_ID(id, ...) SECTION_##id,
typedef enum SectionId { SECTIONS(SECTION_ID) _SECTION_MAX } SectionId;
