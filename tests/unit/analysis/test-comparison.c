/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "compared.h"
#include "thread.h"
#include "view/view-part.h"

#define END (const char *) NULL

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };
static const SideSetup two_sides = { .n_sides = 2,
                                     .boots = BOOTS_SAME,
                                     .elapsed_ns = 10 * NSEC_PER_SEC };
static const SideSetup one_side = { .n_sides = 1 };

static ThreadSample thread_named(const char *pcomm, pid_t tid, MetricId id, uint64_t value) {
        ThreadSample sample = thread_of(pcomm, pcomm, tid);

        thread_sample_put(&sample, id, value);
        return sample;
}

static View view_on(ViewAxis axis) {
        View view;

        view_init(&view);
        view.axis = axis;
        view.limit = 0;
        return view;
}

static Compared compare(const View *view, const ThreadSample *before, size_t n_before,
                        const ThreadSample *after, size_t n_after) {
        const Threads sides[] = { { before, n_before }, { after, n_after } };

        return compared_of(view, &two_sides, sides, no_sources);
}

static Compared show(const View *view, const ThreadSample *samples, size_t n) {
        const Threads side = { samples, n };

        return compared_of(view, &one_side, &side, no_sources);
}

static const char *key_at(const Compared *compared, ComparisonList list, size_t index) {
        json_object *group = json_object_array_get_idx(compared->lists[list], index);

        return json_object_get_string(json_object_object_get(group, "key"));
}

START_TEST(a_compared_row_has_every_member) {
        ThreadSample before = thread_named("p", 1, METRIC_minflt, 100);
        ThreadSample after = thread_named("p", 1, METRIC_minflt, 150);
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = compare(&view, &before, 1, &after, 1);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(json_at(group, "process", END), "\"p\"");
        ck_assert_str_eq(json_at(group, "members", END), "");
        ck_assert_str_eq(json_at(group, "threadsBefore", END), "1");
        ck_assert_str_eq(json_at(group, "threadsAfter", END), "1");
        ck_assert_str_eq(json_at(group, "metrics", "minflt", END),
                         "{\"before\":100,\"after\":150,\"delta\":50,\"percent\":50,"
                         "\"perSecond\":5,\"changed\":true,\"reset\":false}");
        ck_assert_str_eq(json_at(group, "metrics", "majflt", END),
                         "{\"before\":null,\"after\":null,\"delta\":null,\"percent\":null,"
                         "\"perSecond\":null,\"changed\":false,\"reset\":false,"
                         "\"reason\":\"before and after: not recorded by this file\"}");
        compared_done(&compared);
}
END_TEST

/* Nobody knows whether it moved: it is shown, and said to be at its limit. */
START_TEST(a_sum_at_its_limit_says_so) {
        const ThreadSample threads[] = {
                thread_named("p", 1, METRIC_wchar, UINT64_C(1) << 63),
                thread_named("p", 2, METRIC_wchar, UINT64_C(1) << 63),
        };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = compare(&view, threads, 2, threads, 2);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(json_at(group, "metrics", "wchar", END),
                         "{\"before\":18446744073709551615,\"after\":18446744073709551615,"
                         "\"delta\":null,\"percent\":null,\"perSecond\":null,\"changed\":true,"
                         "\"reset\":false,\"reason\":\"delta: at its limit: 2^64-1 or more\","
                         "\"approximate\":\"before and after: at its limit: 2^64-1 or more\","
                         "\"atLimit\":true}");
        compared_done(&compared);
}
END_TEST

