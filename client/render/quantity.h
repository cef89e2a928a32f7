/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Quantity
 *
 * A number on its way to a cell: sign, whole part and fraction, exact as far as any rounding can
 * tell. Formatting climbs a ladder of units, rounds once, exactly, ties to even, and shows a value
 * that rounds up to the next unit in that unit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUANTITY_FRACTION_BITS 53

typedef struct Quantity {
        bool negative;
        uint64_t whole;    /* larger ones clip */
        uint64_t fraction; /* of 2^53; what lies below that is kept as "the last bit is set" */
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

typedef enum QuantityForm {
        QUANTITY_FORM_VALUE,         /* base unit: the integer, or three decimals */
        QUANTITY_FORM_DELTA,         /* the same with a sign */
        QUANTITY_FORM_DERIVED_VALUE, /* base unit: two decimals */
        QUANTITY_FORM_DERIVED_DELTA,
} QuantityForm;

/* Sign, at most 24 digits, point, unit, with room to spare. */
#define QUANTITY_CHARS 48

Quantity quantity_of_u64(uint64_t value);
Quantity quantity_of_signed(bool negative, uint64_t magnitude);
/* NaN is 0. */
Quantity quantity_of_double(double value);

bool quantity_is_zero(Quantity quantity);
/* Negative when |a| < |b|, 0, positive. */
int quantity_compare_magnitude(Quantity a, Quantity b);

/* All return the length of the text, which is terminated. */
size_t quantity_format(Quantity quantity, QuantityLadder ladder, QuantityForm form,
                       char ret_text[static QUANTITY_CHARS]);
/* "+233.3%" of a number of percent. */
size_t quantity_format_percent(Quantity percent, char ret_text[static QUANTITY_CHARS]);
/* The same of 100 * @delta / |@before|, never rounded in between; both whole, @before not 0. */
size_t quantity_format_percent_of(Quantity delta, Quantity before,
                                  char ret_text[static QUANTITY_CHARS]);
