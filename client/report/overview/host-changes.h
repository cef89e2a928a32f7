/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostChanges
 *
 * One line for each difference between the hosts of two snapshots. A setting that every CPU has
 * mostly changes on all of them at once: keys that differ only in their number and changed in the
 * same way share a line, "cpufreq_governor.0-127: powersave → performance".
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "render/lines.h"

/* @changes: hostChanges of a reply. 0 or -ENOMEM. */
_must_check_ int host_changes_print(const Lines *lines, json_object *changes);
