/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupLabel
 *
 * The name of a group of threads in lines and tables.
 */

#include <json-c/json.h>
#include "base/buffer.h"

/* Appends the label of a group, printable: its key, or the names and tid of a thread. */
void group_label_append(Buffer *label, json_object *group);
/*
 * Appends the same, and behind the name of a process the command that it was started as: what an
 * interpreter runs, or both of two commands, where the label then has no more than @n_columns, else
 * how many there are.
 */
void group_label_append_commands(Buffer *label, json_object *group, size_t n_columns);
