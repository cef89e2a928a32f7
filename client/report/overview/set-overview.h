/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetOverview
 *
 * The lines above the numbers of two sets of snapshots: what each set is, what came of the tests,
 * and how many captures it would take if nothing could come of them.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/macro.h"
#include "render/lines.h"

/*
 * "9 captures, base-1 to base-9, 2026-11-21 07:00:01 over 2min 9s, HOST, KERNEL". @heads: of the
 * snapshots of one set. 0 or -ENOMEM.
 */
_must_check_ int set_line_print(const Lines *lines, const char *label, json_object *heads);
/* Whether the captures of @reply, the first of CompareSets, are too few for any test. */
bool set_reply_is_untested(json_object *reply);
/* @reply: the first of CompareSets. */
void set_tests_print(const Lines *lines, json_object *reply);
