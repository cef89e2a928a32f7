/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "compared.h"
#include "thread.h"
#include "view/view-part.h"

#define END (const char *) NULL
#define S(seconds) ((seconds) *NSEC_PER_SEC)
#define TICK_NS (NSEC_PER_SEC / 100)
#define GONE UINT64_MAX /* not in that snapshot */

#define NO_REASONS                                                                        \
        "\"syncNs\":null,\"reasons\":null,\"reasonsReason\":\"none of these threads was " \
        "counted all the time\""

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };

/* Captures at 100 s and 110 s. */
static const SideSetup two_captures = {
        .n_sides = 2,
        .boots = BOOTS_SAME,
        .elapsed_ns = S(10),
        .times = { { .known = true, .start_ns = S(100), .end_ns = S(101), .tick_ns = TICK_NS },
                   { .known = true, .start_ns = S(110), .end_ns = S(111), .tick_ns = TICK_NS } },
};
static const HostUse host = { .n_cpus = { true, 4 } };

/* A thread: when it started and how long it had run in each snapshot. */
typedef struct Life {
        const char *name;
        uint64_t start_s, before, after;
} Life;

static ThreadSample sample_of(const Life *life, size_t i, uint64_t run_time) {
        ThreadSample sample = thread_of(life->name, life->name, (pid_t) (100 * (i + 1)));

        sample.start_ticks = life->start_s * 100;
        thread_sample_put(&sample, METRIC_run_time_ns, run_time);
        thread_sample_put(&sample, METRIC_wait_time_ns, 0);
        thread_sample_put(&sample, METRIC_timeslices, run_time == 0 ? 0 : 10);
        thread_sample_put(&sample, METRIC_wait_max, run_time / 10);
        return sample;
}

static void fold(Comparison *comparison, const View *view, const Life *life, size_t i) {
        ThreadSample before = sample_of(life, i, life->before);
        ThreadSample after = sample_of(life, i, life->after);

        if (view->window) {
                ck_assert_int_eq(side_setup_add(comparison, 0,
                                                life->before == GONE ? NULL : &before,
                                                life->after == GONE ? NULL : &after),
                                 0);
                return;
        }
        if (life->before != GONE)
                ck_assert_int_eq(side_setup_add(comparison, SIDE_BEFORE, NULL, &before), 0);
        if (life->after != GONE)
                ck_assert_int_eq(side_setup_add(comparison, SIDE_AFTER, NULL, &after), 0);
}

static Compared compared_lives(const View *view, const SideSetup *setup, const Life *lives,
                               size_t n) {
        Compared compared = { .comparison = NULL };

        ck_assert_int_eq(side_setup_compare(view, setup, &compared.comparison), 0);
        for (size_t i = 0; i < n; i++)
                fold(compared.comparison, view, &lives[i], i);
        for (unsigned side = 0; side < SIDES; side++)
                compared.comparison->table.columns.of[side].host = host;
        compared_end(&compared, no_sources);
        return compared;
}

static View view_with_overview(bool window) {
        View view;

        view_init(&view);
        view.thread_normalize = false;
        view.overview = true;
        view.window = window;
        return view;
}

static const char *at(const Compared *compared, ComparisonList list, size_t index,
                      const char *key) {
        return json_at(json_object_array_get_idx(compared->lists[list], index), key, END);
}

/* The keys of a list in one text. */
static const char *keys_of(const Compared *compared, ComparisonList list) {
        static char text[256];

        text[0] = '\0';
        for (size_t i = 0; i < json_object_array_length(compared->lists[list]); i++) {
                const char *key = json_object_get_string(json_object_object_get(
                        json_object_array_get_idx(compared->lists[list], i), "key"));

                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                                i > 0 ? " " : "", key);
        }
        return text;
}

static const Life lives[] = {
        { "calm", 1, S(30), S(31) },     /* 1 s of 40 */
        { "busy", 1, S(5), S(13) },      /* 8 s of 40 */
        { "ended", 1, S(99), GONE },     /* nobody saw what it did */
        { "newcomer", 106, GONE, S(4) }, /* 4 s, alive for 4 s */
        { "calm", 105, GONE, S(1) },     /* born into the group: 1 s more, alive for 5 s */
        { "idle", 1, S(7), S(7) },
};

