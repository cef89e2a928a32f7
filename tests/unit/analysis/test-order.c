/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "compared.h"
#include "thread.h"
#include "view/view-part.h"

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };
static const SideSetup two_sides = { .n_sides = 2 };
static const SideSetup one_side = { .n_sides = 1 };

/* Four processes on both sides with values of every kind. */
static const struct {
        const char *name;
        uint64_t run_before, run_after; /* ns */
        uint64_t faults_before, faults_after;
        bool has_faults;
} processes[] = {
        { "d", 1000, 1000, 100, 50, true },
        { "c", 1000, 4000, 1000, 1001, true },
        { "b", 500, 600, 0, 1, true },
        { "a", 100000, 95000, 0, 0, false },
};
#define N_PROCESSES ELEMENTSOF(processes)

static void deal(ThreadSample *before, ThreadSample *after) {
        for (unsigned i = 0; i < N_PROCESSES; i++) {
                before[i] = after[i] =
                        thread_of(processes[i].name, processes[i].name, (pid_t) i + 1);
                thread_sample_put(&before[i], METRIC_run_time_ns, processes[i].run_before);
                thread_sample_put(&after[i], METRIC_run_time_ns, processes[i].run_after);
                if (!processes[i].has_faults)
                        continue;
                thread_sample_put(&before[i], METRIC_minflt, processes[i].faults_before);
                thread_sample_put(&after[i], METRIC_minflt, processes[i].faults_after);
        }
}

static Compared run(const View *view, const SideSetup *setup) {
        static ThreadSample before[N_PROCESSES], after[N_PROCESSES];
        const Threads sides[] = { { before, N_PROCESSES }, { after, N_PROCESSES } };

        deal(before, after);
        return compared_of(view, setup, sides, no_sources);
}

static View view_by(const char *sort) {
        char complaint[VIEW_COMPLAINT_BYTES];
        View view;

        view_init(&view);
        view.axis = VIEW_AXIS_COMM_EXACT;
        ck_assert_int_eq(view_set(&view, VIEW_PART_sort, span_of(sort), complaint), VIEW_OK);
        return view;
}

static void format_keys(const Compared *compared, ComparisonList list, char ret_keys[static 8]) {
        size_t n = json_object_array_length(compared->lists[list]);

        for (size_t i = 0; i < n; i++)
                ret_keys[i] = json_object_get_string(json_object_object_get(
                        json_object_array_get_idx(compared->lists[list], i), "key"))[0];
        ret_keys[n] = '\0';
}

static const struct {
        const char *sort;
        const char *compared;
        const char *shown; /* of the side before */
} wanted_rows[] = {
        { "name", "abcd", "abcd" },
        { "minflt", "bcda", "cdba" },     /* 1, 1, -50, none; 1000, 100, 0, none */
        { "minflt:asc", "dbca", "bdca" }, /* none is last again */
        { "minflt,run_time_ns", "cbda", "cdba" },
        { "minflt:asc,run_time_ns:asc", "dbca", "bdca" },
        { "run_time_ns", "cbda", "acdb" }, /* 3000, 100, 0, -5000 */
        { "run_time_ns:asc", "adbc", "bcda" },
        { "cpu", "cbda", "acdb" }, /* the column of that metric */
        { "CPU:asc,minflt", "adbc", "bcda" },
        { "wait,cpu", "cbda", "acdb" }, /* nobody knows how long they waited */
        { "delta", "acbd", "acdb" },    /* 5000, 3000, 100, 0 */
        { "percent", "bcda", "cdab" },  /* grew from 0, 300, 50, 5; shown: by impact */
};

START_TEST(groups_come_as_wanted) {
        View view = view_by(wanted_rows[_i].sort);
        Compared compared = run(&view, &two_sides);
        char keys[8];

        format_keys(&compared, COMPARISON_GROUPS, keys);
        ck_assert_str_eq(keys, wanted_rows[_i].compared);
        compared_done(&compared);

        compared = run(&view, &one_side);
        format_keys(&compared, COMPARISON_GROUPS, keys);
        ck_assert_str_eq(keys, wanted_rows[_i].shown);
        compared_done(&compared);
}
END_TEST

