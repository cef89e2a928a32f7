/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/macro.h"
#include "captured.h"

static Tree tree;
static FakeSystem fake;
static Captured captured;
static FakeThread answers[8];

static void setup(void) {
        tree_make(&tree);
        fake_system_init(&fake, &tree);
        captured_init(&captured, &tree, &fake);
        fake.threads = answers;
        fake.n_threads = 0;
        tree_add_thread(&tree, &(TreeThread){ .tgid = 1, .tid = 1 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 11 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 12 });
}

static void teardown(void) {
        captured_done(&captured);
        tree_remove(&tree);
}

static void answer(FakeThread thread) {
        answers[fake.n_threads++] = thread;
}

static void capture(void) {
        captured_run(&captured);
        ck_assert_int_eq(captured.result, 0);
}

START_TEST(an_answer_stands_for_schedstat_and_status) {
        const ThreadSample *sample;

        tree_delete(&tree, "proc/10/task/11/schedstat");
        tree_delete(&tree, "proc/10/task/11/status");
        capture();
        ck_assert_uint_eq(captured.n_threads, 4);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_timeslices), 101);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_wait_time_ns), 102);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_run_time_ns), 103);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_cpu_delay_count), 101);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_acct_run_virtual_ns), 103);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_voluntary_csw), 104);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_nonvoluntary_csw), 105);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_hiwater_vm_bytes), 9 * 1024);
        sample = &captured_find(&captured, 11)->sample;
        ck_assert(sample->has_owner && sample->uid == 51 && sample->gid == 52);
        ck_assert(sample->has_exe && sample->exe_dev == 106 && sample->exe_inode == 107);
        captured_check_source(&captured, SOURCE_TASKSTATS, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
        captured_check_source(&captured, SOURCE_SCHEDSTAT, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
        captured_check_source(&captured, SOURCE_STATUS, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
        ck_assert(captured.head.has_taskstats_version);
        ck_assert_uint_eq(captured.head.taskstats_version, 16);
        /* One for the specimen, one for all. */
        ck_assert_uint_eq(fake.n_queries, 2);
}
END_TEST

/* taskstats says less than the process has now: its peak is read where it is added up. */
START_TEST(the_peak_of_a_process_is_read_from_its_status) {
        capture();
        for (pid_t tid = 10; tid <= 12; tid++)
                ck_assert_uint_eq(captured_value(&captured, tid, METRIC_hiwater_rss_bytes),
                                  21 * 1024);
        captured_check_source(&captured, SOURCE_STATUS, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
}
END_TEST

START_TEST(without_a_status_the_peak_is_that_of_taskstats) {
        tree_write_text(&tree, "proc/10/task/10/status", "not this file\n");
        capture();
        for (pid_t tid = 10; tid <= 12; tid++)
                ck_assert_uint_eq(captured_value(&captured, tid, METRIC_hiwater_rss_bytes),
                                  8 * 1024);
}
END_TEST

START_TEST(without_taskstats_the_files_are_read) {
        fake.own_error = -EPERM;
        capture();
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_run_time_ns), 31);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_wait_time_ns), 32);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_timeslices), 33);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_voluntary_csw), 43);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_nonvoluntary_csw), 44);
        ck_assert(!captured_has(&captured, 11, METRIC_cpu_delay_count));
        ck_assert(!captured_has(&captured, 11, METRIC_hiwater_rss_bytes));
        ck_assert_uint_eq(captured_find(&captured, 11)->sample.uid, 41);
        ck_assert_uint_eq(captured_find(&captured, 11)->sample.gid, 42);
        /* The executable is looked at instead; here it is a file of the tree. */
        ck_assert(captured_find(&captured, 11)->sample.has_exe);
        ck_assert_uint_gt(captured_find(&captured, 11)->sample.exe_inode, 0);
        ck_assert_uint_eq(fake.n_queries, 1);
        captured_check_source(&captured, SOURCE_TASKSTATS, SOURCE_STATE_UNAVAILABLE, 0, 4, 0, 0, 0);
        captured_check_source(&captured, SOURCE_TASKSTATS_DELAY, SOURCE_STATE_UNAVAILABLE, 0, 4, 0,
                              0, 0);
        captured_check_source(&captured, SOURCE_SCHEDSTAT, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_TASKSTATS].reason,
                         "taskstats needs CAP_NET_ADMIN in the initial user namespace: run ctprofd "
                         "as root or as ctprofd.service");
        ck_assert(!captured.head.complete);
}
END_TEST