START_TEST(an_interval_has_one_overview_of_all_groups) {
        View view = view_with_overview(true);
        Compared compared = compared_lives(&view, &two_captures, lives, ELEMENTSOF(lives));

        ck_assert_str_eq(keys_of(&compared, COMPARISON_OVERVIEW), "busy newcomer calm idle ended");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 0, "weight"), "0.2");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 1, "weight"), "0.1");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 2, "weight"), "0.05");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 3, "weight"), "0");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 4, "weight"), "null");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 0, "only"), "");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 1, "only"), "\"after\"");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 4, "only"), "\"before\"");
        ck_assert_str_eq(
                at(&compared, COMPARISON_OVERVIEW, 2, "accounts"),
                "[{\"threads\":2,\"born\":1,\"ended\":0,\"bornAndEnded\":null,"
                "\"leftOut\":null,\"startedBy\":null,\"aliveNs\":15000000000,"
                "\"runningNs\":2000000000,\"waitingNs\":0,\"storageNs\":null,\"blockedNs\":null,"
                "\"asleepNs\":13000000000,\"exact\":null," NO_REASONS
                ",\"switches\":null,\"readBytes\":null,"
                "\"writeBytes\":null,\"writeExact\":null,\"majorFaults\":null,"
                "\"peakRssBytes\":null,\"rssBytes\":null,\"rssBeforeBytes\":null,"
                "\"heapGrowthBytes\":null}]");
        ck_assert_str_eq(json_at(json_object_array_get_idx(
                                         json_object_object_get(
                                                 json_object_array_get_idx(
                                                         compared.lists[COMPARISON_OVERVIEW], 4),
                                                 "accounts"),
                                         0),
                                 "ended", END),
                         "1");
        compared_done(&compared);
}
END_TEST

START_TEST(groups_say_their_weight_time_and_lives) {
        View view = view_with_overview(true);
        Compared compared = compared_lives(&view, &two_captures, lives, ELEMENTSOF(lives));
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "newcomer");

        ck_assert_str_eq(keys_of(&compared, COMPARISON_GROUPS), "busy newcomer calm idle");
        ck_assert_str_eq(json_at(group, "weight", END), "0.1");
        ck_assert_str_eq(
                json_at(group, "time", END),
                "{\"aliveNs\":4000000000,\"runningNs\":4000000000,\"waitingNs\":0,"
                "\"storageNs\":null,\"blockedNs\":null,\"asleepNs\":0,\"exact\":null," NO_REASONS
                "}");
        ck_assert_str_eq(json_at(group, "lives", END),
                         "{\"survived\":0,\"born\":1,\"ended\":0,\"bornAndEnded\":null}");
        group = compared_group(&compared, COMPARISON_ONLY_BEFORE, "ended");
        ck_assert_str_eq(json_at(group, "time", "aliveNs", END), "null");
        ck_assert_str_eq(json_at(group, "lives", "ended", END), "1");
        /* It is listed as it stood, but that is no work of the interval. */
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "value", END), "99000000000");
        compared_done(&compared);
}
END_TEST

START_TEST(derived_values_have_the_work) {
        static const Life some[] = { { "p", 1, S(30), S(31) } };
        View view = view_with_overview(true);
        Compared compared = compared_lives(&view, &two_captures, some, 1);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        /* 10 time slices before and after: none was begun inside. */
        ck_assert_str_eq(json_at(group, "derived", "avg_slice_ns", "before", END), "3000000000");
        ck_assert_str_eq(json_at(group, "derived", "avg_slice_ns", "work", END), "null");
        ck_assert_str_eq(json_at(group, "derived", "avg_slice_ns", "reason", END),
                         "\"work: timeslices is 0\"");
        compared_done(&compared);
}
END_TEST

START_TEST(peaks_that_did_not_move_inside_are_unchanged) {
        /* The thread with the highest peak ended; that of the other one rose, or did not. */
        for (unsigned rose = 0; rose < 2; rose++) {
                const Life some[] = { { "p", 1, S(90), GONE },
                                      { "p", 1, S(30), S(30 + 10 * rose) } };
                View view = view_with_overview(true);
                Compared compared;
                json_object *group;

                view.changed_only = true;
                compared = compared_lives(&view, &two_captures, some, 2);
                group = compared_group(&compared, COMPARISON_GROUPS, "p");
                ck_assert_str_eq(json_at(group, "metrics", "wait_max", "inside", END),
                                 rose ? "true" : "");
                ck_assert_str_eq(json_at(group, "metrics", "wait_max", "after", END),
                                 rose ? "4000000000" : "");
                compared_done(&compared);
        }
}
END_TEST

