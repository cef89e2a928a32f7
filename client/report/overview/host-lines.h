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
#include <stddef.h>
#include "base/macro.h"
#include "render/lines.h"

typedef struct HostSide {
        json_object *host, *coverage; /* of the interface; NULL: nothing is known */
        double elapsed_ns;            /* NAN: not known */
} HostSide;

#define HOST_FULL_COVERAGE 95 /* percent: the rest needs no words */

/* Returns the share of the CPU time used that groups account for, in percent; NAN: unknown. */
double host_lines_coverage(json_object *coverage);
/* Prints the lines of 1 or 2 sides. 0 or -ENOMEM. */
_must_check_ int host_lines_print(const Lines *lines, const HostSide sides[], size_t n_sides);
