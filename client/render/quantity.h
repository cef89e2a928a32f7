/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Quantity
 *
 * A number that will be formatted: sign, whole part and fraction, exact enough for any rounding.
 * Formatting chooses a unit from a ladder and rounds once, exactly, ties to even; a value that
 * rounds up to the next unit is shown in that unit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUANTITY_FRACTION_BITS 53

typedef struct Quantity {
        bool negative;
        uint64_t whole;    /* larger values are clipped */
        uint64_t fraction; /* of 2^53; its last bit is set if there are smaller parts */
} Quantity;

typedef enum QuantityLadder {
        QUANTITY_LADDER_NONE,
        QUANTITY_LADDER_COUNT,
        QUANTITY_LADDER_NS,
        QUANTITY_LADDER_US,
        QUANTITY_LADDER_BYTES,
        QUANTITY_LADDER_TICKS,
        QUANTITY_LADDER_RATIO,
        _QUANTITY_LADDER_MAX,
} QuantityLadder;

/* Two bits: whether it has a sign, and how many decimals the base unit has. */
typedef enum QuantityForm {
        QUANTITY_FORM_VALUE = 0,         /* base unit: the integer, or three decimals */
        QUANTITY_FORM_DELTA = 1,         /* the same with a sign */
        QUANTITY_FORM_DERIVED_VALUE = 2, /* base unit: two decimals */
        QUANTITY_FORM_DERIVED_DELTA = QUANTITY_FORM_DERIVED_VALUE | QUANTITY_FORM_DELTA,
} QuantityForm;

/* Sign, at most 24 digits, point, unit, with room to spare. */
#define QUANTITY_CHARS 48

/* NaN becomes 0. */
Quantity quantity_of_double(double value);

bool quantity_is_zero(Quantity quantity);
/* Negative if |a| < |b|, 0 if they are equal, else positive. */
int quantity_compare_magnitude(Quantity a, Quantity b);

/* All return the length of the text, which ends with a NUL. */
size_t quantity_format(Quantity quantity, QuantityLadder ladder, QuantityForm form,
                       char ret_text[static QUANTITY_CHARS]);
/* "+233.3%" of a number of percent. */
size_t quantity_format_percent(Quantity percent, char ret_text[static QUANTITY_CHARS]);
/* The same of 100 * @delta / |@before|, never rounded in between; both whole, @before not 0. */
size_t quantity_format_percent_of(Quantity delta, Quantity before,
                                  char ret_text[static QUANTITY_CHARS]);
