/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionData
 *
 * Whether a section has anything to say. Every section has a rule of its own:
 *
 *     smaps-rollup                  as memory-stat
 *     cgroup-stats                  a cgroup
 *     cgroup-limits                 a cgroup with something set: cgroup_has_limits()
 *     memory-stat, memory-events    show: a number other than 0; compare: a key, on any side
 *     pressure, host-pressure       a number other than 0, on any side
 *     sched-ext                     show: it is there; compare: something in it differs
 */

#include "analysis/section/sections.h"

bool section_has_data(const Sections *sections, SectionId id);

/* @resource has a number other than 0 in some cgroup, or on the host, on some side. */
bool section_has_pressure(const Sections *sections, unsigned resource);
bool section_has_host_pressure(const Sections *sections, unsigned resource);
/*
 * A side has a number for a quota, weight, memory.max, memory.high, pids.current or pids.max, or a
 * protection (memory.low, memory.min) other than 0.
 */
bool cgroup_has_limits(const CgroupEntry *entry);
