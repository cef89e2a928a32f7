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

/*
 * Delta
 *
 * The difference of two values of one metric. Differences of integers are exact and may need 65
 * bits, so they have a sign and a magnitude; those of midpoints may end in .5. Values that are
 * differences themselves can be further apart: then there is no exact delta. Doubles are used only
 * where the values are doubles, for what is too large, and for percents and rates, which are
 * rounded for display anyway.
 */

typedef enum DeltaKind {
        DELTA_NONE, /* a side has no number */
        DELTA_INTEGER,
        DELTA_REAL,
        DELTA_TOO_LARGE, /* of integers, and beyond 64 bits: only the nearest double is known */
} DeltaKind;

typedef struct Delta {
        DeltaKind kind;
        Integer integer;
        bool half; /* plus 0.5, away from zero: integer 2 means 2.5; -0.5 has a negative 0 */
        double real;
} Delta;

/* @after - @before, two values of one metric; ranges and CPU sets count by their midpoints. */
Delta delta_between(const Value *before, const Value *after);
/* The distance of @value from 0; ranges and CPU sets count by their midpoints. */
Delta delta_of_value(const Value *value);
/* Compares two deltas with their signs; neither may be DELTA_NONE. Exact for integers. */
int delta_compare(const Delta *a, const Delta *b);
/* The nearest double; 0 for DELTA_NONE. */
double delta_number(const Delta *delta);
/* 100 * @delta / |@before|; false when that is undefined, as for a before of 0. */
bool delta_percent(const Delta *delta, const Value *before, double *ret);
/* Writes a member that may have no value: null. */
void double_write_json(JsonWriter *writer, const char *key, bool has, double value);
/* Writes a number, or null for DELTA_NONE and DELTA_TOO_LARGE. */
void delta_write_json(JsonWriter *writer, const Delta *delta);
