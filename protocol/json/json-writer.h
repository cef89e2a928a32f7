/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonWriter
 *
 * Writes one JSON text, member by member, into a Buffer; commas and nesting are kept by the writer,
 * so callers cannot produce unbalanced or comma-less text. Compact: no white space. A failed append
 * is remembered and reported once, by json_writer_finish(), so that the calls between need no
 * check.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

#define JSON_WRITER_MAX_DEPTH 32

typedef struct JsonWriter {
        Buffer *buffer; /* borrowed; may be drained by the owner between two calls */
        int error;      /* first failure, -errno */
        unsigned depth;
        bool comma; /* the next element needs one before it */
        bool after_key;
        char closers[JSON_WRITER_MAX_DEPTH + 1]; /* by depth; of none at the top */
} JsonWriter;

static inline void json_writer_init(JsonWriter *writer, Buffer *buffer) {
        *writer = (JsonWriter){ .buffer = buffer };
}

void json_write_object(JsonWriter *writer); /* { */
void json_write_array(JsonWriter *writer);  /* [ */
void json_write_end(JsonWriter *writer);    /* closes the innermost one */

/* @key must be plain ASCII that needs no quoting: a literal of the program. */
void json_write_key(JsonWriter *writer, const char *key);
/* A key that came from outside: escaped like json_write_name(). */
void json_write_key_name(JsonWriter *writer, Span key);
/* A key that is valid UTF-8: only quoted, like json_write_span(). */
void json_write_key_span(JsonWriter *writer, Span key);

void json_write_u64(JsonWriter *writer, uint64_t value);
void json_write_i64(JsonWriter *writer, int64_t value);
/* Sign and magnitude: the range -(2^64-1)..2^64-1 of deltas. -0 is written 0. */
void json_write_signed_u64(JsonWriter *writer, bool negative, uint64_t magnitude);
/* Shortest of 15..17 digits that reads back equal; NaN and infinities are written as null. */
void json_write_double(JsonWriter *writer, double value);
void json_write_bool(JsonWriter *writer, bool value);
void json_write_null(JsonWriter *writer);
/* Valid UTF-8 (a text of ours, or checked); quotes, backslash and controls are escaped. */
void json_write_text(JsonWriter *writer, const char *text);
void json_write_span(JsonWriter *writer, Span text);
/* Arbitrary bytes: written under name_escape() (base/name.h), so that every byte can be undone. */
void json_write_name(JsonWriter *writer, Span bytes);
/* @json is one complete, valid JSON value, copied verbatim. */
void json_write_raw(JsonWriter *writer, Span json);

/*
 * For many numbers in a row: room for at most @n bytes of further values of an array that has one
 * already. The caller writes the values, a comma before each, and ends the buffer behind the last
 * before it calls any other function of the writer. NULL after a failure.
 */
_must_check_ char *json_write_begin_values(JsonWriter *writer, size_t n);

/* Shorthands for "key, value". */
void json_write_member_u64(JsonWriter *writer, const char *key, uint64_t value);
void json_write_member_i64(JsonWriter *writer, const char *key, int64_t value);
void json_write_member_bool(JsonWriter *writer, const char *key, bool value);
void json_write_member_null(JsonWriter *writer, const char *key);
/* @value, or null when it is not known. */
void json_write_member_known(JsonWriter *writer, const char *key, bool is_known, uint64_t value);
void json_write_member_text(JsonWriter *writer, const char *key, const char *text);
void json_write_member_name(JsonWriter *writer, const char *key, Span bytes);

/*
 * 0 when everything was written and all is closed; else the first error: -ENOMEM, -EMSGSIZE, or
 * -EINVAL for calls that make no text (a value without its key, too deep, not closed).
 */
_must_check_ int json_writer_finish(const JsonWriter *writer);
