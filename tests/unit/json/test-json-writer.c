/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "json/json-scanner.h"
#include "json/json-writer.h"

static const JsonLimits limits = { .max_depth = 64, .max_token_bytes = 4096 };

START_TEST(commas_and_nesting_are_kept) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_member_u64(&writer, "u", 1);
        json_write_member_i64(&writer, "i", -1);
        json_write_member_bool(&writer, "b", true);
        json_write_member_null(&writer, "n");
        json_write_member_text(&writer, "t", "text");
        json_write_member_name(&writer, "m", SPAN_LITERAL("\xff"));
        json_write_key(&writer, "a");
        json_write_array(&writer);
        json_write_array(&writer);
        json_write_end(&writer);
        json_write_object(&writer);
        json_write_end(&writer);
        json_write_bool(&writer, false);
        json_write_raw(&writer, SPAN_LITERAL("{\"raw\":[]}"));
        json_write_span(&writer, SPAN_LITERAL(""));
        json_write_end(&writer);
        json_write_key_name(&writer, SPAN_LITERAL("k\"\xc3"));
        json_write_null(&writer);
        json_write_key_span(&writer, SPAN_LITERAL("\n\xee\xbe\x80"));
        json_write_null(&writer);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&text),
                          "{\"u\":1,\"i\":-1,\"b\":true,\"n\":null,\"t\":\"text\","
                          "\"m\":\"\xee\xbf\xbf\",\"a\":[[],{},false,{\"raw\":[]},\"\"],"
                          "\"k\\\"\xee\xbf\x83\":null,\"\\n\xee\xbe\x80\":null}"));
        ck_assert_int_eq(json_check(buffer_span(&text), &limits), 0);
        buffer_done(&text);
}
END_TEST

START_TEST(the_buffer_may_be_drained_between_calls) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        json_write_array(&writer);
        json_write_u64(&writer, 1);
        buffer_clear(&text);
        json_write_u64(&writer, 2);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&text), ",2]"));
        buffer_done(&text);
}
END_TEST

static void assert_signed(bool negative, uint64_t magnitude) {
        char wanted[32];
        JsonWriter writer;
        Buffer text;

        (void) snprintf(wanted, sizeof(wanted), "%s%llu", negative && magnitude > 0 ? "-" : "",
                        (unsigned long long) magnitude);
        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        json_write_signed_u64(&writer, negative, magnitude);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&text), wanted));
        buffer_done(&text);
}

START_TEST(integers_of_every_length_are_exact) {
        uint64_t power = 1;

        for (unsigned n = 0; n < 20; n++, power *= 10)
                for (unsigned negative = 0; negative < 2; negative++) {
                        assert_signed(negative > 0, power - 1);
                        assert_signed(negative > 0, power);
                        assert_signed(negative > 0, power + 1);
                        assert_signed(negative > 0, power + power / 3);
                }
        for (unsigned bit = 0; bit < 64; bit++)
                assert_signed(false, UINT64_C(1) << bit);
        assert_signed(false, UINT64_MAX);
        assert_signed(true, UINT64_MAX);
}
END_TEST

START_TEST(signed_integers_reach_their_ends) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        json_write_array(&writer);
        json_write_i64(&writer, INT64_MIN);
        json_write_i64(&writer, INT64_MAX);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&text), "[-9223372036854775808,9223372036854775807]"));
        buffer_done(&text);
}
END_TEST

static const struct {
        double value;
        const char *text;
} double_rows[] = {
        { 0.0, "0" },
        { -0.0, "0" },
        { 1.0, "1" },
        { -2.5, "-2.5" },
        { 0.1, "0.1" },
        { 1.0 / 3, "0.3333333333333333" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 99.99, "99.99" },
        { 100, "100" },
        { 1234.5, "1234.5" },
        { 0.0001, "0.0001" },
        { 0.00001, "0.00001" },
        { 0.000001, "1e-6" },
        { 1.5e-9, "1.5e-9" },
        { 1e16, "10000000000000000" },
        { 1e17, "1e17" },
        { 9007199254740993.0, "9007199254740992" },
        { DBL_MAX, "1.7976931348623157e308" },
        { -DBL_MIN, "-2.2250738585072014e-308" },
        { DBL_TRUE_MIN, "4.94065645841247e-324" },
        { NAN, "null" },
        { INFINITY, "null" },
        { -INFINITY, "null" },
};