START_TEST(a_reason_names_its_side) {
        SourceTable sources = { .sources = { { .state = SOURCE_STATE_OK } } };
        const SourceTable *const tables[] = { &sources, NULL };
        ThreadSample threads[] = { thread_named("p", 1, METRIC_minflt, 1),
                                   thread_named("p", 1, METRIC_majflt, 1) };
        const Threads sides[] = { { &threads[0], 1 }, { &threads[1], 1 } };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = compared_of(&view, &two_sides, sides, tables);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(json_at(group, "metrics", "majflt", "reason", END),
                         "\"before: this kernel does not give it for these threads\"");
        ck_assert_str_eq(json_at(group, "metrics", "minflt", "reason", END),
                         "\"after: not recorded by this file\"");
        ck_assert_str_eq(json_at(group, "metrics", "rchar", "reason", END),
                         "\"before: this kernel does not give it for these threads; "
                         "after: not recorded by this file\"");
        ck_assert_str_eq(json_at(group, "metrics", "minflt", "changed", END), "true");
        ck_assert_str_eq(json_at(group, "metrics", "minflt", "delta", END), "null");
        compared_done(&compared);
}
END_TEST

START_TEST(a_shown_row_has_value_and_presence) {
        ThreadSample threads[] = { thread_named("p", 1, METRIC_minflt, 3),
                                   thread_named("p", 2, METRIC_minflt, 4), thread_of("p", "t", 3) };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = show(&view, threads, 3);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(json_at(group, "threads", END), "3");
        ck_assert_str_eq(json_at(group, "metrics", "minflt", END), "{\"value\":7,\"present\":2}");
        ck_assert_str_eq(json_at(group, "metrics", "majflt", END),
                         "{\"value\":null,\"present\":0,"
                         "\"reason\":\"not recorded by this file\"}");
        ck_assert_str_eq(json_at(group, "derived", "avg_wait_ns", END),
                         "{\"value\":null,\"reason\":\"no wait_sum: not recorded by this file\"}");
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_ONLY_BEFORE]), 0);
        compared_done(&compared);
}
END_TEST

START_TEST(every_kind_of_value_is_written) {
        ThreadSample sample = thread_of("p", "t", 1);
        View view = view_on(VIEW_AXIS_PCOMM);
        json_object *group;
        Compared compared;

        thread_sample_put(&sample, METRIC_policy, 1);
        thread_sample_put(&sample, METRIC_nice, (uint64_t) -5);
        thread_sample_put(&sample, METRIC_cpu_affinity, 4);
        thread_sample_put(&sample, METRIC_wait_max, UINT64_MAX);
        thread_sample_put(&sample, METRIC_allocated_bytes, 1);
        thread_sample_put(&sample, METRIC_deallocated_bytes, UINT64_MAX);
        sample.cpus = SPAN_LITERAL("0-3");
        compared = show(&view, &sample, 1);
        group = compared_group(&compared, COMPARISON_GROUPS, "p");
        ck_assert_str_eq(json_at(group, "metrics", "policy", "value", END),
                         "{\"mode\":\"SCHED_FIFO\",\"count\":1,\"total\":1}");
        ck_assert_str_eq(json_at(group, "metrics", "nice", "value", END),
                         "{\"min\":-5,\"max\":-5}");
        ck_assert_str_eq(json_at(group, "metrics", "cpu_affinity", "value", END),
                         "{\"minCpus\":4,\"maxCpus\":4,\"uniform\":true,\"cpus\":\"0-3\"}");
        ck_assert_str_eq(json_at(group, "metrics", "wait_max", "value", END),
                         "18446744073709551615");
        compared_done(&compared);
}
END_TEST

