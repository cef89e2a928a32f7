/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cgroup keys
 *
 * What a cgroup's path becomes before it is a key: the glob of the view that matches it, or else
 * its skeleton. Both are pure functions of the path; a skeleton becomes a key only when the census
 * finds two distinct paths behind it, while a glob is final.
 *
 * A skeleton is that of a name (pattern.h) in each component; and the instance of a service,
 * "name@instance.service", becomes {I} when it says nothing of a structure, which '.', '_' and '-'
 * in it would.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "view/view.h"

/* The first of @globs that matches @path; false when none does. */
bool cgroup_flatten(const ViewTexts *globs, Span path, Span *ret);
/* Appends the skeleton of @path. */
_must_check_ int cgroup_append_skeleton(Buffer *buffer, Span path);
