/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "json-trace.h"
#include "json/json-scanner.h"

static const JsonLimits limits = { .max_depth = 16, .max_token_bytes = 1024 };

#define TEXT(literal) \
        { literal, sizeof(literal) - 1 }

// clang-format off
static const Span y_rows[] = {
        TEXT("{}"), TEXT("[]"), TEXT("null"), TEXT("true"), TEXT("false"), TEXT("\"\""), TEXT("0"),
        TEXT("[null,true,false]"), TEXT(" [ ] "), TEXT("\t\n\r {\t\n\r }\t\n\r "),
        TEXT("[[],[[]],{}]"),
        TEXT("{\"\":{\"\":{\"\":0}}}"),
        TEXT("{\"a\":1,\"b\":{\"a\":1},\"c\":[{\"a\":1},{\"a\":1}]}"),
        TEXT("{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }"),
        /* numbers */
        TEXT("-0"), TEXT("-1"), TEXT("[0,1,9,10,12345678,123456789,1234567890123456789]"),
        TEXT("18446744073709551615"), TEXT("-18446744073709551615"), TEXT("18446744073709551616"),
        TEXT("[9223372036854775807,9223372036854775808,-9223372036854775808,-9223372036854775809]"),
        TEXT("99999999999999999999999999999999"), TEXT("0.0"), TEXT("-0.5"), TEXT("1.5e10"),
        TEXT("[1e5,1E5,1e+5,1e-5,0e0,123456789012345678901.5E-300]"), TEXT("1e999"),
        /* strings */
        TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
        TEXT("\"\\u0001\\u001f\\u007f\\u0080\\u07ff\\u0800\\uffff\""),
        TEXT("\"\\ud800\\udc00\\udbff\\udfff\""), TEXT("\"\\uD83D\\uDe00\""), TEXT("\"x\\u00E9y\""),
        TEXT("\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""),
        TEXT("\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
        TEXT("\"eight by eight, and a \xe2\x82\xac somewhere\""),
        TEXT("{\"\\u0061\":1,\"\\u0062\":2}"), TEXT("[\"a/b\",\"'\",\"\xef\xbb\xbf\"]"),
};

static const struct {
        Span text;
        uint64_t offset;
        const char *complaint;
} n_rows[] = {
        { TEXT(""), 0, "the text ends where a value is expected" },
        { TEXT(" "), 1, "a value is expected" },
        { TEXT("\xef\xbb\xbf{}"), 0, "a value is expected" }, /* a byte order mark */
        { TEXT("\xff\xfe[\0]\0"), 0, "a value is expected" },
        { TEXT("{}\0"), 2, "nothing is expected" },
        { TEXT("\0"), 0, "a value is expected" },
        { TEXT("[1]x"), 3, "nothing is expected" },
        { TEXT("[1]]"), 3, "nothing is expected" },
        { TEXT("1 2"), 2, "nothing is expected" },
        { TEXT("{} // text"), 3, "nothing is expected" },
        { TEXT("/* text */ 1"), 0, "a value is expected" },
        { TEXT("#1"), 0, "a value is expected" },
        /* structure */
        { TEXT("["), 1, "the text ends where a value or ']'" },
        { TEXT("[1"), 2, "',' or ']'" },
        { TEXT("[1,"), 3, "a value is" },
        { TEXT("[1,]"), 3, "a value is" },
        { TEXT("[,1]"), 1, "a value or ']'" },
        { TEXT("[1,,2]"), 3, "a value is" },
        { TEXT("[1 2]"), 3, "',' or ']'" },
        { TEXT("[1:2]"), 2, "',' or ']'" },
        { TEXT("[1}"), 2, "',' or ']'" },
        { TEXT("[}"), 1, "a value or ']'" },
        { TEXT("]"), 0, "a value is" },
        { TEXT("{"), 1, "a key or '}'" },
        { TEXT("{]"), 1, "a key or '}'" },
        { TEXT("{,}"), 1, "a key or '}'" },
        { TEXT("{1:2}"), 1, "a key or '}'" },
        { TEXT("{a:1}"), 1, "a key or '}'" },
        { TEXT("{'a':1}"), 1, "a key or '}'" },
        { TEXT("{null:1}"), 1, "a key or '}'" },
        { TEXT("{\"a\""), 4, "':'" },
        { TEXT("{\"a\"}"), 4, "':'" },
        { TEXT("{\"a\",1}"), 4, "':'" },
        { TEXT("{\"a\":"), 5, "a value is" },
        { TEXT("{\"a\":}"), 5, "a value is" },
        { TEXT("{\"a\"::1}"), 5, "a value is" },
        { TEXT("{\"a\":1"), 6, "the text ends where ',' or '}'" },
        { TEXT("{\"a\":1]"), 6, "',' or '}'" },
        { TEXT("{\"a\":1,}"), 7, "a key is" },
        { TEXT("{\"a\":1,,}"), 7, "a key is" },
        { TEXT("{\"a\":1 \"b\":2}"), 7, "',' or '}'" },
        { TEXT("{\"a\":1;\"b\":2}"), 6, "',' or '}'" },
        { TEXT("[1]\v"), 3, "nothing is expected" },
        { TEXT("[\f1]"), 1, "a value or ']'" },
        { TEXT("[\xc2\xa0""1]"), 1, "a value or ']'" },
        /* words */
        { TEXT("nul"), 3, "ends inside a word" },
        { TEXT("[nul]"), 4, "a value is" },
        { TEXT("True"), 0, "a value is" },
        { TEXT("truE"), 3, "a value is" },
        { TEXT("nullx"), 4, "nothing is expected" },
        { TEXT("NaN"), 0, "a value is" },
        { TEXT("nan"), 1, "a value is" },
        { TEXT("Infinity"), 0, "a value is" },
        { TEXT("-Infinity"), 1, "lacks a digit" },
        { TEXT("undefined"), 0, "a value is" },
        /* numbers */
        { TEXT("-"), 1, "lacks a digit" },
        { TEXT("+1"), 0, "a value is" },
        { TEXT("--1"), 1, "lacks a digit" },
        { TEXT("- 1"), 1, "lacks a digit" },
        { TEXT("01"), 1, "starts with a zero" },
        { TEXT("[00,0,0,0,0,0,0,0,0,0,0,0,0,0]"), 2, "starts with a zero" },
        { TEXT("[-012345678901234567890,0]"), 3, "starts with a zero" },
        { TEXT("1."), 2, "lacks a digit" },
        { TEXT("[1.]"), 3, "lacks a digit" },
        { TEXT(".5"), 0, "a value is" },
        { TEXT("-.5"), 1, "lacks a digit" },
        { TEXT("1.e5"), 2, "lacks a digit" },
        { TEXT("1e"), 2, "lacks a digit" },
        { TEXT("1e+"), 3, "lacks a digit" },
        { TEXT("[1e-]"), 4, "lacks a digit" },
        { TEXT("1e5.5"), 3, "nothing is expected" },
        { TEXT("1.2.3"), 3, "nothing is expected" },
        { TEXT("[1-2,1234567890123456789012345]"), 2, "',' or ']'" },
        { TEXT("0x10"), 1, "nothing is expected" },
        { TEXT("1_000"), 1, "nothing is expected" },
        { TEXT("12a"), 2, "nothing is expected" },
        /* strings */
        { TEXT("\""), 1, "ends inside a string" },
        { TEXT("\"abc"), 4, "ends inside a string" },
        { TEXT("\"abc\\"), 5, "ends inside a string" },
        { TEXT("\"abc\\\""), 6, "ends inside a string" },
        { TEXT("'abc'"), 0, "a value is" },
        { TEXT("\"a\nb\""), 2, "a control character" },
        { TEXT("\"a\0b\""), 2, "a control character" },
        { TEXT("\"0123456789\x1f\""), 11, "a control character" },
        { TEXT("\"\\a\""), 1, "unknown escape" },
        { TEXT("\"\\'\""), 1, "unknown escape" },
        { TEXT("\"\\x41\""), 1, "unknown escape" },
        { TEXT("\"\\\n\""), 1, "unknown escape" },
        { TEXT("\"\\\0\""), 1, "unknown escape" },
        { TEXT("\"\\U0041\""), 1, "unknown escape" },
        { TEXT("\"\\u\""), 1, "unknown escape" },
        { TEXT("\"\\u004\""), 1, "unknown escape" },
        { TEXT("\"\\u00g0\""), 1, "unknown escape" },
        { TEXT("\"\\u 041\""), 1, "unknown escape" },
        { TEXT("\"\\u+041\""), 1, "unknown escape" },
        { TEXT("\"\\u0000\""), 1, "\\u0000" },
        { TEXT("{\"a\\u0000\":1}"), 3, "\\u0000" },
        { TEXT("\"\\ud800\""), 1, "surrogate" },
        { TEXT("\"\\udc00\""), 1, "surrogate" },
        { TEXT("\"\\ud800x\""), 1, "surrogate" },
        { TEXT("\"\\ud800\\n\""), 1, "surrogate" },
        { TEXT("\"\\ud800\\u0041\""), 1, "surrogate" },
        { TEXT("\"\\ud800\\ud800\""), 1, "surrogate" },
        { TEXT("\"\\udc00\\ud800\""), 1, "surrogate" },
        { TEXT("\"\\ud800\\udc0\""), 1, "surrogate" },
        { TEXT("\"\x80\""), 1, "invalid UTF-8" },
        { TEXT("\"a\xbf\""), 2, "invalid UTF-8" },
        { TEXT("\"\xc0\x80\""), 1, "invalid UTF-8" },
        { TEXT("\"\xc1\xbf\""), 1, "invalid UTF-8" },
        { TEXT("\"\xc3\""), 1, "invalid UTF-8" },
        { TEXT("\"\xe0\x9f\xbf\""), 1, "invalid UTF-8" },
        { TEXT("\"\xed\xa0\x80\""), 1, "invalid UTF-8" },
        { TEXT("\"\xf0\x8f\xbf\xbf\""), 1, "invalid UTF-8" },
        { TEXT("\"\xf4\x90\x80\x80\""), 1, "invalid UTF-8" },
        { TEXT("\"\xf5\x80\x80\x80\""), 1, "invalid UTF-8" },
        { TEXT("\"\xff\""), 1, "invalid UTF-8" },
        { TEXT("\"\xe2\x82"), 3, "ends inside a string" },
        { TEXT("\"\xe2\x82\"]"), 1, "invalid UTF-8" },
        { TEXT("{\"a\xff\":1}"), 3, "invalid UTF-8" },
        /* members */
        { TEXT("{\"a\":1,\"a\":1}"), 7, "duplicate member \"a\"" },
        { TEXT("{\"a\":1,\"\\u0061\":2}"), 7, "duplicate member \"a\"" },
        { TEXT("{\"\":1,\"\":2}"), 6, "duplicate member \"\"" },
        { TEXT("{\"b\":{\"a\":1},\"c\":[{\"a\":1}],\"b\":1}"), 27, "duplicate member \"b\"" },
        { TEXT("{\"\\n\x7f\xc3\xa9\":1,\"\\n\x7f\xc3\xa9\":2}"), 11, "duplicate member \"????\"" },
};
// clang-format on

START_TEST(y_rows_are_accepted) {
        Buffer trace;

        buffer_init(&trace, 0);
        ck_assert_int_eq(json_trace_text(y_rows[_i], &limits, &trace), 0);
        ck_assert_int_eq(json_check(y_rows[_i], &limits), 0);
        buffer_done(&trace);
}
END_TEST

START_TEST(n_rows_are_refused_where_they_are_wrong) {
        JsonScanner *scanner;
        JsonToken token;
        int r;

        ck_assert_int_eq(json_check(n_rows[_i].text, &limits), JSON_E_MALFORMED);
        ck_assert_int_eq(json_scanner_new_text(n_rows[_i].text, &limits, &scanner), 0);
        do
                r = json_scanner_next(scanner, &token);
        while (r == 0 && token != JSON_TOKEN_END);
        ck_assert_int_eq(r, JSON_E_MALFORMED);
        ck_assert_uint_eq(scanner->offset, n_rows[_i].offset);
        ck_assert_msg(strstr(scanner->complaint, n_rows[_i].complaint), "\"%s\"",
                      scanner->complaint);
        ck_assert(utf8_is_valid(span_of(scanner->complaint)));
        json_scanner_free(scanner);
}
END_TEST

/* A text in one piece, in single bytes, and in two pieces cut anywhere has the same trace. */
static void assert_chunks_agree(Span text) {
        Buffer whole, cut;

        buffer_init(&whole, 0);
        buffer_init(&cut, 0);
        json_trace_text(text, &limits, &whole);
        json_trace_chunks((JsonChunks){ .text = text, .n_chunk = 1 }, &limits, &cut);
        ck_assert(span_equal(buffer_span(&whole), buffer_span(&cut)));
        for (size_t first = 0; first <= text.n; first++) {
                buffer_clear(&cut);
                json_trace_chunks((JsonChunks){ .text = text, .first = first }, &limits, &cut);
                ck_assert(span_equal(buffer_span(&whole), buffer_span(&cut)));
        }
        buffer_done(&whole);
        buffer_done(&cut);
}

START_TEST(y_rows_in_chunks_read_the_same) {
        assert_chunks_agree(y_rows[_i]);
}
END_TEST

START_TEST(n_rows_in_chunks_fail_the_same) {
        assert_chunks_agree(n_rows[_i].text);
}
END_TEST

/* An exact copy on the heap, so that tools see a byte that is read behind its end. */
static Span copy_of(Span text, size_t n) {
        char *bytes = malloc(n > 0 ? n : 1);

        ck_assert_ptr_nonnull(bytes);
        if (n > 0)
                memcpy(bytes, text.bytes, n);
        return (Span){ bytes, n };
}

/* Nothing but a number at the top, or white space behind the value, may be cut off and be whole. */
START_TEST(truncated_at_every_byte_is_refused) {
        Span text = y_rows[_i];

        if (strchr("-0123456789", text.bytes[0]))
                return;
        while (strchr(" \t\r\n", text.bytes[text.n - 1]))
                text.n--;
        for (size_t n = 0; n < text.n; n++) {
                Span cut = copy_of(text, n);

                ck_assert_int_eq(json_check(cut, &limits), JSON_E_MALFORMED);
                assert_chunks_agree(cut);
                free((void *) (uintptr_t) cut.bytes);
        }
}
END_TEST

static const struct {
        const char *text;
        JsonToken token;
        bool negative;
        uint64_t magnitude;
} number_rows[] = {
        { "0", JSON_TOKEN_INTEGER, false, 0 },
        { "-0", JSON_TOKEN_INTEGER, false, 0 },
        { "7", JSON_TOKEN_INTEGER, false, 7 },
        { "-7", JSON_TOKEN_INTEGER, true, 7 },
        { "123456789", JSON_TOKEN_INTEGER, false, 123456789 },
        { "12345678901234567", JSON_TOKEN_INTEGER, false, UINT64_C(12345678901234567) },
        { "-1234567890123456789", JSON_TOKEN_INTEGER, true, UINT64_C(1234567890123456789) },
        { "9999999999999999999", JSON_TOKEN_INTEGER, false, UINT64_C(9999999999999999999) },
        { "10000000000000000000", JSON_TOKEN_INTEGER, false, UINT64_C(10000000000000000000) },
        { "18446744073709551615", JSON_TOKEN_INTEGER, false, UINT64_MAX },
        { "-18446744073709551615", JSON_TOKEN_INTEGER, true, UINT64_MAX },
        { "18446744073709551616", JSON_TOKEN_REAL, false, 0 },
        { "-18446744073709551616", JSON_TOKEN_REAL, false, 0 },
        { "184467440737095516150", JSON_TOKEN_REAL, false, 0 },
        { "1.0", JSON_TOKEN_REAL, false, 0 },
        { "1e0", JSON_TOKEN_REAL, false, 0 },
        { "-0.0", JSON_TOKEN_REAL, false, 0 },
};

/* Once at the end of the text, once with room behind it, where the fast path takes it. */
START_TEST(numbers_are_exact) {
        static const char *const tails[] = { "", "]", ",0]", "                            ]" };

        for (size_t i = 0; i < ELEMENTSOF(tails); i++) {
                JsonScanner *scanner;
                JsonToken token;
                Buffer text;

                buffer_init(&text, 0);
                ck_assert_int_eq(buffer_append_format(&text, "%s%s%s", *tails[i] ? "[" : "",
                                                      number_rows[_i].text, tails[i]),
                                 0);
                ck_assert_int_eq(json_scanner_new_text(buffer_span(&text), &limits, &scanner), 0);
                if (*tails[i])
                        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
                ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
                ck_assert_int_eq(token, number_rows[_i].token);
                if (token == JSON_TOKEN_INTEGER) {
                        ck_assert_int_eq(scanner->number.negative, number_rows[_i].negative);
                        ck_assert_uint_eq(scanner->number.magnitude, number_rows[_i].magnitude);
                }
                json_scanner_free(scanner);
                buffer_done(&text);
        }
}
END_TEST

/* Every number of digits, by way of the text: whatever path reads it, the value is the same. */
START_TEST(integers_of_every_length_are_exact) {
        uint64_t value = 0;

        for (unsigned n = 1; n <= 19; n++) {
                JsonScanner *scanner;
                uint64_t read;
                Buffer text;

                value = value * 10 + n % 10;
                buffer_init(&text, 0);
                ck_assert_int_eq(buffer_append_format(&text, "[%" PRIu64 "%32s]", value, ""), 0);
                ck_assert_int_eq(json_scanner_new_text(buffer_span(&text), &limits, &scanner), 0);
                ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
                ck_assert_int_eq(json_scanner_u64(scanner, &read), 0);
                ck_assert_uint_eq(read, value);
                json_scanner_free(scanner);
                buffer_done(&text);
        }
}
END_TEST

/* A byte next to the digits in the code table, in every place of an eight-byte step. */
START_TEST(no_other_byte_is_a_digit) {
        for (unsigned byte = 1; byte < 256; byte++)
                for (size_t place = 1; place < 20; place++) {
                        char text[] = "[12345678901234567890                          ]";

                        if ((byte >= '0' && byte <= '9') || strchr(" \t\r\n,.eE]", (int) byte))
                                continue;
                        text[place] = (char) byte;
                        if (byte == '-' && place == 1)
                                continue;
                        ck_assert_int_eq(json_check(span_of(text), &limits), JSON_E_MALFORMED);
                }
}
END_TEST

/* Integers are in the window with enough behind them to be read many at a time. */
#define TAIL "                                        "
static const char *const count_rows[] = {
        "[0,7,12,12345678,123456789,1234567812345678,1234567812345678901,0]" TAIL,
        "[0,18446744073709551615,18446744073709551616,1,2]" TAIL,
        "[0,1,-1,2,-0,3,1.5,4,1e3,5,null,6,\"7\",8,[9,10],11,{\"a\":12},13]" TAIL,
        "[0, 1,2 ,3\n,\t4 , 5]" TAIL,
        "[[1,2],[3,4],[5,[6,7],8],9]" TAIL,
        "[1,2" TAIL,
        "[1,2,]" TAIL,
        "[1,2,03,4]" TAIL,
        "[1,2,3x,4]" TAIL,
        "[1,2,3}" TAIL,
        "{\"a\":1,2,3,4}" TAIL,
        "1,2,3,4" TAIL,
};

/* What a scan says, without the places of integers; @n integers at a time where more than one. */
static void trace_counts(Span text, size_t first, size_t n, Buffer *ret) {
        JsonChunks chunks = { .text = text, .first = first };
        JsonToken token = JSON_TOKEN_NULL;
        uint64_t values[8] = {};
        JsonScanner *scanner;
        int r = 0;

        ck_assert_int_eq(json_scanner_new_stream(json_chunks_refill, &chunks, &limits, &scanner),
                         0);
        while (r == 0 && token != JSON_TOKEN_END) {
                size_t n_read = n > 1 ? json_scanner_counts(scanner, values, n) : 0;

                for (size_t i = 0; i < n_read; i++)
                        ck_assert_int_eq(buffer_append_format(ret, "\n%d %" PRIu64,
                                                              (int) JSON_TOKEN_INTEGER, values[i]),
                                         0);
                if (n_read > 0) {
                        uint64_t last = 0;

                        ck_assert(json_scanner_has_u64(scanner, &last));
                        ck_assert_uint_eq(last, values[n_read - 1]);
                        ck_assert_uint_eq(strtoull(text.bytes + scanner->offset, NULL, 10), last);
                        ck_assert(strchr(",[ ", text.bytes[scanner->offset - 1]));
                }
                r = json_scanner_next(scanner, &token);
                if (r != 0)
                        break;
                ck_assert_int_eq(buffer_append_format(ret, "\n%d ", (int) token), 0);
                json_trace_value(scanner, token, ret);
        }
        ck_assert_int_eq(buffer_append_format(ret, "\n= %d@%" PRIu64 " %s", r, scanner->offset,
                                              scanner->complaint),
                         0);
        ck_assert(r == 0 || json_scanner_counts(scanner, values, 1) == 0);
        json_scanner_free(scanner);
}

START_TEST(integers_many_at_a_time_read_the_same) {
        Span text = span_of(count_rows[_i]);
        Buffer single, many;

        buffer_init(&single, 0);
        buffer_init(&many, 0);
        trace_counts(text, 0, 1, &single);
        for (size_t n = 2; n <= 8; n += 3)
                for (size_t first = 0; first <= text.n; first++) {
                        buffer_clear(&many);
                        trace_counts(text, first, n, &many);
                        ck_assert(span_equal(buffer_span(&single), buffer_span(&many)));
                }
        buffer_done(&single);
        buffer_done(&many);
}
END_TEST

/* It is no second reader that reads none: of a row in the window all come in one call. */
START_TEST(integers_at_hand_come_in_one_call) {
        JsonScanner *scanner;
        uint64_t values[8];
        JsonToken token;

        ck_assert_int_eq(json_scanner_new_text(span_of(count_rows[0]), &limits, &scanner), 0);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY), 0);
        ck_assert_uint_eq(json_scanner_counts(scanner, values, 8), 0); /* no comma before it */
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_INTEGER), 0);
        ck_assert_uint_eq(json_scanner_counts(scanner, values, 8), 7);
        ck_assert_uint_eq(values[5], UINT64_C(1234567812345678901));
        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
        ck_assert_int_eq(token, JSON_TOKEN_ARRAY_END);
        json_scanner_free(scanner);
}
END_TEST

