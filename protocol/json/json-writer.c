/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json-writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "base/number.h"

/*
 * The way a byte of a string is escaped: 0 not at all, 'u' as \uxxxx if it begins a hidden
 * character, any other letter as that short escape. JSON allows hidden characters; they are escaped
 * because terminals obey some of them, and because others turn the text around them in what people
 * see.
 */
// clang-format off
static const char escapes[256] = {
        'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u',
        'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u',
        ['"'] = '"', ['\\'] = '\\', [0x7f] = 'u',
        [0xc2] = 'u', [0xcd] = 'u', [0xd8] = 'u', [0xe1] = 'u', [0xe2] = 'u', [0xe3] = 'u',
        [0xef] = 'u', [0xf0] = 'u', [0xf3] = 'u',
};
// clang-format on

static void fail(JsonWriter *writer, int error) {
        if (writer->error == 0)
                writer->error = error;
}

/* Takes @n bytes at the end of the buffer, which now count as content; NULL after a failure. */
static char *take_room(JsonWriter *writer, size_t n) {
        Buffer *buffer = writer->buffer;
        char *room;
        int r;

        if (writer->error != 0)
                return NULL;
        if (buffer->max_bytes == 0 && buffer->n_allocated - buffer->n >= n && buffer->bytes) {
                room = buffer->bytes + buffer->n;
        } else {
                r = buffer_reserve(buffer, n, &room);
                if (r < 0) {
                        fail(writer, r);
                        return NULL;
                }
        }
        buffer->n += n;
        return room;
}

/* Takes room for a value of @n bytes, and writes the comma before it. */
static char *take_value(JsonWriter *writer, size_t n) {
        char *room;

        /* The caller forgot the key of a member, or writes a second value at the top. */
        if (!writer->after_key &&
            (writer->closers[writer->depth] == '}' || (writer->depth == 0 && writer->comma))) {
                fail(writer, -EINVAL);
                return NULL;
        }
        if (!writer->comma)
                room = take_room(writer, n);
        else {
                room = take_room(writer, n + 1);
                if (room)
                        *room++ = ',';
        }
        writer->comma = true;
        writer->after_key = false;
        return room;
}

/* Takes room for a key; the value after it has no comma. */
static char *take_key(JsonWriter *writer, size_t n) {
        char *room;

        if (writer->closers[writer->depth] != '}' || writer->after_key) {
                fail(writer, -EINVAL);
                return NULL;
        }
        writer->after_key = true; /* lets the key itself pass as a value */
        room = take_value(writer, n);
        writer->comma = false;
        writer->after_key = true;
        return room;
}

static void open_with(JsonWriter *writer, char opener, char closer) {
        char *room = NULL;

        if (writer->depth == JSON_WRITER_MAX_DEPTH)
                fail(writer, -EINVAL);
        else
                room = take_value(writer, 1);
        if (!room)
                return;
        *room = opener;
        writer->closers[++writer->depth] = closer;
        writer->comma = false;
}

void json_write_object(JsonWriter *writer) {
        open_with(writer, '{', '}');
}

void json_write_array(JsonWriter *writer) {
        open_with(writer, '[', ']');
}

void json_write_end(JsonWriter *writer) {
        char *room = NULL;

        if (writer->depth == 0 || writer->after_key)
                fail(writer, -EINVAL);
        else
                room = take_room(writer, 1);
        if (!room)
                return;
        *room = writer->closers[writer->depth--];
        writer->comma = true;
}

void json_write_key(JsonWriter *writer, const char *key) {
        size_t n = strlen(key);
        char *room = take_key(writer, n + 3);

        if (!room)
                return;
        room[0] = '"';
        memcpy(room + 1, key, n);
        memcpy(room + 1 + n, "\":", 2);
}

void json_write_u64(JsonWriter *writer, uint64_t value) {
        json_write_signed_u64(writer, false, value);
}

void json_write_i64(JsonWriter *writer, int64_t value) {
        json_write_signed_u64(writer, value < 0,
                              value < 0 ? 0 - (uint64_t) value : (uint64_t) value);
}

void json_write_signed_u64(JsonWriter *writer, bool negative, uint64_t magnitude) {
        size_t n = number_u64_chars(magnitude);
        char *room;

        if (magnitude == 0)
                negative = false;
        room = take_value(writer, n + (negative ? 1 : 0));
        if (!room)
                return;
        if (negative)
                *room++ = '-';
        (void) number_format_u64(magnitude, room);
}

/* Room for a sign, 17 digits, a point, and four leading zeros or an exponent. */
#define DOUBLE_CHARS 32

void json_write_double(JsonWriter *writer, double value) {
        char printed[64], digits[17], text[DOUBLE_CHARS], *c = text, *room;
        int n_digits = 0, exponent, point;
        const char *from;
        bool is_scientific;

        if (!isfinite(value)) {
                json_write_null(writer);
                return;
        }
        if (value == 0) {
                json_write_u64(writer, 0);
                return;
        }
        for (int precision = 15; precision <= 17; precision++) {
                (void) snprintf(printed, sizeof(printed), "%.*e", precision - 1, fabs(value));
                if (strtod(printed, NULL) == fabs(value))
                        break;
        }
        /*
         * The magnitude is 0.d1d2d3... times 10^exponent. printf() and strtod() both use the
         * decimal point of the locale, so only digits are copied.
         */
        for (from = printed; *from != 'e'; from++)
                if (*from >= '0' && *from <= '9' && n_digits < (int) sizeof(digits))
                        digits[n_digits++] = *from;
        exponent = atoi(from + 1) + 1;
        while (n_digits > 1 && digits[n_digits - 1] == '0')
                n_digits--;
        is_scientific = exponent < -4 || exponent > 17;
        point = is_scientific ? 1 : exponent;
        if (value < 0)
                *c++ = '-';
        if (point <= 0)
                *c++ = '0';
        for (int i = point < 0 ? point : 0; i < n_digits || i < point; i++) {
                if (i == point)
                        *c++ = '.';
                *c++ = (char) (i >= 0 && i < n_digits ? digits[i] : '0');
        }
        if (is_scientific) {
                *c++ = 'e';
                c += number_format_i64(exponent - 1, c);
        }
        room = take_value(writer, (size_t) (c - text));
        if (room)
                memcpy(room, text, (size_t) (c - text));
}

