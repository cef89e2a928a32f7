/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetOrder
 *
 * The display order of two compared sets: groups with significant rows first, then groups that both
 * sets have, then groups of one set alone; within each group, significant rows before the others.
 * By weight (set-family.h) groups of one set stand among those with significant rows, and where
 * there are none, among all. Within these classes groups and rows have the order of the view
 * (order.h), by their medians; in a group with significant rows only those count.
 */

#include <stddef.h>
#include "base/macro.h"
#include "analysis/set/set-family.h"
#include "analysis/set/set-group.h"

/* 0 or -ENOMEM. */
_must_check_ int set_order_groups(const SetFamily *family, SetGroup **groups, size_t n_groups);
/* Finds the slots of the shown rows, metrics before derived values; returns how many. */
size_t set_order_rows(const SetFamily *family, const SetGroup *group, size_t ret_slots[ROW_MAX]);