START_TEST(a_kernel_without_taskstats_is_said_to_be_one) {
        fake.open_error = TASKSTATS_E_NO_FAMILY;
        capture();
        captured_check_source(&captured, SOURCE_TASKSTATS, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 4, 0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_TASKSTATS].reason,
                         "this kernel was built without CONFIG_TASKSTATS");
        ck_assert(!captured.head.has_taskstats_version);
}
END_TEST

START_TEST(a_thread_that_taskstats_does_not_know_any_more_is_dropped_whole) {
        answer((FakeThread){ .tid = 11, .stats_error = -ESRCH });
        capture();
        ck_assert_ptr_null(captured_find(&captured, 11));
        ck_assert_uint_eq(captured.n_threads, 3);
        captured_check_source(&captured, SOURCE_TASKSTATS, SOURCE_STATE_OK, 3, 0, 1, 0, 0);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, 3, 0, 1, 0, 0);
        captured_check_source(&captured, SOURCE_IO, SOURCE_STATE_OK, 3, 0, 1, 0, 0);
}
END_TEST

/*
 * The clock moves a microsecond with each look: once per stat, once before the question, and twice
 * for every process's memory. So stat of 10 lies 3 us before the question, of 12 1 us.
 */
static const struct {
        pid_t tid;
        uint64_t age_us;
        bool kept;
} life_rows[] = {
        { 10, 2, true },
        { 10, 1, false },
        { 11, 1, true },
        { 11, UINT64_MAX, true },
};

START_TEST(an_answer_about_a_later_life_of_the_tid_drops_the_thread) {
        captured.options.smaps = false;
        answer((FakeThread){ .tid = life_rows[_i].tid, .age_us = life_rows[_i].age_us });
        capture();
        ck_assert_int_eq(captured_find(&captured, life_rows[_i].tid) != NULL, life_rows[_i].kept);
        ck_assert_uint_eq(captured.head.threads, life_rows[_i].kept ? 4 : 3);
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, life_rows[_i].kept ? 4 : 3,
                              0, life_rows[_i].kept ? 0 : 1, 0, 0);
}
END_TEST

/* The leader's stat when it is read first, and after taskstats has answered. */
static const struct {
        TreeThread before, after;
        bool kept;
} leader_rows[] = {
        { { .start_stack = 100 }, { .start_stack = 100 }, true },
        { { .start_stack = 100 }, { .start_stack = 200 }, false },
        { { .start_stack = 100 }, { .state = 'Z' }, true }, /* it exited */
        { { .state = 'Z' }, { .state = 'Z' }, false },      /* taskstats told of an executable */
        { { .state = 'Z' }, { .start_stack = 100 }, false },
        { { .minflt = 7 }, { .minflt = 8 }, true },
        { { .minflt = 7 }, { .minflt = 6 }, false },
        { { .start_stack = 100, .num_threads = 1 },
          { .start_stack = 200 },
          true }, /* not looked at */
};

static size_t row_of_leader;
static int (*plain_query)(TaskstatsSocket *socket, const pid_t *tids, size_t n_tids,
                          TaskstatsAnswer *answers);

static void write_leader(TreeThread leader) {
        leader.tgid = leader.tid = 10;
        if (leader.num_threads == 0)
                leader.num_threads = 3;
        tree_add_thread(&tree, &leader);
}

static int query_and_execute(TaskstatsSocket *socket, const pid_t *tids, size_t n_tids,
                             TaskstatsAnswer *ret_answers) {
        if (n_tids > 1)
                write_leader(leader_rows[row_of_leader].after);
        return plain_query(socket, tids, n_tids, ret_answers);
}

START_TEST(a_leader_whose_place_another_task_took_is_dropped) {
        plain_query = fake.system.query_taskstats;
        fake.system.query_taskstats = query_and_execute;
        row_of_leader = (size_t) _i;
        write_leader(leader_rows[_i].before);
        capture();
        ck_assert_int_eq(captured_find(&captured, 10) != NULL, leader_rows[_i].kept);
        ck_assert_ptr_nonnull(captured_find(&captured, 11));
        captured_check_source(&captured, SOURCE_STAT, SOURCE_STATE_OK, leader_rows[_i].kept ? 4 : 3,
                              0, leader_rows[_i].kept ? 0 : 1, 0, 0);
}
END_TEST

