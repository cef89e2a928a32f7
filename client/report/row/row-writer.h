/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RowWriter
 *
 * Fields of rows for programs: of a line of CSV after RFC 4180, or of a flat JSON object. Each is
 * followed by a comma, the last of which becomes the end of the line, so that the parts of a line
 * can be put together apart from each other. What is absent is an empty field, or null.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

typedef enum RowStyle {
        ROW_STYLE_CSV,
        ROW_STYLE_NDJSON,
} RowStyle;

typedef struct RowWriter {
        RowStyle style;
        bool naming; /* fields are their names: the first line of CSV */
} RowWriter;

/* All append to @to; @name is a literal. */

/* A scalar of a reply; NULL is absent. */
_must_check_ int row_write_value(const RowWriter *writer, Buffer *to, const char *name,
                                 json_object *value);
/* Valid UTF-8; without bytes at all it is absent. */
_must_check_ int row_write_text(const RowWriter *writer, Buffer *to, const char *name, Span text);
/* A number that is text already; NULL is absent. */
_must_check_ int row_write_number(const RowWriter *writer, Buffer *to, const char *name,
                                  const char *digits);
_must_check_ int row_write_double(const RowWriter *writer, Buffer *to, const char *name,
                                  double value);
_must_check_ int row_write_bool(const RowWriter *writer, Buffer *to, const char *name, bool value);

/* A column that is a member of an object. */
typedef struct RowField {
        const char *name;
        const char *member;
} RowField;

_must_check_ int row_write_fields(const RowWriter *writer, Buffer *to, json_object *object,
                                  const RowField *fields, size_t n_fields);

/* The columns "section", "metric" and "unit" of that metric or derived value; NULL is absent. */
_must_check_ int row_write_metric(const RowWriter *writer, Buffer *to, const char *name);

/* Turns the comma of the last field into the end of the line; NDJSON: closes the object. */
_must_check_ int row_write_end(const RowWriter *writer, Buffer *line);
