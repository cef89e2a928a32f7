/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "set-captures.h"

START_TEST(gauges_are_compared_by_their_values) {
        static const uint64_t values[N_SHOTS] = { 3, 4, 3, 4, 3, 9, 8, 9, 8, 9 };
        View view = view_of("nr_threads");
        SetRun run;

        put_values("p", 7, METRIC_nr_threads, values);
        run = run_of(&view);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "nr_threads", "before", END),
                         "{\"n\":5,\"median\":3,\"min\":3,\"max\":4,\"q1\":3,\"q3\":4}");
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "metrics", "nr_threads", "perSecond", END),
                "false");
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "metrics", "nr_threads", "significant", END),
                "true");
        set_run_done(&run);
}
END_TEST

START_TEST(ranges_are_compared_by_their_midpoints) {
        View view = view_of("nice");
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                thread_sample_put(put_thread(i, "p", 7), METRIC_nice, 0);
                thread_sample_put(put_thread(i, "p", 8), METRIC_nice, i < N_SIDE ? 5 : 7);
        }
        run = run_of(&view);
        ck_assert_double_eq(number_at(&run, "p", "metrics", "nice", "delta"), 1);
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "metrics", "nice", "before", "median", END),
                "2.5");
        set_run_done(&run);
}
END_TEST

START_TEST(the_number_of_threads_is_a_level) {
        View view = view_of("thread_count");
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++)
                for (pid_t tid = 0; tid < (i < N_SIDE ? 2 : 3); tid++)
                        (void) put_thread(i, "p", 100 + tid);
        run = run_of(&view);
        ck_assert_double_eq(number_at(&run, "p", "metrics", "thread_count", "delta"), 1);
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "metrics", "thread_count", "after", "n", END),
                "5");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "threadsAfter", END), "3");
        set_run_done(&run);
}
END_TEST

START_TEST(a_window_that_holds_a_capture_of_the_other_side_is_none) {
        View view = view_of("minflt,nr_threads");
        SetRun run;

        put_values("p", 7, METRIC_minflt, rising);
        for (unsigned i = 0; i < N_SHOTS; i++) /* two of a side at a time */
                shots[i].side = i / 2 % 2;
        run = run_of(&view);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "before", "n", END),
                         "3");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "after", "n", END),
                         "2");
        set_run_done(&run);
        for (unsigned i = 0; i < N_SHOTS; i++)
                shots[i].side = i % 2;
        run = run_of(&view);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "reason", END),
                         "\"before: no two consecutive captures of one boot have these threads; "
                         "after: no two consecutive captures of one boot have these threads\"");
        set_run_done(&run);
}
END_TEST

START_TEST(threads_that_come_and_go_make_no_negative_rates) {
        View view = view_of("minflt");
        SetRun run;

        /* Each capture has one thread that lives on, and a large one that is new in each. */
        for (unsigned i = 0; i < N_SHOTS; i++) {
                ThreadSample *born;

                thread_sample_put(put_thread(i, "p", 7), METRIC_minflt, 100 * i);
                born = put_thread(i, "p", 50 + (pid_t) i);
                born->start_ticks = (shots[i].at_s - 5) * SHOT_TICKS;
                thread_sample_put(born, METRIC_minflt, i % 2 == 0 ? 1000000 : 900);
        }
        run = run_of(&view);
        /* 100 from the survivor and everything of the new thread, in ten seconds. */
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "metrics", "minflt", "before", "min", END),
                "100");
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "metrics", "minflt", "before", "max", END),
                "100010");
        set_run_done(&run);
}
END_TEST

/* The ledger of capture i has one row: what @exits[i] threads of a job did that ended by then. */
static void put_ledgers(ExitedRow rows[static N_SHOTS], const uint64_t exits[static N_SHOTS]) {
        for (unsigned i = 0; i < N_SHOTS; i++) {
                rows[i] = (ExitedRow){ .exits = exits[i], .sample = thread_of("job", "job", 0) };
                thread_sample_put(&rows[i].sample, METRIC_minflt, 100 * exits[i]);
                shots[i].has_ledger = true;
                shots[i].exited = &rows[i];
                shots[i].n_exited = 1;
        }
}

static const char *samples_at(const SetRun *run, const char *group, const char *metric,
                              const char *side) {
        return json_at(set_run_group(run, group), "metrics", metric, side, "n", END);
}

