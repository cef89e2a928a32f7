/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupLabel
 *
 * What a group of threads is called in lines and tables.
 */

#include <json-c/json.h>
#include "base/buffer.h"

/* Appends the label of a group, printable: its key, or the names and tid of a thread. */
void group_label_append(Buffer *label, json_object *group);
