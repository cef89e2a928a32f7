/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reshape
 *
 * JSON values turned into the form that somebody else's reader insists on, by a table: which
 * members in which order, under which name, and what stands for one that is absent. Members that
 * are not in the table are dropped.
 */

#include <json-c/json.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"

typedef enum ShapeKind {
        SHAPE_NUMBER,         /* unsigned; the row's default when absent or a word */
        SHAPE_NUMBER_OR_NULL, /* signed; null when absent or a word ("max") */
        SHAPE_FLOOR_OR_NULL,  /* as above, but "max" is 2^64-1 */
        SHAPE_AVERAGE,        /* unsigned 16 bits, clipped; 0 when absent */
        SHAPE_TEXT,           /* "" when absent */
        SHAPE_NUMBERS,        /* an object of unsigned numbers, others dropped; {} when absent */
        SHAPE_OBJECT,         /* by the rows below; all of them absent when it is */

        /* left out when absent */
        SHAPE_NUMBER_IF,
        SHAPE_TEXT_IF,
        SHAPE_TEXTS_IF, /* an object of texts; left out also when empty */
        SHAPE_OBJECT_IF,
} ShapeKind;

typedef struct Shape {
        const char *key; /* NULL ends a table */
        ShapeKind kind;
        const char *other_key;      /* what the member may be called in the source; NULL */
        uint64_t absent;            /* SHAPE_NUMBER */
        const struct Shape *shapes; /* SHAPE_OBJECT, SHAPE_OBJECT_IF */
} Shape;

/*
 * Writes the object that @shapes makes of @json, one valid JSON value or empty. -ENOMEM; what
 * @writer fails with is the writer's to report.
 */
_must_check_ int reshape_write(JsonWriter *writer, const Shape *shapes, Span json);
