/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "captured.h"

static Tree tree;
static FakeSystem fake;
static Captured captured;

static void setup(void) {
        tree_make(&tree);
        fake_system_init(&fake, &tree);
        captured_init(&captured, &tree, &fake);
        tree_add_thread(&tree, &(TreeThread){ .tgid = 1, .tid = 1, .comm = "init" });
}

static void teardown(void) {
        captured_done(&captured);
        tree_remove(&tree);
}

static void capture(void) {
        captured_run(&captured);
        ck_assert_int_eq(captured.result, 0);
}

/* With workers and without: the rows must not tell. */
START_TEST(rows_come_in_order_of_process_and_thread) {
        static const pid_t expected[][2] = {
                { 1, 1 }, { 9, 9 }, { 10, 3 }, { 10, 10 }, { 10, 11 }, { 10, 100 }, { 200, 200 },
        };

        for (size_t i = ELEMENTSOF(expected); i-- > 1;)
                tree_add_thread(&tree,
                                &(TreeThread){ .tgid = expected[i][0], .tid = expected[i][1] });
        captured.options.n_workers = (unsigned) _i;
        capture();
        ck_assert_uint_eq(captured.n_threads, ELEMENTSOF(expected));
        for (size_t i = 0; i < ELEMENTSOF(expected); i++) {
                ck_assert_int_eq(captured.threads[i].sample.tgid, expected[i][0]);
                ck_assert_int_eq(captured.threads[i].sample.tid, expected[i][1]);
        }
        ck_assert_uint_eq(captured.head.processes, 4);
}
END_TEST

START_TEST(a_row_holds_what_the_files_say) {
        const ThreadSample *sample;

        tree_add_thread(
                &tree,
                &(TreeThread){
                        .tgid = 10, .tid = 10, .comm = "leader", .num_threads = 2, .policy = 3 });
        tree_add_thread(
                &tree,
                &(TreeThread){
                        .tgid = 10, .tid = 11, .comm = "worker", .num_threads = 2, .state = 'R' });
        capture();
        sample = &captured_find(&captured, 11)->sample;
        ck_assert(span_is(sample->comm, "worker"));
        ck_assert(span_is(sample->pcomm, "leader"));
        ck_assert(span_is(sample->cgroup, "/"));
        ck_assert(span_is(sample->cpus, "0-3,7"));
        ck_assert_uint_eq(sample->start_ticks, 1011);
        ck_assert(sample->has_ppid && sample->ppid == 1);
        ck_assert(sample->has_kthread && !sample->kthread);
        ck_assert(!sample->self);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_cpu_affinity), 5);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_state), 'R');
        ck_assert_uint_eq(captured_value(&captured, 10, METRIC_policy), 3);
        ck_assert_int_eq((int64_t) captured_value(&captured, 11, METRIC_nice), -5);
        ck_assert_int_eq((int64_t) captured_value(&captured, 11, METRIC_priority), 20);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_minflt), 11);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_majflt), 12);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_utime_clock_ticks), 13);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_stime_clock_ticks), 14);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_nr_migrations), 11);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_wait_sum), 9);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_wait_max), 7);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_block_sum), 1000000);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_voluntary_sleep_ns), 2000001);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_nr_wakeups), 21);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_fair_slice_ns), 2800000);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_ext_enabled), 0);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_rchar), 1);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_cancelled_write_bytes), 7);
        /* Not printed, so not there. */
        ck_assert(!captured_has(&captured, 11, METRIC_core_forceidle_sum));
        ck_assert(!captured_has(&captured, 11, METRIC_allocated_bytes));
}
END_TEST

static const MetricId memory_metrics[] = {
        METRIC_rss_anon_bytes,
        METRIC_rss_file_bytes,
        METRIC_rss_shmem_bytes,
        METRIC_swap_bytes,
};

static void check_memory(pid_t tid, uint64_t anon_kib) {
        const uint64_t kib[] = { anon_kib, 2, 3, 4 };

        for (size_t i = 0; i < ELEMENTSOF(memory_metrics); i++)
                ck_assert_uint_eq(captured_value(&captured, tid, memory_metrics[i]), kib[i] * 1024);
}

START_TEST(the_number_of_threads_and_the_memory_stand_with_the_leader_alone) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10, .num_threads = 2 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 11, .num_threads = 2 });
        capture();
        ck_assert_uint_eq(captured_value(&captured, 10, METRIC_nr_threads), 2);
        ck_assert(!captured_has(&captured, 11, METRIC_nr_threads));
        ck_assert(span_is(captured_find(&captured, 10)->smaps, "{\"Pss\":1,\"Rss\":10}"));
        ck_assert_uint_eq(captured_find(&captured, 11)->smaps.n, 0);
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_OK, 2, 0, 0, 0, 0);
        check_memory(10, 10);
        for (size_t i = 0; i < ELEMENTSOF(memory_metrics); i++)
                ck_assert(!captured_has(&captured, 11, memory_metrics[i]));
}
END_TEST

