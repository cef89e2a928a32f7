/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/row/section-rows.h"

#include <stdio.h>

#include "render/cell.h"
#include "report/row/group-rows.h"
#include "report/section/section-row.h"

/* Of the first or the second side; of two intervals, of the end of each. */
static json_object *side_value(const SectionValue *value, unsigned side) {
        return cell_member(value->value, side == 0 ? "before" : "after");
}

/* The side that has the value; unknown if neither does. */
static Span side_of(ReportKind kind, const SectionValue *value) {
        bool before = side_value(value, 0), after = side_value(value, 1);

        if (before && after)
                return SPAN_LITERAL("both");
        if (!before && !after)
                return (Span){};
        if (kind == REPORT_INTERVALS)
                return before ? SPAN_LITERAL("a") : SPAN_LITERAL("b");
        return before ? SPAN_LITERAL("before") : SPAN_LITERAL("after");
}

/*
 * Values of pressure are told apart by their resource and row, too: "cpu.some.avg10"; those of the
 * host by the CPU, disk or interface: "sda.read_bytes". The rest is behind the last point.
 */
static void write_metric(RowWriter *writer, SectionId id, const SectionRow *row,
                         const SectionValue *value) {
        Span resource = cell_string(row->resource), half = cell_string(row->half);
        Span item = cell_string(row->item);
        Buffer *name = &writer->scratch;

        if (row->resource)
                buffer_append_format(name, "%.*s.%.*s.", (int) resource.n, resource.bytes,
                                     (int) half.n, half.bytes);
        if (section_is_host_part(id) && row->item)
                buffer_append_format(name, "%.*s.", (int) item.n, item.bytes);
        buffer_append(name, value->name.bytes, value->name.n);
        row_write_text(writer, "section", span_of(view_table_name(id)));
        row_write_scratch(writer, "metric");
        row_write_absent(writer, "rule");
        row_write_text(writer, "unit", span_of(section_unit_name(value->unit)));
}

/* Replies have some values in hundredths, rows as decimals. NULL for any other value. */
static const char *hundredths_digits(json_object *value, SectionUnit unit,
                                     char text[static QUANTITY_CHARS]) {
        Quantity quantity;

        if ((unit != SECTION_UNIT_PERCENT && unit != SECTION_UNIT_HUNDREDTHS) ||
            !cell_quantity(value, &quantity))
                return NULL;
        (void) snprintf(text, QUANTITY_CHARS, "%s%llu.%02u", quantity.negative ? "-" : "",
                        (unsigned long long) (quantity.whole / 100),
                        (unsigned) (quantity.whole % 100));
        return text;
}

static void write_side(RowWriter *writer, RowValueName name, json_object *value, SectionUnit unit) {
        bool is_text = json_object_is_type(value, json_type_string);
        char digits[QUANTITY_CHARS];
        const RowValue columns = {
                .number = is_text ? NULL : value,
                .digits = hundredths_digits(value, unit, digits),
                .text = is_text ? value : NULL,
        };

        group_rows_write_value(writer, name, &columns);
}

static void write_change(RowWriter *writer, ReportKind kind, const SectionValue *value) {
        json_object *before = side_value(value, 0), *after = side_value(value, 1);
        json_object *delta = cell_member(value->value, "delta");
        char digits[QUANTITY_CHARS];
        double percent;

        if (hundredths_digits(delta, value->unit, digits))
                row_write_number(writer, "delta", digits);
        else
                row_write_value(writer, "delta",
                                json_object_is_type(delta, json_type_string) ? NULL : delta);
        if (section_value_percent(value->value, &percent))
                row_write_double(writer, "percent", percent);
        else
                row_write_absent(writer, "percent");
        if (kind == REPORT_INTERVALS)
                return;
        row_write_value(writer, "per_second", value->rate);
        if (before && after)
                row_write_bool(writer, "changed", !json_object_equal(before, after));
        else
                row_write_absent(writer, "changed");
        row_write_absent(writer, "reset");
}

static void add_value(RowWriter *writer, ReportKind kind, SectionId id, const SectionRow *row,
                      const SectionValue *value) {
        json_object *before = side_value(value, 0), *after = side_value(value, 1);
        bool absent = report_kind_has_sides(kind) ? !before || !after : !value->value;

        group_rows_begin_group(writer, kind, side_of(kind, value), ROW_SIDE_BOTH, row->json);
        row_begin(writer, ROW_PART_OWN);
        write_metric(writer, id, row, value);
        if (report_kind_has_sides(kind)) {
                bool of_intervals = kind == REPORT_INTERVALS;

                write_side(writer, of_intervals ? ROW_VALUE_A : ROW_VALUE_BEFORE, before,
                           value->unit);
                write_side(writer, of_intervals ? ROW_VALUE_B : ROW_VALUE_AFTER, after,
                           value->unit);
                if (kind == REPORT_INTERVAL)
                        row_write_absent(writer, "work");
                write_change(writer, kind, value);
        } else {
                write_side(writer, ROW_VALUE, value->value, value->unit);
                row_write_absent(writer, "present");
        }
        row_write_value(writer, "reason", absent ? row->reason : NULL);
        row_write_absent(writer, "approximate");
        row_write_absent(writer, "implausible");
        group_rows_write_spreads(writer, kind, NULL, ROW_SIDE_BOTH);
        row_end(writer);
}

void section_rows_add(RowWriter *writer, ReportKind kind, const View *view, SectionId id,
                      json_object *json, RowChoice choice) {
        SectionRow row = section_row_read(id, json);

        for (size_t i = 0; i < row.n_values; i++) {
                const SectionValue *value = &row.values[i];

                if (report_kind_has_sides(kind) && view->has_threshold &&
                    !section_value_moved(value, view))
                        continue;
                if (choice.present && !side_value(value, 0) && !side_value(value, 1))
                        continue; /* of two sides, as all that is chosen so far */
                add_value(writer, kind, id, &row, value);
        }
}