START_TEST(doubles_are_short_and_read_back_equal) {
        JsonWriter writer;
        const char *text;
        Buffer buffer;

        buffer_init(&buffer, 0);
        json_writer_init(&writer, &buffer);
        json_write_double(&writer, double_rows[_i].value);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
        ck_assert_str_eq(text, double_rows[_i].text);
        if (isfinite(double_rows[_i].value))
                ck_assert(strtod(text, NULL) == double_rows[_i].value);
        buffer_done(&buffer);
}
END_TEST

START_TEST(random_doubles_read_back_equal) {
        uint64_t bits = UINT64_C(88172645463325252);

        for (unsigned i = 0; i < 20000; i++) {
                JsonWriter writer;
                const char *text;
                Buffer buffer;
                double value;

                bits ^= bits << 13;
                bits ^= bits >> 7;
                bits ^= bits << 17;
                memcpy(&value, &bits, sizeof(value));
                if (i % 2 == 0)
                        value = (double) (int64_t) (bits % 2000000000) / 1000 - 1000000;
                buffer_init(&buffer, 0);
                json_writer_init(&writer, &buffer);
                json_write_double(&writer, value);
                ck_assert_int_eq(json_writer_finish(&writer), 0);
                ck_assert_int_eq(json_check(buffer_span(&buffer), &limits), 0);
                ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
                if (isfinite(value))
                        ck_assert(strtod(text, NULL) == value);
                buffer_done(&buffer);
        }
}
END_TEST

static const struct {
        Span text;
        const char *written;
} text_rows[] = {
        { { "", 0 }, "\"\"" },
        { { "plain /", 7 }, "\"plain /\"" },
        { { "\"\\\b\f\n\r\t", 7 }, "\"\\\"\\\\\\b\\f\\n\\r\\t\"" },
        { { "\x01\x1f\x7f", 3 }, "\"\\u0001\\u001f\\u007f\"" },
        { { "\xc2\x80\xc2\x9f\xc2\xa0", 6 }, "\"\\u0080\\u009f\xc2\xa0\"" },
        { SPAN_LITERAL("\u061b\u061c\u061d"), "\"\u061b\\u061c\u061d\"" },
        { SPAN_LITERAL("a\u200e\u200fb"), "\"a\\u200e\\u200fb\"" },
        { SPAN_LITERAL("\u2027\u2028\u202a\u202e\u202f"), "\"\u2027\\u2028\\u202a\\u202e\u202f\"" },
        { SPAN_LITERAL("\u2066\u2069\u2070"), "\"\\u2066\\u2069\u2070\"" },
        { SPAN_LITERAL("\u00ad\u180e\ufeff\ufffd"), "\"\\u00ad\\u180e\\ufeff\ufffd\"" },
        { SPAN_LITERAL("\u034f\u0350\u3164\u3165\ufff8"), "\"\\u034f\u0350\\u3164\u3165\\ufff8\"" },
        { SPAN_LITERAL("\U0001d173"), "\"\\ud834\\udd73\"" },
        { SPAN_LITERAL("\U000e0041\U000e1000\U0001f600"),
          "\"\\udb40\\udc41\U000e1000\U0001f600\"" },
        { { "\xc3\x9b", 2 }, "\"\xc3\x9b\"" },
        { { "a\0b", 3 }, "\"a\\u0000b\"" },
        { { "\xe2\x82\xac", 3 }, "\"\xe2\x82\xac\"" },
};

