/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "capture/batch/readings.h"
#include "heap-host.h"

/* values */

START_TEST(threads_of_processes_with_jemalloc_have_counters) {
        captured.options.n_workers = (unsigned) _i;
        capture();
        check_value(10, 1000, 7);
        check_value(11, 1100, 7);
        check_value(20, 2000, 5);
        ck_assert(!captured_has(&captured, 1, METRIC_allocated_bytes));
        ck_assert(!captured_has(&captured, 30, METRIC_deallocated_bytes));
        check_source(SOURCE_STATE_OK, 3, 0, 0, 0, 0);
        ck_assert_str_eq(reason(), "");
        ck_assert_str_eq(summary(), SUMMARY("4", "2", "3", "0", "null", "false", ""));
        ck_assert_uint_eq(job.n_started, 1);
        ck_assert(captured.head.heap_requested);
}
END_TEST

START_TEST(each_file_is_asked_about_once) {
        capture();
        ck_assert_uint_eq(job.n_asked, 3); /* the program, and two libraries */
}
END_TEST

START_TEST(a_host_without_jemalloc_has_nothing_to_read) {
        const HeapLayout none = { .verdict = HEAP_NOT_JEMALLOC };

        put_layout("proc/10/task/10/exe", &none);
        put_layout("proc/20/map_files/7f1000000000-7f1000001000", &none);
        capture();
        check_source(SOURCE_STATE_NOT_APPLICABLE, 0, 0, 0, 0, 0);
        ck_assert_str_eq(reason(), "no process of this host uses jemalloc");
        ck_assert_str_eq(summary(), SUMMARY("4", "0", "0", "0", "null", "false", ""));
        ck_assert(!has(10) && !has(20));
}
END_TEST

START_TEST(counters_of_several_modules_are_summed) {
        const HeapLayout library = library_layout(HEAP_SLOT_TPOFF), program = program_layout();

        tree_write(&tree, "proc/10/task/10/maps",
                   span_of(MAPS_OF_PROGRAM(100) MAPS_OF_LIBRARY(200)));
        put_layout("proc/10/map_files/7f1000000000-7f1000001000", &library);
        put_counters(10, DISTANCE, &library, 50, 40);
        put_counters(11, DISTANCE, &library, 60, 0);
        put_counters(10, program_distance(), &program, 1000, 7);
        capture();
        check_value(10, 1050, 47);
        check_value(11, 1160, 7);
}
END_TEST

/* As in two subvolumes of btrfs: maps has one device for both, and each counts by itself. */
START_TEST(files_of_the_same_number_are_told_apart) {
        HeapLayout other = library_layout(HEAP_SLOT_TPOFF);

        other.allocated = 424;
        other.deallocated = 432;
        tree_write(&tree, "proc/30/task/30/maps", span_of(MAPS_OF_LIBRARY(200) OTHER_MAPS));
        put_layout("proc/30/map_files/7f1000000000-7f1000001000", &other);
        (void) add_task(30, 30);
        put_counters(30, DISTANCE, &other, 9, 8);
        /* in one process, with something between them */
        tree_write(&tree, "proc/10/task/10/maps",
                   span_of(MAPS_OF_PROGRAM(100) "00600000-00601000 r--p 00000000 fd:01 901 "
                                                "/data\n" MAPS_OF_LIBRARY(100)));
        put_layout("proc/10/map_files/7f1000000000-7f1000001000", &other);
        put_counters(10, DISTANCE, &other, 50, 40);
        put_counters(11, DISTANCE, &other, 60, 30);
        capture();
        check_value(10, 1050, 47);
        check_value(11, 1160, 37);
        check_value(20, 2000, 5);
        check_value(30, 9, 8);
}
END_TEST

START_TEST(threads_of_a_leader_that_ended_are_read) {
        static const FakeThread ended = { .tid = 10, .stats_error = -EPERM };

        fake.threads = &ended;
        fake.n_threads = 1;
        tree_add_thread(
                &tree,
                &(TreeThread){
                        .tgid = 10, .tid = 10, .state = 'Z', .no_space = true, .num_threads = 2 });
        tree_write(&tree, "proc/10/task/11/maps", span_of(MAPS_OF_PROGRAM(100) OTHER_MAPS));
        tree_delete(&tree, "proc/10/task/11/exe");
        tree_link(&tree, "proc/10/task/11/exe", "../10/exe");
        fake_task(&memory, 10)->memory_error = fake_task(&memory, 10)->head_error = -ESRCH;
        capture();
        ck_assert(!captured_has(&captured, 10, METRIC_allocated_bytes));
        check_value(11, 1100, 7);
        check_source(SOURCE_STATE_OK, 2, 0, 0, 0, 0);
}
END_TEST

