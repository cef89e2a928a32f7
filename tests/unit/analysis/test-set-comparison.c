/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <math.h>

#include "analysis/set/rank-test.h"
#include "set-captures.h"

START_TEST(a_row_has_every_member) {
        View view = view_of("minflt");
        SetRun run;

        put_values("p", 7, METRIC_minflt, rising);
        run = run_of(&view);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "process", END), "\"p\"");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "threadsBefore", END), "1");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "before", END),
                         "{\"n\":4,\"median\":115,\"min\":100,\"max\":130,\"q1\":107.5,"
                         "\"q3\":122.5}");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "after", END),
                         "{\"n\":4,\"median\":215,\"min\":200,\"max\":230,\"q1\":207.5,"
                         "\"q3\":222.5}");
        ck_assert_double_eq(number_at(&run, "p", "metrics", "minflt", "delta"), 100);
        ck_assert_double_eq_tol(number_at(&run, "p", "metrics", "minflt", "percent"), 86.95652,
                                1e-4);
        ck_assert_double_eq(number_at(&run, "p", "metrics", "minflt", "u"), 16);
        ck_assert_double_eq_tol(number_at(&run, "p", "metrics", "minflt", "p"), 2.0 / 70, 1e-12);
        ck_assert_double_eq_tol(number_at(&run, "p", "metrics", "minflt", "pAdjusted"), 2.0 / 70,
                                1e-12);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "significant", END),
                         "true");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "perSecond", END),
                         "true");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "reason", END), "");
        ck_assert_uint_eq(run.figures.family.n_tested, 1);
        ck_assert_uint_eq(run.figures.family.n_significant, 1);
        ck_assert_uint_eq(run.figures.family.n_needed, 0);
        set_run_done(&run);
}
END_TEST

START_TEST(what_could_not_be_significant_alone_is_no_burden) {
        /* One fault in all captures: whichever side it is on, p is 1. */
        static const uint64_t rare[N_SHOTS] = { 7, 7, 8, 8, 8, 8, 8, 8, 8, 8 };
        View view = view_of("minflt");
        SetRun run;

        put_values("p", 7, METRIC_minflt, rising);
        put_values("rare", 8, METRIC_minflt, rare);
        run = run_of(&view);
        ck_assert_uint_eq(run.figures.family.n_tested, 1);
        ck_assert_double_eq_tol(number_at(&run, "p", "metrics", "minflt", "pAdjusted"), 2.0 / 70,
                                1e-12);
        ck_assert_double_eq(number_at(&run, "rare", "metrics", "minflt", "p"), 1);
        ck_assert_str_eq(
                json_at(set_run_group(&run, "rare"), "metrics", "minflt", "pAdjusted", END),
                "null");
        ck_assert_str_eq(json_at(set_run_group(&run, "rare"), "metrics", "minflt", "reason", END),
                         "\"not adjusted: with so few or so equal samples it could not be "
                         "significant even alone\"");
        set_run_done(&run);

        /* If no row could be significant, all are in the family. */
        run = set_run_of(&view, 0.02, shots, N_SHOTS, no_sources);
        ck_assert_uint_eq(run.figures.family.n_tested, 2);
        ck_assert_double_eq_tol(run.figures.family.least_p, 2.0 / 70, 1e-12);
        ck_assert_uint_eq(run.figures.family.n_needed, rank_test_enough(2, 0.02));
        ck_assert_double_eq(number_at(&run, "rare", "metrics", "minflt", "pAdjusted"), 1);
        set_run_done(&run);
}
END_TEST

START_TEST(rows_with_too_few_samples_count_among_those_that_need_more) {
        View view = view_of("minflt");
        SetRun run;

        put_values("p", 7, METRIC_minflt, rising);
        put_values("q", 8, METRIC_minflt, rising);
        for (unsigned i = 0; i < N_SHOTS; i++)
                if (i % N_SIDE < 2)
                        thread_sample_put(put_thread(i, "late", 9), METRIC_minflt,
                                          UINT64_C(3) * i * i);
        run = run_of(&view);
        /* Two rows could be significant and are tested; a third one lacks samples. */
        ck_assert_uint_eq(run.figures.family.n_tested, 2);
        ck_assert_uint_eq(run.figures.family.n_needed, rank_test_enough(3, 0.05));
        set_run_done(&run);
}
END_TEST