static const struct {
        const char *comm;
        size_t n;
} name_rows[] = {
        { "a) S 1 2 (b", 11 },
        { "new\nline", 8 },
        { "\xff\xfe\x80", 3 },
        { "cut\xc3", 4 },
        { "  blanks  ", 10 },
        { ")", 1 },
        { "(", 1 },
        { "\"quo\\te\"\x01", 9 },
        { "\xee\xbe\x80", 3 },
};

START_TEST(a_name_of_any_bytes_comes_through_whole) {
        Span name = { name_rows[_i].comm, name_rows[_i].n };

        tree_add_thread(
                &tree,
                &(TreeThread){ .tgid = 10, .tid = 10, .comm = name.bytes, .n_comm = name.n });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 11 });
        capture();
        ck_assert(span_equal(captured_find(&captured, 10)->sample.comm, name));
        ck_assert(span_equal(captured_find(&captured, 11)->sample.pcomm, name));
        ck_assert_uint_eq(captured_value(&captured, 10, METRIC_minflt), 11);
        ck_assert_uint_eq(captured.n_threads, 3);
}
END_TEST

START_TEST(a_kernel_thread_has_no_memory_and_that_is_no_failure) {
        static const FakeThread answers[] = { { .tid = 2, .no_space = true } };

        fake.threads = answers;
        fake.n_threads = 1;
        tree_add_thread(&tree, &(TreeThread){ .tgid = 2,
                                              .tid = 2,
                                              .comm = "kworker/0:1-events",
                                              .kthread = true });
        capture();
        ck_assert(captured_find(&captured, 2)->sample.kthread);
        ck_assert(!captured_find(&captured, 2)->sample.has_exe);
        ck_assert_uint_eq(captured_find(&captured, 2)->smaps.n, 0);
        ck_assert(!captured_has(&captured, 2, METRIC_hiwater_rss_bytes));
        ck_assert(captured_has(&captured, 1, METRIC_hiwater_vm_bytes));
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_OK, 1, 0, 0, 0, 0);
}
END_TEST

static const struct {
        SmapsMode mode;
        uint64_t max_kib, anon_kib; /* and 9 kB of other kinds */
        bool is_read;
} mode_rows[] = {
        { SMAPS_MODE_SMALL, 109, 100, true },  /* as much as the bound */
        { SMAPS_MODE_SMALL, 108, 100, false }, /* it has more */
        { SMAPS_MODE_SMALL, 0, 100, false },   { SMAPS_MODE_SMALL, UINT64_MAX / 1024, 100, true },
        { SMAPS_MODE_ALL, 0, 100, true },      { SMAPS_MODE_NONE, 109, 100, false },
};

START_TEST(the_rollup_of_a_large_process_is_read_only_when_all_are) {
        SmapsMode mode = mode_rows[_i].mode;
        bool is_left_out = mode == SMAPS_MODE_SMALL && !mode_rows[_i].is_read;

        tree_add_thread(&tree,
                        &(TreeThread){ .tgid = 10, .tid = 10, .anon_kib = mode_rows[_i].anon_kib });
        captured.options.smaps = mode;
        captured.options.smaps_max_rss_bytes = mode_rows[_i].max_kib * 1024;
        capture();
        ck_assert((captured_find(&captured, 10)->smaps.n > 0) == mode_rows[_i].is_read);
        check_memory(10, mode_rows[_i].anon_kib);
        ck_assert_str_eq(captured.head.smaps_mode, smaps_mode_names[mode]);
        ck_assert(captured.head.smaps_requested == (mode != SMAPS_MODE_NONE));
        ck_assert(captured.head.has_smaps_max_rss == (mode == SMAPS_MODE_SMALL));
        if (is_left_out)
                ck_assert_uint_eq(
                        captured.sources.sources[SOURCE_SMAPS_ROLLUP].counts[SOURCE_OUTCOME_other],
                        mode_rows[_i].max_kib == 0 ? 2 : 1);
}
END_TEST

/* Processes 10, 20 and 30 of these kB, and process 1 of next to nothing. */
static const struct {
        SmapsMode mode;
        uint64_t kib[3], max_kib, max_processes;
        const char *chosen; /* a digit for each that is read */
} chosen_rows[] = {
        { SMAPS_MODE_SMALL, { 400, 800, 600 }, 4096, 2, "23" },
        { SMAPS_MODE_SMALL, { 400, 800, 600 }, 4096, 1, "2" },
        { SMAPS_MODE_SMALL, { 400, 800, 600 }, 4096, 3, "123" },
        { SMAPS_MODE_SMALL,
          { 400, 800, 600 },
          700,
          1,
          "3" }, /* one that is too large takes no place */
        { SMAPS_MODE_SMALL, { 400, 400, 400 }, 4096, 1, "3" },
        { SMAPS_MODE_SMALL, { 400, 800, 600 }, 4096, 1 << 22, "123" },
        { SMAPS_MODE_ALL, { 400, 800, 600 }, 4096, 1, "123" },
};

