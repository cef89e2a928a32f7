/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "render/printable.h"
#include "wire/message-object.h"

/* The ticks a second that user space sees, unless the host says another number. */
#define USER_HZ 100

/* Sign, the 309 digits of the largest double, point, decimals. */
#define RAW_CHARS 320

static const QuantityLadder unit_ladders[] = {
        [METRIC_UNIT_NONE] = QUANTITY_LADDER_NONE, [METRIC_UNIT_COUNT] = QUANTITY_LADDER_COUNT,
        [METRIC_UNIT_NS] = QUANTITY_LADDER_NS,     [METRIC_UNIT_BYTES] = QUANTITY_LADDER_BYTES,
        [METRIC_UNIT_TICKS] = QUANTITY_LADDER_NS,  [METRIC_UNIT_RATIO] = QUANTITY_LADDER_RATIO,
};

json_object *cell_member(json_object *object, const char *key) {
        json_object *member;

        return json_object_object_get_ex(object, key, &member) ? member : NULL;
}

size_t cell_length(json_object *value) {
        return json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
}

json_object *cell_element(json_object *value, size_t index) {
        return index < cell_length(value) ? json_object_array_get_idx(value, index) : NULL;
}

Span cell_string(json_object *value) {
        if (!json_object_is_type(value, json_type_string))
                return (Span){};
        return (Span){ json_object_get_string(value), (size_t) json_object_get_string_len(value) };
}

bool cell_quantity(json_object *value, Quantity *ret) {
        const char *text;
        Span digits;
        uint64_t magnitude;
        bool negative;

        if (!json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double))
                return false;

        /* It is read from the text: deltas can be below -2^63, where json-c's integers end. */
        text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
        negative = text[0] == '-';
        digits = span_of(text + negative);
        if (number_parse_u64(digits, &magnitude))
                *ret = (Quantity){ .negative = negative && magnitude > 0, .whole = magnitude };
        else
                *ret = quantity_of_double(strtod(text, NULL));
        return true;
}

bool cell_midpoint(json_object *a, json_object *b, char ret_text[static CELL_MIDPOINT_CHARS]) {
        bool negative_a, negative_b;
        uint64_t magnitude_a, magnitude_b;
        __int128 sum;
        unsigned __int128 magnitude;

        if (!message_get_integer(a, &negative_a, &magnitude_a) ||
            !message_get_integer(b, &negative_b, &magnitude_b))
                return false;
        sum = (negative_a ? -(__int128) magnitude_a : (__int128) magnitude_a) +
              (negative_b ? -(__int128) magnitude_b : (__int128) magnitude_b);
        magnitude = (unsigned __int128) (sum < 0 ? -sum : sum);
        (void) snprintf(ret_text, CELL_MIDPOINT_CHARS, "%s%llu%s", sum < 0 ? "-" : "",
                        (unsigned long long) (magnitude / 2), magnitude % 2 == 1 ? ".5" : "");
        return true;
}

/* Integers are exact; a fraction keeps no more digits than a quotient of measurements has. */
static int append_raw(Buffer *cell, json_object *value) {
        const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
        double number = strtod(text, NULL);
        char rounded[RAW_CHARS];
        size_t n;

        if (text[strcspn(text, ".eE")] == '\0')
                return buffer_append_text(cell, text);
        if (number > -1 && number < 1)
                return buffer_append_format(cell, "%.6g", number);
        n = (size_t) snprintf(rounded, sizeof(rounded), "%.6f", number);
        while (rounded[n - 1] == '0')
                n--;
        return buffer_append(cell, rounded, rounded[n - 1] == '.' ? n - 1 : n);
}

/* Every number of a cell is written here. */
static int append_quantity(Buffer *cell, json_object *value, const CellStyle *style,
                           QuantityForm form) {
        uint32_t hz = style->user_hz > 0 ? style->user_hz : USER_HZ;
        char text[QUANTITY_CHARS];
        Quantity quantity;

        if (!cell_quantity(value, &quantity))
                return buffer_append_text(cell, "-");
        if (style->raw)
                return append_raw(cell, value);
        if (style->unit == METRIC_UNIT_TICKS) {
                uint64_t seconds = quantity.whole / hz, rest = quantity.whole % hz;
                double fraction = (double) quantity.fraction / 0x1p53;
                uint64_t part = (uint64_t) (((double) rest + fraction) * NSEC_PER_SEC / hz);

                seconds = number_multiply_saturating(seconds, NSEC_PER_SEC);
                quantity.whole = number_add_saturating(seconds, part);
                quantity.fraction = 0;
                quantity.negative = quantity.negative && quantity.whole > 0;
        }
        if (style->derived)
                form |= QUANTITY_FORM_DERIVED_VALUE;
        return buffer_append(cell, text,
                             quantity_format(quantity, unit_ladders[style->unit], form, text));
}

int cell_append_text(Buffer *cell, json_object *value) {
        if (!json_object_is_type(value, json_type_string))
                return buffer_append_text(cell, "-");
        return printable_append_name(cell, cell_string(value));
}

