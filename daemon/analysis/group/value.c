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

bool value_equal(const Value *a, const Value *b) {
        if (a->kind != b->kind)
                return false;
        switch (a->kind) {
        case VALUE_ABSENT:
                return true;
        case VALUE_INTEGER:
                return a->integer.negative == b->integer.negative &&
                       a->integer.magnitude == b->integer.magnitude;
        case VALUE_REAL:
                return a->real >= b->real && a->real <= b->real;
        case VALUE_RANGE:
                return a->range.min.negative == b->range.min.negative &&
                       a->range.min.magnitude == b->range.min.magnitude &&
                       a->range.max.negative == b->range.max.negative &&
                       a->range.max.magnitude == b->range.max.magnitude;
        case VALUE_MODE:
                return span_equal((Span){ a->mode.text, a->mode.n_text },
                                  (Span){ b->mode.text, b->mode.n_text });
        case VALUE_CPUS:
                return a->cpus.min == b->cpus.min && a->cpus.max == b->cpus.max &&
                       a->cpus.uniform == b->cpus.uniform &&
                       (!a->cpus.uniform || span_equal(a->cpus.list, b->cpus.list));
        }
        return false;
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
                json_write_key(writer, "min");
                json_write_signed_u64(writer, value->range.min.negative,
                                      value->range.min.magnitude);
                json_write_key(writer, "max");
                json_write_signed_u64(writer, value->range.max.negative,
                                      value->range.max.magnitude);
                json_write_end(writer);
                break;
        case VALUE_MODE:
                json_write_object(writer);
                json_write_member_name(writer, "mode",
                                       (Span){ value->mode.text, value->mode.n_text });
                json_write_member_u64(writer, "count", value->mode.count);
                json_write_member_u64(writer, "total", value->mode.total);
                json_write_end(writer);
                break;
        case VALUE_CPUS:
                json_write_object(writer);
                json_write_member_u64(writer, "minCpus", value->cpus.min);
                json_write_member_u64(writer, "maxCpus", value->cpus.max);
                json_write_member_bool(writer, "uniform", value->cpus.uniform);
                if (value->cpus.uniform)
                        json_write_member_name(writer, "cpus", value->cpus.list);
                json_write_end(writer);
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

Delta delta_between(const Value *before, const Value *after) {
        Delta none = { .kind = DELTA_NONE };
        uint64_t unused;

        if (before->kind != after->kind)
                return none;
        switch (before->kind) {
        case VALUE_INTEGER:
                if (before->integer.negative != after->integer.negative &&
                    __builtin_add_overflow(before->integer.magnitude, after->integer.magnitude,
                                           &unused))
                        return (Delta){ .kind = DELTA_TOO_LARGE,
                                        .real = integer_number(after->integer) -
                                                integer_number(before->integer) };
                return (Delta){ .kind = DELTA_INTEGER,
                                .integer = integer_subtract(after->integer, before->integer) };
        case VALUE_REAL:
                return (Delta){ .kind = DELTA_REAL, .real = after->real - before->real };
        case VALUE_RANGE:
                return half_of_sum(integer_subtract(after->range.min, before->range.min),
                                   integer_subtract(after->range.max, before->range.max));
        case VALUE_CPUS:
                return half_of_sum(integer_subtract((Integer){ .magnitude = after->cpus.min },
                                                    (Integer){ .magnitude = before->cpus.min }),
                                   integer_subtract((Integer){ .magnitude = after->cpus.max },
                                                    (Integer){ .magnitude = before->cpus.max }));
        case VALUE_ABSENT:
        case VALUE_MODE:
                break;
        }
        return none;
}

Delta delta_of_value(const Value *value) {
        const Value zero = { .kind = value->kind };

        return delta_between(&zero, value);
}

int delta_compare(const Delta *a, const Delta *b) {
        bool a_is_negative = a->integer.negative && (a->integer.magnitude > 0 || a->half);
        bool b_is_negative = b->integer.negative && (b->integer.magnitude > 0 || b->half);
        int more = 0;

        if (a->kind != DELTA_INTEGER || b->kind != DELTA_INTEGER) {
                double left = delta_number(a), right = delta_number(b);

                return left > right ? 1 : left < right ? -1 : 0;
        }
        if (a_is_negative != b_is_negative)
                return a_is_negative ? -1 : 1;
        if (a->integer.magnitude != b->integer.magnitude)
                more = a->integer.magnitude > b->integer.magnitude ? 1 : -1;
        else if (a->half != b->half)
                more = a->half ? 1 : -1;
        return a_is_negative ? -more : more;
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

void double_write_json(JsonWriter *writer, const char *key, bool has, double value) {
        json_write_key(writer, key);
        if (has)
                json_write_double(writer, value);
        else
                json_write_null(writer);
}

void delta_write_json(JsonWriter *writer, const Delta *delta) {
        char text[1 + NUMBER_U64_CHARS + 2];
        size_t n = 0;

        switch (delta->kind) {
        case DELTA_NONE:
        case DELTA_TOO_LARGE:
                json_write_null(writer);
                break;
        case DELTA_INTEGER:
                if (!delta->half) {
                        json_write_signed_u64(writer, delta->integer.negative,
                                              delta->integer.magnitude);
                        break;
                }
                if (delta->integer.negative)
                        text[n++] = '-';
                n += number_format_u64(delta->integer.magnitude, text + n);
                text[n++] = '.';
                text[n++] = '5';
                json_write_raw(writer, (Span){ text, n });
                break;
        case DELTA_REAL:
                json_write_double(writer, delta->real);
                break;
        }
}
