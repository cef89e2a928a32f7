/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/group/value.h"
#include "json-text.h"

#define MAX UINT64_MAX
#define INTEGER(negative, magnitude)                                      \
        {                                                                 \
                .kind = VALUE_INTEGER, .integer = { negative, magnitude } \
        }
#define REAL(number) \
        { .kind = VALUE_REAL, .real = number }
#define RANGE(negative, min, max)                                                   \
        {                                                                           \
                .kind = VALUE_RANGE, .range = { { negative, min }, { false, max } } \
        }
#define CPUS(low, high)                                                \
        {                                                              \
                .kind = VALUE_CPUS, .cpus = {.min = low, .max = high } \
        }
#define WORD(letter)                                                                               \
        {                                                                                          \
                .kind = VALUE_MODE, .mode = {.text = letter, .n_text = 1, .count = 1, .total = 1 } \
        }
#define ABSENT \
        { .kind = VALUE_ABSENT }

static const struct {
        Value before, after;
        const char *json;    /* of after - before */
        const char *negated; /* of before - after */
        bool has_percent;
        double percent;
} rows[] = {
        { INTEGER(false, 10), INTEGER(false, 15), "5", "-5", true, 50 },
        { INTEGER(false, 15), INTEGER(false, 10), "-5", "5", true, -100.0 / 3 },
        { INTEGER(false, 0), INTEGER(false, 7), "7", "-7", false, 0 },
        { INTEGER(false, 7), INTEGER(false, 7), "0", "0", true, 0 },
        { INTEGER(false, 0), INTEGER(false, MAX), "18446744073709551615", "-18446744073709551615",
          false, 0 },
        /* Above 2^53 a double would lose the 1. */
        { INTEGER(false, 9007199254740993), INTEGER(false, 9007199254740994), "1", "-1", true,
          100.0 / 9007199254740993.0 },
        { INTEGER(true, 500), INTEGER(true, 250), "250", "-250", true, 50 }, /* of |before| */
        { INTEGER(true, 500), INTEGER(false, 500), "1000", "-1000", true, 200 },
        /* Two differences of sums may be further apart than 2^64-1. */
        { INTEGER(true, MAX), INTEGER(false, 0), "18446744073709551615", "-18446744073709551615",
          true, 100 },
        { INTEGER(true, MAX), INTEGER(false, 1), "null", "null", true, 100 },
        { INTEGER(true, MAX), INTEGER(false, MAX), "null", "null", true, 200 },
        { REAL(0.5), REAL(0.75), "0.25", "-0.25", true, 50 },
        { REAL(0), REAL(0.75), "0.75", "-0.75", false, 0 },
        { RANGE(false, 0, 0), RANGE(false, 0, 1), "0.5", "-0.5", false, 0 },
        { RANGE(true, 20, 19), RANGE(false, 0, 0), "0.5", "-0.5", true, 100 },
        { RANGE(true, 5, 2), RANGE(false, 1, 4), "4", "-4", true, 400.0 / 1.5 },
        { RANGE(false, 0, 0), RANGE(false, MAX, MAX), "18446744073709551615",
          "-18446744073709551615", false, 0 },
        { RANGE(true, UINT64_C(1) << 63, 0), RANGE(false, 0, MAX / 2), "9223372036854775807.5",
          "-9223372036854775807.5", true, 200 },
        { CPUS(2, 2), CPUS(2, 5), "1.5", "-1.5", true, 75 },
        { CPUS(2, 6), CPUS(4, 4), "0", "0", true, 0 },
        { WORD("S"), WORD("R"), "null", "null", false, 0 },
        { ABSENT, ABSENT, "null", "null", false, 0 },
        { INTEGER(false, 1), ABSENT, "null", "null", false, 0 },
        { ABSENT, INTEGER(false, 1), "null", "null", false, 0 },
};

