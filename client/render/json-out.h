/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonOut
 *
 * Writes one JSON value to a stream while it becomes known. The caller opens and closes containers;
 * values are copied from replies unchanged, numbers digit by digit. Memory does not grow with the
 * output. The first failure sticks, and json_out_finish() returns it, so that the calls between
 * need no check.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"

#define JSON_OUT_MAX_DEPTH 32

typedef enum JsonStyle {
        JSON_STYLE_OFF,
        JSON_STYLE_SHORT,  /* one line */
        JSON_STYLE_PRETTY, /* one member per line */
} JsonStyle;

typedef struct JsonOut {
        FILE *file; /* borrowed */
        bool pretty;
        bool in_markup; /* inside an HTML element: no byte may look like a tag */
        int error;      /* first failure, -errno */
        unsigned depth;
        bool filled[JSON_OUT_MAX_DEPTH]; /* the container has an element */
        bool after_key;
        char closers[JSON_OUT_MAX_DEPTH];
        Buffer scratch;
} JsonOut;

void json_out_init(JsonOut *out, FILE *file, JsonStyle style);
void json_out_done(JsonOut *out);

void json_out_object(JsonOut *out);
void json_out_array(JsonOut *out);
void json_out_end(JsonOut *out);
/* @key is valid UTF-8, as a literal of the program or a key of a reply is. */
void json_out_key(JsonOut *out, const char *key);
/* NULL is written as null. */
void json_out_value(JsonOut *out, json_object *value);
void json_out_u64(JsonOut *out, uint64_t value);
void json_out_double(JsonOut *out, double value);
/* Valid UTF-8. */
void json_out_text(JsonOut *out, const char *text);
void json_out_span(JsonOut *out, Span text);
/* @json is one complete, valid JSON value, and is copied unchanged. */
void json_out_raw(JsonOut *out, Span json);
/* Arbitrary bytes, escaped as names are. */
void json_out_name(JsonOut *out, Span bytes);

static inline void json_out_member(JsonOut *out, const char *key, json_object *value) {
        json_out_key(out, key);
        json_out_value(out, value);
}
static inline void json_out_member_span(JsonOut *out, const char *key, Span text) {
        json_out_key(out, key);
        json_out_span(out, text);
}
static inline void json_out_member_double(JsonOut *out, const char *key, double value) {
        json_out_key(out, key);
        json_out_double(out, value);
}
static inline void json_out_member_u64(JsonOut *out, const char *key, uint64_t value) {
        json_out_key(out, key);
        json_out_u64(out, value);
}

/* Ends the line. 0, or the first failure; -EINVAL if a container is still open. */
_must_check_ int json_out_finish(JsonOut *out);