START_TEST(one_thread_without_an_answer_costs_itself_only) {
        answer((FakeThread){ .tid = 11, .stats_error = -ENODATA });
        answer((FakeThread){ .tid = 12, .stats_error = -EPERM });
        capture();
        ck_assert_uint_eq(captured.n_threads, 4);
        ck_assert_uint_eq(captured_value(&captured, 10, METRIC_run_time_ns), 103);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_run_time_ns), 31);
        ck_assert_uint_eq(captured_value(&captured, 12, METRIC_voluntary_csw), 43);
        captured_check_source(&captured, SOURCE_TASKSTATS, SOURCE_STATE_PARTIAL, 2, 1, 0, 0, 1);
        captured_check_source(&captured, SOURCE_STATUS, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
        captured_check_source(&captured, SOURCE_SCHEDSTAT, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
}
END_TEST

START_TEST(a_kernel_without_delay_accounting_leaves_schedstat_to_its_file) {
        fake.without_delays = true;
        capture();
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_run_time_ns), 31);
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_voluntary_csw), 104);
        ck_assert(!captured_has(&captured, 11, METRIC_cpu_delay_count));
        ck_assert(!captured_has(&captured, 11, METRIC_acct_run_real_ns));
        ck_assert(!captured_has(&captured, 11, METRIC_blkio_delay_count));
        captured_check_source(&captured, SOURCE_TASKSTATS_DELAY, SOURCE_STATE_UNAVAILABLE, 0, 0, 0,
                              4, 0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_TASKSTATS_DELAY].reason,
                         "this kernel was built without CONFIG_TASK_DELAY_ACCT");
}
END_TEST

START_TEST(without_extended_accounting_its_members_are_absent) {
        answer((FakeThread){ .tid = FAKE_OWN_TID, .no_space = true });
        capture();
        ck_assert(!captured_has(&captured, 11, METRIC_hiwater_vm_bytes));
        ck_assert(!captured_has(&captured, 11, METRIC_acct_rss_mb_us));
        ck_assert(captured_has(&captured, 11, METRIC_acct_utime_ns));
}
END_TEST

/* The meaning of a 0: thread 10 counted a delay, thread 11 none. */
static const struct {
        const char *sysctl, *cmdline;
        bool zero_is_measured;
        SourceState state;
        const char *reason;
} delay_rows[] = {
        { "1", "quiet delayacct", true, SOURCE_STATE_OK, "" },
        { "1", "quiet", false, SOURCE_STATE_PARTIAL,
          "threads without any delay may predate kernel.task_delayacct=1: boot with delayacct to "
          "account all threads from their start" },
        { "0", "quiet", false, SOURCE_STATE_PARTIAL,
          "delay accounting is off: boot with delayacct, or sysctl kernel.task_delayacct=1 for "
          "tasks started from then on" },
        { "0", "delayacct", false, SOURCE_STATE_PARTIAL,
          "delay accounting is off: boot with delayacct, or sysctl kernel.task_delayacct=1 for "
          "tasks started from then on" },
        { "1", "nodelayacct xdelayacct", false, SOURCE_STATE_PARTIAL,
          "threads without any delay may predate kernel.task_delayacct=1: boot with delayacct to "
          "account all threads from their start" },
};

