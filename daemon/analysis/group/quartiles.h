/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Quartiles
 *
 * What describes a sample in five numbers: its ends, its median and the values a quarter of the way
 * from either end, interpolated between neighbours where they fall between two.
 */

#include <stddef.h>

typedef struct Quartiles {
        size_t n;
        double min, q1, median, q3, max; /* when there is any */
} Quartiles;

/* Sorts @values, which are finite. */
Quartiles quartiles_of(double *values, size_t n);
