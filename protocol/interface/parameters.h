/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Parameters
 *
 * The parameters of a call as a struct, described by a table. A member that is not in the table or
 * has another type is refused, and so is a missing required one; null counts as missing. (The JSON
 * scanner has refused duplicates before.) Text and objects are borrowed from the call.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

typedef struct OptionalU64 {
        bool is_set;
        uint64_t value;
} OptionalU64;

typedef struct OptionalBool {
        bool is_set;
        bool value;
} OptionalBool;

typedef enum ParameterType {
        PARAMETER_TEXT,          /* const char *: without NUL inside, as all JSON here */
        PARAMETER_BOOL,          /* bool */
        PARAMETER_OPTIONAL_BOOL, /* OptionalBool */
        PARAMETER_OPTIONAL_U64,  /* OptionalU64 */
        PARAMETER_REAL,          /* double: any number */
        PARAMETER_OBJECT,        /* json_object * */
        PARAMETER_OBJECTS, /* json_object *: an array of at most LIMIT_NAMES_PER_LIST objects */
        PARAMETER_TEXTS,   /* json_object *: the same of strings */
        PARAMETER_NUMBERS, /* json_object *: the same of whole numbers */
        _PARAMETER_TYPE_MAX,
} ParameterType;

typedef struct Parameter {
        const char *key;
        ParameterType type;
        bool required;
        size_t offset; /* in the struct; a member that is missing keeps the value it has there */
} Parameter;

enum {
        PARAMETERS_OK,
        PARAMETERS_E_INVALID, /* *ret_key is the culprit, borrowed from @object or @table */
};

_must_check_ int parameters_decode(json_object *object, const Parameter *table, size_t n_table,
                                   void *ret, const char **ret_key);
