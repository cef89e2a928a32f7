/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "json-trace.h"
#include "json/json-scanner.h"

static const JsonLimits limits = { .max_depth = 16, .max_token_bytes = 1024 };

static JsonScanner *scan(const char *text) {
        JsonScanner *scanner;

        ck_assert_int_eq(json_scanner_new_text(span_of(text), &limits, &scanner), 0);
        return scanner;
}

START_TEST(helpers_read_what_they_expect) {
        JsonScanner *scanner =
                scan("{\"u\":18446744073709551615,\"t\":true,\"f\":false,\"s\":\"x\",\"a\":[1]}");
        Span key, text;
        JsonToken token;
        uint64_t u64;
        bool boolean;

        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_OBJECT), 0);
        ck_assert_int_eq(json_scanner_member(scanner, &key), 0);
        ck_assert(span_is(key, "u"));
        ck_assert_int_eq(json_scanner_u64(scanner, &u64), 0);
        ck_assert_uint_eq(u64, UINT64_MAX);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_int_eq(json_scanner_member(scanner, &key), 0);
                ck_assert_int_eq(json_scanner_bool(scanner, &boolean), 0);
                ck_assert_int_eq(boolean, i == 0);
        }
        ck_assert_int_eq(json_scanner_member(scanner, &key), 0);
        ck_assert_int_eq(json_scanner_text(scanner, &text), 0);
        ck_assert(span_is(text, "x"));
        ck_assert_int_eq(json_scanner_member(scanner, &key), 0);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
        ck_assert_int_eq(token, JSON_TOKEN_INTEGER);
        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
        ck_assert_int_eq(token, JSON_TOKEN_ARRAY_END);
        ck_assert_int_eq(json_scanner_member(scanner, &key), 0);
        ck_assert_ptr_null(key.bytes);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_END), 0);
        ck_assert_str_eq(scanner->complaint, "");
        json_scanner_free(scanner);
}
END_TEST

START_TEST(an_empty_key_is_not_the_end) {
        JsonScanner *scanner = scan("{\"\":1}");
        Span key;

        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_OBJECT), 0);
        ck_assert_int_eq(json_scanner_member(scanner, &key), 0);
        ck_assert_ptr_nonnull(key.bytes);
        ck_assert_uint_eq(key.n, 0);
        json_scanner_free(scanner);
}
END_TEST

static int read_object(JsonScanner *scanner) {
        return json_scanner_expect(scanner, JSON_TOKEN_OBJECT);
}
static int read_array(JsonScanner *scanner) {
        return json_scanner_expect(scanner, JSON_TOKEN_ARRAY);
}
static int read_member(JsonScanner *scanner) {
        Span key;
        return json_scanner_member(scanner, &key);
}
static int read_u64(JsonScanner *scanner) {
        uint64_t value;
        return json_scanner_u64(scanner, &value);
}
static int read_bool(JsonScanner *scanner) {
        bool value;
        return json_scanner_bool(scanner, &value);
}
static int read_text(JsonScanner *scanner) {
        Span value;
        return json_scanner_text(scanner, &value);
}

static const struct {
        int (*read)(JsonScanner *scanner);
        const char *text;
        const char *complaint; /* NULL: accepted */
} expect_rows[] = {
        { read_object, "[]", "an object is expected" },
        { read_array, "{}", "an array is expected" },
        { read_member, "1", "a member is expected" },
        { read_u64, "-0", NULL },
        { read_u64, "-1", "from 0 to 2^64-1" },
        { read_u64, "18446744073709551616", "from 0 to 2^64-1" },
        { read_u64, "1.0", "from 0 to 2^64-1" },
        { read_u64, "null", "from 0 to 2^64-1" },
        { read_bool, "1", "true or false" },
        { read_bool, "null", "true or false" },
        { read_text, "null", "a string is expected" },
        { read_text, "1", "a string is expected" },
        { read_text, "1.", "lacks a digit" },
};

