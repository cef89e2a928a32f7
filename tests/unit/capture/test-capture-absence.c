/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "captured.h"

static Tree tree;
static FakeSystem fake;
static Captured captured;

static void setup(void) {
        tree_make(&tree);
        fake_system_init(&fake, &tree);
        captured_init(&captured, &tree, &fake);
        tree_add_thread(&tree, &(TreeThread){ .tgid = 1, .tid = 1 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 11 });
}

static void teardown(void) {
        captured_done(&captured);
        tree_remove(&tree);
}

static void capture(void) {
        captured_run(&captured);
        ck_assert_int_eq(captured.result, 0);
}

static const char *const necessary_files[] = { "stat", "sched", "io" };

START_TEST(a_thread_that_goes_half_way_is_dropped_whole_and_counted) {
        char path[64];

        snprintf(path, sizeof(path), "proc/10/task/11/%s", necessary_files[_i]);
        tree_delete(&tree, path);
        capture();
        ck_assert_uint_eq(captured.n_threads, 2);
        ck_assert_ptr_null(captured_find(&captured, 11));
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 2, 0, 1, 0, 0);
        captured_check_source(&captured, SOURCE_IO, SOURCE_STATE_OK, 2, 0, _i == 2, 0, 0);
}
END_TEST

static const char *const substitute_files[] = { "schedstat", "status" };

START_TEST(so_is_one_that_goes_before_what_stands_in_for_taskstats) {
        char path[64];

        fake.own_error = -EPERM;
        snprintf(path, sizeof(path), "proc/10/task/11/%s", substitute_files[_i]);
        tree_delete(&tree, path);
        capture();
        ck_assert_uint_eq(captured.n_threads, 2);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 2, 0, 1, 0, 0);
}
END_TEST

START_TEST(a_process_whose_spokesman_goes_asks_the_next) {
        tree_delete(&tree, "proc/10/task/10/cgroup");
        tree_write_text(&tree, "proc/10/task/11/cgroup", "0::/next\n");
        capture();
        ck_assert_ptr_null(captured_find(&captured, 10));
        ck_assert(span_is(captured_find(&captured, 11)->sample.cgroup, "/next"));
        /* The leader's name was read before it went, and still names the process. */
        ck_assert(span_is(captured_find(&captured, 11)->sample.pcomm, "thread"));
        ck_assert_uint_eq(captured.head.processes, 2);
}
END_TEST

START_TEST(a_leader_that_goes_before_the_memory_is_counted_is_dropped) {
        tree_delete(&tree, "proc/10/task/10/status");
        capture();
        ck_assert_uint_eq(captured.n_threads, 2);
        ck_assert_ptr_null(captured_find(&captured, 10));
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 2, 0, 1, 0, 0);
        captured_check_source(&captured, SOURCE_STATUS, SOURCE_STATE_OK, 2, 0, 1, 0, 0);
}
END_TEST

START_TEST(a_process_without_its_task_directory_went) {
        tree_write_text(&tree, "proc/20/comm", "gone\n");
        capture();
        ck_assert_uint_eq(captured.n_threads, 3);
        ck_assert_uint_eq(captured.head.processes, 2);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 3, 0, 1, 0, 0);
}
END_TEST

static const char *const bad_stats[] = {
        "", "11", "11 (x", "11 (x) S", "11 (x) S 1 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0\n",
};

START_TEST(a_thread_without_an_identity_is_counted_as_malformed) {
        tree_write_text(&tree, "proc/10/task/11/stat", "%s", bad_stats[_i]);
        capture();
        ck_assert_uint_eq(captured.n_threads, 2);
        ck_assert_int_eq(captured.sources.sources[SOURCE_STAT].state, SOURCE_STATE_PARTIAL);
        ck_assert_uint_eq(captured.sources.sources[SOURCE_STAT].counts[SOURCE_OUTCOME_malformed],
                          1);
}
END_TEST

/* It became the leader by executing a program while it was looked up. */
START_TEST(a_thread_that_took_another_number_has_gone) {
        tree_write_text(&tree, "proc/10/task/11/stat",
                        "10 (x) S 1 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 9 1 1\n");
        capture();
        ck_assert_uint_eq(captured.n_threads, 2);
        ck_assert(span_is(captured_find(&captured, 10)->sample.comm, "thread"));
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 2, 0, 1, 0, 0);
}
END_TEST

