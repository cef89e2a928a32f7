/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html/html-data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "metric/metric.h"
#include "render/cell.h"
#include "wire/message-object.h"

/* JavaScript numbers are doubles: integers are exact up to here. */
#define MAX_EXACT ((UINT64_C(1) << 53) - 1)

#define INTEGER_CHARS 24

/* the registry */

static void write_text(JsonOut *out, const char *key, const char *text) {
        json_out_key(out, key);
        json_out_text(out, text);
}

static void write_flag(JsonOut *out, const char *key, bool value) {
        if (value)
                json_out_member_u64(out, key, 1);
}

void html_data_write_metrics(JsonOut *out) {
        json_out_array(out);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];

                json_out_object(out);
                write_text(out, "name", metric->name);
                write_text(out, "unit", metric_unit_names[metric->unit]);
                write_text(out, "section", metric_section_names[metric->section]);
                write_flag(out, "sum", metric->shape == METRIC_SHAPE_SUM);
                write_flag(out, "counter", metric_is_work((MetricId) id));
                write_flag(out, "momentary", metric_is_momentary((MetricId) id));
                if (metric->class != METRIC_CLASS_ANY)
                        write_text(out, "class", metric_class_names[metric->class]);
                if (metric->gates[0] != '\0')
                        write_text(out, "gates", metric->gates);
                write_text(out, "text", metric->description);
                json_out_end(out);
        }
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                const Derived *derived = &derived_table[id];

                json_out_object(out);
                write_text(out, "name", derived->name);
                write_text(out, "unit", metric_unit_names[derived->unit]);
                write_text(out, "section", metric_section_names[derived->section]);
                write_flag(out, "derived", true);
                write_text(out, "text", derived->description);
                json_out_end(out);
        }
        json_out_end(out);
}

/* values */

/*
 * A page has no hidden characters: U+EF00 plus each byte stands for one, as in CSV, and the
 * page shows these as \xNN. Control characters below U+0080 stay, because keys are joined by one;
 * nothing there obeys them.
 */
static const char *shown_text(JsonOut *out, Buffer *shown, Span text) {
        const char *terminated = "";
        int r;

        while (text.n > 0) {
                size_t n = hidden_character(text, NULL);

                if (n > 1)
                        for (size_t i = 0; i < n; i++)
                                name_escape_byte(shown, (unsigned char) text.bytes[i]);
                else
                        buffer_append(shown, text.bytes, n = 1);
                text = (Span){ text.bytes + n, text.n - n };
        }
        r = buffer_terminate(shown, &terminated);
        if (r < 0 && out->error == 0)
                out->error = r;
        return terminated;
}

static void write_shown(JsonOut *out, Span text) {
        _cleanup_(buffer_done) Buffer shown = {};

        json_out_text(out, shown_text(out, &shown, text));
}

void html_data_write_key(JsonOut *out, const char *key) {
        _cleanup_(buffer_done) Buffer shown = {};

        json_out_key(out, shown_text(out, &shown, span_of(key)));
}

void html_data_write_value(JsonOut *out, json_object *value) {
        char digits[INTEGER_CHARS];
        json_object_iter member;
        uint64_t magnitude;
        bool negative;

        /* Do not fill a container that could not be opened. */
        if (out->error != 0)
                return;
        if (json_object_is_type(value, json_type_object)) {
                json_out_object(out);
                json_object_object_foreachC(value, member) {
                        html_data_write_key(out, member.key);
                        html_data_write_value(out, member.val);
                }
                json_out_end(out);
        } else if (json_object_is_type(value, json_type_array)) {
                json_out_array(out);
                for (size_t i = 0; i < json_object_array_length(value); i++)
                        html_data_write_value(out, json_object_array_get_idx(value, i));
                json_out_end(out);
        } else if (json_object_is_type(value, json_type_string)) {
                write_shown(out, cell_string(value));
        } else if (message_get_integer(value, &negative, &magnitude) && magnitude > MAX_EXACT) {
                (void) snprintf(digits, sizeof(digits), "%s%" PRIu64, negative ? "-" : "",
                                magnitude);
                json_out_text(out, digits);
        } else {
                json_out_value(out, value);
        }
}

/* rows */

