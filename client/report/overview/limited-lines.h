/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LimitedLines
 *
 * The cgroups that a limit held back inside an interval, heaviest first, and processes that the
 * host killed because its memory ended.
 */

#include <json-c/json.h>
#include <stddef.h>
#include "base/macro.h"
#include "render/lines.h"

/*
 * @limited: an array of the interface. A terminal has it as one text of at most @max_lines lines,
 * with the ends of long names, and the number of entries that have no room; a pipe has a line for
 * each of the first three cgroups. @max_lines 0: each entry is a line of its own. 0 or -ENOMEM.
 */
_must_check_ int limited_lines_print(const Lines *lines, const char *label, json_object *limited,
                                     size_t max_lines);
