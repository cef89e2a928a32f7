/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/key/thread-key.h"
#include "thread.h"
#include "view/view-part.h"

static ThreadSample in_cgroup(const char *path) {
        ThreadSample sample = thread_of("process", "thread", 1);

        sample.cgroup = span_of(path);
        return sample;
}

static const struct {
        const char *path;
        const char *other; /* also in the census; NULL: none */
        bool normalize;
        const char *key;
} rows[] = {
        { "/user-1", "/user-2", true, "/user-{N}" },
        { "/user-1", "/user-1", true, "/user-1" }, /* one name, however many threads */
        { "/user-1", NULL, true, "/user-1" },
        { "/user-1", "/user-2", false, "/user-1" },
        { "/x@a.service", "/x@b.service", true, "/x@{I}.service" },
        { "/flat/1", "/flat/2", true, "/flat/?" }, /* final: not /flat/{N} */
        { "/flat/1", "/flat/2", false, "/flat/?" },
        /* The first matching glob wins. */
        { "/flat/10", NULL, true, "/flat/1*" },
        /* A name that matches a glob is not counted: one name is left. */
        { "/flat2/100", "/flat/1", true, "/flat2/100" },
        { "", NULL, true, "" },
};

START_TEST(a_cgroup_is_its_glob_its_pattern_or_itself) {
        char complaint[VIEW_COMPLAINT_BYTES];
        KeyPart part;
        View view;
        Span key;

        view_init(&view);
        ck_assert_int_eq(view_set(&view, VIEW_PART_cgroup_flatten, span_of("/flat/?"), complaint),
                         VIEW_OK);
        ck_assert_int_eq(view_set(&view, VIEW_PART_cgroup_flatten, span_of("/flat/1*"), complaint),
                         VIEW_OK);
        key_part_init(&part, KEY_PART_CGROUP, &view, rows[_i].normalize);
        for (unsigned i = 0; i < 3; i++) {
                ThreadSample sample =
                        in_cgroup(i == 1 && rows[_i].other ? rows[_i].other : rows[_i].path);

                ck_assert_int_eq(key_part_census(&part, sample.cgroup), 0);
        }
        for (unsigned i = 0; i < 2; i++) {
                ThreadSample sample = in_cgroup(rows[_i].path);

                ck_assert_int_eq(key_part_make(&part, sample.cgroup, &key), 0);
                ck_assert(span_is(key, rows[_i].key));
        }
        key_part_done(&part);
}
END_TEST

START_TEST(globs_are_for_cgroups_only) {
        static const KeyPartName names[] = { KEY_PART_PROCESS, KEY_PART_THREAD };
        static const char *const wanted[] = { "process", "thread" };
        char complaint[VIEW_COMPLAINT_BYTES];
        ThreadSample sample = in_cgroup("/x");
        KeyPart part;
        View view;
        Span key;

        view_init(&view);
        ck_assert_int_eq(view_set(&view, VIEW_PART_cgroup_flatten, span_of("*"), complaint),
                         VIEW_OK);
        key_part_init(&part, names[_i], &view, true);
        ck_assert_int_eq(key_part_make(&part, key_part_name(&part, &sample), &key), 0);
        ck_assert(span_is(key, wanted[_i]));
        ck_assert(span_is(key_part_name(&part, &sample), wanted[_i]));
        key_part_done(&part);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("key-part");
        TCase *keys = tcase_create("keys");

        tcase_add_loop_test(keys, a_cgroup_is_its_glob_its_pattern_or_itself, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(keys, globs_are_for_cgroups_only, 0, 2);
        suite_add_tcase(suite, keys);
        return check_main(suite);
}
