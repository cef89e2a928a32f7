/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetSamples
 *
 * The samples of one row of one group: at most one number per capture of both sets. Most rows of a
 * host never change, so numbers are stored only once one differs from the first; until then a row
 * costs a few bytes whatever the number of captures.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

#define SET_MAX_CAPTURES 64 /* of both sets together: each has a bit */

typedef struct SetSamples {
        double first;
        uint64_t present; /* bit i: capture i has a sample */
        double *values;   /* owned; one per capture; NULL: all equal the first */
} SetSamples;

void set_samples_done(SetSamples *samples);
/* Adds the sample of one capture; each has at most one. 0 or -ENOMEM. */
_must_check_ int set_samples_put(SetSamples *samples, size_t n_captures, size_t capture,
                                 double value);
/* Two samples differ, of whichever set. */
bool set_samples_vary(const SetSamples *samples);
/* Collects the samples of @captures in order; returns how many. */
size_t set_samples_get(const SetSamples *samples, uint64_t captures,
                       double ret_values[static SET_MAX_CAPTURES]);

/*
 * Five numbers that describe a sample: minimum, maximum, median and quartiles, interpolated between
 * neighbours.
 */
typedef struct Quartiles {
        size_t n;
        double min, q1, median, q3, max; /* when there is any */
} Quartiles;

/* Sorts @values, which are finite. */
Quartiles quartiles_of(double *values, size_t n);