START_TEST(a_delay_of_zero_is_a_measurement_only_when_every_thread_is_accounted) {
        tree_write_text(&tree, "proc/sys/kernel/task_delayacct", "%s\n", delay_rows[_i].sysctl);
        tree_write_text(&tree, "proc/cmdline", "%s\n", delay_rows[_i].cmdline);
        answer((FakeThread){ .tid = 10, .delay_count = 5 });
        capture();
        ck_assert_uint_eq(captured_value(&captured, 10, METRIC_blkio_delay_count), 5);
        /* Its zeros are measurements too, for its block exists. */
        ck_assert_uint_eq(captured_value(&captured, 10, METRIC_swapin_delay_count), 0);
        ck_assert_int_eq(captured_has(&captured, 11, METRIC_blkio_delay_count),
                         delay_rows[_i].zero_is_measured);
        ck_assert_int_eq(captured_has(&captured, 11, METRIC_wpcopy_delay_max_ns),
                         delay_rows[_i].zero_is_measured);
        /* The wait for a CPU is counted by the scheduler and needs no accounting. */
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_cpu_delay_count), 101);
        if (delay_rows[_i].zero_is_measured)
                captured_check_source(&captured, SOURCE_TASKSTATS_DELAY, delay_rows[_i].state, 4, 0,
                                      0, 0, 0);
        else
                captured_check_source(&captured, SOURCE_TASKSTATS_DELAY, delay_rows[_i].state, 1, 0,
                                      0, 3, 0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_TASKSTATS_DELAY].reason,
                         delay_rows[_i].reason);
        ck_assert_int_eq(captured.sources.sources[SOURCE_TASKSTATS_DELAY].switched_off,
                         strcmp(delay_rows[_i].sysctl, "0") == 0);
}
END_TEST

START_TEST(accounting_that_may_be_too_young_for_all_is_still_partial) {
        tree_write_text(&tree, "proc/cmdline", "quiet\n");
        capture();
        captured_check_source(&captured, SOURCE_TASKSTATS_DELAY, SOURCE_STATE_PARTIAL, 0, 0, 0, 4,
                              0);
        tree_write_text(&tree, "proc/sys/kernel/task_delayacct", "0\n");
        capture();
        captured_check_source(&captured, SOURCE_TASKSTATS_DELAY, SOURCE_STATE_UNAVAILABLE, 0, 0, 0,
                              4, 0);
}
END_TEST

START_TEST(irq_delays_of_zero_need_a_kernel_that_accounts_them) {
        answer((FakeThread){ .tid = 10, .irq_count = 3 });
        capture();
        /* A count above 0 is a measurement, although nothing else says that they are counted. */
        ck_assert_uint_eq(captured_value(&captured, 10, METRIC_irq_delay_count), 3);
        ck_assert(!captured_has(&captured, 11, METRIC_irq_delay_count));
        captured_check_source(&captured, SOURCE_TASKSTATS_IRQ, SOURCE_STATE_PARTIAL, 1, 0, 0, 0, 0);

        tree_write_text(&tree, "proc/pressure/irq",
                        "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
        capture();
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_irq_delay_count), 0);
        ck_assert(captured_has(&captured, 11, METRIC_irq_delay_min_ns));
        captured_check_source(&captured, SOURCE_TASKSTATS_IRQ, SOURCE_STATE_OK, 4, 0, 0, 0, 0);

        /* Accounted interrupts in a thread without the block: its zeros are nothing. */
        tree_write_text(&tree, "proc/sys/kernel/task_delayacct", "0\n");
        capture();
        ck_assert(captured_has(&captured, 10, METRIC_irq_delay_count));
        ck_assert(!captured_has(&captured, 11, METRIC_irq_delay_count));
        captured_check_source(&captured, SOURCE_TASKSTATS_IRQ, SOURCE_STATE_PARTIAL, 1, 0, 0, 3, 0);
}
END_TEST

START_TEST(irq_delays_do_not_apply_where_interrupt_time_is_not_accounted) {
        capture();
        captured_check_source(&captured, SOURCE_TASKSTATS_IRQ, SOURCE_STATE_NOT_APPLICABLE, 0, 0, 0,
                              0, 0);
        tree_delete(&tree, "proc/pressure/cpu");
        tree_delete(&tree, "proc/pressure/memory");
        tree_delete(&tree, "proc/pressure/io");
        ck_assert_int_eq(unlinkat(tree.fd, "proc/pressure", AT_REMOVEDIR), 0);
        capture();
        captured_check_source(&captured, SOURCE_TASKSTATS_IRQ, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 4,
                              0);
}
END_TEST

