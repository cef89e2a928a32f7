/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MessageObject
 *
 * The values of a message as json-c objects. They are built from the tokens of the strict scanner,
 * not by json-c's parser, so no integer is ever rounded or clamped: an integer that fits no 64-bit
 * type becomes a double that remembers how it was written.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "json/json-scanner.h"

static inline json_object *message_object_free(json_object *object) {
        (void) json_object_put(object);
        return NULL;
}
DEFINE_CLEANUP(json_object *, message_object_free);

/*
 * Reads the value that begins with @token, which was just read; *ret is NULL for null. More than
 * *n_left values, which it counts down, are malformed: a container needs a hundred times the memory
 * of its two bytes.
 */
_must_check_ int message_object_read(JsonScanner *scanner, JsonToken token, size_t *n_left,
                                     json_object **ret);

/*
 * The memory that a decoded value takes, to within the allocator's rounding. An empty object of
 * json-c takes some 700 bytes, so the length of the text it was read from says nothing about it.
 */
size_t message_object_memory(json_object *object);

/*
 * Appends a json-c object to @buffer as compact strict JSON. Numbers of a decoded message are
 * written as they were read.
 */
_must_check_ int message_append_object(Buffer *buffer, json_object *object);

/*
 * Reads an integer of a sign and 64 bits. False for anything else, including numbers with a
 * fraction or an exponent. json-c has no type for integers below -2^63: in a decoded message they
 * are doubles that remember their text, and this reads them exactly.
 */
bool message_get_integer(json_object *object, bool *ret_negative, uint64_t *ret_magnitude);
