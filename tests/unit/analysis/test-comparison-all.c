/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "compared.h"
#include "thread.h"
#include "view/view-part.h"

#define END (const char *) NULL

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };
static const SideSetup two_sides = { .n_sides = 2, .boots = BOOTS_DIFFERENT };

static ThreadSample thread_in(const char *cgroup, const char *pcomm, const char *comm, pid_t tid) {
        ThreadSample sample = thread_of(pcomm, comm, tid);

        sample.cgroup = span_of(cgroup);
        return sample;
}

static View view_of_all(void) {
        View view;

        view_init(&view);
        view.axis = VIEW_AXIS_ALL;
        view.limit = 0;
        return view;
}

START_TEST(a_group_is_cgroup_process_and_thread) {
        ThreadSample before[] = { thread_in("/pod1", "server", "worker-1", 1),
                                  thread_in("/pod1", "server", "worker-2", 2),
                                  thread_in("/pod2", "other", "worker-1", 3) };
        ThreadSample after[] = { thread_in("/pod7", "server", "worker-9", 1) };
        const Threads sides[] = { { before, 3 }, { after, 1 } };
        View view = view_of_all();
        Compared compared = compared_of(&view, &two_sides, sides, no_sources);
        json_object *group = json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], 0);

        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_shown, 1);
        ck_assert_str_eq(json_object_get_string(json_object_object_get(group, "key")),
                         "/pod{N}\x1fserver\x1fworker-{N}");
        ck_assert_str_eq(json_at(group, "cgroup", END), "\"\\/pod{N}\"");
        ck_assert_str_eq(json_at(group, "process", END), "\"server\"");
        ck_assert_str_eq(json_at(group, "thread", END), "\"worker-{N}\"");
        ck_assert_str_eq(json_at(group, "threadsBefore", END), "2");
        /* The pattern lists the names of its threads. */
        ck_assert_uint_eq(json_object_array_length(json_object_object_get(group, "members")), 3);
        compared_done(&compared);
}
END_TEST

START_TEST(patterns_are_counted_over_the_whole_host) {
        /* No process has two such names, but there are two overall. */
        ThreadSample before[] = { thread_in("/a", "p", "w1", 1), thread_in("/b", "q", "w2", 2) };
        ThreadSample after[] = { thread_in("/a", "p", "w1", 1) };
        const Threads sides[] = { { before, 2 }, { after, 1 } };
        View view = view_of_all();
        Compared compared = compared_of(&view, &two_sides, sides, no_sources);

        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_GROUPS, "/a\x1fp\x1fw{N}"));
        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_ONLY_BEFORE, "/b\x1fq\x1fw{N}"));
        compared_done(&compared);

        view.thread_normalize = false;
        compared = compared_of(&view, &two_sides, sides, no_sources);
        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_GROUPS, "/a\x1fp\x1fw1"));
        compared_done(&compared);
}
END_TEST

/* Joined as they are, the names of both would be one text. */
START_TEST(keys_are_unique) {
        ThreadSample samples[] = { thread_in("/c",
                                             "a\x1f"
                                             "b",
                                             "c", 1),
                                   thread_in("/c", "a",
                                             "b\x1f"
                                             "c",
                                             2) };
        const Threads sides[] = { { samples, 2 }, { samples, 2 } };
        const char *keys[2];
        View view = view_of_all();
        Compared compared = compared_of(&view, &two_sides, sides, no_sources);

        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 2);
        for (size_t i = 0; i < 2; i++)
                keys[i] = json_object_get_string(json_object_object_get(
                        json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], i), "key"));
        ck_assert_str_ne(keys[0], keys[1]);
        compared_done(&compared);
}
END_TEST

START_TEST(parts_may_be_empty_and_hold_the_joint) {
        ThreadSample sample = thread_in("", "p\x1fq", "", 1);
        const Threads sides[] = { { &sample, 1 }, { &sample, 1 } };
        View view = view_of_all();
        Compared compared = compared_of(&view, &two_sides, sides, no_sources);
        json_object *group = json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], 0);

        ck_assert_str_eq(json_at(group, "cgroup", END), "");
        ck_assert_str_eq(json_object_get_string(json_object_object_get(group, "process")),
                         "p\x1fq");
        ck_assert_str_eq(json_object_get_string(json_object_object_get(group, "key")),
                         "\x1fp\xee\xbc\x9fq\x1f");
        ck_assert_str_eq(json_at(group, "thread", END), "\"\"");
        compared_done(&compared);
}
END_TEST

static const struct {
        const char *filter;
        size_t n_groups;
} filter_rows[] = {
        { "/a", 1 }, { "p", 2 }, { "t", 2 }, { "/?", 2 }, { "*/b*", 1 }, { "a", 0 }, { "*", 2 },
};

START_TEST(the_filter_may_match_any_part) {
        ThreadSample samples[] = { thread_in("/a", "p", "t", 1), thread_in("/b", "p", "t", 2) };
        const Threads sides[] = { { samples, 2 }, { samples, 2 } };
        char complaint[VIEW_COMPLAINT_BYTES];
        View view = view_of_all();
        Compared compared;

        ck_assert_int_eq(
                view_set(&view, VIEW_PART_filter, span_of(filter_rows[_i].filter), complaint),
                VIEW_OK);
        compared = compared_of(&view, &two_sides, sides, no_sources);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_shown,
                          filter_rows[_i].n_groups);
        compared_done(&compared);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("comparison-all");
        TCase *keys = tcase_create("keys");

        tcase_add_test(keys, a_group_is_cgroup_process_and_thread);
        tcase_add_test(keys, patterns_are_counted_over_the_whole_host);
        tcase_add_test(keys, keys_are_unique);
        tcase_add_test(keys, parts_may_be_empty_and_hold_the_joint);
        tcase_add_loop_test(keys, the_filter_may_match_any_part, 0, ELEMENTSOF(filter_rows));
        suite_add_tcase(suite, keys);
        return check_main(suite);
}