START_TEST(members_that_the_struct_lacks_are_absent) {
        answer((FakeThread){ .tid = FAKE_OWN_TID, .version = 13 });
        answer((FakeThread){ .tid = 10, .version = 13 });
        answer((FakeThread){ .tid = 11, .version = 13 });
        answer((FakeThread){ .tid = 12, .version = 8 });
        answer((FakeThread){ .tid = 1, .version = 13 });
        capture();
        ck_assert(captured_has(&captured, 10, METRIC_wpcopy_delay_count));
        ck_assert(!captured_has(&captured, 10, METRIC_cpu_delay_max_ns));
        ck_assert(!captured_has(&captured, 10, METRIC_irq_delay_count));
        ck_assert(!captured_has(&captured, 12, METRIC_thrashing_delay_count));
        captured_check_source(&captured, SOURCE_TASKSTATS, SOURCE_STATE_OK, 4, 0, 0, 0, 0);
        captured_check_source(&captured, SOURCE_TASKSTATS_IRQ, SOURCE_STATE_NOT_APPLICABLE, 0, 0, 0,
                              0, 0);
        ck_assert_str_eq(
                captured.sources.sources[SOURCE_TASKSTATS_IRQ].reason,
                "struct taskstats of this kernel (version 13) has no irq delays: they came "
                "with version 14");
}
END_TEST

START_TEST(a_struct_too_old_to_read_leaves_the_files) {
        fake.own_error = -EPROTO;
        capture();
        ck_assert_uint_eq(captured_value(&captured, 11, METRIC_run_time_ns), 31);
        captured_check_source(&captured, SOURCE_TASKSTATS, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 4, 0);
        ck_assert_str_eq(captured.sources.sources[SOURCE_TASKSTATS].reason,
                         "struct taskstats of this kernel is too old to be read: before version 8");
}
END_TEST

START_TEST(numbers_of_another_pid_namespace_are_not_asked_about) {
        tree_link(&tree, "proc/self", "10");
        capture();
        ck_assert_uint_eq(fake.n_queries, 0);
        ck_assert_uint_eq(captured.n_threads, 4);
        ck_assert(!captured_has(&captured, 10, METRIC_cpu_affinity));
        captured_check_source(&captured, SOURCE_TASKSTATS, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 4, 0);
        captured_check_source(&captured, SOURCE_AFFINITY, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 4, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-taskstats");
        TCase *taskstats = tcase_create("taskstats");
        TCase *gates = tcase_create("gates");

        tcase_add_checked_fixture(taskstats, setup, teardown);
        tcase_add_checked_fixture(gates, setup, teardown);
        tcase_add_test(taskstats, an_answer_stands_for_schedstat_and_status);
        tcase_add_test(taskstats, the_peak_of_a_process_is_read_from_its_status);
        tcase_add_test(taskstats, without_a_status_the_peak_is_that_of_taskstats);
        tcase_add_test(taskstats, without_taskstats_the_files_are_read);
        tcase_add_test(taskstats, a_kernel_without_taskstats_is_said_to_be_one);
        tcase_add_test(taskstats, a_thread_that_taskstats_does_not_know_any_more_is_dropped_whole);
        tcase_add_loop_test(taskstats, an_answer_about_a_later_life_of_the_tid_drops_the_thread, 0,
                            ELEMENTSOF(life_rows));
        tcase_add_loop_test(taskstats, a_leader_whose_place_another_task_took_is_dropped, 0,
                            ELEMENTSOF(leader_rows));
        tcase_add_test(taskstats, one_thread_without_an_answer_costs_itself_only);
        tcase_add_test(taskstats, numbers_of_another_pid_namespace_are_not_asked_about);
        tcase_add_test(gates, a_kernel_without_delay_accounting_leaves_schedstat_to_its_file);
        tcase_add_test(gates, without_extended_accounting_its_members_are_absent);
        tcase_add_loop_test(gates,
                            a_delay_of_zero_is_a_measurement_only_when_every_thread_is_accounted, 0,
                            ELEMENTSOF(delay_rows));
        tcase_add_test(gates, accounting_that_may_be_too_young_for_all_is_still_partial);
        tcase_add_test(gates, irq_delays_of_zero_need_a_kernel_that_accounts_them);
        tcase_add_test(gates, irq_delays_do_not_apply_where_interrupt_time_is_not_accounted);
        tcase_add_test(gates, members_that_the_struct_lacks_are_absent);
        tcase_add_test(gates, a_struct_too_old_to_read_leaves_the_files);
        suite_add_tcase(suite, taskstats);
        suite_add_tcase(suite, gates);
        return check_main(suite);
}
