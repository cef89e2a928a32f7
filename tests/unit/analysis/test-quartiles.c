/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "base/macro.h"
#include "analysis/set/set-group.h"

static const struct {
        size_t n;
        double values[9];
        double min, q1, median, q3, max;
} rows[] = {
        { 1, { 5 }, 5, 5, 5, 5, 5 },
        { 2, { 4, 2 }, 2, 2.5, 3, 3.5, 4 },
        { 3, { 3, 1, 2 }, 1, 1.5, 2, 2.5, 3 },
        { 4, { 4, 3, 2, 1 }, 1, 1.75, 2.5, 3.25, 4 },
        { 5, { -1, 7, 0, 100, 3 }, -1, 0, 3, 7, 100 },
        { 9, { 9, 8, 7, 6, 5, 4, 3, 2, 1 }, 1, 3, 5, 7, 9 },
        { 2, { 1e308, -1e307 }, -1e307, -1e307 + 0.25 * 1.1e308, 4.5e307, 7.25e307, 1e308 },
};

START_TEST(quartiles_are_interpolated_between_neighbours) {
        double values[9];
        Quartiles quartiles;

        memcpy(values, rows[_i].values, sizeof(values));
        quartiles = quartiles_of(values, rows[_i].n);
        ck_assert_uint_eq(quartiles.n, rows[_i].n);
        ck_assert_double_eq(quartiles.min, rows[_i].min);
        ck_assert_double_eq_tol(quartiles.q1 / 1e308, rows[_i].q1 / 1e308, 1e-15);
        ck_assert_double_eq_tol(quartiles.median / 1e308, rows[_i].median / 1e308, 1e-15);
        ck_assert_double_eq_tol(quartiles.q3 / 1e308, rows[_i].q3 / 1e308, 1e-15);
        ck_assert_double_eq(quartiles.max, rows[_i].max);
}
END_TEST

START_TEST(small_numbers_are_exact) {
        double values[] = { 2, 1, 4, 3 }, same[] = { 0.1, 0.1, 0.1 };

        ck_assert_double_eq(quartiles_of(values, 4).q1, 1.75);
        ck_assert_double_eq(quartiles_of(values, 4).median, 2.5);
        ck_assert_double_eq(quartiles_of(same, 2).median, 0.1);
        ck_assert_double_eq(quartiles_of(same, 3).q3, 0.1);
}
END_TEST

START_TEST(of_no_values_there_are_none) {
        ck_assert_uint_eq(quartiles_of(NULL, 0).n, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("quartiles");
        TCase *tests = tcase_create("quartiles");

        tcase_add_loop_test(tests, quartiles_are_interpolated_between_neighbours, 0,
                            ELEMENTSOF(rows));
        tcase_add_test(tests, small_numbers_are_exact);
        tcase_add_test(tests, of_no_values_there_are_none);
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