START_TEST(texts_are_quoted) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        json_write_span(&writer, text_rows[_i].text);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&text), text_rows[_i].written));
        buffer_done(&text);
}
END_TEST

/* Bytes to name to JSON and all the way back. */
START_TEST(names_of_any_bytes_come_back) {
        for (unsigned a = 1; a < 256; a++)
                for (unsigned b = 1; b < 256; b++) {
                        const char bytes[] = { (char) a, (char) b, '"', (char) a };
                        JsonScanner *scanner;
                        JsonWriter writer;
                        Buffer text, undone;
                        Span string;

                        buffer_init(&text, 0);
                        buffer_init(&undone, 0);
                        json_writer_init(&writer, &text);
                        json_write_name(&writer, (Span){ bytes, sizeof(bytes) });
                        ck_assert_int_eq(json_writer_finish(&writer), 0);
                        ck_assert_int_eq(
                                json_scanner_new_text(buffer_span(&text), &limits, &scanner), 0);
                        ck_assert_int_eq(json_scanner_text(scanner, &string), 0);
                        ck_assert_int_eq(name_unescape(&undone, string), 0);
                        ck_assert(span_equal(buffer_span(&undone), (Span){ bytes, sizeof(bytes) }));
                        json_scanner_free(scanner);
                        buffer_done(&text);
                        buffer_done(&undone);
                }
}
END_TEST

static void write_all_kinds(JsonWriter *writer) {
        json_write_object(writer);
        json_write_member_u64(writer, "a", 12345);
        json_write_key_name(writer, SPAN_LITERAL("\"\xff"));
        json_write_double(writer, 0.5);
        json_write_key(writer, "c");
        json_write_array(writer);
        json_write_name(writer, SPAN_LITERAL("x\ny\xff"));
        json_write_raw(writer, SPAN_LITERAL("[1,2]"));
        json_write_null(writer);
        json_write_end(writer);
        json_write_end(writer);
}

/*
 * Wherever the ceiling of the buffer is, the text is a prefix and the failure is reported at the
 * end.
 */
START_TEST(values_written_by_the_caller_stand_in_line) {
        JsonWriter writer;
        Buffer text;
        char *at;

        buffer_init(&text, 16);
        json_writer_init(&writer, &text);
        json_write_array(&writer);
        json_write_u64(&writer, 1);
        at = json_write_begin_values(&writer, 10);
        ck_assert_ptr_nonnull(at);
        memcpy(at, ",2,null", 7);
        text.n = (size_t) (at + 7 - text.bytes);
        json_write_u64(&writer, 3);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&text), "[1,2,null,3]"));

        /* Room past the ceiling is not given, however few bytes would be written. */
        buffer_clear(&text);
        json_writer_init(&writer, &text);
        json_write_array(&writer);
        json_write_u64(&writer, 1);
        ck_assert_ptr_null(json_write_begin_values(&writer, 17));
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), -EMSGSIZE);
        buffer_done(&text);
}
END_TEST