START_TEST(a_group_that_no_window_has_did_nothing_in_it) {
        /* A job in each window before and in one of four after, the last. */
        static const uint64_t exits[N_SHOTS] = { 1, 2, 3, 4, 5, 6, 6, 6, 6, 7 };
        View view = view_of("minflt,thread_count,nr_threads");
        ExitedRow rows[N_SHOTS];
        SetRun run;

        put_ledgers(rows, exits);
        for (unsigned i = 0; i < N_SIDE; i++)
                thread_sample_put(put_thread(i, "once", 7), METRIC_minflt, 10 * i);
        run = run_of(&view);
        ck_assert_double_eq(number_at(&run, "job", "metrics", "minflt", "delta"), -10);
        ck_assert_str_eq(json_at(set_run_group(&run, "job"), "metrics", "minflt", "after", END),
                         "{\"n\":4,\"median\":0,\"min\":0,\"max\":10,\"q1\":0,\"q3\":2.5}");
        ck_assert_str_eq(samples_at(&run, "job", "thread_count", "after"), "4");
        ck_assert_str_eq(json_at(set_run_group(&run, "job"), "threadsAfter", END), "0");
        /* A side that the group is not on at all stays so. */
        ck_assert_str_eq(json_at(set_run_group(&run, "once"), "rates", "after", END), "null");
        set_run_done(&run);

        for (unsigned i = 0; i < N_SHOTS; i++)
                shots[i].has_ledger = false;
        for (unsigned i = 0; i < N_SHOTS; i++)
                thread_sample_put(put_thread(i, "job", 9), METRIC_minflt, 10 * i);
        shots[N_SIDE].n_samples = 0; /* without a ledger nobody knows */
        run = run_of(&view);
        ck_assert_str_eq(samples_at(&run, "job", "thread_count", "after"), "4");
        set_run_done(&run);
}
END_TEST

START_TEST(a_window_in_which_the_ledger_lost_names_tells_nothing_of_the_ended) {
        static const uint64_t exits[N_SHOTS] = { 1, 2, 3, 4, 5, 6, 7, 8, 8, 9 };
        View view = view_of("minflt,thread_count");
        ExitedRow rows[N_SHOTS];
        SetRun run;

        put_ledgers(rows, exits);
        shots[7].lost_names = shots[8].lost_names = true;
        run = run_of(&view);
        ck_assert_str_eq(samples_at(&run, "job", "minflt", "before"), "4");
        ck_assert_str_eq(samples_at(&run, "job", "minflt", "after"), "2");
        ck_assert_str_eq(samples_at(&run, "job", "thread_count", "after"), "2");
        set_run_done(&run);
}
END_TEST

/* Each capture shows a thread that has done 30 of the 100 by then that it ends with. */
START_TEST(a_ledger_without_cgroups_tells_of_no_cgroup_what_ended) {
        static const uint64_t exits[N_SHOTS] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
        char complaint[VIEW_COMPLAINT_BYTES];
        View view = view_on(VIEW_AXIS_CGROUP);
        ExitedRow rows[N_SHOTS];
        SetRun run;

        ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of("minflt"), complaint), VIEW_OK);
        put_ledgers(rows, exits);
        for (unsigned i = 0; i < N_SHOTS; i++) {
                ThreadSample *job = put_thread(i, "job", 100 + (pid_t) i);

                rows[i].sample.cgroup = (Span){ NULL, 0 };
                job->cgroup = SPAN_LITERAL("/a");
                job->start_ticks = (shots[i].at_s - 5) * SHOT_TICKS;
                thread_sample_put(job, METRIC_minflt, 30);
        }
        run = run_of(&view);
        ck_assert_str_eq(
                json_at(set_run_group(&run, ""), "metrics", "minflt", "before", "median", END),
                "7");
        ck_assert_str_eq(
                json_at(set_run_group(&run, "/a"), "metrics", "minflt", "before", "median", END),
                "3");
        set_run_done(&run);

        /* What a cgroup without threads did is not known. */
        for (unsigned i = 0; i < N_SHOTS; i++)
                shots[i].n_samples = i < 7;
        run = run_of(&view);
        ck_assert_str_eq(json_at(set_run_group(&run, "/a"), "metrics", "minflt", "after", "n", END),
                         "1");
        set_run_done(&run);
}
END_TEST

