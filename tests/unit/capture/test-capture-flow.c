/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
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
        tree_add_thread(&tree, &(TreeThread){ .tgid = 1, .tid = 1 });
}

static void teardown(void) {
        captured_done(&captured);
        tree_remove(&tree);
}

static void capture(void) {
        captured_run(&captured);
        ck_assert_int_eq(captured.result, 0);
}

/* A process of more threads than a batch holds. */
#define LARGE_TGID 50
#define N_LARGE 300 /* batches enough that threads of their own read them */

static void add_large(uint64_t start_of_process) {
        TreeThread thread = { .tgid = LARGE_TGID, .comm = "large", .start = 500 };
        char text[512];

        for (thread.tid = LARGE_TGID; thread.tid < LARGE_TGID + N_LARGE; thread.tid++) {
                tree_add_thread(&tree, &thread);
                thread.start = 0;
                thread.comm = "part";
        }
        /* As the walk sees its leader, and as the workers see it when they look again. */
        snprintf(
                text, sizeof(text),
                "%d (large) S 1 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 300 0 %llu 4096 3 0 0 0 0 0 0 0 0 "
                "0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                LARGE_TGID, (unsigned long long) start_of_process);
        tree_write_text(&tree, "proc/50/stat", "%s", text);
}

START_TEST(a_large_process_is_read_in_pieces) {
        add_large(500);
        /* Two, as a single thread is always the leader. */
        tree_add_thread(&tree, &(TreeThread){ .tgid = 60, .tid = 400 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 60, .tid = 401 });
        captured.options.n_workers = (unsigned) _i;
        capture();
        ck_assert_uint_eq(captured.n_threads, N_LARGE + 3);
        ck_assert_uint_eq(captured.head.processes, 3);
        for (size_t i = 1; i <= N_LARGE; i++) {
                const ThreadSample *sample = &captured.threads[i].sample;

                ck_assert_int_eq(sample->tid, LARGE_TGID + (pid_t) i - 1);
                ck_assert(span_is(sample->pcomm, "large"));
                ck_assert(span_is(sample->comm, i == 1 ? "large" : "part"));
        }
        ck_assert_int_eq(captured.threads[N_LARGE + 1].sample.tid, 400);
        ck_assert_int_eq(captured.threads[N_LARGE + 2].sample.tid, 401);
        captured_check_source(&captured, SOURCE_SMAPS_ROLLUP, SOURCE_STATE_OK, 2, 0, 0, 0, 0);
}
END_TEST

START_TEST(pieces_of_another_process_with_the_same_number_are_dropped) {
        add_large(499);
        capture();
        ck_assert_uint_eq(captured.n_threads, 1);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 1, 0, N_LARGE, 0, 0);
}
END_TEST

START_TEST(many_processes_fill_the_ring_more_than_once) {
        enum { N = 70 * 20 };
        char path[64];

        /* Too many for whole threads: a process without the files of a live one has vanished. */
        for (pid_t tgid = 2; tgid < 2 + N; tgid++) {
                snprintf(path, sizeof(path), "proc/%d/task/%d/comm", tgid, tgid);
                tree_write_text(&tree, path, "x\n");
        }
        tree_add_thread(&tree, &(TreeThread){ .tgid = 5000, .tid = 5000 });
        captured.options.n_workers = (unsigned) _i;
        capture();
        ck_assert_uint_eq(captured.n_threads, 2);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 2, 0, N, 0, 0);
}
END_TEST

/* cgroups */

START_TEST(every_cgroup_is_there_with_those_above_it) {
        tree_write_text(&tree, "cgroup/a/cpu.stat", "usage_usec 1\n");
        tree_write_text(&tree, "cgroup/a/b/cpu.stat", "usage_usec 1\n");
        tree_write_text(&tree, "cgroup/a!/cpu.stat", "usage_usec 1\n");
        tree_write_text(&tree, "cgroup/uninhabited/cpu.stat", "usage_usec 1\n");
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10, .cgroup = "/a/b" });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 11, .tid = 11, .cgroup = "/a/b" });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 12, .tid = 12, .cgroup = "/a!" });
        capture();
        ck_assert(span_is(buffer_span(&captured.cgroups), "/\n/a\n/a!\n/a/b\n"));
        captured_check_source(&captured, SOURCE_CGROUP, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
        ck_assert_int_eq(captured.sources.sources[SOURCE_CGROUP_STATS].state, SOURCE_STATE_OK);
}
END_TEST

