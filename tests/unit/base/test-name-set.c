/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "base/name-set.h"
#include "colliding.h"

static size_t add(NameSet *set, Span name) {
        size_t number;

        ck_assert_int_eq(name_set_add(set, name, &number), 0);
        return number;
}

START_TEST(a_name_has_one_number) {
        NameSet set = {};
        char name[32];

        for (size_t i = 0; i < 5000; i++) {
                (void) snprintf(name, sizeof(name), "name-%zu", i);
                ck_assert_uint_eq(name_set_find(&set, span_of(name)), INDEX_NONE);
                ck_assert_uint_eq(add(&set, span_of(name)), i);
                ck_assert_uint_eq(add(&set, span_of(name)), i);
                (void) snprintf(name, sizeof(name), "name-%zu", i / 2);
                ck_assert_uint_eq(name_set_find(&set, span_of(name)), i / 2);
                ck_assert(span_is(name_set_get(&set, i / 2), name));
        }
        ck_assert_uint_eq(set.n, 5000);
        name_set_done(&set);
}
END_TEST

START_TEST(names_are_bytes_and_may_be_empty) {
        NameSet set = {};

        ck_assert_uint_eq(add(&set, (Span){ NULL, 0 }), 0);
        ck_assert_uint_eq(add(&set, SPAN_LITERAL("")), 0);
        ck_assert_uint_eq(add(&set, SPAN_LITERAL("a\0b")), 1);
        ck_assert_uint_eq(add(&set, SPAN_LITERAL("a\0c")), 2);
        ck_assert_uint_eq(add(&set, SPAN_LITERAL("a")), 3);
        ck_assert_uint_eq(name_set_get(&set, 0).n, 0);
        ck_assert_uint_eq(name_set_get(&set, 1).n, 3);
        name_set_done(&set);
}
END_TEST

START_TEST(names_whose_hashes_collide_are_two) {
        NameSet set = {};

        ck_assert_colliding();
        ck_assert_uint_eq(add(&set, COLLIDING_A), 0);
        ck_assert_uint_eq(name_set_find(&set, COLLIDING_B), INDEX_NONE);
        ck_assert_uint_eq(add(&set, COLLIDING_B), 1);
        ck_assert_uint_eq(add(&set, COLLIDING_A), 0);
        name_set_done(&set);
}
END_TEST

START_TEST(a_cleared_set_is_empty_and_usable) {
        static const unsigned counts[] = { 100, 10, 17, 1000, 16, 40 };
        NameSet set = {};
        char name[32];

        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                ck_assert_int_eq(name_set_truncate(&set, 0), 0);
                ck_assert_uint_eq(name_set_find(&set, SPAN_LITERAL("0")), INDEX_NONE);
                for (unsigned n = 0; n < counts[i]; n++) {
                        (void) snprintf(name, sizeof(name), "%u", n);
                        ck_assert_uint_eq(add(&set, span_of(name)), n);
                }
                ck_assert_uint_eq(add(&set, span_of(name)), counts[i] - 1);
        }
        name_set_done(&set);
}
END_TEST

START_TEST(the_last_names_can_be_taken_out) {
        static const unsigned counts[] = { 0, 3, 3, 1, 100, 40, 0 };
        NameSet set = {};
        char name[32];

        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                for (unsigned n = (unsigned) set.n; n < 120; n++) {
                        (void) snprintf(name, sizeof(name), "%u", n);
                        ck_assert_uint_eq(add(&set, n == 2 ? SPAN_LITERAL("") : span_of(name)), n);
                }
                ck_assert_int_eq(name_set_truncate(&set, counts[i]), 0);
                ck_assert_uint_eq(set.n, counts[i]);
                for (unsigned n = 0; n < 120; n++) {
                        (void) snprintf(name, sizeof(name), "%u", n);
                        ck_assert_uint_eq(
                                name_set_find(&set, n == 2 ? SPAN_LITERAL("") : span_of(name)),
                                n < counts[i] ? n : INDEX_NONE);
                }
        }
        name_set_done(&set);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("name-set");
        TCase *add_case = tcase_create("add");

        tcase_add_test(add_case, a_name_has_one_number);
        tcase_add_test(add_case, names_are_bytes_and_may_be_empty);
        tcase_add_test(add_case, names_whose_hashes_collide_are_two);
        tcase_add_test(add_case, a_cleared_set_is_empty_and_usable);
        tcase_add_test(add_case, the_last_names_can_be_taken_out);
        suite_add_tcase(suite, add_case);
        return check_main(suite);
}
