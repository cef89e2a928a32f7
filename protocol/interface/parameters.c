/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/parameters.h"

#include <string.h>
#include "wire/limits.h"

static bool is_array_of(json_object *value, json_type type) {
        if (!json_object_is_type(value, json_type_array) ||
            json_object_array_length(value) > LIMIT_NAMES_PER_LIST)
                return false;
        for (size_t i = 0; i < json_object_array_length(value); i++)
                if (!json_object_is_type(json_object_array_get_idx(value, i), type))
                        return false;
        return true;
}

/* False when @value is not of the type or out of its range. */
static bool put(ParameterType type, json_object *value, void *member) {
        bool is_valid = false;

        switch (type) {
        case PARAMETER_TEXT:
                if (!json_object_is_type(value, json_type_string))
                        return false;
                *(const char **) member = json_object_get_string(value);
                return true;
        case PARAMETER_BOOL:
                if (!json_object_is_type(value, json_type_boolean))
                        return false;
                *(bool *) member = json_object_get_boolean(value);
                return true;
        case PARAMETER_OPTIONAL_BOOL:
                if (!json_object_is_type(value, json_type_boolean))
                        return false;
                *(OptionalBool *) member =
                        (OptionalBool){ .is_set = true, .value = json_object_get_boolean(value) };
                return true;
        case PARAMETER_OPTIONAL_U64:
                /* json-c reads a number past 2^63-1 as int64 clipped, never as one below 0. */
                if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
                        return false;
                *(OptionalU64 *) member =
                        (OptionalU64){ .is_set = true, .value = json_object_get_uint64(value) };
                return true;
        case PARAMETER_REAL:
                if (!json_object_is_type(value, json_type_int) &&
                    !json_object_is_type(value, json_type_double))
                        return false;
                *(double *) member = json_object_get_double(value);
                return true;
        case PARAMETER_OBJECT:
                is_valid = json_object_is_type(value, json_type_object);
                break;
        case PARAMETER_OBJECTS:
                is_valid = is_array_of(value, json_type_object);
                break;
        case PARAMETER_TEXTS:
                is_valid = is_array_of(value, json_type_string);
                break;
        case PARAMETER_NUMBERS:
                is_valid = is_array_of(value, json_type_int);
                break;
        case _PARAMETER_TYPE_MAX:
                break;
        }
        if (is_valid)
                *(json_object **) member = value;
        return is_valid;
}

int parameters_decode(json_object *object, const Parameter *table, size_t n_table, void *ret,
                      const char **ret_key) {
        json_object_object_foreach(object, key, ignored) {
                size_t i = 0;

                (void) ignored;
                while (i < n_table && strcmp(table[i].key, key) != 0)
                        i++;
                if (i == n_table) {
                        *ret_key = key;
                        return PARAMETERS_E_INVALID;
                }
        }
        for (size_t i = 0; i < n_table; i++) {
                json_object *value = json_object_object_get(object, table[i].key);

                if (!value && !table[i].required)
                        continue;
                if (!value || !put(table[i].type, value, (char *) ret + table[i].offset)) {
                        *ret_key = table[i].key;
                        return PARAMETERS_E_INVALID;
                }
        }
        return PARAMETERS_OK;
}
