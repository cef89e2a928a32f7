/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/message-object.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/name.h"
#include "base/number.h"
#include "json/json-writer.h"

static int read_container(JsonScanner *scanner, bool is_array, size_t *n_left, json_object **ret) {
        _cleanup_(message_object_freep) json_object *container =
                is_array ? json_object_new_array_ext(4) : json_object_new_object();

        if (!container)
                return -ENOMEM;
        for (;;) {
                _cleanup_(message_object_freep) json_object *value = NULL;
                _cleanup_(freep) char *name = NULL;
                JsonToken token;
                Span key;
                int r;

                if (!is_array) {
                        r = json_scanner_member(scanner, &key);
                        if (r != 0)
                                return r;
                        if (!key.bytes)
                                break;
                        name = strndup(key.bytes, key.n);
                        if (!name)
                                return -ENOMEM;
                }
                r = json_scanner_next(scanner, &token);
                if (r != 0)
                        return r;
                if (is_array && token == JSON_TOKEN_ARRAY_END)
                        break;
                r = message_object_read(scanner, token, n_left, &value);
                if (r != 0)
                        return r;
                r = is_array ? json_object_array_add(container, value)
                             : json_object_object_add_ex(container, name, value,
                                                         JSON_C_OBJECT_ADD_KEY_IS_NEW);
                if (r < 0)
                        return -ENOMEM;
                value = NULL; /* the container owns it */
        }
        *ret = TAKE_PTR(container);
        return 0;
}

/*
 * Keeps a number as it was written, with the double nearest to it. json-c converts it whatever the
 * locale is; ".0" makes it read an integer as a double too.
 */
static int read_double(JsonScanner *scanner, json_object **ret) {
        _cleanup_(message_object_freep) json_object *nearest = NULL;
        _cleanup_(buffer_done) Buffer buffer = {};
        bool is_integer = true;
        const char *text;
        size_t n;
        int r;

        r = json_scanner_raw(scanner, &buffer);
        if (r != 0)
                return r;
        n = buffer.n;
        for (size_t i = 0; i < n; i++)
                is_integer &= buffer.bytes[i] != '.' && (buffer.bytes[i] | 0x20) != 'e';
        if (is_integer)
                (void) buffer_append_text(&buffer, ".0");
        r = buffer_terminate(&buffer, &text);
        if (r != 0)
                return r;
        nearest = json_tokener_parse(text);
        buffer.bytes[n] = '\0';
        *ret = json_object_new_double_s(json_object_get_double(nearest), text);
        return *ret ? 0 : -ENOMEM;
}

int message_object_read(JsonScanner *scanner, JsonToken token, size_t *n_left, json_object **ret) {
        uint64_t magnitude;
        bool is_negative;
        Span text;

        if (*n_left == 0)
                return json_scanner_fail(scanner, "too many values");
        --*n_left;

        switch (token) {
        case JSON_TOKEN_OBJECT:
        case JSON_TOKEN_ARRAY:
                return read_container(scanner, token == JSON_TOKEN_ARRAY, n_left, ret);
        case JSON_TOKEN_STRING:
                text = scanner->string;
                if (text.n > INT_MAX)
                        return -EOVERFLOW;
                *ret = json_object_new_string_len(text.bytes, (int) text.n);
                return *ret ? 0 : -ENOMEM;
        case JSON_TOKEN_INTEGER:
                magnitude = scanner->number.magnitude;
                is_negative = scanner->number.negative;
                if (is_negative && magnitude > (uint64_t) INT64_MAX + 1)
                        return read_double(scanner, ret);
                if (is_negative)
                        *ret = json_object_new_int64((int64_t) (0 - magnitude));
                else if (magnitude <= INT64_MAX)
                        *ret = json_object_new_int64((int64_t) magnitude);
                else
                        *ret = json_object_new_uint64(magnitude);
                return *ret ? 0 : -ENOMEM;
        case JSON_TOKEN_REAL:
                return read_double(scanner, ret);
        case JSON_TOKEN_TRUE:
        case JSON_TOKEN_FALSE:
                *ret = json_object_new_boolean(token == JSON_TOKEN_TRUE);
                return *ret ? 0 : -ENOMEM;
        case JSON_TOKEN_NULL:
                *ret = NULL;
                return 0;
        case JSON_TOKEN_END:
        case JSON_TOKEN_OBJECT_END:
        case JSON_TOKEN_ARRAY_END:
        case JSON_TOKEN_KEY:
                break;
        }
        return -EINVAL; /* no value begins with this token: a mistake of the caller */
}