START_TEST(a_peak_is_that_of_the_threads_whose_peak_rose) {
        /* One has the highest since long ago, one rose below it, and one was born. */
        static const Life old[] = { { "p", 1, S(50), S(50) }, { "p", 1, S(10), S(20) } };
        static const Life born[] = { { "p", 1, S(50), S(50) }, { "p", 105, GONE, S(10) } };
        View view = view_with_overview(true);
        Compared compared = compared_lives(&view, &two_captures, old, 2);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(json_at(group, "metrics", "wait_max", "before", END), "1000000000");
        ck_assert_str_eq(json_at(group, "metrics", "wait_max", "after", END), "2000000000");
        ck_assert_str_eq(json_at(group, "metrics", "wait_max", "delta", END), "1000000000");
        compared_done(&compared);

        compared = compared_lives(&view, &two_captures, born, 2);
        group = compared_group(&compared, COMPARISON_GROUPS, "p");
        ck_assert_str_eq(json_at(group, "metrics", "wait_max", "before", END), "null");
        ck_assert_str_eq(json_at(group, "metrics", "wait_max", "after", END), "1000000000");
        ck_assert_str_eq(json_at(group, "metrics", "wait_max", "reason", END),
                         "\"before: the threads that reached it were born or ended in between\"");
        compared_done(&compared);
}
END_TEST

START_TEST(totals_are_weighed_by_what_moved) {
        View view = view_with_overview(false);
        Compared compared = compared_lives(&view, &two_captures, lives, ELEMENTSOF(lives));
        json_object *calm = compared_group(&compared, COMPARISON_GROUPS, "calm");

        /*
         * Shares of 400 s before and of 440 s after: ended -0.2475, busy 13/440 - 5/400,
         * newcomer 4/440, calm 32/440 - 30/400, idle 7/440 - 7/400.
         */
        ck_assert_str_eq(keys_of(&compared, COMPARISON_OVERVIEW), "ended busy newcomer calm idle");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 0, "weight"), "-0.2475");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 0, "only"), "\"before\"");
        ck_assert_uint_eq(json_object_array_length(json_object_object_get(
                                  json_object_array_get_idx(compared.lists[COMPARISON_OVERVIEW], 0),
                                  "accounts")),
                          2);
        ck_assert_str_eq(json_at(calm, "time", "before", "aliveNs", END), "99000000000");
        ck_assert_str_eq(json_at(calm, "time", "after", "aliveNs", END), "114000000000");
        ck_assert_str_eq(json_at(calm, "lives", END), "");
        ck_assert_str_eq(json_at(compared_group(&compared, COMPARISON_ONLY_AFTER, "newcomer"),
                                 "time", "aliveNs", END),
                         "4000000000");
        compared_done(&compared);
}
END_TEST

START_TEST(a_state_is_weighed_by_whole_lives) {
        const SideSetup setup = { .n_sides = 1, .times = { two_captures.times[0] } };
        View view = view_with_overview(false);
        Compared compared = { .comparison = NULL };
        ThreadSample sample = sample_of(&lives[0], 0, S(20));

        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        ck_assert_int_eq(side_setup_add(compared.comparison, SIDE_BEFORE, NULL, &sample), 0);
        compared.comparison->table.columns.of[SIDE_BEFORE].host = host;
        compared_end(&compared, no_sources);
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 0, "weight"), "0.05");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 0, "only"), "");
        ck_assert_str_eq(at(&compared, COMPARISON_GROUPS, 0, "weight"), "0.05");
        ck_assert_str_eq(json_at(json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], 0),
                                 "time", "aliveNs", END),
                         "99000000000");
        compared_done(&compared);
}
END_TEST

/* The order of the overview and the limit, with two groups on one side each. */
static const struct {
        const char *sort;
        uint32_t limit;
        const char *keys;
        uint64_t hidden;
} merge_rows[] = {
        { "weight", 0, "ended busy newcomer calm idle", 0 },
        { "weight", 2, "ended busy", 3 },
        { "name", 0, "busy calm ended idle newcomer", 0 },
        { "name", 4, "busy calm ended idle", 1 },
        /* Of the sum of all run time after, 57 s: ended 99, busy 8, newcomer 4, calm 2. */
        { "impact", 0, "ended busy newcomer calm idle", 0 },
        /* What came and what went counts whole. */
        { "run_time_ns:asc", 0, "ended idle calm newcomer busy", 0 },
        { "cpu", 2, "busy newcomer", 3 },
};

