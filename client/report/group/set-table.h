/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetTable
 *
 * Groups of two sets as rows, one per metric: the medians of both, what lies between them, and how
 * surely it is not chance.
 */

#include <json-c/json.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "session/session.h"

typedef struct SetTable SetTable;

_must_check_ int set_table_new(const Session *session, SetTable **ret);
SetTable *set_table_free(SetTable *table);
DEFINE_CLEANUP(SetTable *, set_table_free);

/* One SetGroup of the interface. */
_must_check_ int set_table_add(SetTable *table, json_object *group);
bool set_table_is_empty(const SetTable *table);
_must_check_ int set_table_end(SetTable *table);
/* As table_omitted(). */
void set_table_omitted(const SetTable *table, Buffer *names);
