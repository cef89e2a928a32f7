/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupRoot
 *
 * Paths of cgroups as trees: the part of two paths before their common tail, and whether one path
 * is below another. Components are never split.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

/*
 * The paths without the trailing components that both share; the whole paths if nothing would be
 * left of one.
 */
void cgroup_roots(Span before, Span after, Span *ret_before, Span *ret_after);
/*
 * The rest of @path after @root, "" for the root itself; false when @path is not at or below @root.
 */
bool cgroup_is_below(Span path, Span root, Span *ret_rest);
/* Appends the path that has @rest below @root. */
_must_check_ int cgroup_append_moved(Buffer *name, Span root, Span rest);
