/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "json-trace.h"
#include "json/json-scanner.h"

/* Objects after others at the same depth: what went before must make no difference. */

static const JsonLimits limits = { .max_depth = 16, .max_token_bytes = 1024 };

/* The names of all keys, a space behind each, and how the scan ended. */
static int read_keys(const char *text, Buffer *keys, uint64_t *ret_offset) {
        JsonScanner *scanner;
        JsonToken token;
        int r;

        ck_assert_int_eq(json_scanner_new_text(span_of(text), &limits, &scanner), 0);
        while ((r = json_scanner_next(scanner, &token)) == 0 && token != JSON_TOKEN_END)
                if (token == JSON_TOKEN_KEY) {
                        Span key = scanner->string;

                        (void) buffer_append(keys, key.bytes, key.n);
                        ck_assert_int_eq(buffer_append_byte(keys, ' '), 0);
                }
        *ret_offset = scanner->offset;
        json_scanner_free(scanner);
        return r;
}

static const struct {
        const char *text, *keys;
} y_rows[] = {
        { "[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2}]", "a b a b " },
        { "[{\"a\":1,\"b\":2},{\"b\":1,\"a\":2},{\"a\":1,\"b\":2}]", "a b b a a b " },
        { "[{\"a\":1,\"b\":2},{\"a\":1},{\"a\":1,\"b\":2,\"c\":3},{}]", "a b a a b c " },
        { "[{\"a\":1,\"b\":2},{\"a\":1,\"c\":2,\"b\":3},{\"a\":1,\"c\":2}]", "a b a c b a c " },
        { "[{ \"a\" : 1 , \"b\":2},{\"a\" :1,\n\"b\": 2}]", "a b a b " },
        { "[{\"a\":{\"a\":1}},{\"a\":{\"a\":1,\"b\":{}}},{\"b\":{\"a\":1}}]", "a a a a b b a " },
        { "[{\"\":1},{\"\":1},{\"a\":1}]", "  a " },
        { "[{\"ab\":1},{\"a\":1},{\"abc\":1}]", "ab a abc " },
        /* The key of the first is, as it is meant, all bytes from the first key to the second. */
        { "[{\"a\\\":1,\\\"b\":0},{\"a\":1,\"b\":2}]", "a\":1,\"b a b " },
        { "[{\"a\\\\\":0},{\"a\\\\\":0},{\"a\":1}]", "a\\ a\\ a " },
        { "[{\"\\u0061\":1,\"b\":0},{\"a\":1,\"b\":2},{\"\\u0061\":1}]", "a b a b a " },
        { "[{\"a\":1,\"\\u0062\":0},{\"a\":1,\"c\":2},{\"a\":1,\"c\":2}]", "a b a c a c " },
        { "[{\"\xc3\xa9\":1},{\"\xc3\xa9\":1},{\"\\u00e9\":1}]", "\xc3\xa9 \xc3\xa9 \xc3\xa9 " },
};

START_TEST(keys_are_the_same_whatever_went_before) {
        uint64_t offset;
        Buffer keys;

        buffer_init(&keys, 0);
        ck_assert_int_eq(read_keys(y_rows[_i].text, &keys, &offset), 0);
        ck_assert(span_is(buffer_span(&keys), y_rows[_i].keys));
        buffer_done(&keys);
}
END_TEST

static const struct {
        const char *text;
        uint64_t offset;
} n_rows[] = {
        { "[{\"a\":1,\"b\":2},{\"a\":1,\"a\":2}]", 22 },
        { "[{\"a\":1,\"b\":2},{\"b\":1,\"b\":2}]", 22 },
        { "[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2,\"a\":3}]", 28 },
        { "[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2,\"b\":3}]", 28 },
        { "[{\"a\":1,\"b\":2},{\"a\":1,\"c\":2,\"c\":3}]", 28 },
        { "[{\"a\":1,\"b\":2},{\"a\":1,\"c\":2,\"a\":3}]", 28 },
        { "[{\"a\":1,\"b\":2},{\"a\":1},{\"a\":1,\"b\":2,\"\\u0062\":3}]", 36 },
        { "[{\"\\u0061\":1},{\"a\":1,\"a\":1}]", 21 },
};

START_TEST(duplicates_are_found_whatever_went_before) {
        uint64_t offset;
        Buffer keys;

        buffer_init(&keys, 0);
        ck_assert_int_eq(read_keys(n_rows[_i].text, &keys, &offset), JSON_E_MALFORMED);
        ck_assert_uint_eq(offset, n_rows[_i].offset);
        buffer_done(&keys);
}
END_TEST

