/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetTable
 *
 * What no test says anything about in two sets of captures, by weight: groups that only one side
 * has, and where the captures are too few for any test, all groups. Each is one line with the
 * medians of what its weight is made of.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "session/session.h"

typedef struct SetTable SetTable;

/* @session is borrowed; @reply: the first one of CompareSets. 0 or -ENOMEM. */
_must_check_ int set_table_new(const Session *session, json_object *reply, SetTable **ret);
SetTable *set_table_free(SetTable *table);
DEFINE_CLEANUP(SetTable *, set_table_free);

/* Keeps a SetGroup if it belongs into the table. 0 or -ENOMEM. */
_must_check_ int set_table_add(SetTable *table, json_object *group);
/* Whether it has all groups, because no test says anything of any. */
bool set_table_is_untested(const SetTable *table);
bool set_table_is_empty(const SetTable *table);
/* Prints a heading and the lines, if there are any. 0, -ENOMEM, or the first failed write. */
_must_check_ int set_table_print(SetTable *table);
/* As table_omitted(), after set_table_print(). */
void set_table_omitted(const SetTable *table, Buffer *names);
