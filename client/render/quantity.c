/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/quantity.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/macro.h"
#include "base/number.h"

#define FRACTION_ONE (UINT64_C(1) << QUANTITY_FRACTION_BITS)
#define FRACTION_HALF (FRACTION_ONE / 2)

/* One step of a ladder: the unit for values of at least @size base units. */
typedef struct Rung {
        uint64_t size;
        const char *unit;
} Rung;

#define MAX_RUNGS 5

#define KIBI UINT64_C(1024)

/* The first empty rung ends a ladder. */
static const Rung ladders[_QUANTITY_LADDER_MAX][MAX_RUNGS + 1] = {
        [QUANTITY_LADDER_NONE] = { { 1, "" } },
        [QUANTITY_LADDER_COUNT] = { { 1, "" },
                                    { 1000, "K" },
                                    { 1000000, "M" },
                                    { 1000000000, "G" } },
        [QUANTITY_LADDER_NS] = { { 1, "ns" },
                                 { NSEC_PER_USEC, "\u00b5s" },
                                 { NSEC_PER_MSEC, "ms" },
                                 { NSEC_PER_SEC, "s" } },
        [QUANTITY_LADDER_US] = { { 1, "\u00b5s" }, { 1000, "ms" }, { USEC_PER_SEC, "s" } },
        [QUANTITY_LADDER_BYTES] = { { 1, "B" },
                                    { KIBI, "KiB" },
                                    { KIBI * KIBI, "MiB" },
                                    { KIBI * KIBI * KIBI, "GiB" },
                                    { KIBI * KIBI * KIBI * KIBI, "TiB" } },
        [QUANTITY_LADDER_TICKS] = { { 1, "ticks" }, { 1000, "Kticks" }, { 1000000, "Mticks" } },
        [QUANTITY_LADDER_RATIO] = { { 1, "" } },
};

/* Decimal digits: @n in all, the last @n_decimals of them behind the point. */
typedef struct Digits {
        char digits[QUANTITY_CHARS];
        size_t n;
        size_t n_decimals;
} Digits;

Quantity quantity_of_double(double value) {
        double magnitude = fabs(value), whole, scaled;
        Quantity quantity = { .negative = value < 0 };

        if (isnan(value))
                return (Quantity){};
        if (magnitude >= 0x1p64)
                return (Quantity){ .negative = value < 0, .whole = UINT64_MAX };

        /* Both steps are exact: modf() splits the bits, the product shifts the exponent. */
        scaled = modf(magnitude, &whole) * 0x1p53;
        quantity.whole = (uint64_t) whole;
        quantity.fraction = (uint64_t) scaled;
        if ((double) quantity.fraction < scaled)
                quantity.fraction |= 1;
        return quantity;
}

bool quantity_is_zero(Quantity quantity) {
        return quantity.whole == 0 && quantity.fraction == 0;
}

int quantity_compare_magnitude(Quantity a, Quantity b) {
        if (a.whole != b.whole)
                return a.whole < b.whole ? -1 : 1;
        return (a.fraction > b.fraction) - (a.fraction < b.fraction);
}

/* *remainder becomes (10 * *remainder + carry) mod divisor; returns the quotient, a digit. */
static unsigned divide_step(uint64_t *remainder, uint64_t carry, uint64_t divisor) {
        uint64_t once = *remainder, sum = 0;
        unsigned digit = (unsigned) (carry / divisor);

        carry %= divisor;
        /* Ten additions, because ten times a remainder can need more than 64 bits. */
        for (unsigned i = 0; i <= 10; i++) {
                uint64_t next = i < 10 ? once : carry;

                if (next >= divisor - sum) {
                        sum -= divisor - next;
                        digit++;
                } else {
                        sum += next;
                }
        }
        *remainder = sum;
        return digit;
}

