/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RowWriter
 *
 * Rows for programs: lines of CSV after RFC 4180, or flat JSON objects, one a line. A row is put
 * together from three parts: what all rows have in common, what the rows of one group have in
 * common, and its own fields; a part is kept for the following rows until it is begun again. An
 * absent value is an empty field, or null. The first failure sticks.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

typedef enum RowStyle {
        ROW_STYLE_CSV,
        ROW_STYLE_NDJSON,
} RowStyle;

typedef enum RowPart {
        ROW_PART_HEAD,
        ROW_PART_GROUP,
        ROW_PART_OWN,
        _ROW_PART_MAX,
} RowPart;

typedef struct RowWriter {
        RowStyle style;
        bool formulas; /* else the first character of a text that looks like one is escaped */
        FILE *out;     /* borrowed */
        bool naming;   /* writes the names of fields instead of values: the first line of CSV */
        Buffer parts[_ROW_PART_MAX];
        Buffer *to;              /* the part that fields are added to */
        const char *prefixes[2]; /* of the names of fields; NULL: none */
        Buffer scratch;          /* a text for row_write_scratch() */
        int error;               /* the first failure of all calls so far, -errno */
} RowWriter;

void row_writer_done(RowWriter *writer);

/* Empties the part; fields are added to it from here on. */
void row_begin(RowWriter *writer, RowPart part);
/* Writes the row of the three parts. */
void row_end(RowWriter *writer);

/* Puts both in front of the names of all fields from here on; they are literals, or NULL. */
void row_set_prefix(RowWriter *writer, const char *outer, const char *inner);

/* These add a field; @name is a literal, @value a scalar of a reply. NULL is absent. */
void row_write_value(RowWriter *writer, const char *name, json_object *value);
/* @text is valid UTF-8; the field is absent if text.bytes is NULL. */
void row_write_text(RowWriter *writer, const char *name, Span text);
/* Writes the text in writer->scratch, which is empty again. */
void row_write_scratch(RowWriter *writer, const char *name);
/* @digits is a number as it is, or true or false; NULL is absent. */
void row_write_number(RowWriter *writer, const char *name, const char *digits);
void row_write_double(RowWriter *writer, const char *name, double value);
void row_write_absent(RowWriter *writer, const char *name);

/* A field that is a member of an object. */
typedef struct RowField {
        const char *name;
        const char *member;
} RowField;

/* Writes several fields, all of them absent if @object is NULL. */
void row_write_fields(RowWriter *writer, json_object *object, const RowField *fields,
                      size_t n_fields);