/* One of each that both sides have, and one that came and one that went, bigger than these. */
START_TEST(what_one_side_has_counts_whole) {
        static const struct {
                const char *sort, *overview, *vanished, *came;
        } rows[] = {
                { "run_time_ns", "ncspg", "gp", "nc" }, { "run_time_ns:asc", "gpscn", "pg", "cn" },
                { "cpu", "ncspg", "gp", "nc" },         { "delta", "gnpcs", "gp", "nc" },
                { "percent", "cngps", "gp", "nc" },  /* from nothing, and to it */
                { "peak-rss", "cgnps", "gp", "cn" }, /* nobody knows any */
        };
        ThreadSample before[] = { thread_of("s", "s", 1), thread_of("g", "g", 2),
                                  thread_of("p", "p", 3) };
        ThreadSample after[] = { thread_of("s", "s", 1), thread_of("n", "n", 4),
                                 thread_of("c", "c", 5) };
        const Threads sides[] = { { before, 3 }, { after, 3 } };
        View view = view_by(rows[_i].sort);
        Compared compared;
        char keys[8];

        thread_sample_put(&before[0], METRIC_run_time_ns, 1000);
        thread_sample_put(&after[0], METRIC_run_time_ns, 1001);
        thread_sample_put(&before[1], METRIC_run_time_ns, 90000);
        thread_sample_put(&before[2], METRIC_run_time_ns, 50);
        thread_sample_put(&after[1], METRIC_run_time_ns, 80000);
        thread_sample_put(&after[2], METRIC_run_time_ns, 40);
        view.overview = true;
        view.limit = 0;
        compared = compared_of(&view, &two_sides, sides, no_sources);
        format_keys(&compared, COMPARISON_OVERVIEW, keys);
        ck_assert_str_eq(keys, rows[_i].overview);
        format_keys(&compared, COMPARISON_ONLY_BEFORE, keys);
        ck_assert_str_eq(keys, rows[_i].vanished);
        format_keys(&compared, COMPARISON_ONLY_AFTER, keys);
        ck_assert_str_eq(keys, rows[_i].came);
        compared_done(&compared);
}
END_TEST

static const char *metric_at(const Compared *compared, const char *key, size_t index) {
        json_object *group = compared_group(compared, COMPARISON_GROUPS, key);

        json_object_object_foreach(json_object_object_get(group, "metrics"), name, value) {
                (void) value;
                if (index-- == 0)
                        return name;
        }
        return "";
}

static const struct {
        const char *sort;
        const char *first, *second;
} row_rows[] = {
        { "impact", "minflt", "run_time_ns" },  { "delta", "run_time_ns", "minflt" },
        { "percent", "minflt", "run_time_ns" }, /* from 0 to 1 */
        { "name", "run_time_ns", "minflt" },    /* as the registry has them */
        { "minflt", "run_time_ns", "minflt" },
};

START_TEST(rows_come_as_wanted) {
        View view = view_by(row_rows[_i].sort);
        char complaint[VIEW_COMPLAINT_BYTES];
        Compared compared;

        ck_assert_int_eq(
                view_set(&view, VIEW_PART_metrics, span_of("minflt,run_time_ns"), complaint),
                VIEW_OK);
        compared = run(&view, &two_sides);
        ck_assert_str_eq(metric_at(&compared, "b", 0), row_rows[_i].first);
        ck_assert_str_eq(metric_at(&compared, "b", 1), row_rows[_i].second);
        compared_done(&compared);
}
END_TEST

static const struct {
        const char *threshold;
        const char *keys;
        unsigned n_rows;
} threshold_rows[] = {
        { "0", "cdba", 6 },    { "4.9", "cdba", 5 },
        { "5", "cdb", 4 }, /* more than that */
        { "20", "cdb", 3 },    { "299", "cb", 2 },
        { "1000000", "b", 1 }, /* growth from nothing is beyond all */
};

START_TEST(rows_above_the_threshold_are_left) {
        char complaint[VIEW_COMPLAINT_BYTES], keys[8], sorted[8] = "";
        size_t n_sorted = 0;
        View view = view_by("impact");
        Compared compared;

        ck_assert_int_eq(
                view_set(&view, VIEW_PART_metrics, span_of("minflt,run_time_ns"), complaint),
                VIEW_OK);
        ck_assert_int_eq(view_set(&view, VIEW_PART_threshold, span_of(threshold_rows[_i].threshold),
                                  complaint),
                         VIEW_OK);
        compared = run(&view, &two_sides);
        format_keys(&compared, COMPARISON_GROUPS, keys);
        for (const char *key = "cdba"; *key; key++)
                if (strchr(keys, *key))
                        sorted[n_sorted++] = *key;
        ck_assert_str_eq(sorted, threshold_rows[_i].keys);
        ck_assert_uint_eq(strlen(keys), strlen(sorted));
        ck_assert_uint_eq(compared.comparison->n_rows_above_threshold, threshold_rows[_i].n_rows);
        ck_assert_uint_eq(compared.comparison->n_hidden_rows,
                          2 * N_PROCESSES - threshold_rows[_i].n_rows);
        compared_done(&compared);

        /* The limit affects what is shown, not what is counted. */
        view.limit = 1;
        compared = run(&view, &two_sides);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_shown, 1);
        ck_assert_uint_eq(compared.comparison->n_rows_above_threshold, threshold_rows[_i].n_rows);
        compared_done(&compared);

        compared = run(&view, &one_side); /* nothing moved in one snapshot */
        ck_assert_uint_eq(compared.comparison->n_rows_above_threshold, 0);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_shown, 1);
        compared_done(&compared);
}
END_TEST