/* Captures do not help what one side lacks: a group, or a metric that is measured on the other. */
START_TEST(rows_of_one_side_need_no_more_samples) {
        View view = view_of("minflt,majflt");
        SetRun run;

        put_values("p", 7, METRIC_minflt, rising);
        for (unsigned i = 0; i < N_SIDE; i++) {
                thread_sample_put(put_thread(i, "gone", 8), METRIC_minflt, UINT64_C(3) * i * i);
                thread_sample_put(&samples[N_SIDE + i][0], METRIC_majflt, UINT64_C(3) * i * i);
        }
        run = run_of(&view);
        ck_assert_uint_eq(run.figures.family.n_tested, 1);
        ck_assert_uint_eq(run.figures.family.n_needed, 0);
        set_run_done(&run);

        /* One capture makes no rate, but more of them do. */
        run = set_run_of(&view, 0.05, shots, N_SIDE + 1, no_sources);
        ck_assert_uint_eq(run.figures.family.n_tested, 0);
        ck_assert_uint_eq(run.figures.family.n_needed, rank_test_enough(1, 0.05));
        set_run_done(&run);
}
END_TEST

START_TEST(absent_values_have_a_reason_and_no_delta) {
        View view = view_of("minflt,majflt,avg_wait_ns");
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                ThreadSample *sample = put_thread(i, "p", 7);

                thread_sample_put(sample, METRIC_wait_count, 5);
                thread_sample_put(sample, METRIC_wait_sum, 5);
                if (i >= N_SIDE)
                        thread_sample_put(sample, METRIC_minflt, i * i);
                if (i == 0) /* once: gives no rate */
                        thread_sample_put(sample, METRIC_majflt, 1);
                if (i > 0)
                        (void) put_thread(i, i < N_SIDE ? "q" : "r", 8);
        }
        run = run_of(&view);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "before", END),
                         "null");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "delta", END),
                         "null");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "reason", END),
                         "\"before: not recorded by this file\"");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "majflt", "reason", END),
                         "\"before: no two consecutive captures of one boot have these threads; "
                         "after: not recorded by this file\"");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "derived", "avg_wait_ns", "reason", END),
                         "\"before: wait_count is 0; after: wait_count is 0\"");
        ck_assert_str_eq(json_at(set_run_group(&run, "q"), "threadsBefore", END), "1");
        ck_assert_str_eq(json_at(set_run_group(&run, "q"), "threadsAfter", END), "0");
        ck_assert_str_eq(json_at(set_run_group(&run, "q"), "metrics", "minflt", "reason", END),
                         "\"before: not recorded by this file; after: no capture has a thread of "
                         "this group\"");
        ck_assert_uint_eq(run.figures.n_only[0], 1);
        ck_assert_uint_eq(run.figures.n_only[1], 1);
        set_run_done(&run);
}
END_TEST

START_TEST(one_sample_a_side_is_not_tested) {
        View view = view_of("minflt,nr_threads");
        SetRun run;

        put_values("p", 7, METRIC_minflt, rising);
        /* Two captures before, one after: one rate, and none. */
        shots[2].side = 1;
        run = set_run_of(&view, 0.05, shots, 3, no_sources);
        ck_assert_uint_eq(run.figures.family.n_tested, 0);
        ck_assert_double_eq(run.figures.family.least_p, 1);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "before", "n", END),
                         "1");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "after", END),
                         "null");
        set_run_done(&run);
}
END_TEST

/* Each group has a rate that grows like @rising, times its number. */
static void put_groups(void) {
        static const char *const names[] = { "a", "b", "c" };

        for (unsigned i = 0; i < ELEMENTSOF(names); i++) {
                uint64_t values[N_SHOTS];

                for (unsigned j = 0; j < N_SHOTS; j++)
                        values[j] = rising[j] * (i + 1) * 100;
                put_values(names[i], 100 * (pid_t) (i + 1), METRIC_minflt, values);
        }
}

/* Always the same, with noise that is equal on both sides. */
static void put_noise(const char *name, pid_t tid) {
        static const uint64_t noise[N_SHOTS] = { 0,    1000, 2010,  2990,  4001,
                                                 9000, 9999, 11010, 12001, 12995 };

        put_values(name, tid, METRIC_minflt, noise);
}

START_TEST(significant_groups_come_by_impact_before_the_rest) {
        static const char *const keys[] = { "c", "b", "a", "noise" };
        View view = view_of("minflt");
        SetRun run;

        put_noise("noise", 9);
        put_groups();
        run = run_of(&view);
        ck_assert_uint_eq(json_object_array_length(run.groups), ELEMENTSOF(keys));
        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                json_object *group = json_object_array_get_idx(run.groups, i);

                ck_assert_str_eq(json_object_get_string(json_object_object_get(group, "key")),
                                 keys[i]);
        }
        ck_assert_uint_eq(run.figures.family.n_tested, 4);
        ck_assert_uint_eq(run.figures.family.n_significant, 3);
        set_run_done(&run);
}
END_TEST

