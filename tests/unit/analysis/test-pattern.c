/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/key/thread-key.h"
#include "vectors.h"

static void assert_skeleton(Span name, Span wanted) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(pattern_append_skeleton(&buffer, name), 0);
        ck_assert_msg(span_equal(buffer_span(&buffer), wanted), "%.*s: %.*s is not %.*s",
                      (int) name.n, name.bytes, (int) buffer.n, buffer.bytes, (int) wanted.n,
                      wanted.bytes);
        buffer_done(&buffer);
}

static void check_vector(const char *line) {
        const char *tab = strchr(line, '\t');

        ck_assert_ptr_nonnull(tab);
        assert_skeleton(vectors_word(line, (size_t) (tab - line)),
                        vectors_word(tab + 1, strlen(tab + 1)));
}

START_TEST(skeletons_follow_the_vectors) {
        ck_assert_uint_gt(vectors_each("vectors-skeleton.tsv", check_vector), 100);
}
END_TEST

#define UUID "550e8400-e29b-41d4-a716-446655440000"

static const struct {
        const char *name;
        const char *skeleton;
} rows[] = {
        { UUID UUID, "{H}-{H}-{H}-{H}-{N}{U}" }, /* the first is followed by a hex digit */
        { UUID "g" UUID, "{U}g{U}" },
        { UUID "a", "{H}-{H}-{H}-{H}-{H}" },
        { "x" UUID "-1", "x{U}-{N}" },
        { "550e8400_e29b_41d4_a716_446655440000", "{U}" },
        { "550e8400-e29b-41d4-a716-44665544000", "{H}-{H}-{H}-{H}-{N}" }, /* one digit too few */
        { "0x", "{N}x" },
        { "0xg1", "{N}xg{N}" },
        { "0x1G", "{N}x{N}G" },
        { "00x1f", "{N}x{N}f" },
        { "abc1", "{H}" },
        { "ab1", "ab{N}" },
        { "1\xff"
          "2",
          "{N}\xff{N}" },
        { NULL, "" }, /* not known */
        { "a\t1\v2\f3\r4\n5", "a\t{N}\v{N}\f{N}\r{N}\n{N}" },
};

START_TEST(edges_of_the_rules) {
        assert_skeleton(span_of(rows[_i].name), span_of(rows[_i].skeleton));
}
END_TEST

START_TEST(skeletons_are_appended_and_bounded) {
        Buffer buffer;

        buffer_init(&buffer, 5);
        ck_assert_int_eq(buffer_append_text(&buffer, "a/"), 0);
        ck_assert_int_eq(pattern_append_skeleton(&buffer, span_of("7")), 0);
        ck_assert(span_is(buffer_span(&buffer), "a/{N}"));
        ck_assert_int_eq(pattern_append_skeleton(&buffer, span_of("7")), -EMSGSIZE);
        buffer_done(&buffer);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("pattern");
        TCase *skeleton = tcase_create("skeleton");

        tcase_add_test(skeleton, skeletons_follow_the_vectors);
        tcase_add_loop_test(skeleton, edges_of_the_rules, 0, ELEMENTSOF(rows));
        tcase_add_test(skeleton, skeletons_are_appended_and_bounded);
        suite_add_tcase(suite, skeleton);
        return check_main(suite);
}