START_TEST(groups_of_one_side_are_listed_apart) {
        ThreadSample before[] = { thread_named("both", 1, METRIC_minflt, 1),
                                  thread_named("gone", 2, METRIC_run_time_ns, 9),
                                  thread_named("gone too", 3, METRIC_run_time_ns, 10) };
        ThreadSample after[] = { thread_named("both", 1, METRIC_minflt, 1),
                                 thread_named("new", 4, METRIC_run_time_ns, 1) };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared;

        view.changed_only = true; /* hides none of these */
        compared = compare(&view, before, 3, after, 2);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 0);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_ONLY_BEFORE]), 2);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_ONLY_AFTER]), 1);
        ck_assert_str_eq(key_at(&compared, COMPARISON_ONLY_BEFORE, 0), "gone too");
        ck_assert_str_eq(json_at(compared_group(&compared, COMPARISON_ONLY_AFTER, "new"), "metrics",
                                 "run_time_ns", END),
                         "{\"value\":1,\"present\":1}");
        ck_assert_str_eq(
                json_at(compared_group(&compared, COMPARISON_ONLY_AFTER, "new"), "threads", END),
                "1");
        ck_assert_str_ne(json_at(compared_group(&compared, COMPARISON_ONLY_AFTER, "new"), "metrics",
                                 "minflt", "reason", END),
                         "");
        compared_done(&compared);
}
END_TEST

START_TEST(patterns_join_names_of_both_sides) {
        ThreadSample before[] = { thread_of("worker-3", "t", 1), thread_of("python3", "t", 3) };
        ThreadSample after[] = { thread_of("worker-7", "t", 2), thread_of("python3", "t", 3),
                                 thread_of("worker-7", "t", 4) };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = compare(&view, before, 2, after, 3);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "worker-{N}");

        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 2);
        ck_assert_str_eq(json_at(group, "members", END), "[{\"name\":\"worker-7\",\"threads\":2},"
                                                         "{\"name\":\"worker-3\",\"threads\":1}]");
        ck_assert_str_eq(json_at(group, "threadsAfter", END), "2");
        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_GROUPS, "python3"));
        compared_done(&compared);

        view.thread_normalize = false;
        compared = compare(&view, before, 2, after, 3);
        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_ONLY_BEFORE, "worker-3"));
        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_ONLY_AFTER, "worker-7"));
        compared_done(&compared);
}
END_TEST

START_TEST(threads_of_ours_are_left_out) {
        ThreadSample threads[] = { thread_of("ctprofd1", "t", 1), thread_of("ctprofd2", "t", 2) };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared;

        threads[0].self = true;
        compared = show(&view, threads, 2);
        /* It is neither counted nor listed: the pattern has one name left. */
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 1);
        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_GROUPS, "ctprofd2"));
        compared_done(&compared);

        view.self = true;
        compared = show(&view, threads, 2);
        ck_assert_str_eq(
                json_at(compared_group(&compared, COMPARISON_GROUPS, "ctprofd{N}"), "threads", END),
                "2");
        compared_done(&compared);
}
END_TEST

START_TEST(a_thread_has_its_parts) {
        ThreadSample sample = thread_of("p\x1f", "\xff", 123);
        View view = view_on(VIEW_AXIS_THREAD);
        Compared compared = show(&view, &sample, 1);
        json_object *group = json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], 0);

        ck_assert_str_eq(json_object_get_string(json_object_object_get(group, "process")), "p\x1f");
        ck_assert_str_eq(json_object_get_string(json_object_object_get(group, "thread")),
                         "\xee\xbf\xbf");
        ck_assert_str_eq(json_at(group, "pid", END), "100");
        ck_assert_str_eq(json_at(group, "tid", END), "123");
        ck_assert_str_eq(json_at(group, "startTicks", END), "130");
        ck_assert_str_eq(key_at(&compared, COMPARISON_GROUPS, 0), "100\x1f"
                                                                  "123\x1f"
                                                                  "130\x1fp\xee\xbc\x9f"
                                                                  "\x1f\xee\xbf\xbf");
        compared_done(&compared);
}
END_TEST

START_TEST(a_renamed_thread_goes_by_its_newest_name) {
        ThreadSample before = thread_of("bash", "bash", 5), after = thread_of("make", "make", 5);
        View view = view_on(VIEW_AXIS_THREAD);
        Compared compared = compare(&view, &before, 1, &after, 1);
        json_object *group = json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], 0);

        ck_assert_str_eq(json_at(group, "process", END), "\"make\"");
        compared_done(&compared);
}
END_TEST

