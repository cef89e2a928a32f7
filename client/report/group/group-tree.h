/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupTree
 *
 * Groups by cgroup, process and thread as a tree: each cgroup once with its processes below it,
 * each process with its threads below it. Branches come in the order of their first group, so that
 * the groups that moved most still come first. All groups are kept until the end; the limit of the
 * view bounds them.
 */

#include <json-c/json.h>
#include <stddef.h>
#include "base/macro.h"
#include "report/group/group-table.h"

typedef struct GroupTree {
        json_object **groups; /* owned, each of them too */
        size_t n;
        size_t n_allocated;
} GroupTree;

_must_check_ int group_tree_add(GroupTree *tree, json_object *group);
/* Adds all groups to the table. 0 or -ENOMEM. */
_must_check_ int group_tree_print(const GroupTree *tree, GroupTable *table);
void group_tree_done(GroupTree *tree);