static const struct {
        const char *text;
        const char *decoded;
} string_rows[] = {
        { "\"\"", "" },
        { "\"plain\"", "plain" },
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t" },
        { "\"a\\u0041z\"", "aAz" },
        { "\"\\u00e9\\u20AC\\ud83d\\ude00\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "\"\\u0080\\u07ff\\u0800\\uffff\"", "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf" },
        { "\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf" },
        { "\"\\\\u0041\"", "\\u0041" },
        { "\"\xe2\x82\xac\"", "\xe2\x82\xac" },
};

START_TEST(strings_are_decoded) {
        Span text = span_of(string_rows[_i].text), string;
        JsonScanner *scanner;

        ck_assert_int_eq(json_scanner_new_text(text, &limits, &scanner), 0);
        ck_assert_int_eq(json_scanner_text(scanner, &string), 0);
        ck_assert(span_is(string, string_rows[_i].decoded));
        /* Without an escape it is where it was. */
        if (!strchr(text.bytes, '\\'))
                ck_assert_ptr_eq(string.bytes, text.bytes + 1);
        json_scanner_free(scanner);
}
END_TEST

START_TEST(every_character_round_trips_through_its_escape) {
        Span text, string;
        char escape[16];
        size_t n;

        for (uint32_t c = 1; c <= 0xffff; c++) {
                JsonScanner *scanner;

                if (c >= 0xd800 && c <= 0xdfff)
                        continue;
                n = (size_t) snprintf(escape, sizeof(escape), "\"\\u%04x\"", c);
                text = (Span){ escape, n };
                ck_assert_int_eq(json_scanner_new_text(text, &limits, &scanner), 0);
                ck_assert_int_eq(json_scanner_text(scanner, &string), 0);
                ck_assert_uint_eq(utf8_character(string), string.n);
                ck_assert_uint_eq(string.n, c < 0x80 ? 1 : c < 0x800 ? 2 : 3);
                if (string.n == 3)
                        ck_assert_uint_eq(((uint32_t) string.bytes[0] & 0xf) << 12 |
                                                  ((uint32_t) string.bytes[1] & 0x3f) << 6 |
                                                  ((uint32_t) string.bytes[2] & 0x3f),
                                          c);
                json_scanner_free(scanner);
        }
}
END_TEST

