/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/number.h"

static const struct {
        const char *text;
        bool is_u64;
        uint64_t u64;
        bool is_i64;
        int64_t i64;
} parse_rows[] = {
        { "0", true, 0, true, 0 },
        { "007", true, 7, true, 7 },
        { "18446744073709551615", true, UINT64_MAX, false, 0 },
        { "18446744073709551616", false, 0, false, 0 },
        { "9223372036854775807", true, INT64_MAX, true, INT64_MAX },
        { "9223372036854775808", true, UINT64_C(1) << 63, false, 0 },
        { "-9223372036854775808", false, 0, true, INT64_MIN },
        { "-9223372036854775809", false, 0, false, 0 },
        { "-0", false, 0, true, 0 },
        { "", false, 0, false, 0 },
        { "-", false, 0, false, 0 },
        { "+1", false, 0, false, 0 },
        { " 1", false, 0, false, 0 },
        { "1 ", false, 0, false, 0 },
        { "1e3", false, 0, false, 0 },
        { "0x10", false, 0, false, 0 },
};

START_TEST(parse_takes_the_whole_text_or_nothing) {
        uint64_t u64 = 4711;
        int64_t i64 = 4711;

        ck_assert_int_eq(number_parse_u64(span_of(parse_rows[_i].text), &u64),
                         parse_rows[_i].is_u64);
        ck_assert_uint_eq(u64, parse_rows[_i].is_u64 ? parse_rows[_i].u64 : 4711);
        ck_assert_int_eq(number_parse_i64(span_of(parse_rows[_i].text), &i64),
                         parse_rows[_i].is_i64);
        ck_assert_int_eq(i64, parse_rows[_i].is_i64 ? parse_rows[_i].i64 : 4711);
}
END_TEST

START_TEST(parse_u32_stops_at_32_bits) {
        uint32_t value = 1;

        ck_assert(number_parse_u32(span_of("4294967295"), &value));
        ck_assert_uint_eq(value, UINT32_MAX);
        ck_assert(!number_parse_u32(span_of("4294967296"), &value));
}
END_TEST

static const struct {
        int64_t value;
        const char *text;
} format_rows[] = {
        { 0, "0" },
        { 9, "9" },
        { 10, "10" },
        { 99, "99" },
        { 100, "100" },
        { 12345, "12345" },
        { -1, "-1" },
        { INT64_MAX, "9223372036854775807" },
        { INT64_MIN, "-9223372036854775808" },
};

START_TEST(format_writes_every_digit) {
        char digits[NUMBER_I64_CHARS];
        size_t n = number_format_i64(format_rows[_i].value, digits);

        ck_assert(span_is((Span){ digits, n }, format_rows[_i].text));
}
END_TEST

START_TEST(format_of_the_largest_fits) {
        char digits[NUMBER_U64_CHARS];
        size_t n = number_format_u64(UINT64_MAX, digits);

        ck_assert(span_is((Span){ digits, n }, "18446744073709551615"));
}
END_TEST

START_TEST(every_length_of_number_is_known) {
        char digits[NUMBER_U64_CHARS], expected[NUMBER_U64_CHARS + 1];

        /* The least and the largest number of each length, and one between. */
        for (uint64_t least = 1;; least *= 10) {
                uint64_t numbers[] = { least - 1, least, least + least / 3 };

                for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                        int n = snprintf(expected, sizeof(expected), "%" PRIu64, numbers[i]);

                        ck_assert_uint_eq(number_u64_chars(numbers[i]), (size_t) n);
                        ck_assert_uint_eq(number_format_u64(numbers[i], digits), (size_t) n);
                        ck_assert_mem_eq(digits, expected, (size_t) n);
                }
                if (least > UINT64_MAX / 10)
                        break;
        }
        ck_assert_uint_eq(number_u64_chars(UINT64_MAX), NUMBER_U64_CHARS);
}
END_TEST

START_TEST(sums_and_products_clip) {
        ck_assert_uint_eq(number_add_saturating(1, 2), 3);
        ck_assert_uint_eq(number_add_saturating(UINT64_MAX, 1), UINT64_MAX);
        ck_assert_uint_eq(number_multiply_saturating(UINT64_MAX / 1024, 1024), UINT64_MAX - 1023);
        ck_assert_uint_eq(number_multiply_saturating(UINT64_MAX / 1024 + 1, 1024), UINT64_MAX);
}
END_TEST

static const struct {
        long double real;
        uint64_t number;
} real_rows[] = {
        { 0.9L, 0 },
        { 1, 1 },
        { 2.5L, 2 },
        { -1, 0 },
        { -INFINITY, 0 },
        { NAN, 0 },
        { 0x1.fffffffffffffp63, UINT64_MAX - 0x7ff }, /* the largest double below 2^64 */
        { 0x1p64L, UINT64_MAX },
        { INFINITY, UINT64_MAX },
};

START_TEST(reals_clip_where_integers_end) {
        ck_assert_uint_eq(number_of_real(real_rows[_i].real), real_rows[_i].number);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("number");
        TCase *parse = tcase_create("parse");
        TCase *format = tcase_create("format");
        TCase *saturating = tcase_create("saturating");

        tcase_add_loop_test(parse, parse_takes_the_whole_text_or_nothing, 0,
                            ELEMENTSOF(parse_rows));
        tcase_add_test(parse, parse_u32_stops_at_32_bits);
        tcase_add_loop_test(format, format_writes_every_digit, 0, ELEMENTSOF(format_rows));
        tcase_add_test(format, format_of_the_largest_fits);
        tcase_add_test(format, every_length_of_number_is_known);
        tcase_add_test(saturating, sums_and_products_clip);
        tcase_add_loop_test(saturating, reals_clip_where_integers_end, 0, ELEMENTSOF(real_rows));
        suite_add_tcase(suite, parse);
        suite_add_tcase(suite, format);
        suite_add_tcase(suite, saturating);
        return check_main(suite);
}
