/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cgroup keys
 *
 * Turns the path of a cgroup into a key: the glob of the view that matches it, otherwise its
 * skeleton. Both are pure functions of the path. A skeleton becomes a key only if the census finds
 * two distinct paths behind it; a glob is always used.
 *
 * A skeleton of a path is the skeleton of each component (pattern.h). The instance of a service,
 * "name@instance.service", becomes {I} unless it contains '.', '_' or '-', which suggest that it
 * has a structure of its own.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "view/view.h"

/* Finds the first of @globs that matches @path; false when none does. */
bool cgroup_flatten(const ViewTexts *globs, Span path, Span *ret);
/* Appends the skeleton of @path. 0, or the failure that sticks to @buffer. */
int cgroup_append_skeleton(Buffer *buffer, Span path);
