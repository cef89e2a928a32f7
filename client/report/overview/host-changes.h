/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostChanges
 *
 * What differs between the hosts of two snapshots, a line each. What a host has of every CPU
 * mostly changes on all of them at once: members that differ in their number alone and changed
 * alike share a line, "cpufreq_governor.0-127: powersave → performance".
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "render/lines.h"

/* @changes: hostChanges of a reply. */
_must_check_ int host_changes_print(const Lines *lines, json_object *changes);
