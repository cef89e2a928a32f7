/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Field
 *
 * The parameters of a call as a struct, by a table. Nothing that is not in the table gets through,
 * and null is the same as absent; what a field of the struct holds after that has the right type.
 * Text and objects stay the call's.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

/*        id        member of the struct */
#define FIELD_TYPES(T)                                                   \
        T(TEXT, const char *) /* without NUL inside, as all JSON here */ \
        T(BOOL, bool)         /* keeps what is there when absent */      \
        T(U64, FieldU64)                                                 \
        T(OBJECT, json_object *)  /* NULL when absent */                 \
        T(NUMBER, json_object *)  /* the same; any number */             \
        T(OBJECTS, json_object *) /* an array of objects */              \
        T(TEXTS, json_object *)   /* an array of strings */

#define FIELD_TYPE_ID(id, member) FIELD_##id,
typedef enum FieldType { FIELD_TYPES(FIELD_TYPE_ID) _FIELD_TYPE_MAX } FieldType;

typedef struct FieldU64 {
        bool is_set;
        uint64_t value;
} FieldU64;

typedef struct Field {
        const char *key;
        FieldType type;
        bool required;
        size_t offset;
} Field;

enum {
        FIELD_OK,
        FIELD_E_INVALID, /* *ret_key is the culprit, borrowed from @object or @table */
};

/* Past @max_elements an array is invalid. */
_must_check_ int fields_decode(json_object *object, const Field *table, size_t n_table,
                               size_t max_elements, void *ret, const char **ret_key);