START_TEST(another_kind_is_a_complaint_at_its_offset) {
        JsonScanner *scanner;
        JsonToken token;
        Buffer text;

        buffer_init(&text, 0);
        ck_assert_int_eq(buffer_append_format(&text, "  %s", expect_rows[_i].text), 0);
        ck_assert_int_eq(json_scanner_new_text(buffer_span(&text), &limits, &scanner), 0);
        if (!expect_rows[_i].complaint)
                ck_assert_int_eq(expect_rows[_i].read(scanner), 0);
        else {
                ck_assert_int_eq(expect_rows[_i].read(scanner), JSON_E_MALFORMED);
                ck_assert_ptr_nonnull(strstr(scanner->complaint, expect_rows[_i].complaint));
                ck_assert_uint_ge(scanner->offset, 2);
                ck_assert_int_eq(json_scanner_next(scanner, &token), JSON_E_MALFORMED);
        }
        json_scanner_free(scanner);
        buffer_done(&text);
}
END_TEST

START_TEST(the_first_complaint_stays) {
        JsonScanner *scanner = scan("[1]");

        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
        ck_assert_int_eq(json_scanner_fail(scanner, "first"), JSON_E_MALFORMED);
        ck_assert_int_eq(json_scanner_fail(scanner, "second"), JSON_E_MALFORMED);
        ck_assert_str_eq(scanner->complaint, "first");
        ck_assert_int_eq(json_scanner_skip(scanner), JSON_E_MALFORMED);
        json_scanner_free(scanner);
}
END_TEST

START_TEST(a_long_complaint_is_cut_between_characters) {
        JsonScanner *scanner = scan("1");
        Buffer complaint;
        const char *text;

        buffer_init(&complaint, 0);
        for (unsigned i = 0; i < 1000; i++)
                ck_assert_int_eq(buffer_append_text(&complaint, "\xe2\x82\xac"), 0);
        ck_assert_int_eq(buffer_terminate(&complaint, &text), 0);
        ck_assert_int_eq(json_scanner_fail(scanner, text), JSON_E_MALFORMED);
        ck_assert(utf8_is_valid(span_of(scanner->complaint)));
        ck_assert_uint_gt(strlen(scanner->complaint), 100);
        json_scanner_free(scanner);
        buffer_done(&complaint);
}
END_TEST

static const struct {
        const char *value;
        const char *compact;
} value_rows[] = {
        { "1", "1" },
        { "-18446744073709551615", "-18446744073709551615" },
        { "1.50E+3", "1.50E+3" },
        { "true", "true" },
        { "null", "null" },
        { "\"a \\u00e9\\n b\"", "\"a \\u00e9\\n b\"" },
        { "{}", "{}" },
        { "[ ]", "[]" },
        { "[ 1 , 2 , [ ] , { } , \"x\" ]", "[1,2,[],{},\"x\"]" },
        { "{ \"a\" : { \"b\" : [ 1 , { \"c\" : null } ] } , \"\\u0064\" : 1.0 }",
          "{\"a\":{\"b\":[1,{\"c\":null}]},\"\\u0064\":1.0}" },
};

/* Single bytes make the window move after every byte. */
static JsonScanner *scan_member(const char *value, Buffer *text, JsonChunks *chunks) {
        JsonScanner *scanner;
        Span key;

        ck_assert_int_eq(buffer_append_format(text, "{\"k\" : %s , \"after\":4711}", value), 0);
        *chunks = (JsonChunks){ .text = buffer_span(text), .n_chunk = 1 };
        ck_assert_int_eq(json_scanner_new_stream(json_chunks_refill, chunks, &limits, &scanner), 0);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_OBJECT), 0);
        ck_assert_int_eq(json_scanner_member(scanner, &key), 0);
        ck_assert(span_is(key, "k"));
        return scanner;
}

static void assert_after(JsonScanner *scanner) {
        uint64_t value;
        Span key;

        ck_assert_int_eq(json_scanner_member(scanner, &key), 0);
        ck_assert(span_is(key, "after"));
        ck_assert_int_eq(json_scanner_u64(scanner, &value), 0);
        ck_assert_uint_eq(value, 4711);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_OBJECT_END), 0);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_END), 0);
}

