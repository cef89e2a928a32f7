/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/row-writer.h"

#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "wire/message-object.h"

void row_writer_done(RowWriter *writer) {
        for (size_t i = 0; i < _ROW_PART_MAX; i++)
                buffer_done(&writer->parts[i]);
        buffer_done(&writer->scratch);
}

static void fail(RowWriter *writer, int error) {
        if (writer->error == 0)
                writer->error = error;
}

void row_begin(RowWriter *writer, RowPart part) {
        fail(writer, buffer_failure(&writer->parts[part]));
        writer->to = &writer->parts[part];
        buffer_clear(writer->to);
        if (part == ROW_PART_HEAD && writer->style == ROW_STYLE_NDJSON)
                buffer_append_byte(writer->to, '{');
}

void row_end(RowWriter *writer) {
        Buffer *own = &writer->parts[ROW_PART_OWN];

        if (own->n > 0)
                own->n--; /* the comma behind the last field */
        buffer_append_text(own, writer->style != ROW_STYLE_NDJSON ? "\r\n" : "}\n");
        for (size_t i = 0; i < _ROW_PART_MAX; i++)
                fail(writer, buffer_failure(&writer->parts[i]));
        for (size_t i = 0; writer->error == 0 && i < _ROW_PART_MAX; i++) {
                const Buffer *part = &writer->parts[i];

                if (part->n > 0 && fwrite(part->bytes, 1, part->n, writer->out) != part->n)
                        fail(writer, errno > 0 ? -errno : -EIO);
        }
}

/*
 * Formulas and hidden characters are escaped as bytes that are not UTF-8 are, in both styles, so
 * that tables of both can be joined by names. A character of @doubled is written twice.
 */
static void append_harmless(const RowWriter *writer, Buffer *to, Span text, const char *doubled) {
        /*
         * A spreadsheet evaluates a text that begins so, quoted or not: whoever names a thread
         * would write formulas into the tables of whoever looks at it. Numbers begin with a minus,
         * too, but are no texts. (A tab or the end of a line in front is a hidden character and
         * escaped anyway.)
         */
        if (!writer->formulas && text.n > 0 && memchr("=+-@", text.bytes[0], 4)) {
                name_escape_byte(to, (unsigned char) text.bytes[0]);
                text = (Span){ text.bytes + 1, text.n - 1 };
        }
        while (text.n > 0) {
                size_t n = hidden_character(text, NULL);

                for (size_t i = 0; i < n; i++)
                        name_escape_byte(to, (unsigned char) text.bytes[i]);
                if (n == 0) {
                        if (text.bytes[0] == doubled[0] && doubled[0] != '\0')
                                buffer_append_byte(to, text.bytes[0]);
                        buffer_append_byte(to, text.bytes[0]);
                        n = 1;
                }
                text = (Span){ text.bytes + n, text.n - n };
        }
}

/* Quotes a text if RFC 4180 asks for it, and an empty one, because it is not an absent one. */
static void append_csv_text(RowWriter *writer, Span text) {
        Buffer *to = writer->to;
        bool quotes =
                text.n == 0 || memchr(text.bytes, '"', text.n) || memchr(text.bytes, ',', text.n);

        if (quotes)
                buffer_append_byte(to, '"');
        append_harmless(writer, to, text, "\"");
        if (quotes)
                buffer_append_byte(to, '"');
}

static void append_text(RowWriter *writer, Span text) {
        _cleanup_(buffer_done) Buffer harmless = {};
        JsonWriter json;

        if (writer->style != ROW_STYLE_NDJSON) {
                append_csv_text(writer, text);
                return;
        }
        append_harmless(writer, &harmless, text, "");
        fail(writer, buffer_failure(&harmless));
        json_writer_init(&json, writer->to);
        json_write_span(&json, (Span){ harmless.n > 0 ? harmless.bytes : "", harmless.n });
        fail(writer, json_writer_finish(&json));
}

void row_set_prefix(RowWriter *writer, const char *outer, const char *inner) {
        writer->prefixes[0] = outer;
        writer->prefixes[1] = inner;
}

/* Returns whether a value follows, and a comma behind it. */
static bool begin_field(RowWriter *writer, const char *name) {
        bool is_quoted = !writer->naming && writer->style == ROW_STYLE_NDJSON;

        if (is_quoted)
                buffer_append_byte(writer->to, '"');
        if (is_quoted || writer->naming) {
                for (size_t i = 0; i < ELEMENTSOF(writer->prefixes); i++)
                        if (writer->prefixes[i])
                                buffer_append_text(writer->to, writer->prefixes[i]);
                buffer_append_text(writer->to, name);
        }
        if (is_quoted)
                buffer_append_text(writer->to, "\":");
        if (writer->naming)
                buffer_append_byte(writer->to, ',');
        return !writer->naming;
}

void row_write_value(RowWriter *writer, const char *name, json_object *value) {
        bool is_csv = writer->style != ROW_STYLE_NDJSON;

        if (!begin_field(writer, name))
                return;
        if (json_object_is_type(value, json_type_string)) {
                append_text(writer, cell_string(value));
        } else if (is_csv && (json_object_is_type(value, json_type_object) ||
                              json_object_is_type(value, json_type_array))) {
                /* Something newer than this client stays one field. */
                fail(writer, message_append_object(&writer->scratch, value));
                append_csv_text(writer, buffer_span(&writer->scratch));
                fail(writer, buffer_failure(&writer->scratch));
                buffer_clear(&writer->scratch);
        } else if (value || !is_csv) {
                fail(writer, message_append_object(writer->to, value));
        }
        buffer_append_byte(writer->to, ',');
}

void row_write_text(RowWriter *writer, const char *name, Span text) {
        if (!text.bytes) {
                row_write_absent(writer, name);
                return;
        }
        if (!begin_field(writer, name))
                return;
        append_text(writer, text);
        buffer_append_byte(writer->to, ',');
}

void row_write_scratch(RowWriter *writer, const char *name) {
        row_write_text(writer, name, buffer_span(&writer->scratch));
        fail(writer, buffer_failure(&writer->scratch));
        buffer_clear(&writer->scratch);
}

void row_write_number(RowWriter *writer, const char *name, const char *digits) {
        if (!begin_field(writer, name))
                return;
        if (digits || writer->style == ROW_STYLE_NDJSON)
                buffer_append_text(writer->to, digits ? digits : "null");
        buffer_append_byte(writer->to, ',');
}

void row_write_double(RowWriter *writer, const char *name, double value) {
        JsonWriter json;

        if (!begin_field(writer, name))
                return;
        json_writer_init(&json, writer->to);
        json_write_double(&json, value);
        fail(writer, json_writer_finish(&json));
        buffer_append_byte(writer->to, ',');
}

void row_write_absent(RowWriter *writer, const char *name) {
        row_write_number(writer, name, NULL);
}

void row_write_fields(RowWriter *writer, json_object *object, const RowField *fields,
                      size_t n_fields) {
        for (size_t i = 0; i < n_fields; i++)
                row_write_value(writer, fields[i].name, cell_member(object, fields[i].member));
}