START_TEST(malformed_files_cost_their_values_only) {
        tree_write_text(&tree, "proc/10/task/11/io", "rchar: x\nwchar: 8\n");
        tree_write_text(&tree, "proc/10/task/11/sched", "no rule of dashes\n");
        tree_write_text(&tree, "proc/10/task/10/smaps_rollup", "Rss: lots\n");
        capture();
        ck_assert_uint_eq(captured.n_threads, 3);
        ck_assert(!captured_has(&captured, 11, METRIC_rchar));
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_wchar), 8);
        ck_assert(!captured_has(&captured, 11, METRIC_nr_migrations));
        ck_assert_uint_eq(captured.sources.sources[SOURCE_IO].counts[SOURCE_OUTCOME_malformed], 1);
        ck_assert_uint_eq(captured.sources.sources[SOURCE_SCHED].counts[SOURCE_OUTCOME_malformed],
                          1);
        ck_assert_uint_eq(
                captured.sources.sources[SOURCE_SMAPS_ROLLUP].counts[SOURCE_OUTCOME_malformed], 1);
        ck_assert_int_eq(captured.sources.sources[SOURCE_IO].state, SOURCE_STATE_PARTIAL);
}
END_TEST

START_TEST(a_negative_counter_is_schedstats_fault_alone) {
        tree_write_text(&tree, "proc/10/task/11/sched",
                        "x (11, #threads: 1)\n"
                        "-------------------------------------------------------------------\n"
                        "se.nr_migrations : 5\nwait_sum : -3.000000\nwait_max : 1.000000\n");
        capture();
        ck_assert(!captured_has(&captured, 11, METRIC_wait_sum));
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_nr_migrations), 5);
        captured_check_source(&captured, SOURCE_SCHED, SOURCE_STATE_OK, 3, 0, 0, 0, 0);
        ck_assert_uint_eq(
                captured.sources.sources[SOURCE_SCHEDSTATS].counts[SOURCE_OUTCOME_malformed], 1);
}
END_TEST

/* A host where nothing but stat may be read. */
START_TEST(everything_but_stat_may_be_denied) {
        static const char *const files[] = { "sched",  "io",           "schedstat", "status",
                                             "cgroup", "smaps_rollup", "exe" };
        static const pid_t threads[][2] = { { 1, 1 }, { 10, 10 }, { 10, 11 } };
        static const SourceId thread_sources[] = {
                SOURCE_SCHED,     SOURCE_SCHEDSTATS,     SOURCE_IO, SOURCE_SCHEDSTAT, SOURCE_STATUS,
                SOURCE_TASKSTATS, SOURCE_TASKSTATS_DELAY
        };
        char path[64];

        for (size_t i = 0; i < ELEMENTSOF(threads); i++)
                for (size_t j = 0; j < ELEMENTSOF(files); j++) {
                        snprintf(path, sizeof(path), "proc/%d/task/%d/%s", threads[i][0],
                                 threads[i][1], files[j]);
                        tree_deny(&tree, path);
                }
        fake.own_error = -EPERM;
        tree_be_nobody();
        captured_run(&captured);
        tree_be_somebody();

        ck_assert_int_eq(captured.result, 0);
        ck_assert_uint_eq(captured.n_threads, 3);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_minflt), 11);
        ck_assert(!captured_has(&captured, 11, METRIC_rchar));
        ck_assert(!captured_has(&captured, 11, METRIC_run_time_ns));
        ck_assert(!captured_find(&captured, 11)->sample.has_owner);
        ck_assert_ptr_null(captured_find(&captured, 11)->sample.cgroup.bytes);
        ck_assert_uint_eq(captured_find(&captured, 10)->smaps.n, 0);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 3, 0, 0, 0, 0);
        for (size_t i = 0; i < ELEMENTSOF(thread_sources); i++)
                captured_check_source(&captured, thread_sources[i], SOURCE_STATE_UNAVAILABLE, 0, 3,
                                      0, 0, 0);
        captured_check_source(&captured, SOURCE_CGROUP, SOURCE_STATE_UNAVAILABLE, 0, 2, 0, 0, 0);
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_UNAVAILABLE, 0, 2, 0, 0,
                              0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_IO].reason,
                         "reading other users' /proc/PID/io needs CAP_SYS_PTRACE and "
                         "CAP_DAC_READ_SEARCH: run ctprofd as root or as ctprofd.service");
        ck_assert(!captured.head.complete);
}
END_TEST