START_TEST(threads_in_nested_pid_namespaces_are_read) {
        tree_write_text(&tree, "proc/10/task/10/status",
                        "Name:\tx\nNSpid:\t10\t1\nVmLib:\t100 kB\n");
        memory.n_words = memory.n_tasks = 0;
        (void) add_task(10, 1);
        (void) add_task(11, 2);
        put_counters(10, program_distance(), &(HeapLayout){ .allocated = 16, .deallocated = 24 }, 5,
                     6);
        put_counters(11, program_distance(), &(HeapLayout){ .allocated = 16, .deallocated = 24 }, 7,
                     8);
        capture();
        check_value(10, 5, 6);
        check_value(11, 7, 8);
}
END_TEST

/* what is not read */

START_TEST(it_is_left_alone_on_request) {
        captured.options.heap = false;
        capture();
        check_source(SOURCE_STATE_NOT_REQUESTED, 0, 0, 0, 0, 0);
        ck_assert_uint_eq(captured.probe_summary.n, 0);
        ck_assert_uint_eq(memory.n_reads + job.n_started, 0);
        ck_assert(!captured.head.heap_requested);
}
END_TEST

START_TEST(numbers_of_another_namespace_are_not_used) {
        tree_link(&tree, "proc/self", "4711");
        capture();
        check_source(SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 0, 0);
        ck_assert_ptr_nonnull(strstr(reason(), "another pid namespace"));
        ck_assert_uint_eq(memory.n_reads + job.n_started, 0);
}
END_TEST

START_TEST(a_system_without_memory_says_so) {
        captured.options.open_memory = NULL;
        capture();
        check_source(SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 0, 0);
        captured.options.open_memory = memory_served_open;
        captured.options.no_memory = "too many hang";
        capture();
        check_source(SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 0, 0);
        ck_assert_str_eq(reason(), "too many hang");
        ck_assert_uint_eq(memory_served.n_started, 0);
        captured.options.no_memory = NULL;
}
END_TEST

START_TEST(our_own_processes_are_not_looked_at) {
        const pid_t own[] = { 10, 30 };

        captured.options.self_pids = own;
        captured.options.n_self_pids = ELEMENTSOF(own);
        capture();
        ck_assert(!has(10));
        check_source(SOURCE_STATE_OK, 1, 0, 0, 0, 0);
        ck_assert_str_eq(summary(), SUMMARY("2", "1", "1", "0", "null", "false", ""));
}
END_TEST

START_TEST(a_probe_tells_whether_it_could_be_read) {
        CaptureSample sample;
        SourceTable sources;

        tree_link(&tree, "proc/self", "999");
        add_process(999, MAPS_OF_PROGRAM(100));
        (void) add_task(999, 999);
        (void) add_task(1, 1);
        fake_word(&memory, 0x400000, 1);
        fake_word(&memory, 0x7f2000000000, 1);
        captured.options.heap = false;
        memory_served.options.limit_ns = NSEC_PER_SEC;
        ck_assert_int_eq(capture_probe(&captured.options, &sources, &sample), 0);
        memory_served_join(0);
        ck_assert_int_eq(sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_OK);
        ck_assert_uint_eq(sources.sources[SOURCE_JEMALLOC].counts[SOURCE_OUTCOME_ok], 2);
        ck_assert_uint_eq(job.n_started, 0);
        fake_task(&memory, 1)->memory_error = -EPERM;
        ck_assert_int_eq(capture_probe(&captured.options, &sources, &sample), 0);
        memory_served_join(1);
        ck_assert_int_eq(sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_PARTIAL);
        ck_assert_ptr_nonnull(strstr(sources.sources[SOURCE_JEMALLOC].reason, "CAP_SYS_PTRACE"));
}
END_TEST

/* what is known from before */

/* Neither maps nor files are looked at again, and no job is started. */
static void spoil_maps(void) {
        for (pid_t tgid = 10; tgid <= 30; tgid += 10) {
                char path[64];

                snprintf(path, sizeof(path), "proc/%d/task/%d/maps", tgid, tgid);
                tree_write_text(&tree, path, "x\n");
        }
        tree_write_text(&tree, "proc/1/task/1/maps", "x\n");
}

START_TEST(the_next_capture_reads_counters_and_nothing_else) {
        capture();
        spoil_maps();
        put_counters(10, program_distance(), &(HeapLayout){ .allocated = 16, .deallocated = 24 },
                     1234, 5);
        for (unsigned i = 0; i < 3; i++) {
                capture();
                check_value(10, 1234, 5);
                check_value(20, 2000, 5);
                ck_assert(!captured_has(&captured, 1, METRIC_allocated_bytes));
                check_source(SOURCE_STATE_OK, 3, 0, 0, 0, 0);
                ck_assert_str_eq(summary(), SUMMARY("4", "2", "3", "0", "null", "false", ""));
        }
        ck_assert_uint_eq(job.n_started, 1);
}
END_TEST

