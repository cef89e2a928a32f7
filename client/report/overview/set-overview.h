/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetHead
 *
 * The lines above the numbers of two sets: what each set is, and what came of the tests, with what
 * it would take where nothing could come of them.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "render/lines.h"

/* @reply: the first of CompareSets. 0 or -ENOMEM. */
_must_check_ int set_head_print(const Lines *lines, json_object *reply);