START_TEST(a_denied_thread_directory_is_a_denied_thread) {
        tree_deny(&tree, "proc/10/task");
        tree_be_nobody();
        captured_run(&captured);
        tree_be_somebody();
        tree_allow(&tree, "proc/10/task");
        ck_assert_int_eq(captured.result, 0);
        ck_assert_uint_eq(captured.n_threads, 1);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_PARTIAL, 1, 1, 0, 0, 0);
}
END_TEST

/* Every thread of a batch holds a descriptor: without enough of them some threads are missed. */
START_TEST(a_want_of_descriptors_costs_threads_and_not_the_capture) {
        int next = dup(tree.fd);
        struct rlimit limit, tight;

        ck_assert_int_ge(next, 0);
        (void) close(next);
        for (pid_t tid = 12; tid < 30; tid++)
                tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = tid });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 40, .tid = 40 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 40, .tid = 41 });
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        tight = limit;
        tight.rlim_cur = (rlim_t) next + 12;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
        captured_run(&captured);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);

        ck_assert_int_eq(captured.result, 0);
        ck_assert_uint_ge(captured.n_threads, 5);
        ck_assert_uint_lt(captured.n_threads, 23);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_PARTIAL, captured.n_threads, 0,
                              0, 0, 23 - captured.n_threads);
}
END_TEST

START_TEST(processes_that_proc_does_not_list_are_missed) {
        tree_delete(&tree, "proc/1/task/1/stat"); /* the other files stay, unlisted */
        ck_assert_int_eq(renameat(tree.fd, "proc/1", tree.fd, "proc/x1"), 0);
        capture();
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_PARTIAL, 2, 0, 0, 0, 0);
        ck_assert(!captured.head.complete);
}
END_TEST

static const struct {
        const char *set, *reason;
} io_rows[] = {
        { "000001ffffffffff",
          "/proc/PID/io of some processes is refused even with CAP_SYS_PTRACE and "
          "CAP_DAC_READ_SEARCH: a security policy protects them" },
        { "0000000000080000",
          "reading other users' /proc/PID/io needs CAP_DAC_READ_SEARCH beside CAP_SYS_PTRACE: "
          "run ctprofd as root or as ctprofd.service" },
        { "0000000000000004",
          "reading other users' /proc/PID/io needs CAP_SYS_PTRACE beside CAP_DAC_READ_SEARCH: "
          "run ctprofd as root or as ctprofd.service" },
};

START_TEST(refused_io_is_blamed_on_the_capability_that_lacks) {
        tree_write_text(&tree, "proc/thread-self/status", "Name:\tx\nCapEff:\t%s\n",
                        io_rows[_i].set);
        tree_write_text(&tree, "proc/thread-self/io", "x");
        tree_write_text(&tree, "proc/thread-self/sched", "x");
        tree_write_text(&tree, "proc/thread-self/schedstat", "x");
        tree_write_text(&tree, "proc/thread-self/cgroup", "x");
        tree_write_text(&tree, "proc/thread-self/smaps_rollup", "x");
        tree_deny(&tree, "proc/10/task/11/io");
        tree_be_nobody();
        captured_run(&captured);
        tree_be_somebody();
        captured_check_source(&captured, SOURCE_IO, SOURCE_STATE_PARTIAL, 2, 1, 0, 0, 0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_IO].reason, io_rows[_i].reason);
}
END_TEST

/* Files that the calling thread has not got, no thread of this kernel has. */
START_TEST(files_that_this_kernel_lacks_are_unsupported_and_cost_no_thread) {
        tree_write_text(&tree, "proc/thread-self/status", "Name:\tx\n");
        fake.own_error = -EPERM;
        tree_delete(&tree, "proc/10/task/11/io");
        tree_delete(&tree, "proc/10/task/11/sched");
        capture();
        ck_assert_uint_eq(captured.n_threads, 3);
        captured_check_source(&captured, SOURCE_IO, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 3, 0);
        captured_check_source(&captured, SOURCE_SCHED, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 3, 0);
        captured_check_source(&captured, SOURCE_SCHEDSTAT, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 3, 0);
        captured_check_source(&captured, SOURCE_STATUS, SOURCE_STATE_OK, 3, 0, 0, 0, 0);
        captured_check_source(&captured, SOURCE_CGROUP, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 2, 0);
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 2,
                              0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_IO].reason,
                         "this kernel was built without CONFIG_TASK_IO_ACCOUNTING");
        ck_assert_str_eq(captured.sources.sources[SOURCE_SCHEDSTATS].reason,
                         "this kernel has no /proc/PID/sched: it was built without "
                         "CONFIG_SCHED_DEBUG");
}
END_TEST