START_TEST(a_process_that_maps_more_code_is_looked_at_again) {
        const HeapLayout library = library_layout(HEAP_SLOT_TPOFF);

        capture();
        tree_write_text(&tree, "proc/30/task/30/status", "NSpid:\t30\nVmLib:\t104 kB\n");
        tree_write(&tree, "proc/30/task/30/maps", span_of(MAPS_OF_LIBRARY(300)));
        put_layout("proc/30/map_files/7f1000000000-7f1000001000", &library);
        (void) add_task(30, 30);
        put_counters(30, DISTANCE, &library, 9, 8);
        capture();
        check_value(30, 9, 8);
        check_source(SOURCE_STATE_OK, 4, 0, 0, 0, 0);
        ck_assert_uint_eq(job.n_asked, 3 + 1);
}
END_TEST

START_TEST(a_file_that_changed_is_asked_about_again) {
        const HeapLayout none = { .verdict = HEAP_NOT_JEMALLOC };

        capture();
        /* Its process is another one, too, or it would not have to be looked at. */
        tree_delete(&tree, "proc/20/map_files/7f1000000000-7f1000001000");
        put_layout("proc/20/map_files/7f1000000000-7f1000001000", &none);
        tree_add_thread(&tree, &(TreeThread){ .tgid = 20, .tid = 20, .start_stack = 1 });
        capture();
        ck_assert(!has(20));
        check_source(SOURCE_STATE_OK, 2, 0, 0, 0, 0);
}
END_TEST

/* A library can be replaced by another one without a trace in the sizes. */
START_TEST(plans_that_lead_nowhere_are_made_anew) {
        HeapLayout layout = library_layout(HEAP_SLOT_TPOFF);

        capture();
        memory.n_words = memory.n_tasks = 0;
        (void) add_task(20, 20);
        layout.allocated = 1000;
        layout.deallocated = 1008;
        layout.tls_vaddr = 0x2018;
        tree_delete(&tree, "proc/20/map_files/7f1000000000-7f1000001000");
        put_layout("proc/20/map_files/7f1000000000-7f1000001000", &layout);
        fake_word(&memory, LIBRARY + SLOT, (uint64_t) DISTANCE);
        put_counters(20, DISTANCE, &layout, 77, 66);
        capture();
        check_value(20, 77, 66);
        spoil_maps();
        capture();
        check_value(20, 77, 66); /* the new ones were kept */
}
END_TEST

/* Their C library is not going to tell, however often the process is looked at. */
START_TEST(plans_for_threads_without_a_pointer_are_not_made_anew) {
        capture();
        fake_task(&memory, 10)->head = fake_task(&memory, 11)->head = 0;
        spoil_maps();
        capture();
        ck_assert(!has(10) && !has(11));
        check_value(20, 2000, 5);
        ck_assert_str_eq(summary(), SUMMARY("4", "2", "1", "2", "\"no-thread-pointer\"", "false",
                                            "\"no-thread-pointer\":2"));
}
END_TEST

START_TEST(without_a_cache_everything_is_found_out_anew) {
        int fd = captured.options.heap_cache_fd, files_fd = memory_served.options.cache_fd;

        captured.options.heap_cache_fd = memory_served.options.cache_fd = -EBADF;
        capture();
        capture();
        captured.options.heap_cache_fd = fd;
        memory_served.options.cache_fd = files_fd;
        check_value(10, 1000, 7);
        ck_assert_uint_eq(job.n_started, 2);
        ck_assert_uint_eq(job.n_asked, 6);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-heap");
        TCase *values = tcase_create("values"), *not_read = tcase_create("not-read"),
              *known = tcase_create("known");
        TCase *tcases[] = { values, not_read, known };

        for (size_t i = 0; i < ELEMENTSOF(tcases) && thread_machine != EM_NONE; i++) {
                tcase_add_checked_fixture(tcases[i], setup, teardown);
                suite_add_tcase(suite, tcases[i]);
        }
        tcase_add_loop_test(values, threads_of_processes_with_jemalloc_have_counters, 0, 3);
        tcase_add_test(values, each_file_is_asked_about_once);
        tcase_add_test(values, a_host_without_jemalloc_has_nothing_to_read);
        tcase_add_test(values, counters_of_several_modules_are_summed);
        tcase_add_test(values, files_of_the_same_number_are_told_apart);
        tcase_add_test(values, threads_of_a_leader_that_ended_are_read);
        tcase_add_test(values, threads_in_nested_pid_namespaces_are_read);
        tcase_add_test(not_read, it_is_left_alone_on_request);
        tcase_add_test(not_read, numbers_of_another_namespace_are_not_used);
        tcase_add_test(not_read, a_system_without_memory_says_so);
        tcase_add_test(not_read, our_own_processes_are_not_looked_at);
        tcase_add_test(not_read, a_probe_tells_whether_it_could_be_read);
        tcase_add_test(known, the_next_capture_reads_counters_and_nothing_else);
        tcase_add_test(known, a_process_that_maps_more_code_is_looked_at_again);
        tcase_add_test(known, a_file_that_changed_is_asked_about_again);
        tcase_add_test(known, plans_that_lead_nowhere_are_made_anew);
        tcase_add_test(known, plans_for_threads_without_a_pointer_are_not_made_anew);
        tcase_add_test(known, without_a_cache_everything_is_found_out_anew);
        return check_main(suite);
}
