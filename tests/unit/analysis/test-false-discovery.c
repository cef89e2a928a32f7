/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdint.h>
#include <string.h>

#include "base/macro.h"
#include "analysis/set/rank-test.h"

#define MAX_P 16

static const struct {
        size_t n;
        double p[MAX_P], adjusted[MAX_P];
} rows[] = {
        { 0, { 0 }, { 0 } },
        { 1, { 0.03 }, { 0.03 } },
        /*
         * n p / rank is 0.05, 0.05, 0.04, 0.0375 and 0.05; the first three get the value of the
         * fourth
         */
        { 5, { 0.01, 0.02, 0.024, 0.03, 0.05 }, { 0.0375, 0.0375, 0.0375, 0.0375, 0.05 } },
        /* in any order */
        { 4, { 0.04, 0.01, 0.8, 0.02 }, { 4 * 0.04 / 3, 0.04, 0.8, 0.04 } },
        /* the example of Benjamini and Hochberg (1995), m = 15 */
        { 15,
          { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0 },
          { 0.0015, 0.003, 0.0095, 0.035625, 0.0603, 15 * 0.0298 / 7, 15 * 0.0298 / 7, 0.0645,
            0.0765, 0.486, 15 * 0.4262 / 11, 15 * 0.5719 / 12, 15 * 0.6528 / 13, 15 * 0.7590 / 14,
            1.0 } },
        /* ties share the rank of the last */
        { 3, { 0.02, 0.02, 0.9 }, { 0.03, 0.03, 0.9 } },
        { 2, { 1, 1 }, { 1, 1 } },
        { 2, { 0, 0.7 }, { 0, 0.7 } },
};

START_TEST(adjusted_values_are_those_computed_by_hand) {
        double p[MAX_P];

        memcpy(p, rows[_i].p, sizeof(p));
        ck_assert_int_eq(false_discovery_adjust(p, rows[_i].n), 0);
        for (size_t i = 0; i < rows[_i].n; i++)
                ck_assert_double_eq_tol(p[i], rows[_i].adjusted[i], 1e-9);
}
END_TEST

START_TEST(the_first_four_of_the_published_example_are_discoveries) {
        double p[MAX_P];
        size_t n = 0;

        memcpy(p, rows[4].p, sizeof(p));
        ck_assert_int_eq(false_discovery_adjust(p, 15), 0);
        for (size_t i = 0; i < 15; i++)
                n += p[i] < 0.05;
        ck_assert_uint_eq(n, 4);
}
END_TEST

START_TEST(adjusting_keeps_the_order_and_only_raises) {
        double p[500], adjusted[500];
        uint64_t state = 42;

        for (size_t i = 0; i < ELEMENTSOF(p); i++) {
                state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                p[i] = (double) (state >> 44) / (double) (1 << 20);
                p[i] = p[i] * p[i] * p[i];
        }
        memcpy(adjusted, p, sizeof(p));
        ck_assert_int_eq(false_discovery_adjust(adjusted, ELEMENTSOF(p)), 0);
        for (size_t i = 0; i < ELEMENTSOF(p); i++) {
                ck_assert(adjusted[i] >= p[i] && adjusted[i] <= 1);
                for (size_t j = 0; j < ELEMENTSOF(p); j++)
                        ck_assert(p[i] > p[j] || adjusted[i] <= adjusted[j]);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("false-discovery");
        TCase *tests = tcase_create("false-discovery");

        tcase_add_loop_test(tests, adjusted_values_are_those_computed_by_hand, 0, ELEMENTSOF(rows));
        tcase_add_test(tests, the_first_four_of_the_published_example_are_discoveries);
        tcase_add_test(tests, adjusting_keeps_the_order_and_only_raises);
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