START_TEST(lists_are_merged_in_the_order_of_the_view) {
        View view = view_with_overview(false);
        char complaint[VIEW_COMPLAINT_BYTES];
        Compared compared;

        ck_assert_int_eq(view_set(&view, VIEW_PART_sort, span_of(merge_rows[_i].sort), complaint),
                         VIEW_OK);
        view.limit = merge_rows[_i].limit;
        compared = compared_lives(&view, &two_captures, lives, ELEMENTSOF(lives));
        ck_assert_str_eq(keys_of(&compared, COMPARISON_OVERVIEW), merge_rows[_i].keys);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_OVERVIEW].n_hidden,
                          merge_rows[_i].hidden);
        compared_done(&compared);
}
END_TEST

/* The three ran equally long; "c" faulted most, and "a" and "b" not at all. */
START_TEST(equal_weights_are_ordered_by_impact_and_key) {
        static const Life same[] = { { "b", 1, S(1), S(2) },
                                     { "heavy", 1, S(1), S(5) },
                                     { "c", 1, S(1), S(2) },
                                     { "a", 1, S(1), S(2) } };
        View view = view_with_overview(true);
        Compared compared = { .comparison = NULL };

        ck_assert_int_eq(side_setup_compare(&view, &two_captures, &compared.comparison), 0);
        for (size_t i = 0; i < ELEMENTSOF(same); i++) {
                ThreadSample before = sample_of(&same[i], i, same[i].before);
                ThreadSample after = sample_of(&same[i], i, same[i].after);

                thread_sample_put(&before, METRIC_minflt, 0);
                thread_sample_put(&after, METRIC_minflt, same[i].name[0] == 'c' ? 90000 : 0);
                ck_assert_int_eq(side_setup_add(compared.comparison, 0, &before, &after), 0);
        }
        compared.comparison->table.columns.of[0].host = host;
        compared_end(&compared, no_sources);
        ck_assert_str_eq(keys_of(&compared, COMPARISON_OVERVIEW), "heavy c a b");
        ck_assert_str_eq(keys_of(&compared, COMPARISON_GROUPS), "heavy c a b");
        compared_done(&compared);
}
END_TEST

START_TEST(a_view_without_overview_has_none_and_one_without_rows_counts_none) {
        View view = view_with_overview(true);
        Compared compared;

        view.overview = false;
        view.changed_only = true;
        compared = compared_lives(&view, &two_captures, lives, ELEMENTSOF(lives));
        ck_assert_str_eq(keys_of(&compared, COMPARISON_OVERVIEW), "");
        ck_assert_uint_gt(compared.comparison->n_hidden_rows, 0);
        compared_done(&compared);
        view.rows = false;
        compared = compared_lives(&view, &two_captures, lives, ELEMENTSOF(lives));
        ck_assert_uint_eq(compared.comparison->n_hidden_rows, 0);
        compared_done(&compared);
}
END_TEST

/* Threads that the view leaves out are part of what the host did. */
START_TEST(coverage_counts_every_thread) {
        View view = view_with_overview(true);
        ThreadSample before = sample_of(&lives[0], 0, S(1)), after = sample_of(&lives[0], 0, S(3));
        char complaint[VIEW_COMPLAINT_BYTES];
        Comparison *comparison;

        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of("none"), complaint), VIEW_OK);
        ck_assert_int_eq(side_setup_compare(&view, &two_captures, &comparison), 0);
        ck_assert_int_eq(side_setup_add(comparison, 0, &before, &after), 0);
        before.self = after.self = true;
        ck_assert_int_eq(side_setup_add(comparison, 0, &before, &after), 0);
        ck_assert_int_eq(comparison_finish(comparison, no_sources), 0);
        ck_assert_uint_eq(comparison->lists[COMPARISON_GROUPS].n_shown, 0);
        ck_assert_uint_eq(coverage_amount(&comparison->table.coverages[0].survived_ns).n, S(4));
        comparison_free(comparison);
}
END_TEST

