/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionChoice
 *
 * Decides which rows of a section a view wants. If the view's limit is too low for all cgroups,
 * only the rows of the cgroups that moved most are kept, as is done for groups of threads. If it is
 * too low for all processes, the first processes are kept. Rows keep their order.
 */

#include "analysis/section/section-row.h"

/*
 * True when the view wants one of the row's values: of two sides, it moved (by more than the
 * threshold); of one side, it is not 0. A row of cgroup-stats or cgroup-limits of one side is
 * wanted whenever it has a value, and of sched_ext always.
 */
bool section_row_is_wanted(const Sections *sections, SectionId id, const SectionRow *row);

/*
 * Leaves out the processes that the view's filter does not match, and fills in sections->cut and
 * n_cut, once everything is in its order. 0 or -ENOMEM.
 */
_must_check_ int sections_choose(Sections *sections);
