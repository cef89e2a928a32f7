/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonNumber
 *
 * Reads the numbers of a JsonInput. Integers are exact, as a sign and 64 bits; any other number is
 * only checked.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "json/json-input.h"

typedef struct JsonNumber {
        uint64_t magnitude;
        bool negative; /* never for 0 */
        bool is_real;  /* has a fraction, an exponent or over 64 bits; no value then */
} JsonNumber;

/* Reads the number at the start of the token, which is '-' or a digit. */
_must_check_ int json_number_read(JsonInput *input, JsonNumber *ret);
