/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json-trace.h"
#include "json/json-scanner.h"

static const JsonLimits wide = { .max_depth = 16, .max_token_bytes = 1024 };

static const struct {
        const char *text;
        JsonLimits limits;
        const char *complaint; /* NULL: at the limit */
        uint64_t offset;
} limit_rows[] = {
        { "[[[]]]", { 3, 64, 0 }, NULL, 0 },
        { "[[[]]]", { 2, 64, 0 }, "nested too deeply", 2 },
        { "{\"a\":{}}", { 1, 64, 0 }, "nested too deeply", 5 },
        { "[[],[],[]]", { 2, 64, 0 }, NULL, 0 },
        { "1", { 0, 64, 0 }, NULL, 0 },
        { "[]", { 0, 64, 0 }, "nested too deeply", 0 },
        /* as written: quotes and escapes count */
        { "\"abcdef\"", { 1, 8, 0 }, NULL, 0 },
        { "\"abcdef\"", { 1, 7, 0 }, "a string is too long", 7 },
        { "\"abcdefg", { 1, 7, 0 }, "a string is too long", 7 },
        { "\"abcdefghijklmnopqrstuvwxyz\"", { 1, 7, 0 }, "a string is too long", 7 },
        { "\"\\u0061\"", { 1, 8, 0 }, NULL, 0 },
        { "\"\\u0061\"", { 1, 7, 0 }, "a string is too long", 7 },
        { "\"abcd\xe2\x82\xac\"", { 1, 9, 0 }, NULL, 0 },
        { "\"abcd\xe2\x82\xac\"", { 1, 7, 0 }, "a string is too long", 5 },
        { "\"abcde\\n\"", { 1, 7, 0 }, "a string is too long", 6 },
        { "\"\"", { 1, 2, 0 }, NULL, 0 },
        { "\"\"", { 1, 1, 0 }, "a string is too long", 1 },
        { "\"\"", { 1, 0, 0 }, "a string is too long", 0 },
        { "{\"abcd\":1}", { 1, 6, 0 }, NULL, 0 },
        { "{\"abcd\":1}", { 1, 5, 0 }, "a string is too long", 6 },
        { "[12345678]", { 1, 8, 0 }, NULL, 0 },
        { "[12345678]", { 1, 7, 0 }, "a number is too long", 8 },
        { "12345678", { 1, 8, 0 }, NULL, 0 },
        { "12345678", { 1, 7, 0 }, "a number is too long", 7 },
        { "-1.25e+6", { 1, 8, 0 }, NULL, 0 },
        { "-1.25e+6", { 1, 7, 0 }, "a number is too long", 7 },
        { "-1.25e+6", { 1, 6, 0 }, "a number is too long", 6 },
        { "[1      ,2]", { 1, 6, 0 }, NULL, 0 },
        { "[1      ,2]", { 1, 5, 0 }, "white space is too long", 7 },
        { "1      ", { 1, 6, 0 }, NULL, 0 },
        { "1      ", { 1, 5, 0 }, "white space is too long", 6 },
        { "[true,false]", { 1, 1, 0 }, NULL, 0 }, /* words have a length of their own */
        { "[1,2,3]", { 1, 64, 7 }, NULL, 0 },
        { "[1,2,3]", { 1, 64, 6 }, "the text is too long", 6 },
        { "[1,2,3] ", { 1, 64, 7 }, "the text is too long", 7 },
        { "\"abcdef\"", { 1, 64, 7 }, "the text is too long", 7 },
        { "12345678", { 1, 64, 7 }, "the text is too long", 7 },
        { "12345678", { 1, 64, 8 }, NULL, 0 },
        { "true", { 1, 64, 3 }, "the text is too long", 3 },
        { "[x23]", { 1, 64, 4 }, "a value or ']'", 1 }, /* wrong before it is long */
};

START_TEST(limits_hold_at_and_past_the_bound) {
        Span text = span_of(limit_rows[_i].text);
        const JsonLimits *limits = &limit_rows[_i].limits;
        Buffer whole, cut, end;

        buffer_init(&whole, 0);
        buffer_init(&cut, 0);
        buffer_init(&end, 0);
        json_trace_text(text, limits, &whole);
        ck_assert_int_eq(buffer_append_format(&end, "\n= %d@%" PRIu64 " ",
                                              limit_rows[_i].complaint ? JSON_E_MALFORMED : 0,
                                              limit_rows[_i].complaint ? limit_rows[_i].offset
                                                                       : (uint64_t) text.n),
                         0);
        ck_assert_ptr_nonnull(memmem(whole.bytes, whole.n, end.bytes, end.n));
        if (limit_rows[_i].complaint)
                ck_assert_ptr_nonnull(memmem(whole.bytes, whole.n, limit_rows[_i].complaint,
                                             strlen(limit_rows[_i].complaint)));
        for (size_t n_chunk = 0; n_chunk <= text.n; n_chunk++) {
                buffer_clear(&cut);
                json_trace_chunks((JsonChunks){ .text = text, .n_chunk = n_chunk }, limits, &cut);
                ck_assert(span_equal(buffer_span(&whole), buffer_span(&cut)));
        }
        buffer_done(&whole);
        buffer_done(&cut);
        buffer_done(&end);
}
END_TEST

