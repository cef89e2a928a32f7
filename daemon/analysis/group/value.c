/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/value.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

Integer integer_subtract(Integer a, Integer b) {
        Integer difference;

        if (a.negative != b.negative) {
                difference.negative = a.negative;
                if (__builtin_add_overflow(a.magnitude, b.magnitude, &difference.magnitude))
                        difference.magnitude = UINT64_MAX;
        } else if (a.magnitude >= b.magnitude) {
                difference.negative = a.negative;
                difference.magnitude = a.magnitude - b.magnitude;
        } else {
                difference.negative = !a.negative;
                difference.magnitude = b.magnitude - a.magnitude;
        }
        if (difference.magnitude == 0)
                difference.negative = false;
        return difference;
}

double integer_number(Integer integer) {
        return integer.negative ? -(double) integer.magnitude : (double) integer.magnitude;
}

static bool integer_equal(Integer a, Integer b) {
        return a.negative == b.negative && a.magnitude == b.magnitude;
}

bool value_has_number(const Value *value) {
        return value->kind != VALUE_ABSENT && value->kind != VALUE_MODE;
}

double value_number(const Value *value) {
        switch (value->kind) {
        case VALUE_INTEGER:
                return integer_number(value->integer);
        case VALUE_REAL:
                return value->real;
        case VALUE_RANGE:
                return integer_number(value->range.min) / 2 + integer_number(value->range.max) / 2;
        case VALUE_CPUS:
                return (double) value->cpus.min / 2 + (double) value->cpus.max / 2;
        case VALUE_ABSENT:
        case VALUE_MODE:
                break;
        }
        return 0;
}

static Span mode_text(const Value *value) {
        return (Span){ value->mode.text, value->mode.n_text };
}

bool value_equal(const Value *a, const Value *b) {
        if (a->kind != b->kind)
                return false;
        switch (a->kind) {
        case VALUE_ABSENT:
                return true;
        case VALUE_INTEGER:
                return integer_equal(a->integer, b->integer);
        case VALUE_REAL:
                return a->real >= b->real && a->real <= b->real;
        case VALUE_RANGE:
                return integer_equal(a->range.min, b->range.min) &&
                       integer_equal(a->range.max, b->range.max);
        case VALUE_MODE:
                return span_equal(mode_text(a), mode_text(b));
        case VALUE_CPUS:
                return a->cpus.min == b->cpus.min && a->cpus.max == b->cpus.max &&
                       a->cpus.uniform == b->cpus.uniform &&
                       (!a->cpus.uniform || span_equal(a->cpus.list, b->cpus.list));
        }
        return false;
}

static void write_integer(JsonWriter *writer, const char *key, Integer integer) {
        json_write_key(writer, key);
        json_write_signed_u64(writer, integer.negative, integer.magnitude);
}

static void write_mode(JsonWriter *writer, const Value *value) {
        json_write_object(writer);
        json_write_member_name(writer, "mode", mode_text(value));
        json_write_member_u64(writer, "count", value->mode.count);
        json_write_member_u64(writer, "total", value->mode.total);
        json_write_end(writer);
}

static void write_cpus(JsonWriter *writer, const Value *value) {
        json_write_object(writer);
        json_write_member_u64(writer, "minCpus", value->cpus.min);
        json_write_member_u64(writer, "maxCpus", value->cpus.max);
        json_write_member_bool(writer, "uniform", value->cpus.uniform);
        if (value->cpus.uniform)
                json_write_member_name(writer, "cpus", value->cpus.list);
        json_write_end(writer);
}

void value_write_json(JsonWriter *writer, const Value *value) {
        switch (value->kind) {
        case VALUE_ABSENT:
                json_write_null(writer);
                break;
        case VALUE_INTEGER:
                json_write_signed_u64(writer, value->integer.negative, value->integer.magnitude);
                break;
        case VALUE_REAL:
                json_write_double(writer, value->real);
                break;
        case VALUE_RANGE:
                json_write_object(writer);
                write_integer(writer, "min", value->range.min);
                write_integer(writer, "max", value->range.max);
                json_write_end(writer);
                break;
        case VALUE_MODE:
                write_mode(writer, value);
                break;
        case VALUE_CPUS:
                write_cpus(writer, value);
                break;
        }
}

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
