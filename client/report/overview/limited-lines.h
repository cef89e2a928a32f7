/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LimitedLines
 *
 * The cgroups that a limit held back inside an interval, heaviest first, and processes that the
 * host killed because its memory ended.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/macro.h"
#include "render/lines.h"

/*
 * @limited: an array of the interface. What it says of one cgroup is one line, of three cgroups at
 * most; with @all each entry is a line. @label stands in front of each. 0 or -ENOMEM.
 */
_must_check_ int limited_lines_print(const Lines *lines, const char *label, json_object *limited,
                                     bool all);