START_TEST(the_rollups_of_the_largest_are_read_and_the_others_not_asked_for) {
        const Source *source = &captured.sources.sources[SOURCE_SMAPS_ROLLUP];
        bool is_small = chosen_rows[_i].mode == SMAPS_MODE_SMALL;
        uint64_t n_chosen = 0, n_large = 0;

        for (int i = 0; i < 3; i++)
                tree_add_thread(&tree, &(TreeThread){ .tgid = 10 * (i + 1),
                                                      .tid = 10 * (i + 1),
                                                      .anon_kib = chosen_rows[_i].kib[i] });
        captured.options.smaps = chosen_rows[_i].mode;
        captured.options.smaps_max_rss_bytes = chosen_rows[_i].max_kib * 1024;
        captured.options.smaps_max_processes = chosen_rows[_i].max_processes;
        capture();
        for (int i = 0; i < 3; i++) {
                const CapturedThread *leader = captured_find(&captured, 10 * (i + 1));
                bool is_large = is_small && chosen_rows[_i].kib[i] > chosen_rows[_i].max_kib;

                ck_assert((leader->smaps.n > 0) == !!strchr(chosen_rows[_i].chosen, '1' + i));
                ck_assert(leader->sample.smaps_unasked == (leader->smaps.n == 0 && !is_large));
                check_memory(10 * (i + 1), chosen_rows[_i].kib[i]);
                n_chosen += leader->smaps.n > 0;
                n_large += is_large;
        }
        n_chosen += captured_find(&captured, 1)->smaps.n > 0;
        ck_assert_uint_eq(source->counts[SOURCE_OUTCOME_ok], n_chosen);
        ck_assert_uint_eq(source->counts[SOURCE_OUTCOME_other], n_large);
        ck_assert(source->state == (n_large > 0 ? SOURCE_STATE_PARTIAL : SOURCE_STATE_OK));
        ck_assert_int_eq(source->reason[0] == '\0', n_large == 0);
        ck_assert(captured.head.has_smaps_max_processes == is_small);
        if (is_small)
                ck_assert_uint_eq(captured.head.smaps_max_processes, chosen_rows[_i].max_processes);
}
END_TEST

START_TEST(the_memory_of_an_exited_leader_is_asked_of_a_living_sibling) {
        tree_add_thread(&tree,
                        &(TreeThread){ .tgid = 10, .tid = 10, .state = 'Z', .no_space = true });
        tree_add_thread(&tree,
                        &(TreeThread){ .tgid = 10, .tid = 11, .state = 'Z', .no_space = true });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 12 });
        capture();
        ck_assert(span_is(captured_find(&captured, 10)->smaps, "{\"Pss\":1,\"Rss\":12}"));
        check_memory(10, 12);
        ck_assert_uint_eq(captured_value(&captured, 10, METRIC_state), 'Z');
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_OK, 2, 0, 0, 0, 0);
}
END_TEST

START_TEST(a_process_that_is_only_a_zombie_is_kept_without_memory) {
        tree_add_thread(&tree,
                        &(TreeThread){ .tgid = 10, .tid = 10, .state = 'Z', .no_space = true });
        capture();
        ck_assert_uint_eq(captured_find(&captured, 10)->smaps.n, 0);
        ck_assert(!captured_has(&captured, 10, METRIC_rss_anon_bytes));
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_OK, 1, 0, 0, 0, 0);
}
END_TEST

START_TEST(our_own_processes_are_marked) {
        static const pid_t self[] = { 77, 10 };

        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 77 });
        captured.options.self_pids = self;
        captured.options.n_self_pids = ELEMENTSOF(self);
        capture();
        ck_assert(captured_find(&captured, 10)->sample.self);
        ck_assert(captured_find(&captured, 77)->sample.self);
        ck_assert(!captured_find(&captured, 1)->sample.self);
}
END_TEST

/* Others run the same program, and can run it with code of their own; jobs are children. */
START_TEST(neither_name_nor_executable_makes_a_process_ours) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 20, .tid = 20 });
        tree_write_text(&tree, "proc/10/task/10/comm", "ctprofctl\n");
        captured.options.main_pid = 77;
        capture();
        ck_assert(!captured_find(&captured, 10)->sample.self);
        ck_assert(!captured_find(&captured, 20)->sample.self);
        ck_assert(captured_find(&captured, 10)->sample.has_ppid);
        captured.options.main_pid = captured_find(&captured, 10)->sample.ppid;
        capture();
        ck_assert(captured_find(&captured, 10)->sample.self);
}
END_TEST