START_TEST(schedstats_that_are_off_are_absent_with_the_remedy) {
        static const char *const lines =
                "x (1, #threads: 1)\n"
                "-------------------------------------------------------------------\n"
                "se.nr_migrations : 5\n";

        tree_write_text(&tree, "proc/sys/kernel/sched_schedstats", "0\n");
        tree_write_text(&tree, "proc/1/task/1/sched", "%s", lines);
        tree_write_text(&tree, "proc/10/task/10/sched", "%s", lines);
        tree_write_text(&tree, "proc/10/task/11/sched", "%s", lines);
        capture();
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_nr_migrations), 5);
        ck_assert(!captured_has(&captured, 11, METRIC_wait_sum));
        ck_assert(!captured_has(&captured, 11, METRIC_voluntary_sleep_ns));
        ck_assert(!captured_has(&captured, 11, METRIC_ext_enabled));
        ck_assert(!captured_has(&captured, 11, METRIC_fair_slice_ns));
        captured_check_source(&captured, SOURCE_SCHED, SOURCE_STATE_OK, 3, 0, 0, 0, 0);
        captured_check_source(&captured, SOURCE_SCHEDSTATS, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 3,
                              0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_SCHEDSTATS].reason,
                         "schedstats are off: sysctl kernel.sched_schedstats=1");
        ck_assert(captured.sources.sources[SOURCE_SCHEDSTATS].switched_off);
        tree_delete(&tree, "proc/sys/kernel/sched_schedstats");
        capture();
        ck_assert_str_eq(captured.sources.sources[SOURCE_SCHEDSTATS].reason,
                         "this kernel was built without CONFIG_SCHEDSTATS");
        ck_assert(!captured.sources.sources[SOURCE_SCHEDSTATS].switched_off);
}
END_TEST

START_TEST(affinity_that_cannot_be_had_is_absent) {
        static const FakeThread answers[] = {
                { .tid = 10, .affinity_error = -EPERM },
                { .tid = 11, .affinity_error = -EINVAL },
        };

        fake.threads = answers;
        fake.n_threads = ELEMENTSOF(answers);
        capture();
        ck_assert_uint_eq(captured.n_threads, 3);
        ck_assert(!captured_has(&captured, 10, METRIC_cpu_affinity));
        ck_assert(!captured_has(&captured, 11, METRIC_cpu_affinity));
        captured_check_source(&captured, SOURCE_AFFINITY, SOURCE_STATE_PARTIAL, 1, 1, 0, 0, 1);
}
END_TEST

START_TEST(memory_is_left_alone_on_request) {
        captured.options.smaps = false;
        capture();
        ck_assert_uint_eq(captured_find(&captured, 10)->smaps.n, 0);
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_NOT_REQUESTED, 0, 0, 0,
                              0, 0);
        ck_assert(!captured.head.smaps_requested);
}
END_TEST

START_TEST(memory_stops_when_its_time_is_used_up) {
        captured.options.smaps_limit_ns = 1; /* the first takes a microsecond of the fake clock */
        capture();
        ck_assert_uint_gt(captured_find(&captured, 1)->smaps.n, 0);
        ck_assert_uint_eq(captured_find(&captured, 10)->smaps.n, 0);
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_PARTIAL, 1, 0, 0, 0, 1);
        ck_assert_str_eq(captured.sources.sources[SOURCE_SMAPS_ROLLUP].reason,
                         "1 process left out: late, of an owner who was, or after the time budget "
                         "of 0 ms; --smaps=none skips all");
        ck_assert(captured.head.smaps_requested);
}
END_TEST

