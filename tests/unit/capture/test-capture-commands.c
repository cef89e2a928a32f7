/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "capture/heap/memory-job.h"
#include "heap-host.h"

/*
 * What processes were started as. Process 1 is an interpreter, 10 has two threads, 20 has written a
 * title, and of 30 the file cannot be read.
 */

static void put_arguments(pid_t tgid, pid_t tid, Span arguments) {
        char path[64];

        (void) snprintf(path, sizeof(path), "proc/%d/task/%d/cmdline", tgid, tid);
        tree_write(&tree, path, arguments);
}

#define PYTHON SPAN_LITERAL("/usr/bin/python3\0-u\0/srv/web.py\0--password=x\0")
#define NGINX SPAN_LITERAL("/usr/sbin/nginx\0-g\0daemon off;\0")

static void setup_commands(void) {
        setup();
        captured.options.heap = false;
        captured.options.commands = COMMAND_LINES_SHORT;
        put_arguments(1, 1, PYTHON);
        put_arguments(10, 10, NGINX);
        put_arguments(20, 20, SPAN_LITERAL("nginx: worker process"));
}

static bool is_command(pid_t tid, Span command, Span line) {
        const CapturedThread *thread = captured_find(&captured, tid);

        ck_assert_ptr_nonnull(thread);
        return span_equal(thread->sample.command, command) &&
               span_equal(thread->sample.command_line, line);
}

#define NONE ((Span){})

static Source *source(void) {
        return &captured.sources.sources[SOURCE_CMDLINE];
}

START_TEST(each_thread_has_the_command_of_its_process) {
        captured.options.n_workers = (unsigned) _i;
        capture();
        ck_assert(is_command(1, SPAN_LITERAL("/usr/bin/python3\0/srv/web.py\0"), NONE));
        ck_assert(is_command(10, SPAN_LITERAL("/usr/sbin/nginx\0"), NONE));
        ck_assert(is_command(11, SPAN_LITERAL("/usr/sbin/nginx\0"), NONE));
        ck_assert(is_command(20, NONE, NONE));
        ck_assert(span_is(captured_find(&captured, 1)->sample.command_name, "python3 web.py"));
        ck_assert_int_eq(source()->state, SOURCE_STATE_OK);
        ck_assert_uint_eq(source()->counts[SOURCE_OUTCOME_ok], 3);
        ck_assert_uint_eq(source()->counts[SOURCE_OUTCOME_vanished], 1); /* it has no such file */
}
END_TEST

START_TEST(all_arguments_are_there_where_that_is_wanted) {
        captured.options.commands = COMMAND_LINES_FULL;
        capture();
        ck_assert(is_command(1, SPAN_LITERAL("/usr/bin/python3\0/srv/web.py\0"), PYTHON));
        ck_assert(is_command(20, NONE, SPAN_LITERAL("nginx: worker process\0")));
}
END_TEST

START_TEST(they_are_left_alone_on_request) {
        captured.options.commands = COMMAND_LINES_NO;
        capture();
        ck_assert(is_command(1, NONE, NONE) && is_command(10, NONE, NONE));
        ck_assert_uint_eq(memory_served.n_started, 0);
        ck_assert_int_eq(source()->state, SOURCE_STATE_NOT_REQUESTED);
}
END_TEST

/* Of a process that is known by its life nobody is asked. */
START_TEST(the_next_capture_asks_for_those_alone_that_are_new) {
        put_arguments(30, 30, SPAN_LITERAL("sleep\0"));
        capture();
        ck_assert_uint_eq(memory_served.n_started, 1);
        put_arguments(10, 10, SPAN_LITERAL("other\0")); /* which is not looked at */
        capture();
        ck_assert_uint_eq(memory_served.n_started, 1);
        ck_assert(is_command(10, SPAN_LITERAL("/usr/sbin/nginx\0"), NONE));
        ck_assert_int_eq(source()->state, SOURCE_STATE_OK);
        ck_assert_uint_eq(source()->counts[SOURCE_OUTCOME_ok], 4);
        /* It executes a program, so that its address space is another. */
        tree_add_thread(
                &tree, &(TreeThread){ .tgid = 30, .tid = 30, .start_stack = 77, .num_threads = 1 });
        put_arguments(30, 30, SPAN_LITERAL("true\0"));
        capture();
        ck_assert_uint_eq(memory_served.n_started, 2);
        ck_assert(is_command(30, SPAN_LITERAL("true\0"), NONE));
}
END_TEST