/* The earlier snapshot, at 100 s, lacks it; 99.99 s is the last tick that had ended by then. */
START_TEST(an_older_thread_that_was_overlooked_is_not_born) {
        static const struct {
                uint64_t start_ticks;
                bool is_born;
        } rows[] = { { 100, false }, { 9999, false }, { 10000, true }, { 10500, true } };
        View view = view_with_overview(true);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                ThreadSample after = sample_of(&lives[0], 0, S(50));
                const Coverage *coverage;
                Compared compared = { .comparison = NULL };
                LifeCounts counts;

                after.start_ticks = rows[i].start_ticks;
                ck_assert_int_eq(side_setup_compare(&view, &two_captures, &compared.comparison), 0);
                ck_assert_int_eq(side_setup_add(compared.comparison, 0, NULL, &after), 0);
                compared_end(&compared, no_sources);
                coverage = &compared.comparison->table.coverages[0];
                counts = compared.comparison->table.columns.of[0].lives;
                ck_assert_uint_eq(counts.born, rows[i].is_born);
                ck_assert_uint_eq(counts.survived, !rows[i].is_born);
                ck_assert_uint_eq(coverage->born_ns.sum, rows[i].is_born ? S(50) : 0);
                ck_assert_uint_eq(coverage->survived_ns.sum, 0);
                ck_assert_int_eq(coverage_amount(&coverage->survived_ns).known, rows[i].is_born);
                compared_done(&compared);
        }
}
END_TEST

/* What was not believed of it stands in the later snapshot alone, and counts once. */
START_TEST(a_thread_that_was_overlooked_is_doubted_once) {
        View view = view_with_overview(true);
        ThreadSample after = sample_of(&lives[0], 0, S(50));
        Compared compared = { .comparison = NULL };
        const Group *group;

        thread_sample_refute(&after, METRIC_wait_max);
        thread_sample_correct(&after, METRIC_wait_sum, 0);
        ck_assert_int_eq(side_setup_compare(&view, &two_captures, &compared.comparison), 0);
        ck_assert_int_eq(side_setup_add(compared.comparison, 0, NULL, &after), 0);
        compared_end(&compared, no_sources);
        group = compared.comparison->table.threads.table.groups[0];
        ck_assert_ptr_null(group_side(group, SIDE_BEFORE)->doubts);
        ck_assert_uint_eq(group_side(group, SIDE_AFTER)->doubts->implausible[METRIC_wait_max], 1);
        ck_assert_str_eq(json_at(compared_group(&compared, COMPARISON_GROUPS, "calm"), "metrics",
                                 "wait_max", "implausible", END),
                         "1");
        compared_done(&compared);
}
END_TEST

START_TEST(without_cpus_groups_have_an_order_and_no_weight) {
        View view = view_with_overview(true);
        Compared compared = { .comparison = NULL };

        ck_assert_int_eq(side_setup_compare(&view, &two_captures, &compared.comparison), 0);
        for (size_t i = 0; i < ELEMENTSOF(lives); i++)
                fold(compared.comparison, &view, &lives[i], i);
        compared_end(&compared, no_sources);
        ck_assert_str_eq(keys_of(&compared, COMPARISON_OVERVIEW), "busy newcomer calm idle ended");
        ck_assert_str_eq(at(&compared, COMPARISON_OVERVIEW, 0, "weight"), "null");
        compared_done(&compared);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("comparison-account");
        TCase *interval = tcase_create("interval"), *kinds = tcase_create("kinds");

        tcase_add_test(interval, an_interval_has_one_overview_of_all_groups);
        tcase_add_test(interval, groups_say_their_weight_time_and_lives);
        tcase_add_test(interval, derived_values_have_the_work);
        tcase_add_test(interval, peaks_that_did_not_move_inside_are_unchanged);
        tcase_add_test(interval, a_peak_is_that_of_the_threads_whose_peak_rose);
        tcase_add_test(interval, coverage_counts_every_thread);
        tcase_add_test(interval, an_older_thread_that_was_overlooked_is_not_born);
        tcase_add_test(interval, a_thread_that_was_overlooked_is_doubted_once);
        tcase_add_test(interval, without_cpus_groups_have_an_order_and_no_weight);
        suite_add_tcase(suite, interval);
        tcase_add_test(kinds, totals_are_weighed_by_what_moved);
        tcase_add_test(kinds, a_state_is_weighed_by_whole_lives);
        tcase_add_loop_test(kinds, lists_are_merged_in_the_order_of_the_view, 0,
                            ELEMENTSOF(merge_rows));
        tcase_add_test(kinds, equal_weights_are_ordered_by_impact_and_key);
        tcase_add_test(kinds, a_view_without_overview_has_none_and_one_without_rows_counts_none);
        suite_add_tcase(suite, kinds);
        return check_main(suite);
}