START_TEST(tokens_come_with_their_offsets) {
        Buffer trace;

        buffer_init(&trace, 0);
        ck_assert_int_eq(json_trace_text(SPAN_LITERAL(" {\"a\" : [1, -2]}\n"), &limits, &trace), 0);
        ck_assert(span_is(buffer_span(&trace), "\n1@1 \n5@2 a\n3@8 \n7@9 1\n7@12 -2\n4@14 \n2@15 "
                                               "\n0@17 \n= 0@17 "));
        buffer_done(&trace);
}
END_TEST

/* skipping */

/* [ROW,[ROW],7]: skips the first two. */
START_TEST(what_was_checked_is_skipped_to_its_end) {
        char text[2048];
        int n = snprintf(text, sizeof(text), "[%.*s,[%.*s],7]", (int) y_rows[_i].n,
                         y_rows[_i].bytes, (int) y_rows[_i].n, y_rows[_i].bytes);
        JsonScanner *scanner;
        JsonToken token;

        ck_assert_int_eq(json_scanner_new_text((Span){ text, (size_t) n }, &limits, &scanner), 0);
        scanner->input.is_checked = true;
        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
                ck_assert_int_eq(json_scanner_skip(scanner), 0);
        }
        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
        ck_assert_uint_eq(token, JSON_TOKEN_INTEGER);
        ck_assert_uint_eq(scanner->number.magnitude, 7);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_ARRAY_END), 0);
        ck_assert_int_eq(json_scanner_expect(scanner, JSON_TOKEN_END), 0);
        json_scanner_free(scanner);
}
END_TEST