START_TEST(a_view_can_be_of_significant_rows_alone) {
        View view = view_of("minflt,majflt");
        SetRun run;

        view.changed_only = true;
        view.limit = 2;
        put_noise("noise", 9);
        put_groups();
        run = run_of(&view);
        ck_assert_uint_eq(json_object_array_length(run.groups), 2);
        ck_assert_uint_eq(run.figures.n_hidden_groups, 1);
        /* One row of each shown group, all of the noise; not of groups beyond the limit. */
        ck_assert_uint_eq(run.figures.n_hidden_rows, 4);
        ck_assert_uint_eq(run.figures.family.n_tested, 4); /* the limit does not make p smaller */
        ck_assert_str_eq(json_at(set_run_group(&run, "c"), "metrics", "majflt", END), "");
        set_run_done(&run);
}
END_TEST

START_TEST(the_filter_makes_the_family) {
        View view = view_of("minflt");
        char complaint[VIEW_COMPLAINT_BYTES];
        SetRun run;

        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, SPAN_LITERAL("[ab]"), complaint),
                         VIEW_OK);
        put_noise("noise", 9);
        put_groups();
        run = run_of(&view);
        ck_assert_uint_eq(json_object_array_length(run.groups), 2);
        ck_assert_uint_eq(run.figures.family.n_tested, 2);
        ck_assert_uint_eq(run.figures.n_matched, 2);
        set_run_done(&run);
}
END_TEST

static const struct {
        const char *threshold;
        uint64_t n_above;
} threshold_rows[] = { { "80", 3 }, { "86.9", 3 }, { "87", 0 } };

START_TEST(a_threshold_counts_significant_rows_that_moved_more) {
        View view = view_of("minflt");
        char complaint[VIEW_COMPLAINT_BYTES];
        SetRun run;

        ck_assert_int_eq(view_set(&view, VIEW_PART_threshold, span_of(threshold_rows[_i].threshold),
                                  complaint),
                         VIEW_OK);
        put_noise("noise", 9);
        put_groups();
        run = run_of(&view);
        ck_assert_uint_eq(run.figures.n_above_threshold, threshold_rows[_i].n_above);
        ck_assert_uint_eq(json_object_array_length(run.groups), threshold_rows[_i].n_above);
        set_run_done(&run);
}
END_TEST

static const struct {
        const char *sort, *keys;
} sort_rows[] = {
        { "impact", "\"c\"\"b\"\"a\"\"noise\"" },
        { "name", "\"a\"\"b\"\"c\"\"noise\"" },
        { "delta", "\"c\"\"b\"\"a\"\"noise\"" },
        { "percent", "\"a\"\"b\"\"c\"\"noise\"" }, /* all the same */
        { "minflt:asc", "\"a\"\"b\"\"c\"\"noise\"" },
        { "minflt", "\"c\"\"b\"\"a\"\"noise\"" },
        { "majflt,minflt:asc", "\"a\"\"b\"\"c\"\"noise\"" }, /* by what is not shown */
};

START_TEST(groups_come_as_the_view_wants_them) {
        View view = view_of("minflt");
        char complaint[VIEW_COMPLAINT_BYTES], keys[64] = "";
        SetRun run;

        ck_assert_int_eq(view_set(&view, VIEW_PART_sort, span_of(sort_rows[_i].sort), complaint),
                         VIEW_OK);
        put_noise("noise", 9);
        put_groups();
        run = run_of(&view);
        for (size_t i = 0; i < json_object_array_length(run.groups); i++)
                (void) strcat(keys, json_at(json_object_array_get_idx(run.groups, i), "key", END));
        ck_assert_str_eq(keys, sort_rows[_i].keys);
        ck_assert_str_eq(json_at(set_run_group(&run, "a"), "metrics", "majflt", END), "");
        set_run_done(&run);
}
END_TEST

START_TEST(what_cannot_be_significant_tells_how_many_samples_would_do) {
        View view = view_of("minflt");
        SetRun run;

        put_groups();
        put_noise("noise", 9);
        run = set_run_of(&view, 0.001, shots, N_SHOTS, no_sources);
        ck_assert_uint_eq(run.figures.family.n_significant, 0);
        ck_assert_double_eq_tol(run.figures.family.least_p, 2.0 / 70, 1e-12);
        ck_assert_uint_eq(run.figures.family.n_needed, rank_test_enough(4, 0.001));
        ck_assert_uint_gt(run.figures.family.n_needed, 4);
        set_run_done(&run);
}
END_TEST

