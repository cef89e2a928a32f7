/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Number
 *
 * Text to integers and back, whole string or nothing, no locale; and sums and conversions that
 * clip instead of wrap: a clipped total is visibly absurd, a wrapped one looks plausible.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

#define NUMBER_U64_CHARS 20 /* digits of 2^64-1 */
#define NUMBER_I64_CHARS 20 /* sign and digits of -2^63 */

/* Decimal digits only: no sign, no blanks, not empty, at most 2^64-1. False leaves *ret alone. */
bool number_parse_u64(Span text, uint64_t *ret);
/* Lower-case hexadecimal digits, without 0x. */
bool number_parse_hex(Span text, uint64_t *ret);
/* As above with an optional leading '-'. */
bool number_parse_i64(Span text, int64_t *ret);
bool number_parse_u32(Span text, uint32_t *ret);

/* Counts its digits, at most NUMBER_U64_CHARS. */
size_t number_u64_chars(uint64_t value);
/* Writes the digits without a terminator; returns how many, at most NUMBER_U64_CHARS. */
size_t number_format_u64(uint64_t value, char *ret_digits);
size_t number_format_i64(int64_t value, char *ret_digits);

static inline uint64_t number_add_saturating(uint64_t a, uint64_t b) {
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
static inline uint64_t number_multiply_saturating(uint64_t a, uint64_t b) {
        uint64_t product;

        return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
/* The integer part; 0 of what is below 0 or no number. */
static inline uint64_t number_of_real(long double value) {
        if (!(value >= 1))
                return 0;
        return value < 0x1p64L ? (uint64_t) value : UINT64_MAX;
}
