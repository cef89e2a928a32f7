/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cell
 *
 * Values of the interface as text for people: numbers on their ladder, ranges, modes and CPU sets
 * in words, "-" where nothing was measured. With raw, numbers stand without unit: integers as they
 * came, fractions with six decimals at most, below 1 with six digits.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "metric/metric.h"
#include "render/quantity.h"

typedef struct CellStyle {
        MetricUnit unit;
        bool derived;
        bool raw;
} CellStyle;

/* The member, NULL when it is missing or null. */
json_object *cell_member(json_object *object, const char *key);
/* Elements of an array, 0 of anything else. */
size_t cell_length(json_object *value);
/* One of them, NULL where there is none; json-c ends the process over what is no array. */
json_object *cell_element(json_object *value, size_t index);
/* The text of a string, borrowed; empty for anything else. */
Span cell_string(json_object *value);
/* False when @value is not a number. */
bool cell_quantity(json_object *value, Quantity *ret);

/* All append to @cell. A VALUE of the command-line contract. */
_must_check_ int cell_append_value(Buffer *cell, json_object *value, const CellStyle *style);
/* Of {before, after, delta, percent, perSecond, reset} of one metric of one group. */
_must_check_ int cell_append_delta(Buffer *cell, json_object *entry, const CellStyle *style);
/* "reset" where a counter went back. */
_must_check_ int cell_append_percent(Buffer *cell, json_object *entry, const CellStyle *style);
_must_check_ int cell_append_rate(Buffer *cell, json_object *entry, const CellStyle *style);
/* A count or an amount of bytes that is not a metric, NULL is "-". */
_must_check_ int cell_append_number(Buffer *cell, json_object *value, QuantityLadder ladder);
/* A string of a reply, made printable; NULL is "-". */
_must_check_ int cell_append_text(Buffer *cell, json_object *value);
