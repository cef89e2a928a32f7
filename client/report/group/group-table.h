/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupTable
 *
 * Groups as rows, one per metric, each with its group's label, so that a line found by grep says it
 * all. The columns are the user's or the default ones of one or of two snapshots.
 */

#include <json-c/json.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "render/table.h"
#include "report/group/group-columns.h"
#include "session/session.h"

typedef struct GroupTable GroupTable;

/* @columns is copied, all else borrowed. */
_must_check_ int group_table_new(const Session *session, const GroupColumns *columns,
                                 GroupTable **ret);
GroupTable *group_table_free(GroupTable *table);
DEFINE_CLEANUP(GroupTable *, group_table_free);

/* One Group of the interface. */
_must_check_ int group_table_add(GroupTable *table, json_object *group);
/* A part of a key above the groups that share it, in a line of its own; NULL is not known. */
_must_check_ int group_table_add_heading(GroupTable *table, const char *before, json_object *part);

/* What stands before the thread's name in the first and in the further rows of a group. */
typedef struct GroupBranch {
        const char *first, *next;
} GroupBranch;

/* As group_table_add(), but called by its thread alone. */
_must_check_ int group_table_add_branch(GroupTable *table, json_object *group,
                                        const GroupBranch *branch);
bool group_table_is_empty(const GroupTable *table);
_must_check_ int group_table_end(GroupTable *table);
/* As table_omitted(). */
void group_table_omitted(const GroupTable *table, Buffer *names);

/*
 * What a group is called: its key, for a thread its names and tid; printable, appended to @label.
 */
_must_check_ int group_label_append(Buffer *label, json_object *group);