START_TEST(a_cgroup_that_went_is_counted_and_keeps_its_thread) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10, .cgroup = "/gone (deleted)" });
        capture();
        ck_assert(span_is(captured_find(&captured, 10)->sample.cgroup, "/gone (deleted)"));
        ck_assert(span_is(buffer_span(&captured.cgroups), "/\n"));
        ck_assert_int_eq(captured.sources.sources[SOURCE_CGROUP_STATS].state, SOURCE_STATE_OK);
        ck_assert_uint_eq(
                captured.sources.sources[SOURCE_CGROUP_STATS].counts[SOURCE_OUTCOME_vanished], 1);
}
END_TEST

START_TEST(paths_that_lead_out_are_refused) {
        tree_write_text(&tree, "secret/cpu.stat", "usage_usec 1\n");
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10, .cgroup = "/../secret" });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 11, .tid = 11, .cgroup = "/..x/y" });
        capture();
        ck_assert(span_is(captured_find(&captured, 10)->sample.cgroup, "/../secret"));
        ck_assert(span_is(buffer_span(&captured.cgroups), "/\n"));
        ck_assert_int_eq(captured.sources.sources[SOURCE_CGROUP_STATS].state, SOURCE_STATE_PARTIAL);
        ck_assert_uint_eq(
                captured.sources.sources[SOURCE_CGROUP_STATS].counts[SOURCE_OUTCOME_unsupported],
                1);
        ck_assert_str_eq(
                captured.sources.sources[SOURCE_CGROUP_STATS].reason,
                "some cgroups lie outside of the cgroup namespace or mount that can be seen "
                "from here");
}
END_TEST

/* type of the leader's cgroup, and whether its threads are asked one by one */
static const struct {
        const char *path, *type;
        bool spread;
} threading_rows[] = {
        { "/pool", "domain\n", false },
        { "/pool", "threaded\n", true },
        { "/pool", "domain threaded\n", true },
        { "/missing", NULL, true },
        { "/", NULL, false },
        { "/../out", NULL, true },
};

START_TEST(threads_of_one_process_may_live_in_different_cgroups) {
        if (threading_rows[_i].type)
                tree_write_text(&tree, "cgroup/pool/cgroup.type", "%s", threading_rows[_i].type);
        tree_add_thread(&tree,
                        &(TreeThread){ .tgid = 10, .tid = 10, .cgroup = threading_rows[_i].path });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 11, .cgroup = "/pool/part" });
        capture();
        ck_assert(span_is(captured_find(&captured, 10)->sample.cgroup, threading_rows[_i].path));
        ck_assert(span_is(captured_find(&captured, 11)->sample.cgroup,
                          threading_rows[_i].spread ? "/pool/part" : threading_rows[_i].path));
        captured_check_source(&captured, SOURCE_CGROUP, SOURCE_STATE_OK,
                              threading_rows[_i].spread ? 3 : 2, 0, 0, 0, 0);
}
END_TEST

START_TEST(the_root_is_threaded_when_a_child_is) {
        tree_write_text(&tree, "cgroup/pool/cgroup.type", "threaded\n");
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 11, .cgroup = "/pool" });
        capture();
        ck_assert(span_is(captured_find(&captured, 11)->sample.cgroup, "/pool"));
}
END_TEST

START_TEST(a_host_with_the_old_cgroups_only_has_none) {
        tree_write_text(&tree, "proc/1/task/1/cgroup", "3:cpu:/x\n");
        fake.system.open_cgroups = NULL;
        capture();
        ck_assert_ptr_null(captured_find(&captured, 1)->sample.cgroup.bytes);
        ck_assert_uint_eq(captured.cgroups.n, 0);
        captured_check_source(&captured, SOURCE_CGROUP, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 1, 0);
        captured_check_source(&captured, SOURCE_CGROUP_STATS, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 0,
                              0);
        captured_check_source(&captured, SOURCE_CGROUP_PRESSURE, SOURCE_STATE_UNAVAILABLE, 0, 0, 0,
                              0, 0);
}
END_TEST

/* head, host */

