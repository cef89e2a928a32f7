/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/cell.h"

#define LARGE_PERCENT 50

static const QuantityLadder ladders[] = {
        [SECTION_UNIT_NONE] = QUANTITY_LADDER_NONE,   [SECTION_UNIT_COUNT] = QUANTITY_LADDER_COUNT,
        [SECTION_UNIT_BYTES] = QUANTITY_LADDER_BYTES, [SECTION_UNIT_US] = QUANTITY_LADDER_US,
        [SECTION_UNIT_CPUS] = QUANTITY_LADDER_RATIO,  [SECTION_UNIT_PERCENT] = QUANTITY_LADDER_NONE,
};

/* Hundredths of a percent, exactly. */
static int append_percent(Buffer *cell, Quantity value, bool is_delta, bool raw) {
        const char *sign = value.negative ? "-" : is_delta ? "+" : "";

        return buffer_append_format(cell, "%s%llu.%02u%s", sign,
                                    (unsigned long long) (value.whole / 100),
                                    (unsigned) (value.whole % 100), raw ? "" : "%");
}

static int append_number(Buffer *cell, json_object *value, SectionUnit unit, bool is_delta,
                         bool raw) {
        char text[QUANTITY_CHARS];
        Quantity quantity;

        if (!cell_quantity(value, &quantity))
                return buffer_append_text(cell, "-");
        if (unit == SECTION_UNIT_PERCENT)
                return append_percent(cell, quantity, is_delta, raw);
        if (raw)
                return buffer_append_text(
                        cell, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        return buffer_append(cell, text,
                             quantity_format(quantity, ladders[unit],
                                             is_delta ? QUANTITY_FORM_DELTA : QUANTITY_FORM_VALUE,
                                             text));
}

int section_cell_value(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        if (json_object_is_type(value, json_type_string))
                return cell_append_text(cell, value);
        return append_number(cell, value, unit, false, raw);
}

int section_cell_delta(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        return append_number(cell, cell_member(value, "delta"), unit, true, raw);
}

int section_cell_percent(Buffer *cell, json_object *value, SectionUnit unit, bool raw,
                         bool *ret_large) {
        Quantity before, delta;
        char text[QUANTITY_CHARS];
        double percent;
        size_t n;

        *ret_large = false;
        if (unit == SECTION_UNIT_NONE || unit == SECTION_UNIT_PERCENT ||
            !section_value_percent(value, &percent))
                return buffer_append_text(cell, "-");
        *ret_large = percent >= LARGE_PERCENT || percent <= -LARGE_PERCENT;
        if (raw)
                return buffer_append_format(cell, "%.15g", percent);
        if (unit != SECTION_UNIT_CPUS && cell_quantity(cell_member(value, "before"), &before) &&
            cell_quantity(cell_member(value, "delta"), &delta))
                n = quantity_format_percent_of(delta, before, text);
        else
                n = quantity_format_percent(quantity_of_double(percent), text);
        return buffer_append(cell, text, n);
}

int section_cell_change(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        json_object *before = cell_member(value, "before"), *after = cell_member(value, "after");
        int r;

        r = section_cell_value(cell, before, unit, raw);
        if (r < 0 || json_object_equal(before, after))
                return r;
        r = buffer_append_text(cell, "\u2192");
        return r < 0 ? r : section_cell_value(cell, after, unit, raw);
}

/* Mostly whole milliseconds: "100ms", so that two such texts fit a line. */
static int append_short(Buffer *cell, json_object *value, bool raw) {
        static const char zeros[] = ".000";
        size_t n_before = cell->n;
        char *point;
        int r;

        r = section_cell_value(cell, value, SECTION_UNIT_US, raw);
        if (r < 0 || cell->n == n_before)
                return r;
        point = memmem(cell->bytes + n_before, cell->n - n_before, zeros, strlen(zeros));
        if (point) {
                char *rest = point + strlen(zeros);

                memmove(point, rest, (size_t) (cell->bytes + cell->n - rest));
                cell->n -= strlen(zeros);
        }
        return 0;
}

int section_cell_cpu_max(Buffer *cell, json_object *quota, json_object *period, bool raw) {
        int r;

        r = append_short(cell, quota, raw);
        if (r < 0 || (!quota && !period))
                return r;
        r = buffer_append_byte(cell, '/');
        return r < 0 ? r : append_short(cell, period, raw);
}