/* Where the address space is not to be seen, its name tells that it executed a program. */
START_TEST(a_process_by_another_name_is_asked_about_again) {
        TreeThread thread = { .tgid = 30, .tid = 30, .comm = "sh", .num_threads = 1 };

        tree_add_thread(&tree, &thread);
        put_arguments(30, 30, SPAN_LITERAL("sh\0"));
        capture();
        ck_assert(is_command(30, SPAN_LITERAL("sh\0"), NONE));
        thread.comm = "sleep";
        tree_add_thread(&tree, &thread);
        put_arguments(30, 30, SPAN_LITERAL("sleep\0"));
        capture();
        ck_assert(is_command(30, SPAN_LITERAL("sleep\0"), NONE));
}
END_TEST

START_TEST(a_number_that_another_process_has_by_now_tells_nothing) {
        TreeThread thread = { .tgid = 30, .tid = 30, .start_stack = 5030, .num_threads = 1 };

        put_arguments(30, 30, SPAN_LITERAL("sleep\0"));
        capture();
        ck_assert(is_command(30, SPAN_LITERAL("sleep\0"), NONE));
        thread.start = 5;
        tree_add_thread(&tree, &thread);
        capture();
        ck_assert(is_command(30, SPAN_LITERAL("sleep\0"), NONE));
        ck_assert_uint_eq(memory_served.n_started, 2); /* it was asked about */
}
END_TEST

START_TEST(processes_that_hung_and_those_of_barred_owners_are_not_touched) {
        static const MemoryLife hung = { .tgid = 10, .start_ticks = 1010 };

        memory_served.options.hung = &hung;
        memory_served.options.n_hung = 1;
        capture();
        ck_assert(is_command(10, NONE, NONE));
        ck_assert(is_command(1, SPAN_LITERAL("/usr/bin/python3\0/srv/web.py\0"), NONE));
        ck_assert_uint_eq(source()->counts[SOURCE_OUTCOME_other], 1);
        ck_assert_ptr_nonnull(strstr(source()->reason, "hung-before"));
}
END_TEST

START_TEST(without_a_memory_job_they_are_absent) {
        memory_served.start_error = -EAGAIN;
        capture();
        ck_assert(is_command(1, NONE, NONE));
        ck_assert_int_eq(source()->state, SOURCE_STATE_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(source()->reason, "memory-job-failure"));
        captured.options.no_memory = "all of them hang";
        capture();
        ck_assert_int_eq(source()->state, SOURCE_STATE_UNAVAILABLE);
        ck_assert_str_eq(source()->reason, "all of them hang");
        captured.options.no_memory = NULL;
        captured.options.open_memory = NULL;
        capture();
        ck_assert_int_eq(source()->state, SOURCE_STATE_UNAVAILABLE);
}
END_TEST

START_TEST(our_own_processes_are_not_asked_about) {
        static const pid_t own[] = { 10 };

        captured.options.self_pids = own;
        captured.options.n_self_pids = ELEMENTSOF(own);
        capture();
        ck_assert(is_command(10, NONE, NONE));
}
END_TEST

/* Counters of allocators have the time to themselves. */
START_TEST(the_time_for_them_is_their_own) {
        if (check_skips(heap_probe_is_built ? NULL : "this was built without -Dheap"))
                return;
        captured.options.heap = true;
        capture();
        check_value(10, 1000, 7);
        ck_assert(is_command(10, SPAN_LITERAL("/usr/sbin/nginx\0"), NONE));
        ck_assert_uint_eq(memory_served.n_started, 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-commands");
        TCase *commands = tcase_create("commands");

        tcase_add_checked_fixture(commands, setup_commands, teardown);
        tcase_add_loop_test(commands, each_thread_has_the_command_of_its_process, 0, 3);
        tcase_add_test(commands, all_arguments_are_there_where_that_is_wanted);
        tcase_add_test(commands, they_are_left_alone_on_request);
        tcase_add_test(commands, the_next_capture_asks_for_those_alone_that_are_new);
        tcase_add_test(commands, a_process_by_another_name_is_asked_about_again);
        tcase_add_test(commands, a_number_that_another_process_has_by_now_tells_nothing);
        tcase_add_test(commands, processes_that_hung_and_those_of_barred_owners_are_not_touched);
        tcase_add_test(commands, without_a_memory_job_they_are_absent);
        tcase_add_test(commands, our_own_processes_are_not_asked_about);
        if (thread_machine != EM_NONE)
                tcase_add_test(commands, the_time_for_them_is_their_own);
        suite_add_tcase(suite, commands);
        return check_main(suite);
}
