/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupTable
 *
 * Groups as rows, one per metric, each with the label of its group, so that a line that grep found
 * can be read alone. The columns are the user's, or the default ones of the report. The first
 * failure sticks, and group_table_end() returns it.
 *
 * Groups by cgroup, process and thread are a tree: each cgroup once with its processes below it,
 * each process with its threads below it. Branches come in the order of their first group, so that
 * the groups that moved most still come first. All groups are kept until the end then; the limit of
 * the view bounds them.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/buffer.h"
#include "render/table.h"
#include "report/group/group-columns.h"
#include "session/session.h"

typedef struct GroupTable {
        ReportKind kind;
        GroupColumns columns;
        TableColumn table_columns[_GROUP_COLUMN_MAX];
        Table *table;
        bool raw;
        uint32_t user_hz;
        Buffer label;      /* of the group whose rows are added */
        Buffer next_label; /* of its rows behind the first one, if that differs */
        Buffer threads;
        json_object *uptime; /* of that group; borrowed, may be NULL */

        /* of a tree */
        bool is_tree;
        json_object **groups; /* owned, each of them too */
        size_t n_groups, n_allocated;
} GroupTable;

/* @columns is copied, @session and @out are borrowed. */
_must_check_ int group_table_new(const Session *session, const GroupColumns *columns,
                                 ReportKind kind, uint32_t user_hz, FILE *out, GroupTable **ret);
GroupTable *group_table_free(GroupTable *table);
DEFINE_CLEANUP(GroupTable *, group_table_free);

/* @group is a Group or SetGroup of the interface. 0 or -ENOMEM. */
_must_check_ int group_table_add(GroupTable *table, json_object *group);
/*
 * Prints the rest, or nothing if there is no row, and then *ret_empty is true. 0, -ENOMEM, or the
 * first failed write.
 */
_must_check_ int group_table_end(GroupTable *table, bool *ret_empty);
