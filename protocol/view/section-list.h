/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sections
 *
 * The sections of show and compare that are no rows of the groups: tables of cgroups, of processes
 * and of the host, in the order of display. Together with those of the metrics (metric.h) they are
 * what a list of sections may name.
 */

// clang-format off
/*        id             name             only where groups have a cgroup */
#define SECTIONS(S)                                                                                \
        S(SMAPS_ROLLUP,  "smaps-rollup",  false)                                                   \
        S(CGROUP_STATS,  "cgroup-stats",  true)                                                    \
        S(CGROUP_LIMITS, "cgroup-limits", true)                                                    \
        S(MEMORY_STAT,   "memory-stat",   true)                                                    \
        S(MEMORY_EVENTS, "memory-events", true)                                                    \
        S(PRESSURE,      "pressure",      true)                                                    \
        S(HOST_PRESSURE, "host-pressure", false)                                                   \
        S(SCHED_EXT,     "sched-ext",     false)
// clang-format on

#define SECTION_ID(id, ...) SECTION_##id,
typedef enum SectionId { SECTIONS(SECTION_ID) _SECTION_MAX } SectionId;