START_TEST(an_unknown_cgroup_has_no_path) {
        ThreadSample threads[] = { thread_of("p", "t", 1), thread_of("p", "t", 2) };
        View view = view_on(VIEW_AXIS_CGROUP);
        Compared compared;

        threads[0].cgroup = (Span){ NULL, 0 };
        compared = show(&view, threads, 2);
        ck_assert_str_eq(json_at(compared_group(&compared, COMPARISON_GROUPS, ""), "cgroup", END),
                         "");
        ck_assert_str_eq(json_at(compared_group(&compared, COMPARISON_GROUPS, "/"), "cgroup", END),
                         "\"\\/\"");
        compared_done(&compared);
}
END_TEST

START_TEST(one_page_fault_of_an_idle_daemon_does_not_lead) {
        ThreadSample before[] = { thread_named("idle", 1, METRIC_minflt, 0),
                                  thread_named("busy", 2, METRIC_run_time_ns, 90 * NSEC_PER_SEC) };
        ThreadSample after[] = { thread_named("idle", 1, METRIC_minflt, 1),
                                 thread_named("busy", 2, METRIC_run_time_ns, 91 * NSEC_PER_SEC) };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = compare(&view, before, 2, after, 2);

        ck_assert_str_eq(key_at(&compared, COMPARISON_GROUPS, 0), "busy");
        ck_assert_str_eq(key_at(&compared, COMPARISON_GROUPS, 1), "idle");
        compared_done(&compared);
}
END_TEST

START_TEST(nanoseconds_do_not_drown_counts_in_the_order_by_impact) {
        /* 0.1 s of a busy hour of the host, against most of its page faults. */
        ThreadSample before[] = { thread_named("slow", 1, METRIC_run_time_ns, 3600 * NSEC_PER_SEC),
                                  thread_named("faulty", 2, METRIC_minflt, 10000) };
        ThreadSample after[] = { thread_named("slow", 1, METRIC_run_time_ns,
                                              3600 * NSEC_PER_SEC + NSEC_PER_SEC / 10),
                                 thread_named("faulty", 2, METRIC_minflt, 90000) };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared;

        view.sort.order = VIEW_ORDER_IMPACT;
        compared = compare(&view, before, 2, after, 2);
        ck_assert_str_eq(key_at(&compared, COMPARISON_GROUPS, 0), "faulty");
        compared_done(&compared);
}
END_TEST

static const char *first_metric(const Compared *compared, size_t index) {
        json_object *group = json_object_array_get_idx(compared->lists[COMPARISON_GROUPS], index);

        json_object_object_foreach(json_object_object_get(group, "metrics"), key, value) {
                (void) value;
                return key;
        }
        return NULL;
}

START_TEST(members_stand_in_the_order_of_display) {
        ThreadSample before = thread_of("p", "p", 1), after = before;
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared;

        thread_sample_put(&before, METRIC_majflt, 0);
        thread_sample_put(&after, METRIC_majflt, 5000);
        thread_sample_put(&before, METRIC_run_time_ns, 0);
        thread_sample_put(&after, METRIC_run_time_ns, 7);
        compared = compare(&view, &before, 1, &after, 1);
        ck_assert_str_eq(first_metric(&compared, 0), "majflt");
        compared_done(&compared);
}
END_TEST

START_TEST(a_filter_of_rows_never_moves_groups) {
        ThreadSample before[] = { thread_named("a", 1, METRIC_majflt, 0),
                                  thread_named("b", 2, METRIC_minflt, 0) };
        ThreadSample after[] = { thread_named("a", 1, METRIC_majflt, 10),
                                 thread_named("b", 2, METRIC_minflt, 500) };
        char complaint[VIEW_COMPLAINT_BYTES];
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared;

        ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of("majflt"), complaint), VIEW_OK);
        compared = compare(&view, before, 2, after, 2);
        ck_assert_str_eq(key_at(&compared, COMPARISON_GROUPS, 0), "b");
        ck_assert_str_eq(first_metric(&compared, 0), "majflt");
        ck_assert_int_eq(json_object_object_length(json_object_object_get(
                                 json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], 1),
                                 "metrics")),
                         1);
        compared_done(&compared);
}
END_TEST

