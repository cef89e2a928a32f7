/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupRoot
 *
 * Paths of cgroups as trees: what two of them have before their common tail, and what is below
 * what. Components are never cut in two.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

/*
 * The paths without the components that both end in; the whole paths when nothing would be left of
 * one.
 */
void cgroup_roots(Span before, Span after, Span *ret_before, Span *ret_after);
/* What @path has behind @root, "" for the root itself; false when it is not at or below it. */
bool cgroup_is_below(Span path, Span root, Span *ret_rest);
/* What is @rest below another root, below @root. */
_must_check_ int cgroup_append_moved(Buffer *name, Span root, Span rest);
