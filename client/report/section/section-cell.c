/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/cell.h"

#define LARGE_PERCENT 50

static const QuantityLadder ladders[] = {
        [SECTION_UNIT_NONE] = QUANTITY_LADDER_NONE,
        [SECTION_UNIT_COUNT] = QUANTITY_LADDER_COUNT,
        [SECTION_UNIT_BYTES] = QUANTITY_LADDER_BYTES,
        [SECTION_UNIT_US] = QUANTITY_LADDER_US,
        [SECTION_UNIT_CPUS] = QUANTITY_LADDER_RATIO,
        [SECTION_UNIT_PERCENT] = QUANTITY_LADDER_NONE,
        [SECTION_UNIT_NS] = QUANTITY_LADDER_NS,
        [SECTION_UNIT_HUNDREDTHS] = QUANTITY_LADDER_NONE,
};

/* @value is in hundredths, of a percent or of one. */
static void append_hundredths(Buffer *cell, Quantity value, SectionUnit unit, bool is_delta,
                              bool raw) {
        buffer_append_format(cell, "%s%llu.%02u%s",
                             value.negative ? "-"
                             : is_delta     ? "+"
                                            : "",
                             (unsigned long long) (value.whole / 100),
                             (unsigned) (value.whole % 100),
                             raw || unit != SECTION_UNIT_PERCENT ? "" : "%");
}

static void append_number(Buffer *cell, json_object *value, SectionUnit unit, bool is_delta,
                          bool raw) {
        QuantityForm form = is_delta ? QUANTITY_FORM_DELTA : QUANTITY_FORM_VALUE;
        char text[QUANTITY_CHARS];
        Quantity quantity;

        if (!cell_quantity(value, &quantity))
                buffer_append_text(cell, "-");
        else if (unit == SECTION_UNIT_PERCENT || unit == SECTION_UNIT_HUNDREDTHS)
                append_hundredths(cell, quantity, unit, is_delta, raw);
        else if (raw)
                buffer_append_text(cell,
                                   json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        else
                buffer_append(cell, text, quantity_format(quantity, ladders[unit], form, text));
}

void section_cell_value(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        if (json_object_is_type(value, json_type_string))
                cell_append_text(cell, value);
        else
                append_number(cell, value, unit, false, raw);
}

void section_cell_delta(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        append_number(cell, cell_member(value, "delta"), unit, true, raw);
}

void section_cell_rate(Buffer *cell, json_object *rate, SectionUnit unit, SectionId id, bool raw) {
        char text[QUANTITY_CHARS];
        Quantity quantity;

        if (!cell_quantity(rate, &quantity)) {
                buffer_append_text(cell, "-");
        } else if (raw) {
                buffer_append_text(cell,
                                   json_object_to_json_string_ext(rate, JSON_C_TO_STRING_PLAIN));
        } else if (id == SECTION_HOST_CPU && unit == SECTION_UNIT_NS) {
                cell_append_per_second(cell, rate, &(const CellStyle){ .unit = METRIC_UNIT_NS });
        } else {
                buffer_append(cell, text,
                              quantity_format(quantity, ladders[unit], QUANTITY_FORM_VALUE, text));
                buffer_append_text(cell, "/s");
        }
}

bool section_cell_percent(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        Quantity before, delta;
        char text[QUANTITY_CHARS];
        double percent;
        size_t n;

        if (!section_value_percent(value, &percent)) {
                buffer_append_text(cell, "-");
                return false;
        }
        if (raw) {
                buffer_append_format(cell, "%.15g", percent);
        } else {
                if (unit != SECTION_UNIT_CPUS &&
                    cell_quantity(cell_member(value, "before"), &before) &&
                    cell_quantity(cell_member(value, "delta"), &delta))
                        n = quantity_format_percent_of(delta, before, text);
                else
                        n = quantity_format_percent(quantity_of_double(percent), text);
                buffer_append(cell, text, n);
        }
        return percent >= LARGE_PERCENT || percent <= -LARGE_PERCENT;
}

void section_cell_change(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        json_object *before = cell_member(value, "before"), *after = cell_member(value, "after");

        section_cell_value(cell, before, unit, raw);
        if (!json_object_equal(before, after)) {
                buffer_append_text(cell, "\u2192");
                section_cell_value(cell, after, unit, raw);
        }
}

/* Without ".000", which most of these times have: "100ms". Two of them then fit a line. */
static void append_short(Buffer *cell, json_object *value, bool raw) {
        static const char zeros[] = ".000";
        size_t n_before = cell->n;
        char *point;

        section_cell_value(cell, value, SECTION_UNIT_US, raw);
        if (cell->n == n_before)
                return;
        point = memmem(cell->bytes + n_before, cell->n - n_before, zeros, strlen(zeros));
        if (point) {
                char *rest = point + strlen(zeros);

                memmove(point, rest, (size_t) (cell->bytes + cell->n - rest));
                cell->n -= strlen(zeros);
        }
}

void section_cell_cpu_max(Buffer *cell, json_object *quota, json_object *period, bool raw) {
        append_short(cell, quota, raw);
        if (quota || period) {
                buffer_append_byte(cell, '/');
                append_short(cell, period, raw);
        }
}
