/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/key/thread-key.h"
#include "view/view.h"
#include "view/view-part.h"
#include "vectors.h"

static void assert_skeleton(Span path, Span wanted) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(cgroup_append_skeleton(&buffer, path), 0);
        ck_assert_msg(span_equal(buffer_span(&buffer), wanted), "%.*s: %.*s is not %.*s",
                      (int) path.n, path.bytes, (int) buffer.n, buffer.bytes, (int) wanted.n,
                      wanted.bytes);
        buffer_done(&buffer);
}

static void check_skeleton(const char *line) {
        const char *tab = strchr(line, '\t');

        ck_assert_ptr_nonnull(tab);
        assert_skeleton(vectors_word(line, (size_t) (tab - line)),
                        vectors_word(tab + 1, strlen(tab + 1)));
}

START_TEST(skeletons_follow_the_vectors) {
        ck_assert_uint_gt(vectors_each("vectors-cgroup-skeleton.tsv", check_skeleton), 50);
}
END_TEST

static const struct {
        const char *path;
        const char *skeleton;
} rows[] = {
        { "", "" },
        { "a@.service", "a@.service" },
        { "@x.service", "@{I}.service" },
        { "@.service", "@.service" },
        { ".service", ".service" },
        { "x.service@1", "x.service@{N}" },
        { "a@b@c.service", "a@{I}.service" },
        { "a@b@1.2.service", "a@b@{N}.{N}.service" },
        { "app7@x.service/", "app{N}@{I}.service/" },
        { "a@x.service.service", "a@x.service.service" },
};

START_TEST(edges_of_the_rules) {
        assert_skeleton(span_of(rows[_i].path), span_of(rows[_i].skeleton));
}
END_TEST

START_TEST(skeletons_are_bounded) {
        for (size_t max_bytes = 1; max_bytes < strlen("/u@{I}.service/v"); max_bytes++) {
                Buffer buffer;

                buffer_init(&buffer, max_bytes);
                ck_assert_int_eq(cgroup_append_skeleton(&buffer, span_of("/u@1.service/v")),
                                 -EMSGSIZE);
                buffer_done(&buffer);
        }
}
END_TEST

/* Adds the globs, which are separated by " ; "; false when one was refused. */
static bool add_globs(View *view, const char *begin, const char *end) {
        bool accepted = true;

        if (span_is((Span){ begin, (size_t) (end - begin) }, "(none)"))
                return true;
        while (begin < end) {
                const char *joint = memmem(begin, (size_t) (end - begin), " ; ", 3);
                const char *stop = joint ? joint : end;
                char complaint[VIEW_COMPLAINT_BYTES];

                if (view_set(view, VIEW_PART_cgroup_flatten,
                             vectors_word(begin, (size_t) (stop - begin)), complaint) != VIEW_OK)
                        accepted = false;
                begin = joint ? joint + 3 : end;
        }
        return accepted;
}

static void check_flatten(const char *line) {
        const char *path = strchr(line, '\t'), *wanted;
        Span key, result;
        View view;

        ck_assert_ptr_nonnull(path);
        wanted = strchr(path + 1, '\t');
        ck_assert_ptr_nonnull(wanted);
        view_init(&view);
        if (!add_globs(&view, line, path)) {
                ck_assert_msg(strcmp(wanted + 1, "ERROR") == 0, "%s", line);
                return;
        }
        result = vectors_word(wanted + 1, strlen(wanted + 1));
        key = vectors_word(path + 1, (size_t) (wanted - path - 1));
        (void) cgroup_flatten(&view.cgroup_flatten, key, &key);
        ck_assert_msg(span_equal(key, result), "%s", line);
}

START_TEST(globs_follow_the_vectors) {
        ck_assert_uint_gt(vectors_each("vectors-flatten.tsv", check_flatten), 100);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroup-key");
        TCase *skeleton = tcase_create("skeleton");
        TCase *flatten = tcase_create("flatten");

        tcase_add_test(skeleton, skeletons_follow_the_vectors);
        tcase_add_loop_test(skeleton, edges_of_the_rules, 0, ELEMENTSOF(rows));
        tcase_add_test(skeleton, skeletons_are_bounded);
        suite_add_tcase(suite, skeleton);
        tcase_add_test(flatten, globs_follow_the_vectors);
        suite_add_tcase(suite, flatten);
        return check_main(suite);
}
