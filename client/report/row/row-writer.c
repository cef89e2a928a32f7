/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/row/row-writer.h"

#include <string.h>

#include "json/json-writer.h"
#include "metric/metric.h"
#include "render/cell.h"
#include "wire/message-object.h"

/* What must not reach a terminal from a name is U+EF00 plus itself, byte by byte. */
static int append_csv_escape(Buffer *to, unsigned char code) {
        return buffer_append_format(to, "\xee%c%c", 0xbc | code >> 6, 0x80 | (code & 0x3f));
}

static bool is_c0(unsigned char code) {
        return code < ' ' || code == 0x7f;
}

/* U+0080 to U+009F, which terminals obey like ESC and a letter. */
static bool is_c1(Span rest) {
        return rest.n >= 2 && (unsigned char) rest.bytes[0] == 0xc2 &&
               (unsigned char) rest.bytes[1] < 0xa0;
}

/* One byte at the start of @rest, or the two of a control character; *ret_n is how many. */
static int append_csv_some(Buffer *to, Span rest, size_t *ret_n) {
        unsigned char code = (unsigned char) rest.bytes[0];
        int r;

        *ret_n = 1;
        if (code == '"')
                return buffer_append_text(to, "\"\"");
        if (is_c1(rest)) {
                *ret_n = 2;
                r = append_csv_escape(to, code);
                return r == 0 ? append_csv_escape(to, (unsigned char) rest.bytes[1]) : r;
        }
        return is_c0(code) ? append_csv_escape(to, code) : buffer_append_byte(to, rest.bytes[0]);
}

/* Quoted where RFC 4180 asks for it, and when empty: an empty name is not an absent one. */
static int append_csv_text(Buffer *to, Span text) {
        bool quotes = text.n == 0;
        int r = 0;

        for (size_t i = 0; !quotes && i < text.n; i++)
                quotes = text.bytes[i] == '"' || text.bytes[i] == ',';
        if (quotes)
                r = buffer_append_byte(to, '"');
        for (size_t i = 0, n; r == 0 && i < text.n; i += n)
                r = append_csv_some(to, (Span){ text.bytes + i, text.n - i }, &n);
        return r == 0 && quotes ? buffer_append_byte(to, '"') : r;
}

/* '"name":' in NDJSON. */
static int begin_field(const RowWriter *writer, Buffer *to, const char *name) {
        if (writer->naming)
                return buffer_append_text(to, name);
        return writer->style == ROW_STYLE_NDJSON ? buffer_append_format(to, "\"%s\":", name) : 0;
}

/* An object where a number was expected stays one cell. */
static int append_csv_json(Buffer *to, json_object *value) {
        _cleanup_(buffer_done) Buffer json = {};
        int r;

        r = message_append_object(&json, value);
        return r < 0 ? r : append_csv_text(to, buffer_span(&json));
}

static int append_value(const RowWriter *writer, Buffer *to, json_object *value) {
        if (writer->style == ROW_STYLE_NDJSON)
                return message_append_object(to, value);
        if (json_object_is_type(value, json_type_string))
                return append_csv_text(to, cell_string(value));
        if (json_object_is_type(value, json_type_object) ||
            json_object_is_type(value, json_type_array))
                return append_csv_json(to, value);
        return value ? message_append_object(to, value) : 0;
}

int row_write_value(const RowWriter *writer, Buffer *to, const char *name, json_object *value) {
        int r = begin_field(writer, to, name);

        if (r == 0 && !writer->naming)
                r = append_value(writer, to, value);
        return r < 0 ? r : buffer_append_byte(to, ',');
}

static int append_text(const RowWriter *writer, Buffer *to, Span text) {
        JsonWriter json;

        if (writer->style == ROW_STYLE_CSV)
                return text.bytes ? append_csv_text(to, text) : 0;
        json_writer_init(&json, to);
        if (text.bytes)
                json_write_span(&json, text);
        else
                json_write_null(&json);
        return json_writer_finish(&json);
}

int row_write_text(const RowWriter *writer, Buffer *to, const char *name, Span text) {
        int r = begin_field(writer, to, name);

        if (r == 0 && !writer->naming)
                r = append_text(writer, to, text);
        return r < 0 ? r : buffer_append_byte(to, ',');
}

int row_write_number(const RowWriter *writer, Buffer *to, const char *name, const char *digits) {
        int r = begin_field(writer, to, name);

        if (!digits && writer->style == ROW_STYLE_NDJSON)
                digits = "null";
        if (r == 0 && !writer->naming && digits)
                r = buffer_append_text(to, digits);
        return r < 0 ? r : buffer_append_byte(to, ',');
}

int row_write_double(const RowWriter *writer, Buffer *to, const char *name, double value) {
        int r = begin_field(writer, to, name);

        if (r == 0 && !writer->naming) {
                JsonWriter json;

                json_writer_init(&json, to);
                json_write_double(&json, value);
                r = json_writer_finish(&json);
        }
        return r < 0 ? r : buffer_append_byte(to, ',');
}

int row_write_bool(const RowWriter *writer, Buffer *to, const char *name, bool value) {
        return row_write_number(writer, to, name, value ? "true" : "false");
}

int row_write_fields(const RowWriter *writer, Buffer *to, json_object *object,
                     const RowField *fields, size_t n_fields) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n_fields; i++)
                r = row_write_value(writer, to, fields[i].name,
                                    cell_member(object, fields[i].member));
        return r;
}

int row_write_metric(const RowWriter *writer, Buffer *to, const char *name) {
        MetricId metric = name ? metric_find(span_of(name)) : _METRIC_MAX;
        DerivedId derived = name ? derived_find(span_of(name)) : _DERIVED_MAX;
        Span section = { NULL, 0 }, unit = { NULL, 0 };
        int r;

        if (metric < _METRIC_MAX) {
                section = span_of(metric_section_name(metric_table[metric].section));
                unit = span_of(metric_unit_name(metric_table[metric].unit));
        } else if (derived < _DERIVED_MAX) {
                section = span_of(metric_section_name(derived_table[derived].section));
                unit = span_of(metric_unit_name(derived_table[derived].unit));
        }
        r = row_write_text(writer, to, "section", section);
        if (r == 0)
                r = row_write_text(writer, to, "metric", span_of(name));
        return r < 0 ? r : row_write_text(writer, to, "unit", unit);
}

int row_write_end(const RowWriter *writer, Buffer *line) {
        line->n--; /* the comma of the last field */
        return buffer_append_text(line, writer->style == ROW_STYLE_CSV ? "\r\n" : "}\n");
}
