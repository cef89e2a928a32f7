/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Names of a group
 *
 * Splits the key of a group into the names it is made of. The axis alone decides which names there
 * are.
 */

#include <stdbool.h>
#include "base/span.h"
#include "analysis/group/group.h"
#include "view/view.h"
#include "json/json-writer.h"

/* Borrowed from the group; bytes are NULL where the axis has no such name. */
typedef struct GroupNames {
        Span cgroup, process, thread;
} GroupNames;

GroupNames group_names(const Group *group, ViewAxis axis);
/* The view's filter matches the whole key or one of its names. */
bool group_passes(const Group *group, const View *view);
/*
 * Writes the members that identify the group into an open object: its key, its names and the
 * members of a pattern.
 */
void group_write_key(JsonWriter *writer, const Group *group, ViewAxis axis);