/* |quantity| / divisor, times ten to the @n_shift, rounded to @n_decimals. */
static void divide(Quantity quantity, uint64_t divisor, size_t n_shift, size_t n_decimals,
                   Digits *ret) {
        uint64_t remainder = quantity.whole % divisor, fraction = quantity.fraction, rest;
        int half;

        *ret = (Digits){ .n_decimals = n_decimals };
        ret->n = number_format_u64(quantity.whole / divisor, ret->digits);
        for (size_t i = 0; i < n_shift + n_decimals; i++) {
                fraction *= 10;
                ret->digits[ret->n++] =
                        (char) ('0' + divide_step(&remainder, fraction / FRACTION_ONE, divisor));
                fraction %= FRACTION_ONE;
        }
        /* Twice the remainder with its fraction is compared with the divisor: half goes to even. */
        rest = divisor - remainder;
        if (remainder > rest)
                half = 1;
        else if (remainder == rest)
                half = fraction > 0;
        else if (rest - remainder > 1)
                half = -1;
        else
                half = (fraction > FRACTION_HALF) - (fraction < FRACTION_HALF);
        if (half < 0 || (half == 0 && (ret->digits[ret->n - 1] - '0') % 2 == 0))
                return;
        for (size_t i = ret->n; i-- > 0; ret->digits[i] = '0')
                if (ret->digits[i] < '9') {
                        ret->digits[i]++;
                        return;
                }
        memmove(ret->digits + 1, ret->digits, ret->n++);
        ret->digits[0] = '1';
}

/* A negative value that rounds to zero loses its sign. */
static size_t put(const Digits *digits, bool negative, bool plus, const char *unit,
                  char *ret_text) {
        size_t n_whole = digits->n - digits->n_decimals, skip = 0;
        bool is_zero = true;
        char *at = ret_text;

        /* A shifted quotient may begin with zeros. */
        while (skip + 1 < n_whole && digits->digits[skip] == '0')
                skip++;
        for (size_t i = 0; i < digits->n; i++)
                is_zero = is_zero && digits->digits[i] == '0';
        assert(digits->n + strlen("-.") + strlen(unit) < QUANTITY_CHARS);
        if (negative && !is_zero)
                *at++ = '-';
        else if (plus)
                *at++ = '+';
        at = mempcpy(at, digits->digits + skip, n_whole - skip);
        if (digits->n_decimals > 0) {
                *at++ = '.';
                at = mempcpy(at, digits->digits + n_whole, digits->n_decimals);
        }
        return (size_t) (stpcpy(at, unit) - ret_text);
}

size_t quantity_format(Quantity quantity, QuantityLadder ladder, QuantityForm form,
                       char ret_text[static QUANTITY_CHARS]) {
        const Rung *rungs = ladders[ladder];
        size_t rung = 0, n_decimals;
        Digits digits;

        /* The base unit has as many decimals as the form asks for, every other one has three. */
        n_decimals = ladder == QUANTITY_LADDER_RATIO      ? 3
                     : form & QUANTITY_FORM_DERIVED_VALUE ? 2
                     : quantity.fraction > 0              ? 3
                                                          : 0;
        while (rungs[rung + 1].size > 0 && quantity.whole >= rungs[rung + 1].size)
                rung++;
        for (;; rung++) {
                uint64_t whole = UINT64_MAX;

                divide(quantity, rungs[rung].size, 0, rung == 0 ? n_decimals : 3, &digits);
                if (rungs[rung + 1].size == 0)
                        break;
                (void) number_parse_u64((Span){ digits.digits, digits.n - digits.n_decimals },
                                        &whole);
                if (whole < rungs[rung + 1].size / rungs[rung].size)
                        break;
        }
        return put(&digits, quantity.negative, form & QUANTITY_FORM_DELTA, rungs[rung].unit,
                   ret_text);
}

size_t quantity_format_percent(Quantity percent, char ret_text[static QUANTITY_CHARS]) {
        Digits digits;

        divide(percent, 1, 0, 1, &digits);
        return put(&digits, percent.negative, true, "%", ret_text);
}

size_t quantity_format_percent_of(Quantity delta, Quantity before,
                                  char ret_text[static QUANTITY_CHARS]) {
        Digits digits;

        divide(delta, before.whole, 2, 1, &digits);
        return put(&digits, delta.negative, true, "%", ret_text);
}