START_TEST(the_head_tells_window_cost_and_host) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10 });
        capture();
        ck_assert(captured.head.has_start_realtime && captured.head.has_end_realtime);
        ck_assert(captured.head.has_start_boottime && captured.head.has_end_boottime);
        ck_assert_uint_ge(captured.head.end_boottime_ns, captured.head.start_boottime_ns);
        ck_assert_uint_ge(captured.head.end_realtime_ns, captured.head.start_realtime_ns);
        ck_assert(captured.head.has_cost);
        ck_assert_uint_gt(captured.head.cost_wall_ns, 0);
        ck_assert_uint_gt(captured.head.cost_peak_rss_bytes, 0);
        ck_assert_str_eq(captured.head.boot_id, "123456789abcdef0123456789abcdef0");
        ck_assert_str_eq(captured.head.host_name, "tree");
        ck_assert_str_eq(captured.head.kernel_release, "6.18.44-amd64");
        ck_assert_str_eq(captured.head.backend, "procfs");
        ck_assert(captured.head.has_user_hz && captured.head.has_page_size);
        ck_assert_uint_eq(captured.head.threads, 2);
        ck_assert_uint_eq(captured.head.processes, 2);
        ck_assert(captured.head.smaps_requested);
}
END_TEST

START_TEST(pressure_and_scheduler_state_close_the_document) {
        tree_write_text(&tree, "sys/kernel/sched_ext/state", "enabled\n");
        tree_write_text(&tree, "sys/kernel/sched_ext/switch_all", "1\n");
        tree_write_text(&tree, "sys/kernel/sched_ext/nr_rejected", "0\n");
        tree_write_text(&tree, "sys/kernel/sched_ext/hotplug_seq", "2\n");
        tree_write_text(&tree, "sys/kernel/sched_ext/enable_seq", "3\n");
        capture();
        ck_assert_ptr_nonnull(strstr(captured.psi.bytes, "\"total_usec\":2"));
        ck_assert_ptr_nonnull(strstr(captured.sched_ext.bytes, "\"enabled\""));
        captured_check_source(&captured, SOURCE_HOST_PRESSURE, SOURCE_STATE_OK, 3, 0, 0, 0, 0);
        ck_assert_int_eq(captured.sources.sources[SOURCE_SCHED_EXT].state, SOURCE_STATE_OK);
}
END_TEST

START_TEST(a_host_without_pressure_says_how_to_have_it) {
        tree_delete(&tree, "proc/pressure/cpu");
        tree_delete(&tree, "proc/pressure/memory");
        tree_delete(&tree, "proc/pressure/io");
        capture();
        ck_assert_int_eq(captured.sources.sources[SOURCE_HOST_PRESSURE].state,
                         SOURCE_STATE_UNAVAILABLE);
        ck_assert_ptr_nonnull(
                strstr(captured.sources.sources[SOURCE_HOST_PRESSURE].reason, "psi=1"));
        ck_assert_ptr_nonnull(
                strstr(captured.sources.sources[SOURCE_CGROUP_PRESSURE].reason, "psi=1"));
}
END_TEST

/* progress, failures */

typedef struct Watch {
        unsigned n_progress, n_asked, cancel_at;
        uint64_t last_done, last_total;
        bool saw_threads, saw_cgroups;
} Watch;

static void on_progress(void *userdata, const char *phase, uint64_t done, uint64_t total) {
        Watch *watch = userdata;

        watch->n_progress++;
        watch->saw_threads |= strcmp(phase, "threads") == 0;
        watch->saw_cgroups |= strcmp(phase, "cgroups") == 0;
        ck_assert_uint_le(done, total);
}

static bool on_cancelled(void *userdata) {
        Watch *watch = userdata;

        return ++watch->n_asked == watch->cancel_at;
}

START_TEST(progress_comes_at_a_tenth_of_a_second_at_most) {
        Watch watch = {};

        captured.options.pace.progress = on_progress;
        captured.options.pace.userdata = &watch;
        add_large(500);
        fake.step_ns = 10; /* nothing takes long */
        capture();
        ck_assert_uint_eq(watch.n_progress, 1);
        ck_assert(watch.saw_threads);
        watch = (Watch){};
        fake.step_ns = NSEC_PER_SEC;
        capture();
        ck_assert_uint_ge(watch.n_progress, 4);
        ck_assert(watch.saw_threads && watch.saw_cgroups);
}
END_TEST

START_TEST(a_cancelled_capture_ends_at_once) {
        Watch watch = { .cancel_at = (unsigned) _i + 1 };

        captured.options.pace.cancelled = on_cancelled;
        captured.options.pace.userdata = &watch;
        captured.options.n_workers = (unsigned) _i % 3;
        add_large(500);
        captured_run(&captured);
        ck_assert_int_eq(captured.result, CAPTURE_E_CANCELLED);
        ck_assert_uint_eq(watch.n_asked, watch.cancel_at);
}
END_TEST

