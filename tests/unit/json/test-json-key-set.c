/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "json/json-key-set.h"

START_TEST(a_hash_enters_once) {
        JsonKeySet set = {};

        /* Small, at the change to the table, and through several growths of it. */
        for (uint64_t i = 0; i < 5000; i++) {
                ck_assert_int_eq(json_key_set_add(&set, i), i == 1 ? JSON_KEY_SET_E_DUPLICATE : 0);
                ck_assert_int_eq(json_key_set_add(&set, i), JSON_KEY_SET_E_DUPLICATE);
                ck_assert_int_eq(json_key_set_add(&set, i / 2), JSON_KEY_SET_E_DUPLICATE);
        }
        json_key_set_done(&set);
}
END_TEST

/* All in one run of the table: they share their low bits. */
START_TEST(hashes_that_share_a_slot_are_told_apart) {
        JsonKeySet set = {};

        for (uint64_t i = 1; i <= 500; i++)
                ck_assert_int_eq(json_key_set_add(&set, i << 32), 0);
        for (uint64_t i = 1; i <= 500; i++)
                ck_assert_int_eq(json_key_set_add(&set, i << 32), JSON_KEY_SET_E_DUPLICATE);
        json_key_set_done(&set);
}
END_TEST

START_TEST(a_cleared_set_is_empty) {
        static const unsigned counts[] = { 100, 10, 17, 1000, 16, 40 };
        JsonKeySet set = {};

        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                json_key_set_clear(&set);
                for (uint64_t hash = 1; hash <= counts[i]; hash++)
                        ck_assert_int_eq(json_key_set_add(&set, hash), 0);
                ck_assert_int_eq(json_key_set_add(&set, counts[i]), JSON_KEY_SET_E_DUPLICATE);
        }
        json_key_set_done(&set);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("json-key-set");
        TCase *add = tcase_create("add");

        tcase_add_test(add, a_hash_enters_once);
        tcase_add_test(add, hashes_that_share_a_slot_are_told_apart);
        tcase_add_test(add, a_cleared_set_is_empty);
        suite_add_tcase(suite, add);
        return check_main(suite);
}
