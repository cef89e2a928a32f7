/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupTable
 *
 * Groups as rows, one per metric, each with the label of its group, so that a line that grep found
 * can be read alone. The columns are the user's, or the default ones of the report. The first
 * failure sticks, and group_table_end() returns it.
 */

#include <json-c/json.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "render/table.h"
#include "report/group/group-columns.h"
#include "session/session.h"

typedef struct GroupTable GroupTable;

/* @columns is copied, @session borrowed. */
_must_check_ int group_table_new(const Session *session, const GroupColumns *columns,
                                 ReportKind kind, uint32_t user_hz, GroupTable **ret);
GroupTable *group_table_free(GroupTable *table);
DEFINE_CLEANUP(GroupTable *, group_table_free);

/* A Group or SetGroup of the interface. */
void group_table_add(GroupTable *table, json_object *group);
/* A line with one part of the key of the groups below it; @part NULL is unknown. */
void group_table_add_heading(GroupTable *table, const char *before, json_object *part);

/* What stands before the thread's name in the first row of a group, and in its other rows. */
typedef struct GroupBranch {
        const char *first, *next;
} GroupBranch;

/* As group_table_add(), with the name of the thread alone as the label. */
void group_table_add_branch(GroupTable *table, json_object *group, const GroupBranch *branch);

bool group_table_is_empty(const GroupTable *table);
/* Prints the rest. 0, -ENOMEM, or the first failed write. */
_must_check_ int group_table_end(GroupTable *table);
/* As table_omitted(). */
void group_table_omitted(const GroupTable *table, Buffer *names);
