/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KeyedNumbers
 *
 * Numbers that a file prints with their keys: of the keys that are asked for, or of all; and files
 * that become one member of a JSON object.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "kernel/text/text-file.h"

/*
 * Fields
 *
 * Numbers collected by key. A key that comes twice, or a value that is not a whole number of 64
 * bits, is malformed and leaves its field absent for good; other keys are skipped.
 */

#define FIELDS_MAX 64

typedef struct Fields {
        const Span *keys; /* borrowed; at most FIELDS_MAX */
        size_t n_keys;
        uint64_t *values; /* borrowed; one per key, written where present */
        uint64_t present; /* bit per key */
        uint64_t seen;    /* bit per key that occurred, with any value */
        bool malformed;
} Fields;

/* False when @key is not one of the keys. */
bool fields_put(Fields *fields, Span key, Span value);

/*
 * NumberMap
 *
 * Keys and numbers of a file whose keys differ between kernels: all are kept, in bytewise order,
 * each once. A key that comes twice or without a number has no value, and never gets one.
 */

#define NUMBER_MAP_MAX 256 /* memory.stat of 7.2 has 75 */

typedef struct NumberMapEntry {
        Span key; /* borrowed */
        uint64_t value;
        bool has_value;
} NumberMapEntry;

/* It is ready when n_entries is 0; the entries are many, and better not cleared. */
typedef struct NumberMap {
        NumberMapEntry entries[NUMBER_MAP_MAX];
        size_t n_entries;
} NumberMap;

/* False when the key came before, @value is not a number, or there is no room. */
bool number_map_put(NumberMap *map, Span key, Span value);

/* {"key": number, ...}: the keys that have a value. */
void number_map_write_json(JsonWriter *writer, const NumberMap *map);

/*
 * FileValue
 *
 * Files of the kernel with one value, or with a value in each line, as a member of a JSON object.
 */

typedef enum FileValueKind {
        FILE_VALUE_TEXT,
        FILE_VALUE_NUMBER,
        FILE_VALUE_SIGNED,
        FILE_VALUE_LIMIT, /* a number, or "max" where none is set */
        FILE_VALUE_MAP,   /* lines of "key number": an object of those that are in this grammar */
        _FILE_VALUE_MAX,
} FileValueKind;

/*
 * Writes the member @name. @text is a whole file of a map, or another value without blanks around
 * it. The member is null where the value is not of that kind, which is TEXT_E_MALFORMED, as it is
 * where some lines of a map are not.
 */
_must_check_ int file_value_write(JsonWriter *json, const char *name, FileValueKind kind,
                                  Span text);