static void append_times(Buffer *buffer, const char *text, unsigned times) {
        for (unsigned i = 0; i < times; i++)
                ck_assert_int_eq(buffer_append_text(buffer, text), 0);
}

START_TEST(ten_thousand_levels_are_read_when_allowed) {
        JsonLimits limits = { .max_depth = 10000, .max_token_bytes = 64 };
        Buffer text;

        buffer_init(&text, 0);
        append_times(&text, "[{\"a\":", 5000);
        append_times(&text, "1", 1);
        append_times(&text, "}]", 5000);
        ck_assert_int_eq(json_check(buffer_span(&text), &limits), 0);
        limits.max_depth = 9999;
        ck_assert_int_eq(json_check(buffer_span(&text), &limits), JSON_E_MALFORMED);
        buffer_done(&text);
}
END_TEST

START_TEST(a_nesting_bomb_is_refused_early) {
        JsonScanner *scanner;
        JsonToken token;
        Buffer text;
        int r;

        buffer_init(&text, 0);
        append_times(&text, "[", 100000);
        ck_assert_int_eq(json_scanner_new_text(buffer_span(&text), &wide, &scanner), 0);
        do
                r = json_scanner_next(scanner, &token);
        while (r == 0);
        ck_assert_int_eq(r, JSON_E_MALFORMED);
        ck_assert_uint_eq(scanner->offset, 16);
        json_scanner_free(scanner);
        buffer_done(&text);
}
END_TEST

static void append_keys(Buffer *buffer, unsigned n, unsigned last) {
        append_times(buffer, "{", 1);
        for (unsigned i = 0; i < n; i++)
                ck_assert_int_eq(buffer_append_format(buffer, "%s\"key %u\":%u", i > 0 ? "," : "",
                                                      i + 1 < n ? i : last, i),
                                 0);
        append_times(buffer, "}", 1);
}

static const unsigned key_rows[] = { 2, 15, 16, 17, 18, 31, 32, 33, 64, 65, 1000, 30000 };

/* Small objects and large ones remember their keys in different ways. */
START_TEST(duplicates_are_found_among_any_number_of_keys) {
        unsigned n = key_rows[_i];
        const unsigned lasts[] = { 0, (n - 1) / 2, n - 2 };
        Buffer text;

        buffer_init(&text, 0);
        append_keys(&text, n, n);
        ck_assert_int_eq(json_check(buffer_span(&text), &wide), 0);
        for (size_t i = 0; i < ELEMENTSOF(lasts); i++) {
                buffer_clear(&text);
                append_keys(&text, n, lasts[i]);
                ck_assert_int_eq(json_check(buffer_span(&text), &wide), JSON_E_MALFORMED);
        }
        buffer_done(&text);
}
END_TEST

/* The memory of keys is used again; nothing of an earlier object may remain. */
START_TEST(keys_are_forgotten_with_their_object) {
        static const unsigned counts[] = { 1000, 17, 5, 40, 1000, 3000, 33 };
        Buffer text;

        buffer_init(&text, 0);
        append_times(&text, "[", 1);
        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                append_times(&text, ",", i > 0 ? 1 : 0);
                append_keys(&text, counts[i], counts[i]);
        }
        append_times(&text, "]", 1);
        ck_assert_int_eq(json_check(buffer_span(&text), &wide), 0);
        buffer_done(&text);
}
END_TEST

START_TEST(a_long_key_is_quoted_in_part) {
        JsonScanner *scanner;
        JsonToken token;
        Buffer text;
        int r;

        buffer_init(&text, 0);
        append_times(&text, "{\"", 1);
        append_times(&text, "k", 500);
        append_times(&text, "\":1,\"", 1);
        append_times(&text, "k", 500);
        append_times(&text, "\":1}", 1);
        ck_assert_int_eq(json_scanner_new_text(buffer_span(&text), &wide, &scanner), 0);
        do
                r = json_scanner_next(scanner, &token);
        while (r == 0);
        ck_assert_int_eq(r, JSON_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(scanner->complaint, "kkk\"..."));
        ck_assert_uint_lt(strlen(scanner->complaint), 100);
        json_scanner_free(scanner);
        buffer_done(&text);
}
END_TEST

/* Strings from nothing to several windows long, numbers and white space between. */
static void append_large(Buffer *buffer) {
        append_times(buffer, "[", 1);
        for (unsigned i = 0; i < 20; i++) {
                append_times(buffer, "{\"name\" : \"", 1);
                append_times(buffer, i % 3 == 0 ? "0123456789abcde" : "\xe2\x82\xac\\u00e9\\n",
                             i * i * 30);
                append_times(buffer, "\",\n\"numbers\":[", 1);
                for (unsigned j = 0; j < 100; j++)
                        ck_assert_int_eq(buffer_append_format(buffer, "%" PRIu64 ", ",
                                                              UINT64_MAX >> (j % 64)),
                                         0);
                append_times(buffer, "-1.5e3]},", 1);
                append_times(buffer, " ", i * 1000);
        }
        append_times(buffer, "null]", 1);
}