/* The parts of json-c's values that it does not show: the value itself, the head of a table. */
#define VALUE_BYTES 64u
#define TABLE_BYTES 80u

/* A decoded message is nested as deep as the scanner allows, which bounds this recursion. */
size_t message_object_memory(json_object *object) {
        size_t n = object ? VALUE_BYTES : 0;

        switch (json_object_get_type(object)) {
        case json_type_string:
                n += (size_t) json_object_get_string_len(object) + 1;
                break;
        case json_type_array:
                n += TABLE_BYTES + json_object_get_array(object)->size * sizeof(void *);
                for (size_t i = 0; i < json_object_array_length(object); i++)
                        n += message_object_memory(json_object_array_get_idx(object, i));
                break;
        case json_type_object:
                n += TABLE_BYTES +
                     (size_t) json_object_get_object(object)->size * sizeof(struct lh_entry);
                json_object_object_foreach(object, name, value) n +=
                        strlen(name) + 1 + message_object_memory(value);
                break;
        case json_type_double: /* the text it was written as */
                n += VALUE_BYTES;
                break;
        case json_type_null:
        case json_type_boolean:
        case json_type_int:
                break;
        }
        return n;
}

/* Returns the text a number was written as, which json_object_new_double_s() stores, or NULL. */
static const char *number_text(json_object *object) {
        return json_object_get_userdata(object)
                       ? json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN)
                       : NULL;
}

bool message_get_integer(json_object *object, bool *ret_negative, uint64_t *ret_magnitude) {
        const char *text;
        int64_t value;

        if (json_object_is_type(object, json_type_int)) {
                value = json_object_get_int64(object);
                *ret_negative = value < 0;
                *ret_magnitude = value < 0 ? 0 - (uint64_t) value : json_object_get_uint64(object);
                return true;
        }
        if (!json_object_is_type(object, json_type_double))
                return false;
        text = number_text(object);
        if (!text || !number_parse_u64(span_of(text + (*text == '-' ? 1 : 0)), ret_magnitude))
                return false;
        *ret_negative = *text == '-' && *ret_magnitude > 0;
        return true;
}

/* Texts from outside are valid UTF-8; a text of our own that is not has to be escaped. */
static void write_value(JsonWriter *writer, json_object *object) {
        JsonLimits limits = { .max_depth = 0 };
        uint64_t magnitude = 0;
        bool negative = false;
        const char *number;
        Span text;

        /* The writer fails past its depth; leaving here also bounds this recursion. */
        if (writer->error != 0)
                return;
        switch (json_object_get_type(object)) {
        case json_type_null:
                json_write_null(writer);
                break;
        case json_type_boolean:
                json_write_bool(writer, json_object_get_boolean(object));
                break;
        case json_type_int:
                (void) message_get_integer(object, &negative, &magnitude);
                json_write_signed_u64(writer, negative, magnitude);
                break;
        case json_type_double:
                number = number_text(object);
                text = span_of(number ? number : "");
                limits.max_token_bytes = text.n;
                if (number && text.n > 0 &&
                    (*number == '-' || (*number >= '0' && *number <= '9')) &&
                    json_check(text, &limits) == 0)
                        json_write_raw(writer, text);
                else
                        json_write_double(writer, json_object_get_double(object));
                break;
        case json_type_string:
                text = (Span){ json_object_get_string(object),
                               (size_t) json_object_get_string_len(object) };
                if (utf8_is_valid(text))
                        json_write_span(writer, text);
                else
                        json_write_name(writer, text);
                break;
        case json_type_array:
                json_write_array(writer);
                for (size_t i = 0; i < json_object_array_length(object); i++)
                        write_value(writer, json_object_array_get_idx(object, i));
                json_write_end(writer);
                break;
        case json_type_object:
                json_write_object(writer);
                json_object_object_foreach(object, name, value) {
                        if (utf8_is_valid(span_of(name)))
                                json_write_key_span(writer, span_of(name));
                        else
                                json_write_key_name(writer, span_of(name));
                        write_value(writer, value);
                }
                json_write_end(writer);
                break;
        }
}

int message_append_object(Buffer *buffer, json_object *object) {
        size_t start = buffer->n;
        JsonWriter writer;
        int r;

        json_writer_init(&writer, buffer);
        write_value(&writer, object);
        r = json_writer_finish(&writer);
        if (r < 0)
                buffer_truncate(buffer, start);
        return r;
}