static void write_reason(JsonOut *out, NameSet *reasons, json_object *reason) {
        size_t number;

        if (!json_object_is_type(reason, json_type_string)) {
                json_out_value(out, NULL);
                return;
        }
        number = name_set_find(reasons, cell_string(reason));
        if (number != INDEX_NONE) {
                json_out_u64(out, number);
        } else if (reasons->n < HTML_REASONS_MAX &&
                   name_set_add(reasons, cell_string(reason), &number) == 0) {
                html_data_write_value(out, reason);
        } else {
                json_out_array(out);
                html_data_write_value(out, reason);
                json_out_end(out);
        }
}

static unsigned flags_of(json_object *entry) {
        unsigned flags = 0;

        if (json_object_get_boolean(cell_member(entry, "changed")))
                flags |= HTML_ROW_CHANGED;
        if (json_object_get_boolean(cell_member(entry, "reset")))
                flags |= HTML_ROW_RESET;
        if (cell_is_approximate(entry, "value") || cell_is_approximate(entry, "before") ||
            cell_is_approximate(entry, "a"))
                flags |= HTML_ROW_APPROXIMATE;
        if (cell_is_approximate(entry, "after") || cell_is_approximate(entry, "b"))
                flags |= HTML_ROW_APPROXIMATE_AFTER;
        if (json_object_get_boolean(cell_member(entry, "significant")))
                flags |= HTML_ROW_SIGNIFICANT;
        /* In a comparison of two snapshots the member is a number. */
        if (json_object_is_type(cell_member(entry, "perSecond"), json_type_boolean) &&
            json_object_get_boolean(cell_member(entry, "perSecond")))
                flags |= HTML_ROW_RATE;
        return flags;
}

/* Returns the members that are the VALUEs of a row, up to NULL, which each kind of view has. */
static const char *const *value_members(json_object *entry) {
        static const char *const one[] = { "value", "present", "spread", NULL };
        static const char *const two[] = { "before",       "after",     "delta",
                                           "percent",      "perSecond", "spread",
                                           "spreadBefore", "work",      NULL };
        static const char *const intervals[] = { "a", "b", "delta", "percent", NULL };
        static const char *const sets[] = { "before", "after",     "delta", "percent",
                                            "p",      "pAdjusted", NULL };

        if (json_object_object_get_ex(entry, "value", NULL))
                return one;
        if (json_object_object_get_ex(entry, "a", NULL))
                return intervals;
        return json_object_object_get_ex(entry, "significant", NULL) ? sets : two;
}

static void write_rows(JsonOut *out, NameSet *reasons, json_object *entries) {
        json_object_iter row;

        if (!json_object_is_type(entries, json_type_object))
                return;
        json_object_object_foreachC(entries, row) {
                Span name = span_of(row.key);
                MetricId metric = metric_find(name);
                DerivedId derived = metric < _METRIC_MAX ? _DERIVED_MAX : derived_find(name);
                const char *const *members = value_members(row.val);
                size_t n = 0;

                for (size_t i = 0; members[i]; i++)
                        if (cell_member(row.val, members[i]))
                                n = i + 1;
                json_out_array(out);
                if (metric < _METRIC_MAX)
                        json_out_u64(out, metric);
                else if (derived < _DERIVED_MAX)
                        json_out_u64(out, (uint64_t) _METRIC_MAX + derived);
                else
                        write_shown(out, name);
                json_out_u64(out, flags_of(row.val));
                write_reason(out, reasons, cell_member(row.val, "reason"));
                for (size_t i = 0; i < n; i++)
                        html_data_write_value(out, cell_member(row.val, members[i]));
                json_out_end(out);
        }
}

void html_data_write_group(JsonOut *out, NameSet *reasons, json_object *group) {
        json_object_iter member;

        json_out_object(out);
        if (json_object_is_type(group, json_type_object))
                json_object_object_foreachC(group, member) {
                        if (strcmp(member.key, "metrics") == 0 ||
                            strcmp(member.key, "derived") == 0)
                                continue;
                        html_data_write_key(out, member.key);
                        html_data_write_value(out, member.val);
                }
        json_out_key(out, "rows");
        json_out_array(out);
        write_rows(out, reasons, cell_member(group, "metrics"));
        write_rows(out, reasons, cell_member(group, "derived"));
        json_out_end(out);
        json_out_end(out);
}
