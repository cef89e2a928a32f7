/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Value
 *
 * What a group has for one metric or derived value, once it is reduced; or that it has nothing.
 * Integers are exact from -(2^64-1) to 2^64-1; doubles hold quotients only.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/thread-sample.h"

typedef struct Integer {
        bool negative; /* never with a magnitude of 0 */
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
                        uint64_t count; /* of the threads that have it */
                        uint64_t total; /* of the threads that have any */
                } mode;
                struct {
                        uint64_t min, max; /* numbers of CPUs */
                        bool uniform;      /* every thread has the same list */
                        Span list;         /* when uniform; borrowed from the aggregate */
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

/* @a - @b; past 2^64-1, which differences of differences can reach, it saturates. */
Integer integer_subtract(Integer a, Integer b);

/* A value that has no number has none to compute with: absent ones and modes. */
bool value_has_number(const Value *value);
/* The nearest double; the midpoint of a range. */
double value_number(const Value *value);
/* Modes are equal when their winners are; absent ones equal each other. */
bool value_equal(const Value *a, const Value *b);

/* A VALUE of the command-line contract; null when absent. */
void value_write_json(JsonWriter *writer, const Value *value);
