/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "analysis/key/thread-key.h"
#include "colliding.h"

static void add(KeyCensus *census, const char *skeleton, const char *name) {
        ck_assert_int_eq(key_census_add(census, span_of(skeleton), span_of(name)), 0);
}

/* Its names have the skeleton as their key. */
static bool is_shared(const KeyCensus *census, Span skeleton) {
        Span key;

        return key_census_find(census, skeleton, &key) && key.bytes == skeleton.bytes;
}

START_TEST(a_skeleton_is_shared_by_two_distinct_names) {
        _cleanup_(key_part_done) KeyPart part = {};
        KeyCensus *census = &part.census;

        ck_assert(!is_shared(census, span_of("w{N}")));
        add(census, "w{N}", "w1");
        add(census, "w{N}", "w1");
        ck_assert(!is_shared(census, span_of("w{N}")));
        add(census, "w{N}", "w2");
        ck_assert(is_shared(census, span_of("w{N}")));
        add(census, "w{N}", "w1");
        ck_assert(is_shared(census, span_of("w{N}")));
}
END_TEST

START_TEST(empty_names_are_names) {
        _cleanup_(key_part_done) KeyPart part = {};
        KeyCensus *census = &part.census;
        const char skeleton[] = ""; /* nobody else's: compilers share literals */

        ck_assert_int_eq(key_census_add(census, (Span){ NULL, 0 }, (Span){ NULL, 0 }), 0);
        add(census, "", "");
        ck_assert(!is_shared(census, span_of(skeleton)));
}
END_TEST

START_TEST(a_census_grows) {
        _cleanup_(key_part_done) KeyPart part = {};
        KeyCensus *census = &part.census;
        char skeleton[32], name[32];

        for (unsigned i = 0; i < 5000; i++) {
                (void) snprintf(skeleton, sizeof(skeleton), "s%u", i);
                add(census, skeleton, "first");
                (void) snprintf(name, sizeof(name), "n%u", i);
                if (i % 3 == 0)
                        add(census, skeleton, name);
        }
        for (unsigned i = 0; i < 5000; i++) {
                (void) snprintf(skeleton, sizeof(skeleton), "s%u", i);
                ck_assert(is_shared(census, span_of(skeleton)) == (i % 3 == 0));
        }
}
END_TEST

START_TEST(hashes_that_collide_share_nothing) {
        _cleanup_(key_part_done) KeyPart part = {};
        KeyCensus *census = &part.census;

        ck_assert_colliding();
        /* One skeleton, two names: they are two although their hashes are equal. */
        ck_assert_int_eq(key_census_add(census, SPAN_LITERAL("both"), COLLIDING_A), 0);
        ck_assert_int_eq(key_census_add(census, SPAN_LITERAL("both"), COLLIDING_B), 0);
        ck_assert(is_shared(census, SPAN_LITERAL("both")));
        /* Two skeletons with a name each. */
        ck_assert_int_eq(key_census_add(census, COLLIDING_A, SPAN_LITERAL("a")), 0);
        ck_assert_int_eq(key_census_add(census, COLLIDING_B, SPAN_LITERAL("b")), 0);
        ck_assert(!is_shared(census, COLLIDING_A));
        ck_assert(!is_shared(census, COLLIDING_B));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("key-census");
        TCase *names = tcase_create("names");

        tcase_add_test(names, a_skeleton_is_shared_by_two_distinct_names);
        tcase_add_test(names, empty_names_are_names);
        tcase_add_test(names, hashes_that_collide_share_nothing);
        tcase_add_test(names, a_census_grows);
        suite_add_tcase(suite, names);
        return check_main(suite);
}
