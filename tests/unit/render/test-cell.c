/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/cell.h"

#include <check.h>

#include "check-main.h"

typedef int (*Append)(Buffer *cell, json_object *value, const CellStyle *style);

static const CellStyle ns = { .unit = METRIC_UNIT_NS };
static const CellStyle derived_ns = { .unit = METRIC_UNIT_NS, .derived = true };
static const CellStyle ratio = { .unit = METRIC_UNIT_RATIO, .derived = true };
static const CellStyle raw_ns = { .unit = METRIC_UNIT_NS, .raw = true };
static const CellStyle ticks = { .unit = METRIC_UNIT_TICKS };
static const CellStyle fast_ticks = { .unit = METRIC_UNIT_TICKS, .user_hz = 1024 };
static const CellStyle none = { .unit = METRIC_UNIT_NONE };
static const CellStyle bytes = { .unit = METRIC_UNIT_BYTES };

static const struct {
        Append append;
        const CellStyle *style;
        const char *json;
        const char *text;
} rows[] = {
        { cell_append_value, &ns, "null", "-" },
        { cell_append_value, &ns, "0", "0ns" },
        { cell_append_value, &ns, "18446744073709551615", "18446744073.710s" },
        { cell_append_value, &raw_ns, "18446744073709551615", "18446744073709551615" },
        { cell_append_value, &bytes, "18446744073709551615", "16777216.000TiB" },
        { cell_append_value, &derived_ns, "100", "100.00ns" },
        { cell_append_value, &derived_ns, "1234.5", "1.234\u00b5s" },
        { cell_append_value, &raw_ns, "1234.5", "1234.5" },
        { cell_append_value, &raw_ns, "1125257.731958763", "1125257.731959" },
        { cell_append_value, &raw_ns, "0.9952128999748048", "0.995213" },
        { cell_append_value, &raw_ns, "-0.0000001234567890", "-1.23457e-07" },
        { cell_append_value, &raw_ns, "2.00000000001", "2" },
        { cell_append_value, &raw_ns, "1e+20", "100000000000000000000" },
        { cell_append_value, &ratio, "0.8735", "0.874" },
        { cell_append_value, &ticks, "250", "2.500s" },
        { cell_append_value, &fast_ticks, "256", "250.000ms" },
        { cell_append_rate, &ticks, "150", "+1.500 CPUs" },
        { cell_append_rate, &fast_ticks, "1536", "+1.500 CPUs" },
        { cell_append_per_second, &fast_ticks, "512", "0.500 CPUs" },
        { cell_append_value, &none, "{\"min\":0,\"max\":15}", "[0, 15]" },
        { cell_append_value, &none, "{\"min\":-20,\"max\":-20}", "-20" },
        { cell_append_value, &none, "{\"mode\":\"R\",\"count\":1,\"total\":2}", "R (1/2)" },
        { cell_append_value, &none, "{\"mode\":\"a\\u001bb\",\"count\":2,\"total\":2}", "a\\x1bb" },
        { cell_append_value, &none, "{\"minCpus\":1,\"maxCpus\":2,\"uniform\":false}",
          "1-2 cpus (mixed)" },
        { cell_append_value, &none, "\"plain\"", "plain" },
        { cell_append_value, &none, "true", "-" },
        { cell_append_delta, &ns, "{\"delta\":-1500}", "-1.500\u00b5s" },
        { cell_append_delta, &ns, "{\"delta\":0}", "+0ns" },
        { cell_append_delta, &none, "{\"delta\":7.5}", "+7.500" },
        { cell_append_delta, &ns, "{\"delta\":null}", "-" },
        { cell_append_delta, &ns, "{}", "-" },
        { cell_append_delta, &raw_ns, "{\"delta\":-1500}", "-1500" },
        { cell_append_delta, &none,
          "{\"before\":{\"mode\":\"R\",\"count\":1,\"total\":2},"
          "\"after\":{\"mode\":\"R\",\"count\":2,\"total\":2},\"delta\":null}",
          "same" },
        { cell_append_delta, &none,
          "{\"before\":{\"mode\":\"R\",\"count\":1,\"total\":1},"
          "\"after\":{\"mode\":\"S\",\"count\":1,\"total\":1},\"delta\":null}",
          "differs" },
        { cell_append_delta, &none,
          "{\"before\":null,\"after\":{\"mode\":\"S\",\"count\":1,\"total\":1},\"delta\":null}",
          "-" },
        { cell_append_percent, &ns, "{\"before\":300,\"delta\":700,\"percent\":233.33333333333334}",
          "+233.3%" },
        { cell_append_percent, &ns, "{\"before\":2000,\"delta\":1,\"percent\":0.05}", "+0.0%" },
        { cell_append_percent, &none,
          "{\"before\":{\"min\":0,\"max\":1},\"delta\":0.5,\"percent\":100}", "+100.0%" },
        { cell_append_percent, &ns, "{\"before\":0,\"delta\":7,\"percent\":null}", "-" },
        { cell_append_percent, &ns, "{\"before\":9,\"delta\":-7,\"percent\":null,\"reset\":true}",
          "reset" },
        { cell_append_percent, &ns,
          "{\"before\":9,\"after\":9,\"delta\":null,\"percent\":null,\"atLimit\":true}", "limit" },
        { cell_append_percent, &raw_ns, "{\"before\":2000,\"delta\":1,\"percent\":0.05}", "0.05" },
        { cell_append_rate, &ns, "1500000.5", "+0.002 CPUs" },
        { cell_append_rate, &bytes, "0.25", "+0.25B/s" },
        { cell_append_rate, &ns, "null", "-" },
        { cell_append_rate, &raw_ns, "0.25", "0.25" },
};