START_TEST(what_a_group_did_whose_threads_ended_under_other_names_is_not_known) {
        static const uint64_t exits[N_SHOTS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
        View view = view_of("minflt,thread_count");
        ExitedRow rows[N_SHOTS];
        SetRun run;

        put_ledgers(rows, exits);
        for (unsigned i = 0; i < 7; i++)
                thread_sample_put(put_thread(i, "old", 7), METRIC_minflt, 10 * i);
        run = run_of(&view);
        /* There it is in 5 and 6, where a window has its work, and 7 lost it. */
        ck_assert_str_eq(samples_at(&run, "old", "thread_count", "after"), "4");
        ck_assert_str_eq(samples_at(&run, "old", "minflt", "after"), "3");
        set_run_done(&run);
}
END_TEST

START_TEST(a_thread_that_was_overlooked_is_not_taken_for_born) {
        View view = view_of("minflt");
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                thread_sample_put(put_thread(i, "p", 7), METRIC_minflt, 100 * i);
                if (i == 3) /* as old as the host, but in this capture only */
                        thread_sample_put(put_thread(i, "p", 8), METRIC_minflt, 1000000);
        }
        run = run_of(&view);
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "metrics", "minflt", "before", "max", END), "10");
        set_run_done(&run);
}
END_TEST

START_TEST(a_counter_that_was_set_back_gives_no_sample) {
        static const uint64_t values[N_SHOTS] = { 1000, 2000, 500, 1500, 2600, 1, 2, 3, 4, 6 };
        View view = view_of("minflt");
        SetRun run;

        put_values("p", 7, METRIC_minflt, values);
        run = run_of(&view);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "before", END),
                         "{\"n\":3,\"median\":100,\"min\":100,\"max\":110,\"q1\":100,\"q3\":105}");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "minflt", "reset", END),
                         "true");
        set_run_done(&run);
}
END_TEST

START_TEST(quotients_are_of_the_work_in_the_window) {
        /* The lifetime average keeps growing slowly; the windows have 10, then 20. */
        View view = view_of("avg_wait_ns,wait_sum");
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                ThreadSample *sample = put_thread(i, "p", 7);

                thread_sample_put(sample, METRIC_wait_count, 1000 + 10 * i);
                thread_sample_put(sample, METRIC_wait_sum,
                                  i < N_SIDE ? 1000000 + 100 * i : 2000000 + 200 * i);
        }
        run = run_of(&view);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "derived", "avg_wait_ns", "before", END),
                         "{\"n\":4,\"median\":10,\"min\":10,\"max\":10,\"q1\":10,\"q3\":10}");
        ck_assert_double_eq(number_at(&run, "p", "derived", "avg_wait_ns", "delta"), 10);
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "derived", "avg_wait_ns", "significant", END),
                "true");
        set_run_done(&run);
}
END_TEST

START_TEST(a_difference_is_a_level_of_lifetime_totals) {
        View view = view_of("live_heap_estimate");
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                ThreadSample *sample = put_thread(i, "p", 7);

                thread_sample_put(sample, METRIC_allocated_bytes, 5000 + 1000 * i);
                thread_sample_put(sample, METRIC_deallocated_bytes, 1000 + 1000 * i + i % 2);
        }
        run = run_of(&view);
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "derived", "live_heap_estimate", "before", END),
                "{\"n\":5,\"median\":4000,\"min\":3999,\"max\":4000,\"q1\":3999,"
                "\"q3\":4000}");
        set_run_done(&run);
}
END_TEST

static const uint64_t growing[N_SHOTS] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

START_TEST(records_of_threads_that_live_on_are_not_tested) {
        View view = view_of("wait_max,hiwater_rss_bytes,blkio_delay_min_ns");
        SetRun run;

        put_values("p", 7, METRIC_wait_max, growing);
        run = run_of(&view);
        ck_assert_uint_eq(run.figures.family.n_tested, 0);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "wait_max", "after", END),
                         "{\"n\":5,\"median\":8,\"min\":6,\"max\":10,\"q1\":7,\"q3\":9}");
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "wait_max", "p", END),
                         "null");
        ck_assert_ptr_nonnull(strstr(
                json_at(set_run_group(&run, "p"), "metrics", "wait_max", "reason", END), "record"));
        set_run_done(&run);
}
END_TEST

