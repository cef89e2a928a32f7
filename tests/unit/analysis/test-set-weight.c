/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-comparison.h"

#include <stdio.h>

#include "check-main.h"
#include "set-run.h"
#include "thread.h"
#include "view/view-part.h"

#define END (const char *) NULL
#define N_SIDE 5u /* captures per side */
#define N_SHOTS (2 * N_SIDE)
#define MAX_THREADS 8u
#define WINDOW_S 10u

#define MIB (1024.0 * 1024)
#define SECOND 1e9

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };

static ThreadSample samples[N_SHOTS][MAX_THREADS];
static Shot shots[N_SHOTS];

static void setup(void) {
        memset(samples, 0, sizeof(samples));
        memset(set_run_hosts, 0, sizeof(set_run_hosts));
        for (unsigned i = 0; i < N_SHOTS; i++)
                shots[i] = (Shot){ .side = i / N_SIDE,
                                   .at_s = 1000 + WINDOW_S * i,
                                   .samples = samples[i] };
}

static ThreadSample *put_thread(unsigned shot, const char *name, pid_t tid) {
        ThreadSample *sample = &samples[shot][shots[shot].n_samples++];

        *sample = thread_of(name, name, tid);
        return sample;
}

/*
 * A thread that does @before and @after of a metric in each second of a window of these sides, a
 * little more in each window so that no two are equal; negative: it is not there on that side.
 */
static void put_rates(const char *name, pid_t tid, MetricId id, double before, double after) {
        uint64_t total = 0;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                double rate = i < N_SIDE ? before : after;

                if (rate < 0)
                        continue;
                total += (uint64_t) (rate * WINDOW_S) + i;
                thread_sample_put(put_thread(i, name, tid), id, total);
        }
}

static void put_groups(void) {
        put_rates("grew", 1, METRIC_run_time_ns, 0.5 * SECOND, 0.9 * SECOND);
        put_rates("fell", 2, METRIC_run_time_ns, 1.0 * SECOND, 0.3 * SECOND);
        put_rates("new", 3, METRIC_run_time_ns, -1, 0.6 * SECOND);
        put_rates("old", 4, METRIC_run_time_ns, 0.5 * SECOND, -1);
        put_rates("writes", 5, METRIC_write_bytes, 0, 6.5 * MIB);
        put_rates("idle", 6, METRIC_minflt, 0, 1000);
}

static View view_by(const char *sort, const char *metrics) {
        char complaint[VIEW_COMPLAINT_BYTES];
        View view;

        view_init(&view);
        view.axis = VIEW_AXIS_PCOMM;
        view.limit = 0;
        ck_assert_int_eq(view_set(&view, VIEW_PART_sort, span_of(sort), complaint), VIEW_OK);
        ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of(metrics), complaint), VIEW_OK);
        return view;
}

static void check_keys(const SetRun *run, const char *keys) {
        char got[128] = "";

        for (size_t i = 0; i < json_object_array_length(run->groups); i++)
                (void) snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
                                i > 0 ? " " : "",
                                json_object_get_string(json_object_object_get(
                                        json_object_array_get_idx(run->groups, i), "key")));
        ck_assert_str_eq(got, keys);
}

/* 0.7 of a CPU less, 0.65 of storage more, 0.6 and 0.5 on one side, 0.4 more, and nothing. */
#define BY_WEIGHT "fell writes new old grew idle"

START_TEST(without_tests_groups_come_by_weight_those_of_one_side_among_them) {
        View view = view_by("weight", "minflt");
        SetRun run;

        put_groups();
        /* No samples of four a side have a p below this. */
        run = set_run_of(&view, 0.001, shots, N_SHOTS, no_sources);
        ck_assert(!run.figures.family.could_succeed);
        check_keys(&run, BY_WEIGHT);
        set_run_done(&run);
}
END_TEST

