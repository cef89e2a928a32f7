/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "compared.h"
#include "thread.h"

/* The spread of sums over threads and the age of groups in the objects of the interface. */

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };

static ThreadSample ran(const char *pcomm, const char *comm, pid_t tid, uint64_t run_time_ns) {
        ThreadSample sample = thread_of(pcomm, comm, tid);

        thread_sample_put(&sample, METRIC_run_time_ns, run_time_ns);
        return sample;
}

static Compared compared(const ThreadSample *before, size_t n_before, const ThreadSample *after,
                         size_t n_after, bool spread) {
        const Threads sides[] = { { before, n_before }, { after, n_after } };
        const SideSetup setup = { .n_sides = after ? 2 : 1,
                                  .boots = BOOTS_SAME,
                                  .elapsed_ns = NSEC_PER_SEC };
        View view;

        view_init(&view);
        view.spread = spread;
        return compared_of(&view, &setup, sides, no_sources);
}

static const char *row_at(json_object *group, const char *metric, const char *member) {
        return json_at(group, "metrics", metric, member, NULL);
}

START_TEST(one_snapshot_has_the_spread_of_each_sum) {
        const ThreadSample samples[] = { ran("p", "slow", 1, 5), ran("p", "\xff", 2, 90),
                                         ran("p", "slow", 3, 7) };
        Compared all = compared(samples, ELEMENTSOF(samples), NULL, 0, true);
        json_object *group = compared_group(&all, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(row_at(group, "run_time_ns", "spread"),
                         "{\"top\":{\"tid\":2,\"name\":\"\uefff\",\"value\":90},\"p50\":7,"
                         "\"p99\":90}");
        ck_assert_str_eq(row_at(group, "minflt", "spread"), "null");
        ck_assert_str_eq(row_at(group, "thread_count", "spread"), "null");
        ck_assert_str_eq(row_at(group, "nice", "spread"), "");
        ck_assert_str_eq(row_at(group, "run_time_ns", "spreadBefore"), "");
        ck_assert_str_eq(json_at(group, "uptimePercent", NULL), "");
        compared_done(&all);
}
END_TEST

START_TEST(two_snapshots_have_one_each) {
        const ThreadSample before[] = { ran("p", "a", 1, 5), ran("p", "b", 2, 3),
                                        ran("gone", "g", 9, 11) };
        const ThreadSample after[] = { ran("p", "a", 1, 50), ran("p", "b", 2, 60),
                                       ran("p", "c", 3, 1), ran("new", "n", 8, 12) };
        Compared all = compared(before, ELEMENTSOF(before), after, ELEMENTSOF(after), true);
        json_object *group = compared_group(&all, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(row_at(group, "run_time_ns", "spreadBefore"),
                         "{\"top\":{\"tid\":1,\"name\":\"a\",\"value\":5},\"p50\":3,\"p99\":5}");
        ck_assert_str_eq(row_at(group, "run_time_ns", "spread"),
                         "{\"top\":{\"tid\":2,\"name\":\"b\",\"value\":60},\"p50\":50,"
                         "\"p99\":60}");
        ck_assert_str_eq(row_at(group, "minflt", "spread"), "null");
        ck_assert_str_eq(row_at(group, "minflt", "spreadBefore"), "null");
        ck_assert_str_eq(row_at(compared_group(&all, COMPARISON_ONLY_BEFORE, "gone"), "run_time_ns",
                                "spread"),
                         "{\"top\":{\"tid\":9,\"name\":\"g\",\"value\":11},\"p50\":11,"
                         "\"p99\":11}");
        ck_assert_str_eq(
                row_at(compared_group(&all, COMPARISON_ONLY_AFTER, "new"), "run_time_ns", "spread"),
                "{\"top\":{\"tid\":8,\"name\":\"n\",\"value\":12},\"p50\":12,\"p99\":12}");
        compared_done(&all);
}
END_TEST

START_TEST(nobody_pays_for_what_is_not_asked) {
        const ThreadSample samples[] = { ran("p", "a", 1, 5), ran("p", "b", 2, 3) };
        Compared all = compared(samples, 2, samples, 2, false);
        json_object *group = compared_group(&all, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(row_at(group, "run_time_ns", "spread"), "");
        ck_assert_str_eq(row_at(group, "run_time_ns", "spreadBefore"), "");
        compared_done(&all);
}
END_TEST

/* Ten kinds of threads: enough to recognise a cgroup. */
#define N_KINDS 10

START_TEST(a_renamed_cgroup_keeps_its_spread) {
        static char names[N_KINDS][2];
        ThreadSample before[N_KINDS], after[N_KINDS];
        const Threads sides[] = { { before, N_KINDS }, { after, N_KINDS } };
        const SideSetup setup = { .n_sides = 2 };
        Compared all;
        View view;

        for (unsigned i = 0; i < N_KINDS; i++) {
                names[i][0] = (char) ('a' + i);
                before[i] = ran(names[i], names[i], (pid_t) i + 1, 10 + i);
                before[i].cgroup = SPAN_LITERAL("/old");
                after[i] = ran(names[i], names[i], (pid_t) i + 100, 100 - i);
                after[i].cgroup = SPAN_LITERAL("/new");
        }
        view_init(&view);
        view.axis = VIEW_AXIS_CGROUP;
        view.spread = true;
        all = compared_of(&view, &setup, sides, no_sources);
        ck_assert_str_eq(
                row_at(compared_group(&all, COMPARISON_GROUPS, "/old"), "run_time_ns", "spread"),
                "{\"top\":{\"tid\":100,\"name\":\"a\",\"value\":100},\"p50\":95,"
                "\"p99\":100}");
        ck_assert_str_eq(row_at(compared_group(&all, COMPARISON_GROUPS, "/old"), "run_time_ns",
                                "spreadBefore"),
                         "{\"top\":{\"tid\":10,\"name\":\"j\",\"value\":19},\"p50\":14,"
                         "\"p99\":19}");
        compared_done(&all);
}
END_TEST

/* The starts of threads after; the group "old" is on both sides, too. */
static const struct {
        uint64_t starts[3]; /* old, young, and one thread on the later side only */
        const char *old, *young;
} ages[] = {
        { { 100, 300, 500 }, "100", "50" },
        { { 100, 500, 300 }, "100", "0" },
        { { 0, 100, 300 }, "null", "100" },
        { { 200, 200, 200 }, "0", "0" }, /* if all are equally young none is the oldest */
        { { 0, 0, 0 }, "null", "null" },
        { { 1, UINT64_MAX, 2 }, "100", "0" },
};

START_TEST(an_age_is_a_share_of_the_oldest_group) {
        ThreadSample samples[] = { ran("old", "t", 1, 1), ran("young", "t", 2, 1),
                                   ran("new", "t", 3, 1) };
        Compared all;

        for (unsigned i = 0; i < ELEMENTSOF(samples); i++)
                samples[i].start_ticks = ages[_i].starts[i];
        all = compared(samples, 2, samples, 3, false);
        ck_assert_str_eq(
                json_at(compared_group(&all, COMPARISON_GROUPS, "old"), "uptimePercent", NULL),
                ages[_i].old);
        ck_assert_str_eq(
                json_at(compared_group(&all, COMPARISON_GROUPS, "young"), "uptimePercent", NULL),
                ages[_i].young);
        ck_assert_str_eq(
                json_at(compared_group(&all, COMPARISON_ONLY_AFTER, "new"), "uptimePercent", NULL),
                "");
        compared_done(&all);
}
END_TEST

START_TEST(a_mean_start_counts_threads_whose_start_is_known) {
        ThreadSample samples[] = { ran("p", "a", 1, 1), ran("p", "b", 2, 1), ran("p", "c", 3, 1),
                                   ran("q", "d", 4, 1) };
        Compared all;

        samples[0].start_ticks = 100;
        samples[1].start_ticks = 0;
        samples[2].start_ticks = 300; /* 200 on average */
        samples[3].start_ticks = 400;
        all = compared(samples, 4, samples, 4, false);
        ck_assert_str_eq(
                json_at(compared_group(&all, COMPARISON_GROUPS, "p"), "uptimePercent", NULL),
                "100");
        ck_assert_str_eq(
                json_at(compared_group(&all, COMPARISON_GROUPS, "q"), "uptimePercent", NULL), "0");
        compared_done(&all);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("comparison-spread");
        TCase *tests = tcase_create("spread");

        tcase_add_test(tests, one_snapshot_has_the_spread_of_each_sum);
        tcase_add_test(tests, two_snapshots_have_one_each);
        tcase_add_test(tests, nobody_pays_for_what_is_not_asked);
        tcase_add_test(tests, a_renamed_cgroup_keeps_its_spread);
        tcase_add_loop_test(tests, an_age_is_a_share_of_the_oldest_group, 0, ELEMENTSOF(ages));
        tcase_add_test(tests, a_mean_start_counts_threads_whose_start_is_known);
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