START_TEST(unchanged_rows_are_hidden_and_counted) {
        ThreadSample before[] = { thread_named("moved", 1, METRIC_minflt, 1),
                                  thread_named("still", 2, METRIC_minflt, 1) };
        ThreadSample after[] = { thread_named("moved", 1, METRIC_minflt, 2),
                                 thread_named("still", 2, METRIC_minflt, 1) };
        View view = view_on(VIEW_AXIS_PCOMM);
        unsigned n_rows = 0;
        Compared compared;

        for (unsigned id = 0; id < _METRIC_MAX; id++)
                n_rows += view_wants_metric(&view, (MetricId) id);
        n_rows += _DERIVED_MAX;

        view.changed_only = true;
        compared = compare(&view, before, 2, after, 2);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 1);
        ck_assert_int_eq(json_object_object_length(json_object_object_get(
                                 compared_group(&compared, COMPARISON_GROUPS, "moved"), "metrics")),
                         1);
        ck_assert_uint_eq(compared.comparison->n_hidden_rows, 2 * n_rows - 1);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_hidden, 0);
        compared_done(&compared);

        compared = show(&view, after, 2);
        ck_assert_uint_eq(compared.comparison->n_hidden_rows,
                          2 * (n_rows - 2)); /* minflt and thread_count */
        compared_done(&compared);
}
END_TEST

static const struct {
        uint32_t limit;
        size_t shown, hidden;
} limit_rows[] = {
        { 0, 5, 0 }, { 1, 1, 4 }, { 4, 4, 1 }, { 5, 5, 0 }, { 6, 5, 0 }, { UINT32_MAX, 5, 0 },
};

START_TEST(the_limit_counts_groups_of_each_list) {
        ThreadSample before[10], after[5];
        char names[10][8];
        View view = view_on(VIEW_AXIS_COMM_EXACT);
        Compared compared;

        for (unsigned i = 0; i < 10; i++) {
                (void) snprintf(names[i], sizeof(names[i]), "g%u", i);
                before[i] = thread_named(names[i], (pid_t) i, METRIC_minflt, i);
        }
        for (unsigned i = 0; i < 5; i++)
                after[i] = thread_named(names[i], (pid_t) i, METRIC_minflt, 3 * i);
        view.limit = limit_rows[_i].limit;
        compared = compare(&view, before, 10, after, 5);
        for (unsigned list = COMPARISON_GROUPS; list <= COMPARISON_ONLY_BEFORE; list++) {
                ck_assert_uint_eq(compared.comparison->lists[list].n_shown, limit_rows[_i].shown);
                ck_assert_uint_eq(compared.comparison->lists[list].n_hidden, limit_rows[_i].hidden);
        }
        ck_assert_str_eq(key_at(&compared, COMPARISON_GROUPS, 0), "g4"); /* cut after ordering */
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_ONLY_AFTER].n_shown, 0);
        compared_done(&compared);
}
END_TEST

static const struct {
        SideSetup setup;
        const char *rate;
} rate_rows[] = {
        { { .n_sides = 2, .boots = BOOTS_SAME, .elapsed_ns = 2 * NSEC_PER_SEC }, "5" },
        { { .n_sides = 2, .boots = BOOTS_SAME, .elapsed_ns = 0 }, "null" },
        { { .n_sides = 2, .boots = BOOTS_UNKNOWN, .elapsed_ns = 1 }, "null" },
        { { .n_sides = 2, .boots = BOOTS_DIFFERENT, .elapsed_ns = 1 }, "null" },
};

