/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cell
 *
 * Values of replies as text for people: numbers with a readable unit, ticks as seconds, ranges,
 * modes and CPU sets in words, "-" where nothing was measured. With raw, numbers have no unit:
 * integers are exact, fractions have at most six decimals, or six digits below 1.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "metric/metric.h"
#include "render/quantity.h"

typedef struct CellStyle {
        MetricUnit unit;
        bool derived;
        bool raw;
        uint32_t user_hz; /* ticks a second; 0: not known, which on almost every host is 100 */
} CellStyle;

/* NULL if the member is missing or null. */
json_object *cell_member(json_object *object, const char *key);
/* The number that is a member; 0 if there is none. */
static inline uint64_t cell_u64(json_object *object, const char *key) {
        return json_object_get_uint64(cell_member(object, key));
}
/* The number of elements of an array; 0 for anything else. */
size_t cell_length(json_object *value);
/* NULL if there is none; json_object_array_get_idx() aborts on a value that is no array. */
json_object *cell_element(json_object *value, size_t index);
/* The text of a string, borrowed; empty for anything else. */
Span cell_string(json_object *value);
/* False when @value is not a number. */
bool cell_quantity(json_object *value, Quantity *ret);

#define CELL_MIDPOINT_CHARS 32
/*
 * The middle of two integers, exact whatever their size, with ".5" if it lies between two integers.
 * False if one of them is no integer of sign and 64 bits.
 */
bool cell_midpoint(json_object *a, json_object *b, char ret_text[static CELL_MIDPOINT_CHARS]);

/* These append to @cell and return 0 or its failure, which sticks. A VALUE of the interface. */
int cell_append_value(Buffer *cell, json_object *value, const CellStyle *style);
/* @entry is {before, after, delta, percent, perSecond, reset}: one metric of one group. */
int cell_append_delta(Buffer *cell, json_object *entry, const CellStyle *style);
/* True if the member @side of @entry ("before", "after", "a", "b", else both) is approximate. */
bool cell_is_approximate(json_object *entry, const char *side);
/* "reset" if a counter went back, "limit" if a sum is at its limit. */
int cell_append_percent(Buffer *cell, json_object *entry, const CellStyle *style);
/* A rate with a sign: of times it is CPUs, seconds per second. */
int cell_append_rate(Buffer *cell, json_object *rate, const CellStyle *style);
/* The same without a sign. */
int cell_append_per_second(Buffer *cell, json_object *rate, const CellStyle *style);
/* A number that is not a metric, such as a count or an amount of bytes; NULL is "-". */
int cell_append_number(Buffer *cell, json_object *value, QuantityLadder ladder);
/* A string of a reply, made printable; NULL is "-". */
int cell_append_text(Buffer *cell, json_object *value);