START_TEST(what_is_significant_or_new_comes_first_and_by_weight) {
        View view = view_by("weight", "run_time_ns,minflt");
        SetRun run;

        put_groups();
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        ck_assert(run.figures.family.could_succeed);
        check_keys(&run, "fell new old grew idle writes");
        set_run_done(&run);
}
END_TEST

START_TEST(what_is_not_tested_is_shown_though_rows_are_hidden) {
        View view = view_by("weight", "run_time_ns");
        json_object *group;
        SetRun run;

        put_groups();
        view.changed_only = true;
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        check_keys(&run, "fell new old grew");
        group = set_run_group(&run, "new");
        ck_assert_int_eq(json_object_object_length(json_object_object_get(group, "metrics")), 0);
        set_run_done(&run);

        /* All groups where no test could succeed, and none that a threshold leaves out. */
        run = set_run_of(&view, 0.001, shots, N_SHOTS, no_sources);
        check_keys(&run, BY_WEIGHT);
        set_run_done(&run);
        view.has_threshold = true;
        run = set_run_of(&view, 0.001, shots, N_SHOTS, no_sources);
        check_keys(&run, "");
        set_run_done(&run);
}
END_TEST

START_TEST(rates_and_weight_are_told) {
        View view = view_by("weight", "minflt");
        json_object *group;
        SetRun run;

        put_groups();
        set_run_hosts[0].n_cpus = amount_of(2);
        set_run_hosts[1].n_cpus = amount_of(4);
        set_run_hosts[1].disk_read_bytes = amount_of(3 * (uint64_t) MIB);
        set_run_hosts[1].disk_written_bytes = amount_of(10 * (uint64_t) MIB);
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        /* 1.0 of 2 CPUs before, 0.3 of 4 after */
        group = set_run_group(&run, "fell");
        ck_assert_double_eq_tol(atof(json_at(group, "weight", END)), 0.3 / 4 - 1.0 / 2, 1e-6);
        /* 6.5 of the 13 MiB that the disks moved */
        group = set_run_group(&run, "writes");
        ck_assert_double_eq_tol(atof(json_at(group, "weight", END)), 0.5, 1e-6);
        ck_assert_str_eq(json_at(group, "rates", "before", "runningNs", END), "null");
        ck_assert_double_eq_tol(atof(json_at(group, "rates", "after", "writeBytes", END)),
                                6.5 * MIB, 2);
        /* a median, so the last capture of before and its first do not count for more */
        group = set_run_group(&run, "old");
        ck_assert_double_eq_tol(atof(json_at(group, "rates", "before", "runningNs", END)),
                                0.5 * SECOND, 1);
        ck_assert_str_eq(json_at(group, "rates", "after", END), "null");
        set_run_done(&run);
}
END_TEST

/* Where a counter jumps within a second, its rate is beyond all integers. */
START_TEST(rates_clip) {
        View view = view_by("weight", "minflt");
        json_object *group;
        SetRun run;

        for (unsigned i = 0; i < 4; i++) {
                shots[i].side = i / 2;
                shots[i].at_s = 1000 + i;
                thread_sample_put(put_thread(i, "jumps", 1), METRIC_write_bytes,
                                  i % 2 == 0 ? 0 : UINT64_MAX);
        }
        run = set_run_of(&view, 0.05, shots, 4, no_sources);
        group = set_run_group(&run, "jumps");
        ck_assert_str_eq(json_at(group, "rates", "before", "writeBytes", END),
                         "18446744073709551615");
        ck_assert_str_eq(json_at(group, "rates", "after", "writeBytes", END),
                         "18446744073709551615");
        set_run_done(&run);
}
END_TEST