START_TEST(rates_need_one_boot_and_time) {
        ThreadSample before = thread_named("p", 1, METRIC_minflt, 0);
        ThreadSample after = thread_named("p", 1, METRIC_minflt, 10);
        const Threads sides[] = { { &before, 1 }, { &after, 1 } };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = compared_of(&view, &rate_rows[_i].setup, sides, no_sources);

        ck_assert_str_eq(json_at(compared_group(&compared, COMPARISON_GROUPS, "p"), "metrics",
                                 "minflt", "perSecond", END),
                         rate_rows[_i].rate);
        compared_done(&compared);
}
END_TEST

START_TEST(resets_need_one_boot_and_time) {
        ThreadSample before = thread_named("p", 1, METRIC_minflt, 10);
        ThreadSample after = thread_named("p", 1, METRIC_minflt, 0);
        const Threads sides[] = { { &before, 1 }, { &after, 1 } };
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = compared_of(&view, &rate_rows[_i].setup, sides, no_sources);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");
        const SideSetup *setup = &rate_rows[_i].setup;
        bool in_order = setup->boots == BOOTS_SAME && setup->elapsed_ns > 0;

        ck_assert_str_eq(json_at(group, "metrics", "minflt", "reset", END),
                         in_order ? "true" : "false");
        ck_assert_str_eq(json_at(group, "metrics", "minflt", "percent", END),
                         in_order ? "null" : "-100");
        ck_assert_str_eq(json_at(group, "metrics", "minflt", "delta", END), "-10");
        compared_done(&compared);
}
END_TEST

START_TEST(nothing_against_nothing_is_nothing) {
        View view = view_on(VIEW_AXIS_PCOMM);
        Compared compared = compare(&view, NULL, 0, NULL, 0);

        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++)
                ck_assert_uint_eq(compared.comparison->lists[list].n_shown, 0);
        ck_assert_uint_eq(compared.comparison->n_hidden_rows, 0);
        compared_done(&compared);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("comparison");
        TCase *rows = tcase_create("rows");
        TCase *groups = tcase_create("groups");
        TCase *order = tcase_create("order");
        TCase *boots = tcase_create("boots");

        tcase_add_test(rows, a_compared_row_has_every_member);
        tcase_add_test(rows, a_sum_at_its_limit_says_so);
        tcase_add_test(rows, a_reason_names_its_side);
        tcase_add_test(rows, a_shown_row_has_value_and_presence);
        tcase_add_test(rows, every_kind_of_value_is_written);
        suite_add_tcase(suite, rows);
        tcase_add_test(groups, groups_of_one_side_are_listed_apart);
        tcase_add_test(groups, patterns_join_names_of_both_sides);
        tcase_add_test(groups, threads_of_ours_are_left_out);
        tcase_add_test(groups, a_thread_has_its_parts);
        tcase_add_test(groups, a_renamed_thread_goes_by_its_newest_name);
        tcase_add_test(groups, an_unknown_cgroup_has_no_path);
        tcase_add_test(groups, nothing_against_nothing_is_nothing);
        suite_add_tcase(suite, groups);
        tcase_add_test(order, one_page_fault_of_an_idle_daemon_does_not_lead);
        tcase_add_test(order, nanoseconds_do_not_drown_counts_in_the_order_by_impact);
        tcase_add_test(order, members_stand_in_the_order_of_display);
        tcase_add_test(order, a_filter_of_rows_never_moves_groups);
        tcase_add_test(order, unchanged_rows_are_hidden_and_counted);
        tcase_add_loop_test(order, the_limit_counts_groups_of_each_list, 0, ELEMENTSOF(limit_rows));
        suite_add_tcase(suite, order);
        tcase_add_loop_test(boots, rates_need_one_boot_and_time, 0, ELEMENTSOF(rate_rows));
        tcase_add_loop_test(boots, resets_need_one_boot_and_time, 0, ELEMENTSOF(rate_rows));
        suite_add_tcase(suite, boots);
        return check_main(suite);
}
