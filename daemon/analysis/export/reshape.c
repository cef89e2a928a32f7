/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/export/reshape.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "base/cleanup.h"

/* Reads a number; false when it is not an unsigned one. */
static bool reshape_u64(json_object *value, uint64_t *ret) {
        if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
                return false;
        *ret = json_object_get_uint64(value);
        return true;
}

static Span reshape_text(json_object *value) {
        return (Span){ json_object_get_string(value), (size_t) json_object_get_string_len(value) };
}

static void reshape_number_or_null(JsonWriter *writer, json_object *value) {
        uint64_t number;

        if (reshape_u64(value, &number))
                json_write_u64(writer, number);
        else if (json_object_is_type(value, json_type_int))
                json_write_i64(writer, json_object_get_int64(value));
        else
                json_write_null(writer);
}

static bool reshape_leaves_out(ShapeKind kind, json_object *value) {
        uint64_t number;

        switch (kind) {
        case SHAPE_NUMBER_IF:
                return !reshape_u64(value, &number);
        case SHAPE_TEXT_IF:
                return !json_object_is_type(value, json_type_string);
        case SHAPE_SWITCH_IF:
                return !json_object_is_type(value, json_type_string) &&
                       (!reshape_u64(value, &number) || number > 1);
        case SHAPE_TEXTS_IF:
                return !json_object_is_type(value, json_type_object) ||
                       json_object_object_length(value) == 0;
        case SHAPE_OBJECT_IF:
                return !json_object_is_type(value, json_type_object);
        case SHAPE_NUMBER:
        case SHAPE_NUMBER_OR_NULL:
        case SHAPE_FLOOR_OR_NULL:
        case SHAPE_AVERAGE:
        case SHAPE_TEXT:
        case SHAPE_TEXT_OR_NULL:
        case SHAPE_BOOL:
        case SHAPE_NUMBERS:
        case SHAPE_OBJECT:
                break;
        }
        return false;
}

static void reshape_object(JsonWriter *writer, const Shape *shapes, json_object *object);

static void reshape_value(JsonWriter *writer, const Shape *shape, json_object *value) {
        uint64_t number = 0;

        switch (shape->kind) {
        case SHAPE_NUMBER:
        case SHAPE_NUMBER_IF:
                json_write_u64(writer, reshape_u64(value, &number) ? number : shape->absent);
                break;
        case SHAPE_FLOOR_OR_NULL:
                if (json_object_is_type(value, json_type_string) &&
                    span_is(reshape_text(value), "max"))
                        json_write_u64(writer, UINT64_MAX);
                else
                        reshape_number_or_null(writer, value);
                break;
        case SHAPE_NUMBER_OR_NULL:
                reshape_number_or_null(writer, value);
                break;
        case SHAPE_AVERAGE:
                (void) reshape_u64(value, &number);
                json_write_u64(writer, MIN_OF(number, (uint64_t) UINT16_MAX));
                break;
        case SHAPE_TEXT:
        case SHAPE_TEXT_IF:
                json_write_span(writer, json_object_is_type(value, json_type_string)
                                                ? reshape_text(value)
                                                : SPAN_LITERAL(""));
                break;
        case SHAPE_TEXT_OR_NULL:
                if (json_object_is_type(value, json_type_string))
                        json_write_span(writer, reshape_text(value));
                else
                        json_write_null(writer);
                break;
        case SHAPE_BOOL:
                json_write_bool(writer, json_object_is_type(value, json_type_boolean) &&
                                                json_object_get_boolean(value));
                break;
        case SHAPE_SWITCH_IF:
                if (reshape_u64(value, &number))
                        json_write_text(writer, number == 1 ? "on" : "runtime_off");
                else
                        json_write_span(writer, reshape_text(value));
                break;
        case SHAPE_NUMBERS:
        case SHAPE_TEXTS_IF:
                json_write_object(writer);
                if (json_object_is_type(value, json_type_object)) {
                        json_object_object_foreach(value, key, member) {
                                bool is_text = json_object_is_type(member, json_type_string);

                                if (shape->kind == SHAPE_TEXTS_IF ? !is_text
                                                                  : !reshape_u64(member, &number))
                                        continue;
                                json_write_key_span(writer, span_of(key));
                                if (is_text)
                                        json_write_span(writer, reshape_text(member));
                                else
                                        json_write_u64(writer, number);
                        }
                }
                json_write_end(writer);
                break;
        case SHAPE_OBJECT:
        case SHAPE_OBJECT_IF:
                reshape_object(writer, shape->shapes, value);
                break;
        }
}

/* @object may be NULL or any value; only objects have members. */
static void reshape_object(JsonWriter *writer, const Shape *shapes, json_object *object) {
        if (!json_object_is_type(object, json_type_object))
                object = NULL;

        json_write_object(writer);
        for (const Shape *shape = shapes; shape->key; shape++) {
                json_object *value = NULL;

                if (object && !json_object_object_get_ex(object, shape->key, &value) &&
                    shape->other_key)
                        (void) json_object_object_get_ex(object, shape->other_key, &value);
                if (reshape_leaves_out(shape->kind, value))
                        continue;
                json_write_key(writer, shape->key);
                reshape_value(writer, shape, value);
        }
        json_write_end(writer);
}

int reshape_write(JsonWriter *writer, const Shape *shapes, Span json) {
        json_object *object = NULL;
        json_tokener *tokener;

        if (json.n > 0 && json.n <= INT_MAX) {
                tokener = json_tokener_new();
                if (!tokener)
                        return -ENOMEM;
                object = json_tokener_parse_ex(tokener, json.bytes, (int) json.n);
                json_tokener_free(tokener);
        }
        reshape_object(writer, shapes, object);
        (void) json_object_put(object);
        return 0;
}