/* One process keeps two MiB a second; of the other there is another one at each capture. */
START_TEST(what_memory_grew_has_a_share) {
        View view = view_by("weight", "minflt");
        const char *const names[] = { "keeps", "turns" };
        json_object *group;
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                unsigned grown = i < N_SIDE ? 0 : i - N_SIDE + 1;
                uint64_t bytes = (100 + 2 * WINDOW_S * (uint64_t) grown) * (uint64_t) MIB;
                ThreadSample *turn = put_thread(i, names[1], 10 + (pid_t) i);

                thread_sample_put(put_thread(i, names[0], 1), METRIC_rss_anon_bytes, bytes);
                thread_sample_put(turn, METRIC_rss_anon_bytes, 500 * (uint64_t) MIB);
                shots[i].has_ledger = true;
        }
        for (unsigned side = 0; side < SIDES; side++) {
                set_run_hosts[side].n_cpus = amount_of(2);
                set_run_hosts[side].memory_bytes = amount_of(60 * 1000 * (uint64_t) MIB);
        }
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        check_keys(&run, "keeps turns");
        /* of the 10 MiB that are a hundredth of the memory a minute, in a second */
        group = set_run_group(&run, names[0]);
        ck_assert_double_eq_tol(atof(json_at(group, "weight", END)), 0.2, 1e-6);
        ck_assert_str_eq(json_at(group, "rates", "before", "memoryGrowthBytes", END), "0");
        ck_assert_str_eq(json_at(group, "rates", "after", "memoryGrowthBytes", END), "2097152");
        /* What came is what went. */
        group = set_run_group(&run, names[1]);
        ck_assert_str_eq(json_at(group, "rates", "after", "memoryGrowthBytes", END), "0");
        set_run_done(&run);

        /* Nobody says what went. */
        for (unsigned i = 0; i < N_SHOTS; i++)
                shots[i].has_ledger = false;
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        group = set_run_group(&run, names[0]);
        ck_assert_str_eq(json_at(group, "rates", "after", "memoryGrowthBytes", END), "null");
        set_run_done(&run);
}
END_TEST

START_TEST(a_host_of_unknown_size_has_no_weights) {
        View view = view_by("weight", "minflt");
        SetRun run;

        put_groups();
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        ck_assert_str_eq(json_at(set_run_group(&run, "fell"), "weight", END), "null");
        set_run_done(&run);
}
END_TEST

/* Delay accounting of this kernel counts more than there was. */
START_TEST(waiting_for_storage_is_cut_to_what_is_left) {
        View view = view_by("weight", "minflt");
        json_object *group;
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                ThreadSample *sample = put_thread(i, "p", 1);

                /* 7 of 10 seconds ran, 9 are said to have been waited for storage */
                thread_sample_put(sample, METRIC_run_time_ns, 7 * NSEC_PER_SEC * i);
                thread_sample_put(sample, METRIC_wait_time_ns, 1 * NSEC_PER_SEC * i);
                thread_sample_put(sample, METRIC_blkio_delay_total_ns, 9 * NSEC_PER_SEC * i);
        }
        set_run_defects[0] = set_run_defects[1] = kernel_defects_of("6.12.1");
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        group = json_object_object_get(json_object_object_get(set_run_group(&run, "p"), "rates"),
                                       "after");
        ck_assert_str_eq(json_at(group, "exact", END), "false");
        ck_assert_double_eq_tol(atof(json_at(group, "storageNs", END)), 0.2 * SECOND, 1);
        set_run_done(&run);
        set_run_defects[0] = set_run_defects[1] = 0;
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        group = json_object_object_get(json_object_object_get(set_run_group(&run, "p"), "rates"),
                                       "after");
        ck_assert_str_eq(json_at(group, "exact", END), "true");
        ck_assert_double_eq_tol(atof(json_at(group, "storageNs", END)), 0.9 * SECOND, 1);
        set_run_done(&run);
}
END_TEST

