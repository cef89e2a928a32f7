/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Delta
 *
 * The difference of two values of one metric. Differences of integers are exact and may need 65
 * bits, so they have a sign and a magnitude; those of midpoints may end in .5. Values that are
 * differences themselves can be further apart: then there is no exact delta. Doubles are used only
 * where the values are doubles, for what is too large, and for percents and rates, which are
 * rounded for display anyway.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/value.h"
#include "json/json-writer.h"

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
/* From @after to @before instead. */
Delta delta_negate(Delta delta);
/* Compares two deltas with their signs; neither may be DELTA_NONE. Exact for integers. */
int delta_compare(const Delta *a, const Delta *b);
/* The nearest double; 0 for DELTA_NONE. */
double delta_number(const Delta *delta);
/* 100 * @delta / |@before|; false when that is undefined, as for a before of 0. */
bool delta_percent(const Delta *delta, const Value *before, double *ret);
/* Writes a number, or null for DELTA_NONE and DELTA_TOO_LARGE. */
void delta_write_json(JsonWriter *writer, const Delta *delta);
