/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Value
 *
 * The reduced value of one metric or derived value of a group, or its absence. Integers are exact
 * from -(2^64-1) to 2^64-1; doubles hold only quotients.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/thread-sample.h"

typedef struct Integer {
        bool negative; /* never set when the magnitude is 0 */
        uint64_t magnitude;
} Integer;

typedef enum ValueKind {
        VALUE_ABSENT,
        VALUE_INTEGER,
        VALUE_REAL,
        VALUE_RANGE,
        VALUE_MODE,
        VALUE_CPUS,
} ValueKind;

typedef struct Value {
        ValueKind kind;
        union {
                Integer integer;
                double real;
                struct {
                        Integer min, max;
                } range;
                struct {
                        char text[POLICY_NAME_CHARS];
                        size_t n_text;
                        uint64_t count; /* of threads with the winning word */
                        uint64_t total; /* of threads with any word */
                } mode;
                struct {
                        uint64_t min, max; /* how many CPUs */
                        bool uniform;      /* every thread has the same list */
                        Span list;         /* if uniform; borrowed from the aggregate */
                } cpus;
        };
} Value;

static inline Integer integer_of_u64(uint64_t value) {
        return (Integer){ .magnitude = value };
}

static inline Integer integer_of_i64(int64_t value) {
        return (Integer){ .negative = value < 0,
                          .magnitude = value < 0 ? -(uint64_t) value : (uint64_t) value };
}

/* @a - @b. Saturates at 2^64-1, which differences of differences can exceed. */
Integer integer_subtract(Integer a, Integer b);

/* The nearest double. */
double integer_number(Integer integer);

/* Absent values and modes have no number to compute with. */
bool value_has_number(const Value *value);
/* The nearest double; the midpoint of a range. */
double value_number(const Value *value);
/* Modes are equal when their winning words are; absent values equal each other. */
bool value_equal(const Value *a, const Value *b);

/* Writes a VALUE of the interface; null when absent. */
void value_write_json(JsonWriter *writer, const Value *value);
