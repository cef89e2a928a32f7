/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request/field.h"

#include <string.h>

static bool is_array_of(json_object *value, json_type type, size_t max_elements) {
        if (!json_object_is_type(value, json_type_array) ||
            json_object_array_length(value) > max_elements)
                return false;
        for (size_t i = 0; i < json_object_array_length(value); i++)
                if (!json_object_is_type(json_object_array_get_idx(value, i), type))
                        return false;
        return true;
}

static bool take_text(json_object *value, const char **ret) {
        if (!json_object_is_type(value, json_type_string))
                return false;
        *ret = json_object_get_string(value);
        return true;
}

static bool take_bool(json_object *value, bool *ret) {
        if (!json_object_is_type(value, json_type_boolean))
                return false;
        *ret = json_object_get_boolean(value);
        return true;
}

/* A number past 2^63-1 is kept apart by json-c: as int64 it reads clipped, but never below 0. */
static bool take_u64(json_object *value, FieldU64 *ret) {
        if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
                return false;
        *ret = (FieldU64){ .is_set = true, .value = json_object_get_uint64(value) };
        return true;
}

static bool take(const Field *field, json_object *value, size_t max_elements, void *member) {
        bool is_valid = false;

        switch (field->type) {
        case FIELD_TEXT:
                return take_text(value, member);
        case FIELD_BOOL:
                return take_bool(value, member);
        case FIELD_U64:
                return take_u64(value, member);
        case FIELD_OBJECT:
                is_valid = json_object_is_type(value, json_type_object);
                break;
        case FIELD_NUMBER:
                is_valid = json_object_is_type(value, json_type_int) ||
                           json_object_is_type(value, json_type_double);
                break;
        case FIELD_OBJECTS:
                is_valid = is_array_of(value, json_type_object, max_elements);
                break;
        case FIELD_TEXTS:
                is_valid = is_array_of(value, json_type_string, max_elements);
                break;
        case _FIELD_TYPE_MAX:
                break;
        }
        if (is_valid)
                *(json_object **) member = value;
        return is_valid;
}

static const Field *find_field(const char *key, const Field *table, size_t n_table) {
        for (size_t i = 0; i < n_table; i++)
                if (strcmp(table[i].key, key) == 0)
                        return &table[i];
        return NULL;
}

int fields_decode(json_object *object, const Field *table, size_t n_table, size_t max_elements,
                  void *ret, const char **ret_key) {
        json_object_object_foreach(object, key, value) {
                const Field *field = find_field(key, table, n_table);

                if (field && !value)
                        continue;
                if (!field || !take(field, value, max_elements, (char *) ret + field->offset)) {
                        *ret_key = key;
                        return FIELD_E_INVALID;
                }
        }
        for (size_t i = 0; i < n_table; i++) {
                if (!table[i].required || json_object_object_get(object, table[i].key))
                        continue;
                *ret_key = table[i].key;
                return FIELD_E_INVALID;
        }
        return FIELD_OK;
}
