/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Names of a group
 *
 * The parts of a group's key by what they name. Which there are depends on the axis alone.
 */

#include <stdbool.h>
#include "base/span.h"
#include "analysis/group/group.h"
#include "view/view.h"
#include "json/json-writer.h"

/* Borrowed from the group; bytes are NULL where the axis has no such part. */
typedef struct GroupNames {
        Span cgroup, process, thread;
} GroupNames;

GroupNames group_names(const Group *group, ViewAxis axis);
/* The view's filter lets the group through: it matches the key, or one of the parts of the key. */
bool group_passes(const Group *group, const View *view);
/* The members of an open object that say which group it is: its key, the parts of it, its names. */
void group_write_key(JsonWriter *writer, const Group *group, ViewAxis axis);
