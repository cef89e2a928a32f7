/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostLines
 *
 * One or two lines tell what the whole host did in an interval: how much CPU time it used and how
 * much of that the groups account for, how many threads waited, and what else was not idle. Two
 * intervals have "FROM → TO" in them. A figure that no source read is left out.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "render/lines.h"

typedef struct HostSide {
        json_object *host, *coverage; /* of the interface; NULL: nothing is known */
        uint64_t elapsed_ns;          /* 0: not known */
} HostSide;

/* True if groups account for so much of the CPU time used that the rest needs no words. */
bool host_lines_cover_all(json_object *coverage);
/* Prints the lines of 1 or 2 sides. 0 or -ENOMEM. */
_must_check_ int host_lines_print(const Lines *lines, const HostSide sides[], size_t n_sides);
