/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionChoice
 *
 * Which rows of a section the view wants, and of which cgroups when its limit cannot have all: of
 * those that moved most, as groups are chosen; the chosen ones keep their order.
 */

#include "analysis/section/sections.h"

/* Of one value: that it moved, by more than the threshold; of one side that it is not 0. */
bool sections_keep(const Sections *sections, const Reading sides[static SECTION_SIDES]);
/* A row of several: one of them is. */
bool sections_keep_some(const Sections *sections, const Reading (*sides)[SECTION_SIDES], size_t n);

/* The readings of @id in both records of @entry. */
void cgroup_field_sides(const CgroupEntry *entry, CgroupField id,
                        Reading ret_sides[static SECTION_SIDES]);
/* A row of cgroup-stats or cgroup-limits is wanted; with one side whenever it has a value. */
bool sections_keep_fields(const Sections *sections, const CgroupEntry *entry,
                          CgroupFieldSection section);

/* After all is in its order: fills in what is cut. 0 or -ENOMEM. */
_must_check_ int sections_choose(Sections *sections);
