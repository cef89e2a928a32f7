/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/number.h"

#define KIB UINT64_C(1024)
#define USEC NSEC_PER_USEC
#define MINUTE (60 * NSEC_PER_SEC)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
/* systemd.time(7): 30.44 days, 365.25 days */
#define MONTH (UINT64_C(2629800) * NSEC_PER_SEC)
#define YEAR (UINT64_C(31557600) * NSEC_PER_SEC)

typedef struct Unit {
        const char *name;
        uint64_t factor;
} Unit;

static const Unit size_units[] = {
        { "", 1 },
        { "B", 1 },
        { "K", KIB },
        { "M", KIB *KIB },
        { "G", KIB *KIB *KIB },
        { "T", KIB *KIB *KIB *KIB },
};

// clang-format off
static const Unit time_units[] = {
        { "", NSEC_PER_SEC },
        { "us", USEC }, { "usec", USEC },
        { "ms", NSEC_PER_MSEC }, { "msec", NSEC_PER_MSEC },
        { "s", NSEC_PER_SEC }, { "sec", NSEC_PER_SEC },
        { "second", NSEC_PER_SEC }, { "seconds", NSEC_PER_SEC },
        { "m", MINUTE }, { "min", MINUTE }, { "minute", MINUTE }, { "minutes", MINUTE },
        { "h", HOUR }, { "hr", HOUR }, { "hour", HOUR }, { "hours", HOUR },
        { "d", DAY }, { "day", DAY }, { "days", DAY },
        { "w", 7 * DAY }, { "week", 7 * DAY }, { "weeks", 7 * DAY },
        { "M", MONTH }, { "month", MONTH }, { "months", MONTH },
        { "y", YEAR }, { "year", YEAR }, { "years", YEAR },
};
// clang-format on

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Takes the characters of @set that @rest begins with. */
static Span take(Span *rest, const char *set) {
        Span taken = { rest->bytes, 0 };

        while (taken.n < rest->n && memchr(set, rest->bytes[taken.n], strlen(set)))
                taken.n++;
        *rest = (Span){ rest->bytes + taken.n, rest->n - taken.n };
        return taken;
}

/* So many digits behind the point, and every product below stays within 64 bits. */
#define FRACTION_DIGITS 9

/* Multiplies the fraction by @factor and rounds down. */
static bool fraction_of(Span digits, uint64_t factor, uint64_t *ret) {
        uint64_t numerator, denominator = 1;

        if (digits.n > FRACTION_DIGITS || !number_parse_u64(digits, &numerator))
                return false;
        for (size_t i = 0; i < digits.n; i++)
                denominator *= 10;
        *ret = factor / denominator * numerator + factor % denominator * numerator / denominator;
        return true;
}

/* A number and its unit; @rest begins behind them then. */
static bool take_quantity(Span *rest, const Unit *units, size_t n_units, uint64_t *ret) {
        Span digits, fraction = SPAN_LITERAL("0"), unit;
        uint64_t value, product, part;

        digits = take(rest, DIGITS);
        if (!number_parse_u64(digits, &value))
                return false;
        if (rest->n > 0 && rest->bytes[0] == '.') {
                *rest = (Span){ rest->bytes + 1, rest->n - 1 };
                fraction = take(rest, DIGITS);
        }
        unit = take(rest, LETTERS);
        for (size_t i = 0; i < n_units; i++) {
                if (!span_is(unit, units[i].name))
                        continue;
                return fraction_of(fraction, units[i].factor, &part) &&
                       !__builtin_mul_overflow(value, units[i].factor, &product) &&
                       !__builtin_add_overflow(product, part, ret);
        }
        return false;
}

bool quantity_parse_size(Span text, uint64_t *ret_bytes) {
        uint64_t bytes;

        if (span_is(text, "infinity")) {
                *ret_bytes = QUANTITY_INFINITY;
                return true;
        }
        if (!take_quantity(&text, size_units, ELEMENTSOF(size_units), &bytes) || text.n > 0)
                return false;
        *ret_bytes = bytes;
        return true;
}

bool quantity_parse_time(Span text, uint64_t *ret_ns) {
        uint64_t sum = 0, ns;

        if (span_is(text, "infinity")) {
                *ret_ns = QUANTITY_INFINITY;
                return true;
        }
        do {
                if (!take_quantity(&text, time_units, ELEMENTSOF(time_units), &ns) ||
                    __builtin_add_overflow(sum, ns, &sum))
                        return false;
                (void) take(&text, " \t");
        } while (text.n > 0);
        *ret_ns = sum;
        return true;
}

void quantity_format_size(uint64_t bytes, char ret[static QUANTITY_TEXT_BYTES]) {
        size_t unit = ELEMENTSOF(size_units) - 1;

        if (bytes == QUANTITY_INFINITY) {
                (void) snprintf(ret, QUANTITY_TEXT_BYTES, "infinity");
                return;
        }
        /* The largest that leaves no rest; "B" is for reading only. */
        while (unit > 1 && (bytes == 0 || bytes % size_units[unit].factor != 0))
                unit--;
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%" PRIu64 "%s", bytes / size_units[unit].factor,
                        unit > 1 ? size_units[unit].name : "");
}

void quantity_format_time(uint64_t ns, char ret[static QUANTITY_TEXT_BYTES]) {
        static const Unit units[] = {
                { "d", DAY },          { "h", HOUR },           { "min", MINUTE },
                { "s", NSEC_PER_SEC }, { "ms", NSEC_PER_MSEC }, { "us", USEC },
        };
        size_t n = 0;

        if (ns == QUANTITY_INFINITY || ns < USEC) {
                (void) snprintf(ret, QUANTITY_TEXT_BYTES,
                                ns == QUANTITY_INFINITY ? "infinity" : "0");
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(units) && n < QUANTITY_TEXT_BYTES; i++) {
                if (ns < units[i].factor)
                        continue;
                n += (size_t) snprintf(ret + n, QUANTITY_TEXT_BYTES - n, "%s%" PRIu64 "%s",
                                       n > 0 ? " " : "", ns / units[i].factor, units[i].name);
                ns %= units[i].factor;
        }
}