START_TEST(entries_that_are_no_processes_are_passed_over) {
        tree_write_text(&tree, "proc/self/x", "x");
        tree_write_text(&tree, "proc/12abc/task/12/stat", "x");
        tree_write_text(&tree, "proc/007/task/7/stat", "x");
        tree_write_text(&tree, "proc/1/task/zombie/stat", "x");
        capture();
        ck_assert_uint_eq(captured.n_threads, 1);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 1, 0, 0, 0, 0);
}
END_TEST

/* policy, and whether the waits of its threads can be believed */
static const struct {
        int policy;
        const char *release;
        bool kept;
} realtime_rows[] = {
        { 1, "6.18.44-amd64", false }, { 2, "5.16.0", false }, { 6, "7.0.9", false },
        { 1, "5.15.200", true },       { 1, "7.1.0", true },   { 0, "6.18.44-amd64", true },
        { 3, "6.18.44-amd64", true },
};

START_TEST(waits_that_the_kernel_gets_wrong_are_absent) {
        tree_write_text(&tree, "proc/sys/kernel/osrelease", "%s\n", realtime_rows[_i].release);
        tree_add_thread(&tree,
                        &(TreeThread){ .tgid = 10, .tid = 10, .policy = realtime_rows[_i].policy });
        capture();
        ck_assert_int_eq(captured_has(&captured, 10, METRIC_wait_max), realtime_rows[_i].kept);
        ck_assert_int_eq(captured_has(&captured, 10, METRIC_wait_sum), realtime_rows[_i].kept);
        ck_assert(captured_has(&captured, 10, METRIC_wait_count));
}
END_TEST

START_TEST(affinities_differ_from_thread_to_thread) {
        static const FakeThread answers[] = {
                { .tid = 10, .cpus = 1 },
                { .tid = 11, .cpus = 0x55 },
                { .tid = 12, .cpus = 1 },
                { .tid = 13, .cpus = ~0ul },
        };

        fake.threads = answers;
        fake.n_threads = ELEMENTSOF(answers);
        for (pid_t tid = 10; tid <= 14; tid++)
                tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = tid });
        capture();
        ck_assert(span_is(captured_find(&captured, 10)->sample.cpus, "0"));
        ck_assert(span_is(captured_find(&captured, 11)->sample.cpus, "0,2,4,6"));
        ck_assert(span_is(captured_find(&captured, 12)->sample.cpus, "0"));
        ck_assert(span_is(captured_find(&captured, 13)->sample.cpus, "0-63"));
        ck_assert(span_is(captured_find(&captured, 14)->sample.cpus, "0-3,7"));
        ck_assert_uint_eq(captured_value(&captured, 13, METRIC_cpu_affinity), 64);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-rows");
        TCase *rows = tcase_create("rows");
        TCase *names = tcase_create("names");
        TCase *kinds = tcase_create("kinds");

        tcase_add_checked_fixture(rows, setup, teardown);
        tcase_add_checked_fixture(names, setup, teardown);
        tcase_add_checked_fixture(kinds, setup, teardown);
        tcase_add_loop_test(rows, rows_come_in_order_of_process_and_thread, 0, 4);
        tcase_add_test(rows, a_row_holds_what_the_files_say);
        tcase_add_test(rows, the_number_of_threads_and_the_memory_stand_with_the_leader_alone);
        tcase_add_test(rows, affinities_differ_from_thread_to_thread);
        tcase_add_test(rows, entries_that_are_no_processes_are_passed_over);
        tcase_add_loop_test(names, a_name_of_any_bytes_comes_through_whole, 0,
                            ELEMENTSOF(name_rows));
        tcase_add_test(kinds, a_kernel_thread_has_no_memory_and_that_is_no_failure);
        tcase_add_test(kinds, the_memory_of_an_exited_leader_is_asked_of_a_living_sibling);
        tcase_add_loop_test(kinds, the_rollup_of_a_large_process_is_read_only_when_all_are, 0,
                            ELEMENTSOF(mode_rows));
        tcase_add_loop_test(kinds, the_rollups_of_the_largest_are_read_and_the_others_not_asked_for,
                            0, ELEMENTSOF(chosen_rows));
        tcase_add_test(kinds, a_process_that_is_only_a_zombie_is_kept_without_memory);
        tcase_add_test(kinds, our_own_processes_are_marked);
        tcase_add_test(kinds, neither_name_nor_executable_makes_a_process_ours);
        tcase_add_loop_test(kinds, waits_that_the_kernel_gets_wrong_are_absent, 0,
                            ELEMENTSOF(realtime_rows));
        suite_add_tcase(suite, rows);
        suite_add_tcase(suite, names);
        suite_add_tcase(suite, kinds);
        return check_main(suite);
}
