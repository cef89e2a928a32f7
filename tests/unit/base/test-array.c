/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/macro.h"

START_TEST(room_doubles_and_keeps_the_items) {
        unsigned *items = NULL;
        size_t n_allocated = 0, n_growths = 0, n_before = 0;

        for (unsigned i = 0; i < 10000; i++) {
                ck_assert_int_eq(ARRAY_RESERVE(items, n_allocated, (size_t) i + 1), 0);
                n_growths += n_allocated != n_before;
                n_before = n_allocated;
                items[i] = i;
        }
        ck_assert_uint_lt(n_growths, 16);
        for (unsigned i = 0; i < 10000; i++)
                ck_assert_uint_eq(items[i], i);
        free(items);
}
END_TEST

START_TEST(what_cannot_be_had_changes_nothing) {
        uint64_t *items = NULL;
        size_t n_allocated = 0;

        ck_assert_int_eq(ARRAY_RESERVE(items, n_allocated, (size_t) 1), 0);
        items[0] = 4711;
        ck_assert_int_eq(ARRAY_RESERVE(items, n_allocated, SIZE_MAX / 4), -ENOMEM);
        ck_assert_uint_eq(items[0], 4711);
        ck_assert_uint_lt(n_allocated, 100);
        free(items);
}
END_TEST

START_TEST(the_first_one_is_found_in_any_length) {
        static const unsigned numbers[] = { 1, 3, 3, 3, 5, 7, 7 };

        for (size_t n = 0; n <= ELEMENTSOF(numbers); n++)
                for (unsigned wanted = 0; wanted < 10; wanted++) {
                        size_t first = 0;

                        while (first < n && numbers[first] < wanted)
                                first++;
                        ck_assert_uint_eq(ARRAY_FIRST(n, i, numbers[i] >= wanted), first);
                }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("array");
        TCase *reserve = tcase_create("reserve");

        tcase_add_test(reserve, room_doubles_and_keeps_the_items);
        tcase_add_test(reserve, what_cannot_be_had_changes_nothing);
        tcase_add_test(reserve, the_first_one_is_found_in_any_length);
        suite_add_tcase(suite, reserve);
        return check_main(suite);
}
