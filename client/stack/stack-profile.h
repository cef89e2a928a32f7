/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackProfile
 *
 * Stacks for other programs: folded lines, as flame graph scripts read them, and a profile for
 * speedscope. Both are in microseconds; what is less than half of one is left out.
 */

#include <json-c/json.h>
#include <stdio.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "render/json-out.h"
#include "stack/stack-store.h"

/*
 * Appends "process;frame;...;frame;[place] MICROSECONDS" and a newline. A semicolon in a name
 * becomes a comma. For two recordings, there are two numbers, and the first one is scaled to the
 * length of the second recording. @has_errors: the standard error of each number stands behind it.
 * Returns 0 or the failure of @line.
 */
int stack_append_folded(Buffer *line, const StackStore *store, const StoredStack *row,
                        bool has_errors);
/*
 * Writes the whole profile: https://www.speedscope.app/file-format-schema.json, a sampled profile
 * for each process. Sorts the store. @title: the name of the recording, may be NULL. 0 or -errno.
 */
_must_check_ int stack_write_speedscope(JsonOut *out, StackStore *store, json_object *title);