START_TEST(a_pattern_is_of_all_captures_together) {
        View view = view_on(VIEW_AXIS_PCOMM);
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++)
                (void) put_thread(i, i == N_SHOTS - 1 ? "worker-7" : "worker-3", 7);
        run = run_of(&view);
        ck_assert_uint_eq(json_object_array_length(run.groups), 1);
        ck_assert_str_eq(json_at(set_run_group(&run, "worker-{N}"), "members", END),
                         "[{\"name\":\"worker-3\",\"threads\":9},"
                         "{\"name\":\"worker-7\",\"threads\":1}]");
        set_run_done(&run);
}
END_TEST

START_TEST(all_three_names_can_make_the_key) {
        View view = view_on(VIEW_AXIS_ALL);
        SetRun run;

        put_values("p", 7, METRIC_minflt, rising);
        run = run_of(&view);
        ck_assert_str_eq(json_at(json_object_array_get_idx(run.groups, 0), "thread", END), "\"p\"");
        ck_assert_str_eq(json_at(json_object_array_get_idx(run.groups, 0), "process", END),
                         "\"p\"");
        set_run_done(&run);
}
END_TEST

START_TEST(ctprof_itself_is_left_out_unless_wanted) {
        View view = view_of("minflt");
        SetRun run;

        put_values("p", 7, METRIC_minflt, rising);
        for (unsigned i = 0; i < N_SHOTS; i++)
                samples[i][0].self = true;
        run = run_of(&view);
        ck_assert_uint_eq(json_object_array_length(run.groups), 0);
        set_run_done(&run);
        view.self = true;
        run = run_of(&view);
        ck_assert_uint_eq(json_object_array_length(run.groups), 1);
        set_run_done(&run);
}
END_TEST

START_TEST(swapping_the_sides_keeps_p_and_negates_the_delta) {
        View view = view_of("minflt");
        double p, delta, u;
        SetRun run;

        put_noise("p", 7);
        run = run_of(&view);
        p = number_at(&run, "p", "metrics", "minflt", "p");
        u = number_at(&run, "p", "metrics", "minflt", "u");
        delta = number_at(&run, "p", "metrics", "minflt", "delta");
        set_run_done(&run);
        for (unsigned i = 0; i < N_SHOTS; i++)
                shots[i].side = 1 - shots[i].side;
        run = run_of(&view);
        ck_assert_double_eq(number_at(&run, "p", "metrics", "minflt", "p"), p);
        ck_assert_double_eq(number_at(&run, "p", "metrics", "minflt", "u"), 16 - u);
        ck_assert_double_eq(number_at(&run, "p", "metrics", "minflt", "delta"), -delta);
        ck_assert(fabs(delta) > 0);
        set_run_done(&run);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("set-comparison");
        TCase *tests = tcase_create("set-comparison");

        tcase_add_checked_fixture(tests, setup, NULL);
        tcase_add_test(tests, a_row_has_every_member);
        tcase_add_test(tests, what_could_not_be_significant_alone_is_no_burden);
        tcase_add_test(tests, rows_with_too_few_samples_count_among_those_that_need_more);
        tcase_add_test(tests, rows_of_one_side_need_no_more_samples);
        tcase_add_test(tests, absent_values_have_a_reason_and_no_delta);
        tcase_add_test(tests, one_sample_a_side_is_not_tested);
        tcase_add_test(tests, significant_groups_come_by_impact_before_the_rest);
        tcase_add_test(tests, a_view_can_be_of_significant_rows_alone);
        tcase_add_test(tests, the_filter_makes_the_family);
        tcase_add_loop_test(tests, a_threshold_counts_significant_rows_that_moved_more, 0,
                            ELEMENTSOF(threshold_rows));
        tcase_add_loop_test(tests, groups_come_as_the_view_wants_them, 0, ELEMENTSOF(sort_rows));
        tcase_add_test(tests, what_cannot_be_significant_tells_how_many_samples_would_do);
        tcase_add_test(tests, a_pattern_is_of_all_captures_together);
        tcase_add_test(tests, all_three_names_can_make_the_key);
        tcase_add_test(tests, ctprof_itself_is_left_out_unless_wanted);
        tcase_add_test(tests, swapping_the_sides_keeps_p_and_negates_the_delta);
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