START_TEST(values_become_cells) {
        json_object *value = json_tokener_parse(rows[_i].json);
        _cleanup_(buffer_done) Buffer cell = {};
        const char *text;

        ck_assert_int_eq(rows[_i].append(&cell, value, rows[_i].style), 0);
        ck_assert_int_eq(buffer_terminate(&cell, &text), 0);
        ck_assert_str_eq(text, rows[_i].text);
        json_object_put(value);
}
END_TEST

START_TEST(deltas_of_65_bits_keep_every_digit) {
        json_object *entry = json_object_new_object();
        _cleanup_(buffer_done) Buffer cell = {}, raw = {};

        /* As replies are decoded: what fits no 64-bit type is a double that knows its text. */
        ck_assert_int_eq(
                json_object_object_add(entry, "delta",
                                       json_object_new_double_s(-0x1p64, "-18446744073709551615")),
                0);
        ck_assert_int_eq(cell_append_delta(&cell, entry, &ns), 0);
        ck_assert(span_is(buffer_span(&cell), "-18446744073.710s"));
        ck_assert_int_eq(cell_append_delta(&raw, entry, &raw_ns), 0);
        ck_assert(span_is(buffer_span(&raw), "-18446744073709551615"));
        json_object_put(entry);
}
END_TEST

START_TEST(members_that_are_missing_are_null) {
        json_object *object = json_tokener_parse("{\"a\":null,\"b\":[1,2]}");
        Quantity quantity;

        ck_assert_ptr_null(cell_member(object, "a"));
        ck_assert_ptr_null(cell_member(object, "c"));
        ck_assert_ptr_null(cell_member(NULL, "c"));
        ck_assert_uint_eq(cell_length(cell_member(object, "b")), 2);
        ck_assert_uint_eq(cell_length(object), 0);
        ck_assert_uint_eq(cell_length(NULL), 0);
        ck_assert_ptr_nonnull(cell_element(cell_member(object, "b"), 1));
        ck_assert_ptr_null(cell_element(cell_member(object, "b"), 2));
        ck_assert_ptr_null(cell_element(object, 0));
        ck_assert_ptr_null(cell_element(NULL, 0));
        ck_assert(!cell_quantity(object, &quantity));
        ck_assert(!cell_quantity(NULL, &quantity));
        json_object_put(object);
}
END_TEST

static const struct {
        const char *first, *second, *text;
        bool of_first, of_second;
} approximate_rows[] = {
        { "before", "after", "before: one", true, false },
        { "before", "after", "after: one", false, true },
        { "before", "after", "before: one; after: two", true, true },
        { "before", "after", "before and after: one", true, true },
        { "before", "after", "one", true, true },
        { "a", "b", "a: one", true, false },
        { "a", "b", "b: one", false, true },
        { "a", "b", "a: one; b: two", true, true },
        { "a", "b", "a and b: one", true, true },
        /* One side may have two reasons. */
        { "before", "after", "before: one; two", true, false },
        { "before", "after", "after: one; two", false, true },
        { "a", "b", "a: one; two", true, false },
        { "a", "b", "b: one; two", false, true },
        { "a", "b", "a: one; two; b: three", true, true },
};

START_TEST(a_side_is_approximate_where_the_text_is_about_it) {
        json_object *entry = json_object_new_object();

        json_object_object_add(entry, approximate_rows[_i].first, json_object_new_int(1));
        json_object_object_add(entry, approximate_rows[_i].second, json_object_new_int(2));
        ck_assert(!cell_is_approximate(entry, approximate_rows[_i].first));
        json_object_object_add(entry, "approximate",
                               json_object_new_string(approximate_rows[_i].text));
        ck_assert_int_eq(cell_is_approximate(entry, approximate_rows[_i].first),
                         approximate_rows[_i].of_first);
        ck_assert_int_eq(cell_is_approximate(entry, approximate_rows[_i].second),
                         approximate_rows[_i].of_second);
        ck_assert(!cell_is_approximate(entry, "value"));
        json_object_put(entry);
}
END_TEST

static const struct {
        const char *a, *b, *midpoint; /* NULL: none */
} midpoint_rows[] = {
        { "0", "5", "2.5" },
        { "2", "2", "2" },
        { "-20", "19", "-0.5" },
        { "-20", "-19", "-19.5" },
        { "-3", "3", "0" },
        { "18446744073709551615", "18446744073709551615", "18446744073709551615" },
        { "18446744073709551614", "18446744073709551615", "18446744073709551614.5" },
        { "-9223372036854775808", "18446744073709551615", "4611686018427387903.5" },
        { "1.5", "2", NULL },
        { "null", "2", NULL },
        { "2", "\"2\"", NULL },
};

START_TEST(midpoints_are_exact) {
        json_object *a = json_tokener_parse(midpoint_rows[_i].a),
                    *b = json_tokener_parse(midpoint_rows[_i].b);
        char text[CELL_MIDPOINT_CHARS];

        ck_assert_int_eq(cell_midpoint(a, b, text), midpoint_rows[_i].midpoint != NULL);
        if (midpoint_rows[_i].midpoint)
                ck_assert_str_eq(text, midpoint_rows[_i].midpoint);
        (void) json_object_put(a);
        (void) json_object_put(b);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cell");
        TCase *value = tcase_create("value");

        tcase_add_loop_test(value, values_become_cells, 0, ELEMENTSOF(rows));
        tcase_add_test(value, deltas_of_65_bits_keep_every_digit);
        tcase_add_test(value, members_that_are_missing_are_null);
        tcase_add_loop_test(value, a_side_is_approximate_where_the_text_is_about_it, 0,
                            ELEMENTSOF(approximate_rows));
        tcase_add_loop_test(value, midpoints_are_exact, 0, ELEMENTSOF(midpoint_rows));
        suite_add_tcase(suite, value);
        return check_main(suite);
}