void json_write_bool(JsonWriter *writer, bool value) {
        json_write_raw(writer, value ? SPAN_LITERAL("true") : SPAN_LITERAL("false"));
}

void json_write_null(JsonWriter *writer) {
        json_write_raw(writer, SPAN_LITERAL("null"));
}

static void append_unit(Buffer *buffer, uint32_t unit) {
        static const char hex[] = "0123456789abcdef";
        const char text[] = {
                '\\', 'u', hex[unit >> 12], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]
        };

        buffer_append(buffer, text, sizeof(text));
}

static int append_text(Buffer *buffer, Span text) {
        return buffer_append(buffer, text.bytes, text.n);
}

/*
 * Writes a string; @room is for its opening quote. @append_run writes the bytes between two
 * characters that need an escape, so a run never has part of a character. A string that does not
 * fit leaves nothing in the buffer.
 */
static bool write_quoted(JsonWriter *writer, char *room, Span text,
                         int (*append_run)(Buffer *, Span)) {
        Buffer *buffer = writer->buffer;
        size_t start = buffer->n - 1, run = 0;
        int r;

        if (!room)
                return false;
        *room = '"';
        for (size_t i = 0; i < text.n; i++) {
                const char escape[] = { '\\', escapes[(unsigned char) text.bytes[i]] };
                uint32_t code = 0;
                size_t n = 1;

                if (!escape[1])
                        continue;
                if (escape[1] == 'u')
                        n = hidden_character((Span){ text.bytes + i, text.n - i }, &code);
                if (n == 0)
                        continue;
                append_run(buffer, (Span){ text.bytes + run, i - run });
                if (escape[1] != 'u')
                        buffer_append(buffer, escape, sizeof(escape));
                else if (code < 0x10000)
                        append_unit(buffer, code);
                else {
                        append_unit(buffer, 0xd800 + ((code - 0x10000) >> 10));
                        append_unit(buffer, 0xdc00 + ((code - 0x10000) & 0x3ff));
                }
                i += n - 1;
                run = i + 1;
        }
        /* An empty span may have no bytes, and then there is nothing to point into. */
        if (text.n > 0)
                append_run(buffer, (Span){ text.bytes + run, text.n - run });
        r = buffer_append_byte(buffer, '"');
        if (r < 0) {
                buffer_truncate(buffer, start);
                fail(writer, r);
        }
        return r == 0;
}

void json_write_text(JsonWriter *writer, const char *text) {
        json_write_span(writer, span_of(text));
}

void json_write_span(JsonWriter *writer, Span text) {
        (void) write_quoted(writer, take_value(writer, 1), text, append_text);
}

void json_write_name(JsonWriter *writer, Span bytes) {
        (void) write_quoted(writer, take_value(writer, 1), bytes, name_escape);
}

static void write_key(JsonWriter *writer, Span key, int (*append_run)(Buffer *, Span)) {
        char *colon;

        if (!write_quoted(writer, take_key(writer, 1), key, append_run))
                return;
        colon = take_room(writer, 1);
        if (colon)
                *colon = ':';
}

void json_write_key_name(JsonWriter *writer, Span key) {
        write_key(writer, key, name_escape);
}

void json_write_key_span(JsonWriter *writer, Span key) {
        write_key(writer, key, append_text);
}

void json_write_raw(JsonWriter *writer, Span json) {
        char *room;

        if (json.n == 0) {
                fail(writer, -EINVAL);
                return;
        }
        room = take_value(writer, json.n);
        if (room)
                memcpy(room, json.bytes, json.n);
}

char *json_write_begin_values(JsonWriter *writer, size_t n) {
        if (writer->closers[writer->depth] != ']' || !writer->comma) {
                fail(writer, -EINVAL);
                return NULL;
        }
        return take_room(writer, n);
}

void json_write_member_u64(JsonWriter *writer, const char *key, uint64_t value) {
        json_write_key(writer, key);
        json_write_u64(writer, value);
}

void json_write_member_i64(JsonWriter *writer, const char *key, int64_t value) {
        json_write_key(writer, key);
        json_write_i64(writer, value);
}

void json_write_member_bool(JsonWriter *writer, const char *key, bool value) {
        json_write_key(writer, key);
        json_write_bool(writer, value);
}

void json_write_member_null(JsonWriter *writer, const char *key) {
        json_write_key(writer, key);
        json_write_null(writer);
}

void json_write_member_text(JsonWriter *writer, const char *key, const char *text) {
        json_write_key(writer, key);
        json_write_text(writer, text);
}

void json_write_member_name(JsonWriter *writer, const char *key, Span bytes) {
        json_write_key(writer, key);
        json_write_name(writer, bytes);
}

void json_write_member_known(JsonWriter *writer, const char *key, bool is_known, uint64_t value) {
        json_write_key(writer, key);
        if (is_known)
                json_write_u64(writer, value);
        else
                json_write_null(writer);
}

int json_writer_finish(const JsonWriter *writer) {
        if (writer->error != 0)
                return writer->error;
        /* Balanced, and something was written at all. */
        return writer->depth == 0 && writer->comma ? 0 : -EINVAL;
}