/* The captures of one side are of another kernel than those of the other. */
START_TEST(what_is_approximate_tells_its_side) {
        static const struct {
                const char *before, *after, *begins;
        } kernels[] = {
                { "6.12.1", "5.15.0", "\"before: approximate on" },
                { "5.15.0", "6.12.1", "\"after: approximate on" },
                { "6.12.1", "6.12.1", "\"before and after: approximate on" },
                { "5.15.0", "5.15.0", NULL },
        };
        View view = view_by("weight", "blkio_delay_total_ns");

        for (unsigned i = 0; i < N_SHOTS; i++)
                thread_sample_put(put_thread(i, "p", 1), METRIC_blkio_delay_total_ns,
                                  9 * NSEC_PER_SEC * i);
        for (size_t i = 0; i < ELEMENTSOF(kernels); i++) {
                json_object *row;
                SetRun run;

                set_run_defects[0] = kernel_defects_of(kernels[i].before);
                set_run_defects[1] = kernel_defects_of(kernels[i].after);
                run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
                row = json_object_object_get(
                        json_object_object_get(set_run_group(&run, "p"), "metrics"),
                        "blkio_delay_total_ns");
                ck_assert_ptr_nonnull(row);
                if (kernels[i].begins)
                        ck_assert_ptr_eq(
                                strstr(json_at(row, "approximate", END), kernels[i].begins),
                                json_at(row, "approximate", END));
                else
                        ck_assert_ptr_null(json_object_object_get(row, "approximate"));
                set_run_done(&run);
        }
        set_run_defects[0] = set_run_defects[1] = 0;
}
END_TEST

/* Four threads in each window, of which each waited for 2 of its 3 s; none is there at its end. */
START_TEST(what_ended_had_time_to_wait_for_storage) {
        View view = view_by("weight", "minflt");
        ExitedRow rows[N_SHOTS];
        json_object *group;
        SetRun run;

        for (unsigned i = 0; i < N_SHOTS; i++) {
                rows[i] = (ExitedRow){ .exits = 4 * i,
                                       .accounted = 4 * i,
                                       .young = 4 * i,
                                       .lives_ns = 12 * NSEC_PER_SEC * i,
                                       .sample = thread_of("p", "p", 0) };
                thread_sample_put(&rows[i].sample, METRIC_run_time_ns, NSEC_PER_SEC * i);
                thread_sample_put(&rows[i].sample, METRIC_blkio_delay_total_ns,
                                  8 * NSEC_PER_SEC * i);
                shots[i].has_ledger = true;
                shots[i].exited = &rows[i];
                shots[i].n_exited = 1;
        }
        set_run_defects[0] = set_run_defects[1] = kernel_defects_of("6.12.1");
        run = set_run_of(&view, 0.05, shots, N_SHOTS, no_sources);
        group = json_object_object_get(json_object_object_get(set_run_group(&run, "p"), "rates"),
                                       "after");
        ck_assert_str_eq(json_at(group, "exact", END), "false");
        ck_assert_double_eq_tol(atof(json_at(group, "storageNs", END)), 0.8 * SECOND, 1);
        set_run_done(&run);
        set_run_defects[0] = set_run_defects[1] = 0;
}
END_TEST

int main(void) {
        Suite *suite = suite_create("set-weight");
        TCase *engine = tcase_create("engine");

        tcase_add_checked_fixture(engine, setup, NULL);
        tcase_add_test(engine, without_tests_groups_come_by_weight_those_of_one_side_among_them);
        tcase_add_test(engine, what_is_significant_or_new_comes_first_and_by_weight);
        tcase_add_test(engine, what_is_not_tested_is_shown_though_rows_are_hidden);
        tcase_add_test(engine, rates_and_weight_are_told);
        tcase_add_test(engine, rates_clip);
        tcase_add_test(engine, what_memory_grew_has_a_share);
        tcase_add_test(engine, a_host_of_unknown_size_has_no_weights);
        tcase_add_test(engine, waiting_for_storage_is_cut_to_what_is_left);
        tcase_add_test(engine, what_is_approximate_tells_its_side);
        tcase_add_test(engine, what_ended_had_time_to_wait_for_storage);
        suite_add_tcase(suite, engine);
        return check_main(suite);
}
