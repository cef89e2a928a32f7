/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/pairing/pairing.h"

#include "check-main.h"

static const struct {
        const char *before, *after, *before_root, *after_root;
} root_rows[] = {
        { "/v1/a", "/v2/a", "/v1", "/v2" },
        { "/x/v1/a/b", "/x/v2/a/b", "/x/v1", "/x/v2" },
        { "/v1", "/v2", "/v1", "/v2" },
        { "/v1/a", "/v2/b", "/v1/a", "/v2/b" },
        { "/v1/ba", "/v2/a", "/v1/ba", "/v2/a" }, /* a part of a name does not count */
        { "/a", "/v2/a", "/a", "/v2/a" },         /* nothing would be left */
        { "/a", "/a", "/a", "/a" },
        { "/", "/a", "/", "/a" },
        { "a", "b", "a", "b" },
        { "", "", "", "" },
};

START_TEST(roots_stand_before_the_common_tail) {
        Span before, after;

        cgroup_roots(span_of(root_rows[_i].before), span_of(root_rows[_i].after), &before, &after);
        ck_assert(span_is(before, root_rows[_i].before_root));
        ck_assert(span_is(after, root_rows[_i].after_root));
}
END_TEST

static const struct {
        const char *path, *root, *rest; /* NULL: not below */
} below_rows[] = {
        { "/a", "/a", "" },       { "/a/b", "/a", "/b" }, { "/ab", "/a", NULL },
        { "/", "/a", NULL },      { "/b/a", "/a", NULL }, { "/a/b/c", "/a/b", "/c" },
        { "/a//b", "/a", "//b" },
};

START_TEST(below_ends_at_a_slash) {
        Span rest;

        ck_assert_int_eq(
                cgroup_is_below(span_of(below_rows[_i].path), span_of(below_rows[_i].root), &rest),
                below_rows[_i].rest != NULL);
        if (below_rows[_i].rest)
                ck_assert(span_is(rest, below_rows[_i].rest));
}
END_TEST

START_TEST(a_moved_path_is_behind_its_new_root) {
        Buffer name;

        buffer_init(&name, 4);
        ck_assert_int_eq(cgroup_append_moved(&name, span_of("/a"), span_of("/b")), 0);
        ck_assert(span_is(buffer_span(&name), "/a/b"));
        buffer_clear(&name);
        ck_assert_int_eq(cgroup_append_moved(&name, span_of("/a"), span_of("/bc")), -EMSGSIZE);
        buffer_done(&name);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroup-root");
        TCase *roots = tcase_create("roots");

        tcase_add_loop_test(roots, roots_stand_before_the_common_tail, 0, ELEMENTSOF(root_rows));
        tcase_add_loop_test(roots, below_ends_at_a_slash, 0, ELEMENTSOF(below_rows));
        tcase_add_test(roots, a_moved_path_is_behind_its_new_root);
        suite_add_tcase(suite, roots);
        return check_main(suite);
}