START_TEST(large_streams_read_the_same_in_chunks_of_any_size) {
        static const size_t chunk_rows[] = { 0, 1, 7, 4096, 65535, 65536, 65537, 1000000 };
        const JsonLimits limits = { .max_depth = 4, .max_token_bytes = 300000 };
        Buffer text, whole, cut;

        buffer_init(&text, 0);
        buffer_init(&whole, 0);
        buffer_init(&cut, 0);
        append_large(&text);
        ck_assert_int_eq(json_trace_text(buffer_span(&text), &limits, &whole), 0);
        for (size_t i = 0; i < ELEMENTSOF(chunk_rows); i++)
                for (uint32_t random = 0; random < 2; random++) {
                        if (random > 0 && chunk_rows[i] == 0)
                                continue;
                        buffer_clear(&cut);
                        ck_assert_int_eq(json_trace_chunks((JsonChunks){ .text = buffer_span(&text),
                                                                         .n_chunk = chunk_rows[i],
                                                                         .random = random },
                                                           &limits, &cut),
                                         0);
                        ck_assert(span_equal(buffer_span(&whole), buffer_span(&cut)));
                }
        buffer_done(&text);
        buffer_done(&whole);
        buffer_done(&cut);
}
END_TEST

typedef struct Endless {
        const char *text;
        uint64_t n_delivered;
} Endless;

/* The same text over and over. */
static int endless_refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        Endless *endless = userdata;
        size_t n = strlen(endless->text);

        for (size_t i = 0; i < n_space; i++)
                space[i] = endless->text[(endless->n_delivered + i) % n];
        endless->n_delivered += n_space;
        *ret_n = n_space;
        return 0;
}

static const char *const endless_rows[] = { "\"", "\"x", "1", " ", "[1,", "1.0" };

/* An endless token is cut off near its limit, not when memory ends. */
START_TEST(an_endless_token_ends_at_its_limit) {
        const JsonLimits limits = { .max_depth = 16,
                                    .max_token_bytes = 100000,
                                    .max_text_bytes = 1000000 };
        Endless endless = { .text = endless_rows[_i] };
        JsonScanner *scanner;
        JsonToken token;
        int r;

        ck_assert_int_eq(json_scanner_new_stream(endless_refill, &endless, &limits, &scanner), 0);
        do
                r = json_scanner_next(scanner, &token);
        while (r == 0);
        ck_assert_int_eq(r, JSON_E_MALFORMED);
        ck_assert_uint_le(endless.n_delivered, 1000001);
        json_scanner_free(scanner);
}
END_TEST

static int failing_refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        unsigned *n_calls = userdata;

        if ((*n_calls)++ > 0)
                return -EBADMSG;
        space[0] = '[';
        *ret_n = 1;
        return 0;
}

START_TEST(a_failing_refill_fails_the_scan_for_good) {
        unsigned n_calls = 0;
        JsonScanner *scanner;
        JsonToken token;

        ck_assert_int_eq(json_scanner_new_stream(failing_refill, &n_calls, &wide, &scanner), 0);
        ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
        ck_assert_int_eq(token, JSON_TOKEN_ARRAY);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(json_scanner_next(scanner, &token), -EBADMSG);
        ck_assert_int_eq(json_scanner_fail(scanner, "too late"), -EBADMSG);
        ck_assert_str_eq(scanner->complaint, "");
        ck_assert_uint_eq(n_calls, 2);
        json_scanner_free(scanner);
}
END_TEST

START_TEST(freeing_nothing_is_allowed) {
        ck_assert_ptr_null(json_scanner_free(NULL));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("json-limits");
        TCase *limits = tcase_create("limits");
        TCase *keys = tcase_create("keys");
        TCase *stream = tcase_create("stream");

        tcase_add_loop_test(limits, limits_hold_at_and_past_the_bound, 0, ELEMENTSOF(limit_rows));
        tcase_add_test(limits, ten_thousand_levels_are_read_when_allowed);
        tcase_add_test(limits, a_nesting_bomb_is_refused_early);
        tcase_add_loop_test(keys, duplicates_are_found_among_any_number_of_keys, 0,
                            ELEMENTSOF(key_rows));
        tcase_add_test(keys, keys_are_forgotten_with_their_object);
        tcase_add_test(keys, a_long_key_is_quoted_in_part);
        tcase_add_test(stream, large_streams_read_the_same_in_chunks_of_any_size);
        tcase_add_loop_test(stream, an_endless_token_ends_at_its_limit, 0,
                            ELEMENTSOF(endless_rows));
        tcase_add_test(stream, a_failing_refill_fails_the_scan_for_good);
        tcase_add_test(stream, freeing_nothing_is_allowed);
        suite_add_tcase(suite, limits);
        suite_add_tcase(suite, keys);
        suite_add_tcase(suite, stream);
        return check_main(suite);
}