START_TEST(deltas_are_exact_and_signed) {
        Delta delta = delta_between(&rows[_i].before, &rows[_i].after);
        JsonWriter writer;
        double percent;

        delta_write_json(json_text_begin(&writer), &delta);
        ck_assert_str_eq(json_text_end(&writer), rows[_i].json);
        ck_assert(delta_percent(&delta, &rows[_i].before, &percent) == rows[_i].has_percent);
        if (rows[_i].has_percent)
                ck_assert_double_eq_tol(percent, rows[_i].percent, 1e-9);
}
END_TEST

START_TEST(swapping_the_sides_negates_a_delta) {
        Delta delta = delta_between(&rows[_i].before, &rows[_i].after);
        Delta swapped = delta_between(&rows[_i].after, &rows[_i].before);
        JsonWriter writer;

        delta_write_json(json_text_begin(&writer), &swapped);
        ck_assert_str_eq(json_text_end(&writer), rows[_i].negated);
        ck_assert_double_eq(delta_number(&delta), -delta_number(&swapped));
}
END_TEST

START_TEST(deltas_are_compared_with_their_signs) {
        static const Delta rising[] = {
                { .kind = DELTA_INTEGER, .integer = { true, UINT64_MAX } },
                { .kind = DELTA_INTEGER, .integer = { true, UINT64_MAX - 1 } },
                { .kind = DELTA_INTEGER, .integer = { true, 1 } },
                { .kind = DELTA_INTEGER, .integer = { true, 0 }, .half = true },
                { .kind = DELTA_INTEGER },
                { .kind = DELTA_INTEGER, .half = true },
                { .kind = DELTA_INTEGER, .integer = { false, 1 } },
                { .kind = DELTA_INTEGER, .integer = { false, UINT64_MAX - 1 } },
                { .kind = DELTA_INTEGER, .integer = { false, UINT64_MAX } },
        };
        static const Delta low = { .kind = DELTA_REAL, .real = 0.25 };
        static const Delta high = { .kind = DELTA_REAL, .real = 0.75 };

        for (int i = 0; i < (int) ELEMENTSOF(rising); i++)
                for (int j = 0; j < (int) ELEMENTSOF(rising); j++)
                        ck_assert_int_eq(delta_compare(&rising[i], &rising[j]), (i > j) - (i < j));
        ck_assert_int_eq(delta_compare(&low, &high), -1);
        ck_assert_int_eq(delta_compare(&high, &low), 1);
        ck_assert_int_eq(delta_compare(&low, &low), 0);
}
END_TEST

START_TEST(a_value_by_itself_is_its_distance_from_0) {
        Value range = { .kind = VALUE_RANGE };
        Value cpus = { .kind = VALUE_CPUS };
        Value mode = { .kind = VALUE_MODE };
        Value sum = { .kind = VALUE_INTEGER };
        Value real = { .kind = VALUE_REAL, .real = 0.25 };
        Delta delta;

        range.range.min = (Integer){ .negative = true, .magnitude = 4 };
        range.range.max = (Integer){ .magnitude = 1 };
        cpus.cpus.min = 1;
        cpus.cpus.max = 2;
        sum.integer = (Integer){ .magnitude = UINT64_MAX };
        delta = delta_of_value(&range);
        ck_assert_double_eq(delta_number(&delta), -1.5);
        delta = delta_of_value(&cpus);
        ck_assert_double_eq(delta_number(&delta), 1.5);
        delta = delta_of_value(&real);
        ck_assert_double_eq(delta_number(&delta), 0.25);
        delta = delta_of_value(&sum);
        ck_assert_uint_eq(delta.integer.magnitude, UINT64_MAX);
        ck_assert_int_eq(delta_of_value(&mode).kind, DELTA_NONE);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("delta");
        TCase *deltas = tcase_create("deltas");

        tcase_add_loop_test(deltas, deltas_are_exact_and_signed, 0, ELEMENTSOF(rows));
        tcase_add_test(deltas, deltas_are_compared_with_their_signs);
        tcase_add_test(deltas, a_value_by_itself_is_its_distance_from_0);
        tcase_add_loop_test(deltas, swapping_the_sides_negates_a_delta, 0, ELEMENTSOF(rows));
        suite_add_tcase(suite, deltas);
        return check_main(suite);
}