START_TEST(a_full_buffer_is_reported_at_the_end) {
        JsonWriter writer;
        Buffer whole, cut;

        buffer_init(&whole, 0);
        json_writer_init(&writer, &whole);
        write_all_kinds(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        for (size_t max = 1; max <= whole.n; max++) {
                buffer_init(&cut, max);
                json_writer_init(&writer, &cut);
                write_all_kinds(&writer);
                ck_assert_int_eq(json_writer_finish(&writer), max < whole.n ? -EMSGSIZE : 0);
                ck_assert_uint_le(cut.n, max);
                ck_assert_int_eq(memcmp(cut.bytes, whole.bytes, cut.n), 0);
                buffer_done(&cut);
        }
        buffer_done(&whole);
}
END_TEST

static void write_nothing(JsonWriter *writer) {
}
static void write_two_values(JsonWriter *writer) {
        json_write_u64(writer, 1);
        json_write_u64(writer, 2);
}
static void write_open(JsonWriter *writer) {
        json_write_array(writer);
}
static void write_end_only(JsonWriter *writer) {
        json_write_end(writer);
}
static void write_value_without_key(JsonWriter *writer) {
        json_write_object(writer);
        json_write_u64(writer, 1);
        json_write_end(writer);
}
static void write_key_without_value(JsonWriter *writer) {
        json_write_object(writer);
        json_write_key(writer, "a");
        json_write_end(writer);
}
static void write_two_keys(JsonWriter *writer) {
        json_write_object(writer);
        json_write_key(writer, "a");
        json_write_key(writer, "b");
}
static void write_key_in_array(JsonWriter *writer) {
        json_write_array(writer);
        json_write_key_name(writer, SPAN_LITERAL("a"));
}
static void write_empty_raw(JsonWriter *writer) {
        json_write_raw(writer, (Span){});
}
static void write_too_deep(JsonWriter *writer) {
        for (unsigned i = 0; i <= JSON_WRITER_MAX_DEPTH; i++)
                json_write_array(writer);
        for (unsigned i = 0; i <= JSON_WRITER_MAX_DEPTH; i++)
                json_write_end(writer);
}

static void begin_values_first(JsonWriter *writer) {
        json_write_array(writer);
        ck_assert_ptr_null(json_write_begin_values(writer, 8));
        json_write_end(writer);
}
static void begin_values_in_object(JsonWriter *writer) {
        json_write_object(writer);
        json_write_member_u64(writer, "a", 1);
        ck_assert_ptr_null(json_write_begin_values(writer, 8));
        json_write_end(writer);
}

static void (*const misuse_rows[])(JsonWriter *writer) = {
        write_nothing,           write_two_values, write_open,         write_end_only,
        write_value_without_key, write_two_keys,   write_key_in_array, write_key_without_value,
        write_empty_raw,         write_too_deep,   begin_values_first, begin_values_in_object,
};

START_TEST(calls_that_make_no_text_fail) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        misuse_rows[_i](&writer);
        ck_assert_int_eq(json_writer_finish(&writer), -EINVAL);
        buffer_done(&text);
}
END_TEST

START_TEST(the_deepest_nesting_is_written) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        for (unsigned i = 0; i < JSON_WRITER_MAX_DEPTH; i++)
                json_write_array(&writer);
        for (unsigned i = 0; i < JSON_WRITER_MAX_DEPTH; i++)
                json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_uint_eq(text.n, 2 * JSON_WRITER_MAX_DEPTH);
        buffer_done(&text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("json-writer");
        TCase *structure = tcase_create("structure");
        TCase *values = tcase_create("values");
        TCase *failure = tcase_create("failure");

        tcase_add_test(structure, commas_and_nesting_are_kept);
        tcase_add_test(structure, the_buffer_may_be_drained_between_calls);
        tcase_add_test(structure, the_deepest_nesting_is_written);
        tcase_add_test(values, integers_of_every_length_are_exact);
        tcase_add_test(values, signed_integers_reach_their_ends);
        tcase_add_loop_test(values, doubles_are_short_and_read_back_equal, 0,
                            ELEMENTSOF(double_rows));
        tcase_add_test(values, random_doubles_read_back_equal);
        tcase_add_loop_test(values, texts_are_quoted, 0, ELEMENTSOF(text_rows));
        tcase_add_test(values, names_of_any_bytes_come_back);
        tcase_add_test(values, values_written_by_the_caller_stand_in_line);
        tcase_add_test(failure, a_full_buffer_is_reported_at_the_end);
        tcase_add_loop_test(failure, calls_that_make_no_text_fail, 0, ELEMENTSOF(misuse_rows));
        suite_add_tcase(suite, structure);
        suite_add_tcase(suite, values);
        suite_add_tcase(suite, failure);
        return check_main(suite);
}
