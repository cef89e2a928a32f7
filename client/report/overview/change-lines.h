/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ChangeLines
 *
 * Lines tell what somebody set anew between two snapshots: limits of cgroups, then settings of
 * whole groups, then differences of the hosts, of which two hosts can have a lot. A setting that
 * every CPU has mostly changes on all of them at once: keys that differ only in their number and
 * changed in the same way are one, as in "cpufreq_governor.0-127: powersave → performance".
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/macro.h"
#include "render/lines.h"

/*
 * Prints one line with as many as a terminal has room for, and the number of the others, or with
 * @all a line for each; a pipe has them all in one. @reply has changes and hostChanges. 0 or
 * -ENOMEM.
 */
_must_check_ int change_lines_print(const Lines *lines, json_object *reply, bool all);