/* Once behind the key, once when the first token of the value was read. */
START_TEST(skip_consumes_one_value) {
        for (unsigned read = 0; read < 2; read++) {
                JsonScanner *scanner;
                JsonChunks chunks;
                JsonToken token;
                Buffer text;

                buffer_init(&text, 0);
                scanner = scan_member(value_rows[_i].value, &text, &chunks);
                if (read > 0)
                        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
                ck_assert_int_eq(json_scanner_skip(scanner), 0);
                assert_after(scanner);
                json_scanner_free(scanner);
                buffer_done(&text);
        }
}
END_TEST

START_TEST(raw_copies_one_value_without_white_space) {
        for (unsigned read = 0; read < 2; read++) {
                JsonScanner *scanner;
                JsonChunks chunks;
                JsonToken token;
                Buffer text, raw;

                buffer_init(&text, 0);
                buffer_init(&raw, 0);
                ck_assert_int_eq(buffer_append_text(&raw, "before "), 0);
                scanner = scan_member(value_rows[_i].value, &text, &chunks);
                if (read > 0)
                        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
                ck_assert_int_eq(json_scanner_raw(scanner, &raw), 0);
                assert_after(scanner);
                buffer_drop_front(&raw, strlen("before "));
                ck_assert(span_is(buffer_span(&raw), value_rows[_i].compact));
                ck_assert_int_eq(json_check(buffer_span(&raw), &limits), 0);
                json_scanner_free(scanner);
                buffer_done(&text);
                buffer_done(&raw);
        }
}
END_TEST

START_TEST(raw_leaves_the_buffer_alone_when_it_fails) {
        JsonScanner *scanner;
        Buffer raw;

        /* a value that is wrong near its end */
        buffer_init(&raw, 0);
        ck_assert_int_eq(buffer_append_text(&raw, "kept"), 0);
        scanner = scan("[[1,2,3,NaN]]");
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
        ck_assert_int_eq(json_scanner_raw(scanner, &raw), JSON_E_MALFORMED);
        ck_assert(span_is(buffer_span(&raw), "kept"));
        ck_assert_int_eq(json_scanner_raw(scanner, &raw), JSON_E_MALFORMED);
        json_scanner_free(scanner);
        buffer_done(&raw);

        /* one that does not fit, and one that just does */
        for (size_t max = 1; max <= 7; max++) {
                buffer_init(&raw, max);
                scanner = scan("[1,2,3]");
                ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
                ck_assert_int_eq(json_scanner_raw(scanner, &raw), max < 7 ? -EMSGSIZE : 0);
                ck_assert_uint_eq(raw.n, max < 7 ? 0 : 7);
                json_scanner_free(scanner);
                buffer_done(&raw);
        }
}
END_TEST

START_TEST(raw_of_no_value_is_a_mistake) {
        JsonScanner *scanner = scan("[]");
        Buffer raw;

        buffer_init(&raw, 0);
        ck_assert_int_eq(json_scanner_raw(scanner, &raw), -EINVAL);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY_END), 0);
        ck_assert_int_eq(json_scanner_raw(scanner, &raw), -EINVAL);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_END), 0);
        ck_assert_int_eq(json_scanner_raw(scanner, &raw), -EINVAL);
        ck_assert_uint_eq(raw.n, 0);
        json_scanner_free(scanner);
        buffer_done(&raw);
}
END_TEST

/* Skipped values are checked like values that are read. */
START_TEST(skip_finds_what_is_wrong_inside) {
        static const char *const rows[] = { "[[1,]]", "[{\"a\":1,\"a\":2}]", "[[\"\\ud800\"]]",
                                            "[[1" };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                JsonScanner *scanner = scan(rows[i]);

                ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
                ck_assert_int_eq(json_scanner_skip(scanner), JSON_E_MALFORMED);
                json_scanner_free(scanner);
        }
}
END_TEST

/* Sums numbers up; "stop" ends it with a code of the caller's. */
static int on_member(void *userdata, JsonScanner *scanner, Span key) {
        uint64_t *sum = userdata, value;
        int r;

        if (span_is(key, "stop"))
                return 77;
        if (span_is(key, "in"))
                return json_scanner_object(scanner, on_member, sum);
        r = json_scanner_u64(scanner, &value);
        if (r == 0)
                *sum += value;
        return r;
}

