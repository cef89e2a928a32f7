/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionChoice
 *
 * Decides how much of a section is shown. First it must have data at all, by a rule of its own:
 *
 *     smaps-rollup                  as memory-stat
 *     cgroup-stats                  a cgroup
 *     cgroup-limits                 a cgroup with something set: cgroup_has_limits()
 *     memory-stat, memory-events    show: a number other than 0; compare: a key, on any side
 *     pressure, host-pressure       a number other than 0, on any side
 *     host-cpu, host-memory, host-disk, host-network
 *                                   as memory-stat
 *     sched-ext                     show: it is there; compare: something in it differs
 *
 * Then the rows are chosen that the view wants and, where the view's limit is too low for all
 * cgroups, those of the cgroups that moved most, as with groups of threads. They keep their order.
 */

#include "analysis/section/section-model.h"

bool section_has_data(const Sections *sections, SectionId id);

/* @resource has a number other than 0 in some cgroup, or on the host, on some side. */
bool section_has_pressure(const Sections *sections, unsigned resource);
bool section_has_host_pressure(const Sections *sections, unsigned resource);
/*
 * A side has a number for a quota, weight, memory.max, memory.high, pids.current or pids.max, or a
 * protection (memory.low, memory.min) other than 0.
 */
bool cgroup_has_limits(const CgroupEntry *entry);

/*
 * The view wants a row with this value: of two sides, it moved (by more than the threshold); of one
 * side, it is not 0.
 */
bool sections_keep(const Sections *sections, const Reading sides[static SECTION_SIDES]);
/*
 * The same of a number under a key. A process or cgroup that only one side has, has many of them
 * that are 0: those say nothing.
 */
bool sections_keep_count(const Sections *sections, const Reading sides[static SECTION_SIDES]);
/* The view wants a row with these values: it wants one of them. */
bool sections_keep_some(const Sections *sections, const Reading (*sides)[SECTION_SIDES], size_t n);

/* The readings of @id in both records of @entry. */
void cgroup_field_sides(const CgroupEntry *entry, CgroupField id,
                        Reading ret_sides[static SECTION_SIDES]);
/* A row of cgroup-stats or cgroup-limits is wanted; with one side whenever it has a value. */
bool sections_keep_fields(const Sections *sections, const CgroupEntry *entry,
                          CgroupFieldSection section);

/* Fills in sections->cut and n_cut, once everything is in its order. 0 or -ENOMEM. */
_must_check_ int sections_choose(Sections *sections);