/* It was not checked after all: the complaint is that of the scanner. */
static const char *const unended_rows[] = { "[1,[2]", "{\"a\":\"]}", "[\"\\\"]", "[1}",
                                            "{\"a\":1]" };

START_TEST(what_does_not_end_is_refused_although_it_was_checked) {
        JsonScanner *scanner;
        JsonToken token;

        ck_assert_int_eq(json_scanner_new_text(span_of(unended_rows[_i]), &limits, &scanner), 0);
        scanner->input.is_checked = true;
        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
        ck_assert_int_eq(json_scanner_skip(scanner), JSON_E_MALFORMED);
        json_scanner_free(scanner);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("json-scanner");
        TCase *grammar = tcase_create("grammar");
        TCase *chunks = tcase_create("chunks");
        TCase *values = tcase_create("values");

        tcase_add_loop_test(grammar, y_rows_are_accepted, 0, ELEMENTSOF(y_rows));
        tcase_add_loop_test(grammar, n_rows_are_refused_where_they_are_wrong, 0,
                            ELEMENTSOF(n_rows));
        tcase_add_loop_test(grammar, truncated_at_every_byte_is_refused, 0, ELEMENTSOF(y_rows));
        tcase_add_loop_test(chunks, y_rows_in_chunks_read_the_same, 0, ELEMENTSOF(y_rows));
        tcase_add_loop_test(chunks, n_rows_in_chunks_fail_the_same, 0, ELEMENTSOF(n_rows));
        tcase_add_loop_test(values, numbers_are_exact, 0, ELEMENTSOF(number_rows));
        tcase_add_test(values, integers_of_every_length_are_exact);
        tcase_add_test(values, no_other_byte_is_a_digit);
        tcase_add_loop_test(values, integers_many_at_a_time_read_the_same, 0,
                            ELEMENTSOF(count_rows));
        tcase_add_test(values, integers_at_hand_come_in_one_call);
        tcase_add_loop_test(values, strings_are_decoded, 0, ELEMENTSOF(string_rows));
        tcase_add_test(values, every_character_round_trips_through_its_escape);
        tcase_add_test(values, tokens_come_with_their_offsets);
        tcase_add_loop_test(values, what_was_checked_is_skipped_to_its_end, 0, ELEMENTSOF(y_rows));
        tcase_add_loop_test(values, what_does_not_end_is_refused_although_it_was_checked, 0,
                            ELEMENTSOF(unended_rows));
        suite_add_tcase(suite, grammar);
        suite_add_tcase(suite, chunks);
        suite_add_tcase(suite, values);
        return check_main(suite);
}