#define N_OBJECTS 6
#define MAX_KEYS 5

/* One key in three spellings, so that equal keys are not always equal bytes. */
static const char *const spellings[][3] = {
        { "a", "\\u0061", "a" },
        { "b", "b", "\\u0062" },
        { "ab", "a\\u0062", "ab" },
        { "\\\"", "\\u0022", "\\\"" },
        { "\xc3\xa9", "\\u00e9", "\xc3\xa9" },
        { "", "", "" },
};

static unsigned draw(uint32_t *random, unsigned n) {
        *random = *random * 1664525 + 1013904223;
        return (*random >> 8) % n;
}

/* Random objects in an array, mostly like the one before, against the plainest check there is. */
START_TEST(random_objects_are_refused_where_the_first_duplicate_is) {
        uint32_t random = (uint32_t) _i + 1;
        unsigned keys[MAX_KEYS] = { 0, 1, 2, 3, 4 }, n = 3;
        uint64_t offset, wanted = 0;
        Buffer text, whole, cut;
        bool valid = true;

        buffer_init(&text, 0);
        buffer_init(&whole, 0);
        buffer_init(&cut, 0);
        ck_assert_int_eq(buffer_append_byte(&text, '['), 0);
        for (unsigned object = 0; object < N_OBJECTS; object++) {
                ck_assert_int_eq(buffer_append_text(&text, object > 0 ? ",{" : "{"), 0);
                if (draw(&random, 3) == 0)
                        n = draw(&random, MAX_KEYS + 1);
                if (draw(&random, 2) == 0)
                        keys[draw(&random, MAX_KEYS)] = draw(&random, ELEMENTSOF(spellings));
                for (unsigned i = 0; i < n; i++) {
                        ck_assert_int_eq(buffer_append_text(&text, i > 0 ? "," : ""), 0);
                        for (unsigned k = 0; valid && k < i; k++)
                                if (keys[k] == keys[i]) {
                                        valid = false;
                                        wanted = text.n;
                                }
                        ck_assert_int_eq(buffer_append_format(&text, "\"%s\":%u",
                                                              spellings[keys[i]][draw(&random, 3)],
                                                              i),
                                         0);
                }
                ck_assert_int_eq(buffer_append_byte(&text, '}'), 0);
        }
        ck_assert_int_eq(buffer_append(&text, "]", 2), 0);
        ck_assert_int_eq(read_keys(text.bytes, &whole, &offset), valid ? 0 : JSON_E_MALFORMED);
        if (!valid)
                ck_assert_msg(offset == wanted, "%s", text.bytes);
        /* However it is cut into pieces. */
        buffer_clear(&whole);
        (void) json_trace_text(span_of(text.bytes), &limits, &whole);
        (void) json_trace_chunks((JsonChunks){ .text = span_of(text.bytes), .n_chunk = 1 }, &limits,
                                 &cut);
        ck_assert(span_equal(buffer_span(&whole), buffer_span(&cut)));
        buffer_done(&text);
        buffer_done(&whole);
        buffer_done(&cut);
}
END_TEST

/* For each key, whether it repeats. */
START_TEST(a_repeated_key_is_told) {
        static const char text[] = "[{\"a\":1,\"b\":{\"c\":1}},{\"a\":1,\"b\":{\"c\":2},\"d\":3},"
                                   "{\"a\":1,\"d\":{\"x\":1},\"b\":2},{\"a\":1,\"d\":{\"x\":1}}]";
        static const char wanted[] = "...xxx.x...xxx";
        JsonScanner *scanner;
        JsonToken token;
        size_t i = 0;

        ck_assert_int_eq(json_scanner_new_text(span_of(text), &limits, &scanner), 0);
        do {
                ck_assert_int_eq(json_scanner_next(scanner, &token), 0);
                if (token == JSON_TOKEN_KEY)
                        ck_assert_int_eq(json_scanner_repeats(scanner), wanted[i++] == 'x');
        } while (token != JSON_TOKEN_END);
        ck_assert_uint_eq(i, sizeof(wanted) - 1);
        json_scanner_free(scanner);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("json-keys");
        TCase *keys = tcase_create("keys");

        tcase_add_loop_test(keys, keys_are_the_same_whatever_went_before, 0, ELEMENTSOF(y_rows));
        tcase_add_loop_test(keys, duplicates_are_found_whatever_went_before, 0, ELEMENTSOF(n_rows));
        tcase_add_loop_test(keys, random_objects_are_refused_where_the_first_duplicate_is, 0, 500);
        tcase_add_test(keys, a_repeated_key_is_told);
        suite_add_tcase(suite, keys);
        return check_main(suite);
}