START_TEST(a_sink_that_fails_ends_the_capture_with_its_error) {
        captured.sink_error = -ENOSPC;
        captured.sink_bytes = (size_t) _i * 4000;
        captured.options.n_workers = (unsigned) _i % 2 * 2;
        add_large(500);
        captured_run(&captured);
        ck_assert_int_eq(captured.result, -ENOSPC);
}
END_TEST

START_TEST(a_proc_that_cannot_be_listed_fails_the_capture) {
        int fd = tree.proc_fd;

        captured.options.proc_fd = -EBADF;
        captured_run(&captured);
        ck_assert_int_lt(captured.result, 0);
        captured.options.proc_fd = fd;
}
END_TEST

/* probe */

START_TEST(a_probe_looks_at_its_own_process_and_the_first) {
        CaptureSample sample;
        SourceTable sources;

        tree_link(&tree, "proc/self", "999");
        tree_add_thread(&tree, &(TreeThread){ .tgid = 999, .tid = 999 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 1000, .tid = 1000 });
        ck_assert_int_eq(capture_probe(&captured.options, &sources, &sample), 0);
        ck_assert_uint_eq(sources.sources[SOURCE_STAT].counts[SOURCE_OUTCOME_ok], 2);
        ck_assert_uint_eq(sample.n_threads, 2);
        ck_assert_uint_eq(sample.n_processes, 2);
        ck_assert_int_eq(sources.sources[SOURCE_STAT].state, SOURCE_STATE_OK);
        ck_assert_int_eq(sources.sources[SOURCE_TASKSTATS].state, SOURCE_STATE_OK);
        ck_assert_int_eq(sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_UNAVAILABLE);

        /* Hidden, it is not missed: that /proc hides it is said anyway. */
        ck_assert_int_eq(renameat(tree.fd, "proc/1", tree.fd, "proc/x1"), 0);
        ck_assert_int_eq(capture_probe(&captured.options, &sources, &sample), 0);
        ck_assert_uint_eq(sources.sources[SOURCE_STAT].counts[SOURCE_OUTCOME_ok], 1);
        ck_assert_int_eq(sources.sources[SOURCE_STAT].state, SOURCE_STATE_PARTIAL);
        ck_assert_uint_eq(sample.n_threads, 1);
        ck_assert_uint_eq(sample.n_processes, 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-flow");
        TCase *pieces = tcase_create("pieces");
        TCase *cgroups = tcase_create("cgroups");
        TCase *frame = tcase_create("frame");
        TCase *ends = tcase_create("ends");

        tcase_add_checked_fixture(pieces, setup, teardown);
        tcase_add_checked_fixture(cgroups, setup, teardown);
        tcase_add_checked_fixture(frame, setup, teardown);
        tcase_add_checked_fixture(ends, setup, teardown);
        tcase_add_loop_test(pieces, a_large_process_is_read_in_pieces, 0, 3);
        tcase_add_test(pieces, pieces_of_another_process_with_the_same_number_are_dropped);
        tcase_add_loop_test(pieces, many_processes_fill_the_ring_more_than_once, 0, 3);
        tcase_add_test(cgroups, every_cgroup_is_there_with_those_above_it);
        tcase_add_test(cgroups, a_cgroup_that_went_is_counted_and_keeps_its_thread);
        tcase_add_test(cgroups, paths_that_lead_out_are_refused);
        tcase_add_loop_test(cgroups, threads_of_one_process_may_live_in_different_cgroups, 0,
                            ELEMENTSOF(threading_rows));
        tcase_add_test(cgroups, the_root_is_threaded_when_a_child_is);
        tcase_add_test(cgroups, a_host_with_the_old_cgroups_only_has_none);
        tcase_add_test(frame, the_head_tells_window_cost_and_host);
        tcase_add_test(frame, pressure_and_scheduler_state_close_the_document);
        tcase_add_test(frame, a_host_without_pressure_says_how_to_have_it);
        tcase_add_test(frame, a_probe_looks_at_its_own_process_and_the_first);
        tcase_add_test(ends, progress_comes_at_a_tenth_of_a_second_at_most);
        tcase_add_loop_test(ends, a_cancelled_capture_ends_at_once, 0, 3);
        tcase_add_loop_test(ends, a_sink_that_fails_ends_the_capture_with_its_error, 0, 4);
        tcase_add_test(ends, a_proc_that_cannot_be_listed_fails_the_capture);
        suite_add_tcase(suite, pieces);
        suite_add_tcase(suite, cgroups);
        suite_add_tcase(suite, frame);
        suite_add_tcase(suite, ends);
        return check_main(suite);
}
