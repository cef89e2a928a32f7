/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupTree
 *
 * Groups of cgroup, process and thread on their way into a table: each cgroup once with its
 * processes below it, each of those with its threads. Branches come in the order of their first
 * group, so what moved most still leads. All groups are kept until the end, which the view's limit
 * bounds.
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
_must_check_ int group_tree_print(const GroupTree *tree, GroupTable *table);
void group_tree_done(GroupTree *tree);