START_TEST(records_of_threads_that_each_capture_finds_anew_are_tested) {
        View view = view_of("wait_max");
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                ThreadSample *sample = put_thread(i, "p", 50 + (pid_t) i);

                sample->start_ticks = (shots[i].at_s - 5) * SHOT_TICKS;
                thread_sample_put(sample, METRIC_wait_max, growing[i]);
        }
        run = run_of(&view);
        ck_assert_uint_eq(run.figures.family.n_tested, 1);
        ck_assert_str_eq(
                json_at(set_run_group(&run, "p"), "metrics", "wait_max", "significant", END),
                "true");
        set_run_done(&run);
}
END_TEST

static const struct {
        const char *metric;
        MetricId id;
        uint64_t before, after;
        const char *reason;
} untested_rows[] = {
        { "processor", METRIC_processor, 1, 2, "not tested: the number of a CPU is a name" },
        { "nr_threads", METRIC_nr_threads, 4, 4, "not tested: all samples are equal" },
        { "minflt", METRIC_minflt, 4, 4, "not tested: all samples are equal" },
        { "policy", METRIC_policy, 0, 1,
          "before: a word has no median; after: a word has no median" },
};

START_TEST(what_is_no_evidence_is_not_tested) {
        View view = view_of(untested_rows[_i].metric);
        char reason[256];
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++)
                thread_sample_put(put_thread(i, "p", 7), untested_rows[_i].id,
                                  i < N_SIDE ? untested_rows[_i].before : untested_rows[_i].after);
        run = run_of(&view);
        ck_assert_uint_eq(run.figures.family.n_tested, 0);
        (void) snprintf(reason, sizeof(reason), "\"%s\"", untested_rows[_i].reason);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", untested_rows[_i].metric,
                                 "reason", END),
                         reason);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", untested_rows[_i].metric,
                                 "pAdjusted", END),
                         "null");
        if (untested_rows[_i].id == METRIC_processor) {
                ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics",
                                         untested_rows[_i].metric, "delta", END),
                                 "null");
                ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics",
                                         untested_rows[_i].metric, "percent", END),
                                 "null");
        }
        set_run_done(&run);
}
END_TEST

START_TEST(first_delays_are_a_sample) {
        View view = view_of("blkio_delay_count");
        char wanted[16];
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                ThreadSample *sample = put_thread(i, "p", 7);

                thread_sample_put(sample, METRIC_cpu_delay_count, i);
                if (i % N_SIDE > 0) /* the first capture of a side could not tell its 0 */
                        thread_sample_put(sample, METRIC_blkio_delay_count, 10 * (i % N_SIDE));
        }
        run = run_of(&view);
        (void) snprintf(wanted, sizeof(wanted), "%u", N_SIDE - 1);
        ck_assert_str_eq(json_at(set_run_group(&run, "p"), "metrics", "blkio_delay_count", "before",
                                 "n", END),
                         wanted);
        set_run_done(&run);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("set-samples");
        TCase *tests = tcase_create("set-samples");

        tcase_add_checked_fixture(tests, setup, NULL);
        tcase_add_test(tests, gauges_are_compared_by_their_values);
        tcase_add_test(tests, ranges_are_compared_by_their_midpoints);
        tcase_add_test(tests, the_number_of_threads_is_a_level);
        tcase_add_test(tests, a_window_that_holds_a_capture_of_the_other_side_is_none);
        tcase_add_test(tests, threads_that_come_and_go_make_no_negative_rates);
        tcase_add_test(tests, a_group_that_no_window_has_did_nothing_in_it);
        tcase_add_test(tests, a_window_in_which_the_ledger_lost_names_tells_nothing_of_the_ended);
        tcase_add_test(tests, a_ledger_without_cgroups_tells_of_no_cgroup_what_ended);
        tcase_add_test(tests, what_a_group_did_whose_threads_ended_under_other_names_is_not_known);
        tcase_add_test(tests, a_thread_that_was_overlooked_is_not_taken_for_born);
        tcase_add_test(tests, a_counter_that_was_set_back_gives_no_sample);
        tcase_add_test(tests, quotients_are_of_the_work_in_the_window);
        tcase_add_test(tests, a_difference_is_a_level_of_lifetime_totals);
        tcase_add_test(tests, records_of_threads_that_live_on_are_not_tested);
        tcase_add_test(tests, records_of_threads_that_each_capture_finds_anew_are_tested);
        tcase_add_loop_test(tests, what_is_no_evidence_is_not_tested, 0, ELEMENTSOF(untested_rows));
        tcase_add_test(tests, first_delays_are_a_sample);
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
