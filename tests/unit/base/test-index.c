/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "base/index.h"

static const Span keys[] = { SPAN_LITERAL("a"), SPAN_LITERAL("b"), SPAN_LITERAL("c") };

static Span key_of(const void *owner, size_t element) {
        return ((const Span *) owner)[element];
}

START_TEST(elements_are_found_by_their_keys) {
        Index index = {};

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                ck_assert_uint_eq(index_find(&index, keys[i], key_of, keys), INDEX_NONE);
                ck_assert_int_eq(index_add(&index, keys[i], i), 0);
        }
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                ck_assert_uint_eq(index_find(&index, keys[i], key_of, keys), i);
        index_clear(&index);
        ck_assert_uint_eq(index_find(&index, keys[0], key_of, keys), INDEX_NONE);
        index_done(&index);
}
END_TEST

/* The owner's keys decide, not the hash under which an element was added. */
START_TEST(an_equal_hash_is_not_enough) {
        static const Span others[] = { SPAN_LITERAL("x"), SPAN_LITERAL("y"), SPAN_LITERAL("z") };
        Index index = {};

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                ck_assert_int_eq(index_add(&index, keys[i], i), 0);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                ck_assert_uint_eq(index_find(&index, keys[i], key_of, others), INDEX_NONE);
        index_done(&index);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("index");
        TCase *find = tcase_create("find");

        tcase_add_test(find, elements_are_found_by_their_keys);
        tcase_add_test(find, an_equal_hash_is_not_enough);
        suite_add_tcase(suite, find);
        return check_main(suite);
}
