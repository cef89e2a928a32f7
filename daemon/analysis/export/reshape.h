/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reshape
 *
 * Rewrites JSON values into the form that a foreign reader requires. A table says which members are
 * written in which order and under which name, and what replaces an absent one. Members that are
 * not in the table are dropped.
 */

#include <json-c/json.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"

typedef enum ShapeKind {
        SHAPE_NUMBER,         /* unsigned; the default of the row when absent or a word */
        SHAPE_NUMBER_OR_NULL, /* signed; null when absent or a word ("max") */
        SHAPE_FLOOR_OR_NULL,  /* as above, but "max" becomes 2^64-1 */
        SHAPE_AVERAGE,        /* unsigned, clipped to 16 bits; 0 when absent */
        SHAPE_TEXT,           /* "" when absent */
        SHAPE_TEXT_OR_NULL,   /* null when absent */
        SHAPE_BOOL,           /* false when absent */
        SHAPE_NUMBERS,        /* an object of unsigned numbers, others dropped; {} when absent */
        SHAPE_OBJECT, /* an object described by the rows below; if absent, all of them are */

        /* omitted when absent */
        SHAPE_NUMBER_IF,
        SHAPE_TEXT_IF,
        SHAPE_TEXTS_IF,  /* an object of texts; omitted also when empty */
        SHAPE_SWITCH_IF, /* a text, or a setting: 1 is "on" and 0 is "runtime_off" */
        SHAPE_OBJECT_IF,
} ShapeKind;

typedef struct Shape {
        const char *key; /* NULL ends a table */
        ShapeKind kind;
        const char *other_key;      /* another name of the member in the source; may be NULL */
        uint64_t absent;            /* SHAPE_NUMBER */
        const struct Shape *shapes; /* SHAPE_OBJECT, SHAPE_OBJECT_IF */
} Shape;

/*
 * Writes the object that @shapes makes of @json, which is one valid JSON value or empty. -ENOMEM;
 * @writer remembers its own failures.
 */
_must_check_ int reshape_write(JsonWriter *writer, const Shape *shapes, Span json);
