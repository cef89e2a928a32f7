/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetSamples
 *
 * What the captures of both sets gave for one row of one group: at most one number each. Most rows
 * of a host never change, so numbers are stored only once one differs from the first; until then
 * a row costs a few bytes whatever the number of captures.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

#define SET_MAX_CAPTURES 64 /* of both sets together: a bit for each */

typedef struct SetSamples {
        double first;
        uint64_t present; /* bit i: capture i gave one */
        double *values;   /* owned; of each capture; NULL: all are equal to the first */
} SetSamples;

void set_samples_done(SetSamples *samples);
/* Each of the @n_captures gives one at most. 0 or -ENOMEM. */
_must_check_ int set_samples_put(SetSamples *samples, size_t n_captures, size_t capture,
                                 double value);
/* Two of them differ, whichever set they are of. */
bool set_samples_vary(const SetSamples *samples);
/* Those of the @captures, in their order; how many. */
size_t set_samples_get(const SetSamples *samples, uint64_t captures,
                       double ret_values[static SET_MAX_CAPTURES]);

/*
 * What describes a sample in five numbers: its ends, its median and the values a quarter of the way
 * from either end, interpolated between neighbours where they fall between two.
 */
typedef struct Quartiles {
        size_t n;
        double min, q1, median, q3, max; /* when there is any */
} Quartiles;

/* Sorts @values, which are finite. */
Quartiles quartiles_of(double *values, size_t n);