/* A pipe without a writer: opening it waits, as reading does for a lock that is not released. */
START_TEST(memory_that_does_not_come_costs_its_process) {
        int fd;

        tree_delete(&tree, "proc/1/task/1/smaps_rollup");
        ck_assert_int_eq(mkfifoat(tree.fd, "proc/1/task/1/smaps_rollup", 0600), 0);
        captured.options.smaps_limit_ns = 20 * NSEC_PER_MSEC;
        capture();
        ck_assert_uint_eq(captured_find(&captured, 1)->smaps.n, 0);
        ck_assert_uint_gt(captured_find(&captured, 10)->smaps.n, 0);
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_PARTIAL, 1, 0, 0, 0, 1);
        ck_assert_str_eq(captured.sources.sources[SOURCE_SMAPS_ROLLUP].reason,
                         "1 process left out: late, of an owner who was, or after the time budget "
                         "of 20 ms; --smaps=none skips all");
        /* Release the thread that still waits. */
        fd = openat(tree.fd, "proc/1/task/1/smaps_rollup", O_RDWR | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, "x", 1), 1);
        (void) close(fd);
}
END_TEST

START_TEST(a_process_that_gives_up_its_memory_meanwhile_keeps_its_row) {
        tree_delete(&tree, "proc/10/task/10/smaps_rollup");
        capture();
        ck_assert_uint_eq(captured.n_threads, 3);
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_OK, 1, 0, 1, 0, 0);
}
END_TEST

START_TEST(allocators_are_left_alone_on_request) {
        capture();
        captured_check_source(&captured, SOURCE_JEMALLOC, SOURCE_STATE_NOT_REQUESTED, 0, 0, 0, 0,
                              0);
        /* Nor does that make a capture incomplete. */
        captured_check_source(&captured, SOURCE_SCHED_EXT, SOURCE_STATE_NOT_APPLICABLE, 0, 0, 0, 0,
                              0);
        ck_assert_int_eq(captured.head.complete, source_table_is_complete(&captured.sources));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-absence");
        TCase *vanished = tcase_create("vanished");
        TCase *denied = tcase_create("denied");
        TCase *gated = tcase_create("gated");

        tcase_add_checked_fixture(vanished, setup, teardown);
        tcase_add_checked_fixture(denied, setup, teardown);
        tcase_add_checked_fixture(gated, setup, teardown);
        tcase_add_loop_test(vanished, a_thread_that_goes_half_way_is_dropped_whole_and_counted, 0,
                            ELEMENTSOF(necessary_files));
        tcase_add_loop_test(vanished, so_is_one_that_goes_before_what_stands_in_for_taskstats, 0,
                            ELEMENTSOF(substitute_files));
        tcase_add_test(vanished, a_process_whose_spokesman_goes_asks_the_next);
        tcase_add_test(vanished, a_leader_that_goes_before_the_memory_is_counted_is_dropped);
        tcase_add_test(vanished, a_process_without_its_task_directory_went);
        tcase_add_test(vanished, a_process_that_gives_up_its_memory_meanwhile_keeps_its_row);
        tcase_add_test(vanished, a_thread_that_took_another_number_has_gone);
        tcase_add_loop_test(vanished, a_thread_without_an_identity_is_counted_as_malformed, 0,
                            ELEMENTSOF(bad_stats));
        tcase_add_test(vanished, malformed_files_cost_their_values_only);
        tcase_add_test(vanished, a_negative_counter_is_schedstats_fault_alone);
        tcase_add_test(denied, everything_but_stat_may_be_denied);
        tcase_add_test(denied, a_denied_thread_directory_is_a_denied_thread);
        tcase_add_test(denied, a_want_of_descriptors_costs_threads_and_not_the_capture);
        tcase_add_test(denied, processes_that_proc_does_not_list_are_missed);
        tcase_add_loop_test(denied, refused_io_is_blamed_on_the_capability_that_lacks, 0,
                            ELEMENTSOF(io_rows));
        tcase_add_test(gated, files_that_this_kernel_lacks_are_unsupported_and_cost_no_thread);
        tcase_add_test(gated, schedstats_that_are_off_are_absent_with_the_remedy);
        tcase_add_test(gated, affinity_that_cannot_be_had_is_absent);
        tcase_add_test(gated, memory_is_left_alone_on_request);
        tcase_add_test(gated, memory_stops_when_its_time_is_used_up);
        tcase_add_test(gated, memory_that_does_not_come_costs_its_process);
        tcase_add_test(gated, allocators_are_left_alone_on_request);
        suite_add_tcase(suite, vanished);
        suite_add_tcase(suite, denied);
        suite_add_tcase(suite, gated);
        return check_main(suite);
}
