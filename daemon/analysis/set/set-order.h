/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetOrder
 *
 * The order of display of two compared sets: groups that have significant rows come first, then the
 * others of which both sets have samples, then those of one set alone; and likewise in each group
 * its significant rows before the rest. Among their like, groups and rows come as the view wants
 * them (order.h), by the medians; where there are significant rows only those count.
 */

#include <stddef.h>
#include "base/macro.h"
#include "analysis/set/set-family.h"
#include "analysis/set/set-group.h"

/* 0 or -ENOMEM. */
_must_check_ int set_order_groups(const SetFamily *family, SetGroup **groups, size_t n_groups);
/* The slots of the rows that are shown, metrics before derived values; how many. */
size_t set_order_rows(const SetFamily *family, const SetGroup *group, size_t ret_slots[ROW_MAX]);
