/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Delta
 *
 * What moved between two values of one metric. Differences of integers are exact and may need 65
 * bits, so they are sign and magnitude; those of midpoints may end in a half. Doubles are used only
 * where the values are doubles, and for percents and rates, which are rounded for people anyway.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/value.h"
#include "json/json-writer.h"

typedef enum DeltaKind {
        DELTA_NONE, /* a side has no number */
        DELTA_INTEGER,
        DELTA_REAL,
} DeltaKind;

typedef struct Delta {
        DeltaKind kind;
        Integer integer;
        bool half; /* and a half, away from zero: integer 2 is 2.5; "-0.5" has a negative 0 */
        double real;
} Delta;

/* @after - @before, which are of one metric; ranges and CPU sets by their midpoints. */
Delta delta_between(const Value *before, const Value *after);
/* A value by itself: its distance from 0; ranges and CPU sets by their midpoints. */
Delta delta_of_value(const Value *value);
/* Which of two is more, signs counted; both must be there. Exact for integers. */
int delta_compare(const Delta *a, const Delta *b);
/* The nearest double; 0 when there is none. */
double delta_number(const Delta *delta);
/* 100 * @delta / |@before|: false when that has no meaning, as after a before of 0. */
bool delta_percent(const Delta *delta, const Value *before, double *ret);
/* A number, or null. */
void delta_write_json(JsonWriter *writer, const Delta *delta);
