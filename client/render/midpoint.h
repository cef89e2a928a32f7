/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Midpoint
 *
 * The middle of two integers of a reply as a number of text: exact whatever their size, with ".5"
 * where it lies between two integers. Deltas of ranges are differences of these.
 */

#include <json-c/json.h>
#include <stdbool.h>

#define MIDPOINT_CHARS 32

/* False when one of them is no integer of sign and 64 bits. */
bool midpoint_format(json_object *a, json_object *b, char ret_text[static MIDPOINT_CHARS]);
