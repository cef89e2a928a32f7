/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MessageObject
 *
 * The values of a message as json-c objects. They are built from the tokens of the strict scanner,
 * not by json-c's parser, so no integer is ever rounded or clamped: what fits no 64-bit type
 * becomes a double that remembers how it was written.
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
 * The value that begins with @token, which was just read; *ret is NULL for null. More than
 * @max_values in it are malformed: a container costs a hundred times what its two bytes did.
 */
_must_check_ int message_object_read(JsonScanner *scanner, JsonToken token, size_t max_values,
                                     json_object **ret);

/*
 * A json-c object as strict text of ours: appended to @buffer, compact. Numbers of a decoded
 * message come out as they went in.
 */
_must_check_ int message_append_object(Buffer *buffer, json_object *object);

/*
 * An integer of sign and 64 bits. False for anything else, among it the numbers with a fraction or
 * an exponent. json-c has no type for those below -2^63: in a decoded message they are doubles that
 * know their text, and this reads them exactly.
 */
bool message_get_integer(json_object *object, bool *ret_negative, uint64_t *ret_magnitude);
