/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/value.h"

#include <string.h>

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