START_TEST(modes_and_ratios_are_under_every_threshold) {
        ThreadSample before = thread_of("p", "p", 1), after = before;
        const Threads sides[] = { { &before, 1 }, { &after, 1 } };
        char complaint[VIEW_COMPLAINT_BYTES];
        View view = view_by("impact");
        Compared compared;

        thread_sample_put(&before, METRIC_policy, 0);
        thread_sample_put(&after, METRIC_policy, 1);
        thread_sample_put(&before, METRIC_nr_wakeups_affine, 0);
        thread_sample_put(&after, METRIC_nr_wakeups_affine, 5);
        thread_sample_put(&before, METRIC_nr_wakeups_affine_attempts, 5);
        thread_sample_put(&after, METRIC_nr_wakeups_affine_attempts, 5);
        ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of("policy,affine_success_ratio"),
                                  complaint),
                         VIEW_OK);
        ck_assert_int_eq(view_set(&view, VIEW_PART_threshold, span_of("0"), complaint), VIEW_OK);
        compared = compared_of(&view, &two_sides, sides, no_sources);
        ck_assert_uint_eq(compared.comparison->n_rows_above_threshold, 0);
        compared_done(&compared);
}
END_TEST

START_TEST(the_filter_leaves_groups_out_of_every_list) {
        ThreadSample before[] = { thread_of("p", "both/1", 1), thread_of("p", "gone/1", 2),
                                  thread_of("p", "gone", 3) };
        ThreadSample after[] = { thread_of("p", "both/1", 1), thread_of("p", "both", 4) };
        const Threads sides[] = { { before, 3 }, { after, 2 } };
        char complaint[VIEW_COMPLAINT_BYTES];
        View view = view_by("name");
        Compared compared;

        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of("*1"), complaint), VIEW_OK);
        compared = compared_of(&view, &two_sides, sides, no_sources);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_shown, 1);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_ONLY_BEFORE].n_shown, 1);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_ONLY_AFTER].n_shown, 0);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_ONLY_BEFORE].n_hidden, 0);
        ck_assert_uint_eq(compared.comparison->n_matched, 2);
        compared_done(&compared);

        /* The key of a thread contains the name of its process. */
        view.axis = VIEW_AXIS_THREAD;
        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of("p"), complaint), VIEW_OK);
        compared = compared_of(&view, &two_sides, sides, no_sources);
        ck_assert_uint_eq(compared.comparison->lists[COMPARISON_ONLY_BEFORE].n_shown, 2);
        compared_done(&compared);
}
END_TEST

START_TEST(a_group_matches_whether_or_not_it_is_shown) {
        static const struct {
                const char *filter;
                uint64_t n;
        } rows[] = { { "*", 3 }, { "[ab]", 2 }, { "c", 1 }, { "d", 0 } };
        ThreadSample samples[] = { thread_of("a", "a", 1), thread_of("b", "b", 2),
                                   thread_of("c", "c", 3) };
        const Threads sides[] = { { samples, 3 }, { samples, 3 } };
        char complaint[VIEW_COMPLAINT_BYTES];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                View view = view_by("name");
                Compared compared;

                view.changed_only = i < 2;
                view.limit = 1;
                ck_assert_int_eq(
                        view_set(&view, VIEW_PART_filter, span_of(rows[i].filter), complaint),
                        VIEW_OK);
                compared = compared_of(&view, &two_sides, sides, no_sources);
                ck_assert_uint_eq(compared.comparison->lists[COMPARISON_GROUPS].n_shown, i == 2);
                ck_assert_uint_eq(compared.comparison->n_matched, rows[i].n);
                compared_done(&compared);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("order");
        TCase *order = tcase_create("order");
        TCase *selection = tcase_create("selection");

        tcase_add_loop_test(order, groups_come_as_wanted, 0, ELEMENTSOF(wanted_rows));
        tcase_add_loop_test(order, what_one_side_has_counts_whole, 0, 6);
        tcase_add_loop_test(order, rows_come_as_wanted, 0, ELEMENTSOF(row_rows));
        suite_add_tcase(suite, order);
        tcase_add_loop_test(selection, rows_above_the_threshold_are_left, 0,
                            ELEMENTSOF(threshold_rows));
        tcase_add_test(selection, modes_and_ratios_are_under_every_threshold);
        tcase_add_test(selection, the_filter_leaves_groups_out_of_every_list);
        tcase_add_test(selection, a_group_matches_whether_or_not_it_is_shown);
        suite_add_tcase(suite, selection);
        return check_main(suite);
}
