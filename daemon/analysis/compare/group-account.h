/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupAccount
 *
 * The accounts of a group, one of each column, and its weight (analysis/account).
 */

#include <stdbool.h>
#include "analysis/account/account.h"
#include "analysis/account/weight.h"
#include "analysis/group/group.h"
#include "view/view-sort.h"

/*
 * The account of @group in @column; false if there is none, because it has no thread there. A group
 * whose threads all ended in an interval has one that says nothing but how many.
 */
bool group_account(const Group *group, unsigned column, Figures figures, Account *ret);
/*
 * The figure that a column of the overview has of @column, per second where it is a rate of one of
 * two intervals; of memory in an interval by how much it grew. 0 if the group has no part in it.
 * False if it is not known.
 */
bool group_figure(const Group *group, unsigned column, Figures figures, ViewColumn figure,
                  double *ret);
/* Sets the weights by which the group is ordered. */
void group_weigh(Group *group);