static const struct {
        const char *text;
        int r;
        uint64_t sum;
} object_rows[] = {
        { "{}", 0, 0 },
        { "{\"a\":1,\"in\":{\"b\":2},\"c\":4}", 0, 7 },
        { "{\"a\":1,\"stop\":0,\"c\":4}", 77, 1 },
        { "{\"a\":1,\"b\":\"x\"}", JSON_E_MALFORMED, 1 },
        { "{\"a\":1", JSON_E_MALFORMED, 1 },
        { "[1]", JSON_E_MALFORMED, 0 },
};

START_TEST(objects_are_read_member_by_member) {
        JsonScanner *scanner = scan(object_rows[_i].text);
        uint64_t sum = 0;

        ck_assert_int_eq(json_scanner_object(scanner, on_member, &sum), object_rows[_i].r);
        ck_assert_uint_eq(sum, object_rows[_i].sum);
        if (object_rows[_i].r == 0)
                ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_END), 0);
        json_scanner_free(scanner);
}
END_TEST

/* This allows callers to check the token without checking for a failure first. */
START_TEST(after_a_failure_there_is_no_token_but_the_end) {
        JsonScanner *scanner = scan("[1,x]");
        JsonToken token;

        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
        for (unsigned i = 0; i < 2; i++) {
                token = JSON_TOKEN_OBJECT;
                ck_assert_int_eq(json_scanner_next(scanner, &token), JSON_E_MALFORMED);
                ck_assert_int_eq(token, JSON_TOKEN_END);
        }
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_END), JSON_E_MALFORMED);
        ck_assert_int_eq(json_scanner_fail(scanner, "an object is expected"), JSON_E_MALFORMED);
        ck_assert_str_eq(scanner->complaint, "a value is expected");
        json_scanner_free(scanner);
}
END_TEST

START_TEST(a_number_is_had_only_when_it_was_read) {
        static const char text[] = "[7,-7,7.5,\"7\",-0,18446744073709551615,8,?]";
        static const struct {
                bool has;
                uint64_t value;
        } wanted[] = { { false, 0 }, { true, 7 },          { false, 0 }, { false, 0 }, { false, 0 },
                       { true, 0 },  { true, UINT64_MAX }, { true, 8 },  { false, 0 } };
        JsonScanner *scanner;
        JsonToken token;
        uint64_t value;

        ck_assert_int_eq(json_scanner_new_text(span_of(text), &limits, &scanner), 0);
        for (size_t i = 0; i < ELEMENTSOF(wanted); i++) {
                (void) json_scanner_next(scanner, &token);
                ck_assert_int_eq(json_scanner_has_u64(scanner, &value), wanted[i].has);
                if (wanted[i].has)
                        ck_assert_uint_eq(value, wanted[i].value);
        }
        json_scanner_free(scanner);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("json-expect");
        TCase *expect = tcase_create("expect");
        TCase *skip = tcase_create("skip");
        TCase *raw = tcase_create("raw");

        tcase_add_test(expect, helpers_read_what_they_expect);
        tcase_add_test(expect, an_empty_key_is_not_the_end);
        tcase_add_loop_test(expect, another_kind_is_a_complaint_at_its_offset, 0,
                            ELEMENTSOF(expect_rows));
        tcase_add_loop_test(expect, objects_are_read_member_by_member, 0, ELEMENTSOF(object_rows));
        tcase_add_test(expect, the_first_complaint_stays);
        tcase_add_test(expect, after_a_failure_there_is_no_token_but_the_end);
        tcase_add_test(expect, a_long_complaint_is_cut_between_characters);
        tcase_add_loop_test(skip, skip_consumes_one_value, 0, ELEMENTSOF(value_rows));
        tcase_add_test(skip, skip_finds_what_is_wrong_inside);
        tcase_add_loop_test(raw, raw_copies_one_value_without_white_space, 0,
                            ELEMENTSOF(value_rows));
        tcase_add_test(raw, raw_leaves_the_buffer_alone_when_it_fails);
        tcase_add_test(raw, a_number_is_had_only_when_it_was_read);
        tcase_add_test(raw, raw_of_no_value_is_a_mistake);
        suite_add_tcase(suite, expect);
        suite_add_tcase(suite, skip);
        suite_add_tcase(suite, raw);
        return check_main(suite);
}