int cell_append_value(Buffer *cell, json_object *value, const CellStyle *style) {
        json_object *min, *max;
        uint64_t n, n_all;
        bool is_one;

        if (json_object_is_type(value, json_type_string))
                return cell_append_text(cell, value);
        if (!json_object_is_type(value, json_type_object))
                return append_quantity(cell, value, style, QUANTITY_FORM_VALUE);
        if (cell_member(value, "mode")) {
                n = cell_u64(value, "count");
                n_all = cell_u64(value, "total");
                cell_append_text(cell, cell_member(value, "mode"));
                if (n != n_all)
                        buffer_append_format(cell, " (%llu/%llu)", (unsigned long long) n,
                                             (unsigned long long) n_all);
                return buffer_failure(cell);
        }
        if (cell_member(value, "minCpus")) {
                n = cell_u64(value, "minCpus");
                n_all = cell_u64(value, "maxCpus");
                buffer_append_u64(cell, n);
                if (n != n_all)
                        buffer_append_format(cell, "-%llu", (unsigned long long) n_all);
                buffer_append_text(cell, n_all == 1 ? " cpu (" : " cpus (");
                if (json_object_get_boolean(cell_member(value, "uniform")))
                        cell_append_text(cell, cell_member(value, "cpus"));
                else
                        buffer_append_text(cell, "mixed");
                return buffer_append_byte(cell, ')');
        }
        min = cell_member(value, "min");
        max = cell_member(value, "max");
        is_one = json_object_equal(min, max);
        if (!is_one)
                buffer_append_byte(cell, '[');
        append_quantity(cell, min, style, QUANTITY_FORM_VALUE);
        if (is_one)
                return buffer_failure(cell);
        buffer_append_text(cell, ", ");
        append_quantity(cell, max, style, QUANTITY_FORM_VALUE);
        return buffer_append_byte(cell, ']');
}

bool cell_is_approximate(json_object *entry, const char *side) {
        static const struct {
                const char *side, *other, *too;
        } sides[] = {
                { "before", "after: ", "; before: " },
                { "after", "before: ", "; after: " },
                { "a", "b: ", "; a: " },
                { "b", "a: ", "; b: " },
        };
        Span text = cell_string(cell_member(entry, "approximate"));

        if (text.n == 0 || !cell_member(entry, side))
                return false;
        /* The text begins with a side, the other may follow, or it is about both. */
        for (size_t i = 0; i < ELEMENTSOF(sides); i++)
                if (strcmp(side, sides[i].side) == 0 && text.n >= strlen(sides[i].other) &&
                    memcmp(text.bytes, sides[i].other, strlen(sides[i].other)) == 0)
                        return memmem(text.bytes, text.n, sides[i].too, strlen(sides[i].too));
        return true;
}

int cell_append_delta(Buffer *cell, json_object *entry, const CellStyle *style) {
        json_object *before = cell_member(cell_member(entry, "before"), "mode");
        json_object *after = cell_member(cell_member(entry, "after"), "mode");

        if (before && after)
                return buffer_append_text(cell,
                                          json_object_equal(before, after) ? "same" : "differs");
        return append_quantity(cell, cell_member(entry, "delta"), style, QUANTITY_FORM_DELTA);
}

int cell_append_percent(Buffer *cell, json_object *entry, const CellStyle *style) {
        json_object *value = cell_member(entry, "percent");
        Quantity percent, delta, before;
        char text[QUANTITY_CHARS];
        size_t n;

        if (json_object_get_boolean(cell_member(entry, "reset")))
                return buffer_append_text(cell, "reset");
        if (json_object_get_boolean(cell_member(entry, "atLimit")))
                return buffer_append_text(cell, "limit");
        if (!cell_quantity(value, &percent))
                return buffer_append_text(cell, "-");
        if (style->raw)
                return append_raw(cell, value);
        /* It is computed from integers if there are any: that of the reply is rounded already. */
        if (cell_quantity(cell_member(entry, "delta"), &delta) && delta.fraction == 0 &&
            cell_quantity(cell_member(entry, "before"), &before) && before.fraction == 0 &&
            before.whole > 0)
                n = quantity_format_percent_of(delta, before, text);
        else
                n = quantity_format_percent(percent, text);
        return buffer_append(cell, text, n);
}

/* Nanoseconds, or ticks, a second are so many CPUs. */
static int append_per_second(Buffer *cell, json_object *value, const CellStyle *style,
                             QuantityForm form) {
        double per_cpu = style->unit != METRIC_UNIT_TICKS ? (double) NSEC_PER_SEC
                         : style->user_hz > 0             ? style->user_hz
                                                          : USER_HZ;
        Quantity rate;
        double cpus;

        if (style->raw || !cell_quantity(value, &rate))
                return append_quantity(cell, value, style, form);
        if (style->unit != METRIC_UNIT_NS && style->unit != METRIC_UNIT_TICKS) {
                append_quantity(cell, value, style, form);
                return buffer_append_text(cell, "/s");
        }
        cpus = ((double) rate.whole + (double) rate.fraction / 0x1p53) / per_cpu;
        return buffer_append_format(cell, form & QUANTITY_FORM_DELTA ? "%+.3f CPUs" : "%.3f CPUs",
                                    rate.negative ? -cpus : cpus);
}

int cell_append_rate(Buffer *cell, json_object *rate, const CellStyle *style) {
        return append_per_second(cell, rate, style, QUANTITY_FORM_DERIVED_DELTA);
}

int cell_append_per_second(Buffer *cell, json_object *rate, const CellStyle *style) {
        return append_per_second(cell, rate, style, QUANTITY_FORM_DERIVED_VALUE);
}

int cell_append_number(Buffer *cell, json_object *value, QuantityLadder ladder) {
        char text[QUANTITY_CHARS];
        Quantity quantity;

        if (!cell_quantity(value, &quantity))
                return buffer_append_text(cell, "-");
        return buffer_append(cell, text,
                             quantity_format(quantity, ladder, QUANTITY_FORM_VALUE, text));
}
