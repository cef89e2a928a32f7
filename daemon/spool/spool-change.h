/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolChange
 *
 * How a job tells the main process what it did to the spool, so that its index stays in step.
 */

#include <stdbool.h>
#include "json/json-writer.h"
#include "spool/spool.h"

/*
 * Writes the members of an object for spool_index_follow(): what the functions of @spool changed
 * since it was opened. False, and nothing is written, when that was nothing, or when others changed
 * the directory in between.
 */
bool spool_change_write(Spool *spool, JsonWriter *writer);
