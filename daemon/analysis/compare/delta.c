/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/delta.h"

#include <math.h>

#include "base/number.h"

/* (@a + @b) / 2, exactly: the sum may need 65 bits, half of it does not. */
static Delta half_of_sum(Integer a, Integer b) {
        Delta delta = { .kind = DELTA_INTEGER };
        uint64_t carry = 0, sum;

        if (a.negative == b.negative) {
                carry = __builtin_add_overflow(a.magnitude, b.magnitude, &sum);
                delta.integer.negative = a.negative;
        } else {
                bool a_wins = a.magnitude >= b.magnitude;

                sum = a_wins ? a.magnitude - b.magnitude : b.magnitude - a.magnitude;
                delta.integer.negative = a_wins ? a.negative : b.negative;
        }
        delta.integer.magnitude = sum >> 1 | carry << 63;
        delta.half = sum & 1;
        if (delta.integer.magnitude == 0 && !delta.half)
                delta.integer.negative = false;
        return delta;
}

static Delta integers_between(Integer before, Integer after) {
        uint64_t unused;

        if (before.negative != after.negative &&
            __builtin_add_overflow(before.magnitude, after.magnitude, &unused))
                return (Delta){ .kind = DELTA_TOO_LARGE,
                                .real = integer_number(after) - integer_number(before) };
        return (Delta){ .kind = DELTA_INTEGER, .integer = integer_subtract(after, before) };
}

Delta delta_between(const Value *before, const Value *after) {
        Delta none = { .kind = DELTA_NONE };

        if (before->kind != after->kind)
                return none;
        switch (before->kind) {
        case VALUE_INTEGER:
                return integers_between(before->integer, after->integer);
        case VALUE_REAL:
                return (Delta){ .kind = DELTA_REAL, .real = after->real - before->real };
        case VALUE_RANGE:
                return half_of_sum(integer_subtract(after->range.min, before->range.min),
                                   integer_subtract(after->range.max, before->range.max));
        case VALUE_CPUS:
                return half_of_sum(integer_subtract(integer_of_u64(after->cpus.min),
                                                    integer_of_u64(before->cpus.min)),
                                   integer_subtract(integer_of_u64(after->cpus.max),
                                                    integer_of_u64(before->cpus.max)));
        case VALUE_ABSENT:
        case VALUE_MODE:
                break;
        }
        return none;
}

Delta delta_of_value(const Value *value) {
        switch (value->kind) {
        case VALUE_INTEGER:
                return (Delta){ .kind = DELTA_INTEGER, .integer = value->integer };
        case VALUE_REAL:
                return (Delta){ .kind = DELTA_REAL, .real = value->real };
        case VALUE_RANGE:
                return half_of_sum(value->range.min, value->range.max);
        case VALUE_CPUS:
                return half_of_sum(integer_of_u64(value->cpus.min),
                                   integer_of_u64(value->cpus.max));
        case VALUE_ABSENT:
        case VALUE_MODE:
                break;
        }
        return (Delta){ .kind = DELTA_NONE };
}

Delta delta_negate(Delta delta) {
        delta.real = -delta.real;
        delta.integer.negative =
                !delta.integer.negative && (delta.integer.magnitude > 0 || delta.half);
        return delta;
}

static bool is_negative(const Delta *delta) {
        return delta->integer.negative && (delta->integer.magnitude > 0 || delta->half);
}

int delta_compare(const Delta *a, const Delta *b) {
        int more = 0;

        if (a->kind != DELTA_INTEGER || b->kind != DELTA_INTEGER) {
                double left = delta_number(a), right = delta_number(b);

                return left > right ? 1 : left < right ? -1 : 0;
        }
        if (is_negative(a) != is_negative(b))
                return is_negative(a) ? -1 : 1;
        if (a->integer.magnitude != b->integer.magnitude)
                more = a->integer.magnitude > b->integer.magnitude ? 1 : -1;
        else if (a->half != b->half)
                more = a->half ? 1 : -1;
        return is_negative(a) ? -more : more;
}

double delta_number(const Delta *delta) {
        double magnitude;

        switch (delta->kind) {
        case DELTA_INTEGER:
                magnitude = (double) delta->integer.magnitude + (delta->half ? 0.5 : 0);
                return delta->integer.negative ? -magnitude : magnitude;
        case DELTA_REAL:
        case DELTA_TOO_LARGE:
                return delta->real;
        case DELTA_NONE:
                break;
        }
        return 0;
}

bool delta_percent(const Delta *delta, const Value *before, double *ret) {
        double base;

        if (delta->kind == DELTA_NONE)
                return false;
        base = fabs(value_number(before));
        if (!(base > 0))
                return false;
        *ret = 100 * delta_number(delta) / base;
        return isfinite(*ret);
}

static void write_half(JsonWriter *writer, Integer integer) {
        char text[1 + NUMBER_U64_CHARS + 2];
        size_t n = 0;

        if (integer.negative)
                text[n++] = '-';
        n += number_format_u64(integer.magnitude, text + n);
        text[n++] = '.';
        text[n++] = '5';
        json_write_raw(writer, (Span){ text, n });
}

void delta_write_json(JsonWriter *writer, const Delta *delta) {
        switch (delta->kind) {
        case DELTA_NONE:
        case DELTA_TOO_LARGE:
                json_write_null(writer);
                break;
        case DELTA_INTEGER:
                if (delta->half)
                        write_half(writer, delta->integer);
                else
                        json_write_signed_u64(writer, delta->integer.negative,
                                              delta->integer.magnitude);
                break;
        case DELTA_REAL:
                json_write_double(writer, delta->real);
                break;
        }
}
