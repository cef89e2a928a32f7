/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "capture/batch/readings.h"
#include "heap-host.h"

static const struct {
        HeapFailure verdict;
        bool is_program; /* what the program is, rather than what a library is */
        const char *name;
        SourceOutcome outcome; /* ok: it does not matter */
        const char *reason;
} verdict_rows[] = {
        { HEAP_FAILURE_LAYOUT_UNKNOWN, false, "layout-unknown", SOURCE_OUTCOME_unsupported,
          "1 process (layout-unknown): their jemalloc does not show where its counters are" },
        { HEAP_FAILURE_LAYOUT_CONFLICT, false, "layout-conflict", SOURCE_OUTCOME_malformed,
          "1 process (layout-conflict): their jemalloc contradicts itself about where its counters "
          "are" },
        { HEAP_FAILURE_TLS_POSITION_UNKNOWN, true, "tls-position-unknown",
          SOURCE_OUTCOME_unsupported,
          "1 process (tls-position-unknown): their jemalloc does not show where a thread keeps its "
          "counters" },
        { HEAP_FAILURE_TLS_MODEL_UNSUPPORTED, false, "tls-model-unsupported",
          SOURCE_OUTCOME_unsupported,
          "1 process (tls-model-unsupported): their jemalloc keeps its counters in a way that is "
          "not supported" },
        { HEAP_FAILURE_COUNTERS_DISABLED, true, "counters-disabled", SOURCE_OUTCOME_unsupported,
          "1 process (counters-disabled): their jemalloc was built without statistics" },
        { HEAP_FAILURE_FILE_UNREADABLE, true, "file-unreadable", SOURCE_OUTCOME_malformed,
          "1 process (file-unreadable): a file that they execute could not be read, or is "
          "damaged" },
        { HEAP_FAILURE_ARCH_MISMATCH, true, "arch-mismatch", SOURCE_OUTCOME_unsupported,
          "1 process (arch-mismatch): they are of another architecture" },
        /* What an emulator has mapped says nothing of the emulator. */
        { HEAP_FAILURE_ARCH_MISMATCH, false, "", SOURCE_OUTCOME_ok, "" },
};

START_TEST(a_file_that_cannot_be_used_is_a_failure_of_the_process) {
        const HeapLayout layout = { .verdict = verdict_rows[_i].verdict };
        bool is_failure = verdict_rows[_i].outcome != SOURCE_OUTCOME_ok;
        char failures[64], dominant[64];

        if (verdict_rows[_i].is_program)
                put_layout("proc/10/task/10/exe", &layout);
        else
                put_layout("proc/20/map_files/7f1000000000-7f1000001000", &layout);
        for (unsigned i = 0; i < 2; i++) { /* the second time it is known */
                const Source *source = &captured.sources.sources[SOURCE_JEMALLOC];
                uint64_t n_threads = verdict_rows[_i].is_program ? 2 : 1;

                capture();
                ck_assert_int_eq(source->state,
                                 is_failure ? SOURCE_STATE_PARTIAL : SOURCE_STATE_OK);
                ck_assert_uint_eq(source->counts[SOURCE_OUTCOME_ok], 3 - n_threads);
                ck_assert_str_eq(reason(), verdict_rows[_i].reason);
                if (!is_failure)
                        continue;
                ck_assert_uint_eq(source->counts[verdict_rows[_i].outcome], n_threads);
                snprintf(failures, sizeof(failures), "\"%s\":1", verdict_rows[_i].name);
                snprintf(dominant, sizeof(dominant), "\"dominant_failure\":\"%s\"",
                         verdict_rows[_i].name);
                ck_assert_ptr_nonnull(strstr(summary(), failures));
                ck_assert_ptr_nonnull(strstr(summary(), dominant));
                ck_assert_ptr_nonnull(strstr(summary(), "\"failed\":1,"));
        }
}
END_TEST

/* What the file of the library of process 20 says, and what the process has there. */
static const struct {
        HeapSlot slot;
        bool is_mapped;
        uint64_t word;
        const char *failure;
} slot_rows[] = {
        { HEAP_SLOT_NONE, true, 0, "tls-model-unsupported" },
        { HEAP_SLOT_TPOFF, true, 0, "tls-arithmetic" }, /* not relocated yet */
        { HEAP_SLOT_DTPMOD, true, 0, "tls-arithmetic" },
        { HEAP_SLOT_TPOFF, false, 0, "process-vm-readv" },
        { HEAP_SLOT_DTPMOD, true, 2, "tls-arithmetic" }, /* the thread has no vector */
};

START_TEST(a_word_that_leads_nowhere_is_a_failure) {
        put_library(slot_rows[_i].slot);
        fake_word(&memory, LIBRARY + SLOT, slot_rows[_i].word);
        if (!slot_rows[_i].is_mapped)
                fake_unmap(&memory, LIBRARY + SLOT);
        capture();
        ck_assert(!has(20));
        check_value(10, 1000, 7);
        ck_assert_ptr_nonnull(strstr(summary(), slot_rows[_i].failure));
        ck_assert_ptr_nonnull(strstr(summary(), "\"failed\":1,"));
        /* Once the linker is done it is looked at again. */
        put_library(HEAP_SLOT_TPOFF);
        tree_add_thread(&tree, &(TreeThread){ .tgid = 20, .tid = 20, .start_stack = 1 });
        capture();
        check_value(20, 2000, 5);
}
END_TEST

static const struct {
        const char *text;
        const char *failure;
} maps_rows[] = {
        { "x\n", "\"maps-read-failure\":1" },
        { "7f1000000000-7f1000001000 r-xp 00000000 fd:01 200 /lib/x", "\"maps-read-failure\":1" },
        /* the mapping has gone, or is of a file that cannot be told */
        { "7f1000009000-7f100000a000 r-xp 00000000 fd:01 777 /lib/x (deleted)\n",
          "\"file-open-failure\":1" },
        { "", NULL }, /* it has given up its memory: it ends */
};

START_TEST(a_map_that_cannot_be_used_is_a_failure_of_the_process) {
        tree_write(&tree, "proc/20/task/20/maps", span_of(maps_rows[_i].text));
        capture();
        ck_assert(!has(20));
        check_value(10, 1000, 7);
        if (maps_rows[_i].failure)
                ck_assert_ptr_nonnull(strstr(summary(), maps_rows[_i].failure));
        else
                check_source(SOURCE_STATE_OK, 2, 0, 1, 0, 0);
}
END_TEST

/* Without CAP_CHECKPOINT_RESTORE there is only the path, and it must lead to the same file. */
START_TEST(a_path_is_taken_if_it_is_the_same_file) {
        const HeapLayout layout = library_layout(HEAP_SLOT_TPOFF);
        char line[256];
        struct stat file;

        tree_delete(&tree, "proc/20/map_files/7f1000000000-7f1000001000");
        put_layout("proc/20/task/20/root/lib/x y\nz", &layout);
        ck_assert_int_eq(fstatat(tree.fd, "proc/20/task/20/root/lib/x y\nz", &file, 0), 0);
        for (unsigned i = 0; i < 2; i++) {
                snprintf(line, sizeof(line),
                         "7f1000000000-7f1000004000 rwxp 00000000 %02x:%02x %llu /lib/x y\\012z\n",
                         major(file.st_dev), minor(file.st_dev),
                         (unsigned long long) file.st_ino + i);
                tree_write(&tree, "proc/20/task/20/maps", span_of(line));
                tree_add_thread(&tree,
                                &(TreeThread){ .tgid = 20, .tid = 20, .start_stack = 1 + i });
                capture();
                ck_assert_int_eq(has(20), i == 0);
        }
        ck_assert_ptr_nonnull(strstr(summary(), "\"file-open-failure\":1"));
}
END_TEST

/* Whatever is mapped to be executed, only regular files are opened: this would wait. */
START_TEST(nothing_but_a_regular_file_is_opened) {
        tree_delete(&tree, "proc/20/map_files/7f1000000000-7f1000001000");
        ck_assert_int_eq(mkfifoat(tree.fd, "proc/20/map_files/7f1000000000-7f1000001000", 0600), 0);
        capture();
        ck_assert_ptr_nonnull(strstr(summary(), "\"file-open-failure\":1"));
        ck_assert(!has(20));
}
END_TEST

START_TEST(a_process_of_another_user_is_denied) {
        tree_deny(&tree, "proc/20/task/20/maps");
        tree_be_nobody();
        capture();
        tree_be_somebody();
        ck_assert(!has(20));
        check_source(SOURCE_STATE_PARTIAL, 2, 1, 0, 0, 0);
        ck_assert_str_eq(reason(), "reading the memory of other processes needs CAP_SYS_PTRACE: "
                                   "run ctprofd as root or as ctprofd.service");
        ck_assert_str_eq(summary(),
                         SUMMARY("4", "1", "2", "1", "\"permission\"", "true", "\"permission\":1"));
}
END_TEST

START_TEST(a_thread_that_cannot_be_read_is_counted_by_itself) {
        memory.tasks[1].head = 0;
        capture();
        ck_assert(!has(11));
        check_value(10, 1000, 7);
        check_source(SOURCE_STATE_PARTIAL, 2, 0, 0, 1, 0);
        ck_assert_str_eq(reason(), "1 thread (no-thread-pointer): the kernel was not told where "
                                   "they keep their data: of musl they are read with the bpf "
                                   "backend only, and those of vfork() or a bare clone() never");
        ck_assert_str_eq(summary(), SUMMARY("4", "2", "2", "1", "\"no-thread-pointer\"", "false",
                                            "\"no-thread-pointer\":1"));
}
END_TEST

/* As of io_uring: it never runs code of the process, so it never allocates. */
START_TEST(workers_of_the_kernel_have_no_counters) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10,
                                              .tid = 11,
                                              .start_stack = 5010,
                                              .num_threads = 2,
                                              .flags = 0x4050 });
        memory.tasks[1].head = 0;
        capture();
        ck_assert(!has(11));
        check_source(SOURCE_STATE_OK, 2, 0, 0, 0, 0);
        ck_assert_str_eq(summary(), SUMMARY("4", "2", "2", "0", "null", "false", ""));
}
END_TEST

/* The kernel shows where its stack begins only to who may read its memory. */
START_TEST(a_process_that_hides_its_stack_is_not_even_tried) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = 20, .tid = 20 });
        tree_write_text(&tree, "proc/20/task/20/maps", "x\n");
        capture();
        check_source(SOURCE_STATE_PARTIAL, 2, 1, 0, 0, 0);
        ck_assert_ptr_nonnull(strstr(summary(), "\"failures\":{\"permission\":1}"));
}
END_TEST

START_TEST(a_thread_that_ends_meanwhile_is_no_failure) {
        memory.tasks[1].head_error = -ESRCH;
        capture();
        ck_assert(!has(11));
        check_source(SOURCE_STATE_OK, 2, 0, 1, 0, 0);
        ck_assert_str_eq(summary(), SUMMARY("4", "2", "2", "0", "null", "false", ""));
}
END_TEST

static void execute_another_program(void) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 10, .start_stack = 9 });
        tree_add_thread(&tree, &(TreeThread){ .tgid = 10, .tid = 11, .start_stack = 9 });
}

static void end_process(void) {
        tree_delete(&tree, "proc/10/task/10/stat");
        tree_delete(&tree, "proc/10/task/11/stat");
        memory.on_read = NULL;
}

static const struct {
        void (*on_read)(void);
        const char *failures;
} change_rows[] = {
        { execute_another_program, "\"failures\":{\"identity-changed\":1}" },
        { end_process, "\"failures\":{}" },
};

START_TEST(what_is_read_of_two_processes_is_dropped) {
        memory.on_read = change_rows[_i].on_read;
        capture();
        if (captured_find(&captured, 10))
                ck_assert(!has(10));
        if (captured_find(&captured, 11))
                ck_assert(!has(11));
        check_value(20, 2000, 5);
        ck_assert_uint_eq(captured.sources.sources[SOURCE_JEMALLOC].counts[SOURCE_OUTCOME_ok], 1);
        ck_assert_int_eq(captured.sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_OK);
        ck_assert_ptr_nonnull(strstr(summary(), change_rows[_i].failures));
}
END_TEST

/* the file job */

static const struct {
        int start_error, answer_error;
        bool has_none;
        const char *failure;
} job_rows[] = {
        { 0, 0, true, "file-job-failure" },
        { -EAGAIN, 0, false, "file-job-failure" },
        { 0, -EIO, false, "file-unreadable" },
};

START_TEST(a_job_that_does_not_answer_costs_these_readings_only) {
        char failures[64];

        job.start_error = job_rows[_i].start_error;
        job.answer_error = job_rows[_i].answer_error;
        if (job_rows[_i].has_none)
                memory_served.options.open_files = NULL;
        capture();
        ck_assert_uint_eq(captured.n_threads, 5);
        ck_assert(!has(10));
        ck_assert_int_eq(captured.sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_UNAVAILABLE);
        snprintf(failures, sizeof(failures), "\"failures\":{\"%s\":4}", job_rows[_i].failure);
        ck_assert_ptr_nonnull(strstr(summary(), failures));
        /* The next one may do better. */
        job.start_error = job.answer_error = 0;
        memory_served.options.open_files = open_files;
        capture();
        check_value(10, 1000, 7);
}
END_TEST

/* On aarch64 it is the C library that tells where threads are; elsewhere it is not asked. */
START_TEST(a_library_that_cannot_be_asked_of_threads_is_a_failure) {
        job.thread_error = -EIO;
        capture();
        ck_assert_int_eq(has(10), thread_machine != EM_AARCH64);
        ck_assert_int_eq(has(20), thread_machine != EM_AARCH64);
        if (thread_machine == EM_AARCH64)
                ck_assert_ptr_nonnull(strstr(summary(), "\"failures\":{\"file-unreadable\":2}"));
        job.thread_error = 0;
        capture();
        check_value(10, 1000, 7);
        check_value(20, 2000, 5);
}
END_TEST

START_TEST(a_job_that_hangs_costs_its_time) {
        job.is_silent = true;
        captured.options.heap_limit_ns = 20 * NSEC_PER_MSEC;
        fake.step_ns = NSEC_PER_MSEC; /* so that time passes */
        capture();
        ck_assert(!has(10) && !has(20));
        ck_assert_int_eq(captured.sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_UNAVAILABLE);
}
END_TEST

/* An answer is a stranger's: it is held against bounds before it is used. */
START_TEST(an_answer_that_cannot_be_is_refused) {
        HeapLayout layout = library_layout(HEAP_SLOT_TPOFF);

        layout.allocated = UINT64_MAX - 7;
        put_layout("proc/20/map_files/7f1000000000-7f1000001000", &layout);
        capture();
        ck_assert(!has(20));
        ck_assert_ptr_nonnull(strstr(summary(), "\"file-job-failure\":1"));
}
END_TEST

/* time */

START_TEST(what_does_not_fit_into_the_time_is_left_out_and_told) {
        captured.options.heap_limit_ns = 0;
        capture();
        ck_assert(!has(10) && !has(20));
        check_source(SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 0, 5);
        ck_assert_str_eq(reason(), "the time budget of 0 ms did not suffice for 4 processes: "
                                   "HeapTime= of ctprofd.conf sets it, --no-heap skips all");
        ck_assert_ptr_nonnull(strstr(summary(), "\"time-budget\":4"));
        /* What is known to have none needs no time. */
        captured.options.heap_limit_ns = 100 * NSEC_PER_SEC;
        capture();
        captured.options.heap_limit_ns = 3 * NSEC_PER_SEC;
        fake.step_ns = 4 * NSEC_PER_SEC; /* that one reading takes */
        capture();
        ck_assert(has(10) && has(11) && !has(20));
        check_source(SOURCE_STATE_PARTIAL, 2, 0, 0, 0, 1);
        ck_assert_str_eq(reason(), "the time budget of 3000 ms did not suffice for 1 process: "
                                   "HeapTime= of ctprofd.conf sets it, --no-heap skips all");
}
END_TEST

/* A pipe without a writer: opening it waits, as reading does for a lock that is not released. */
START_TEST(a_process_that_makes_us_wait_costs_half_of_the_time) {
        int fd;

        tree_delete(&tree, "proc/1/task/1/maps");
        ck_assert_int_eq(mkfifoat(tree.fd, "proc/1/task/1/maps", 0600), 0);
        captured.options.heap_limit_ns = 2 * NSEC_PER_SEC;
        capture();
        check_value(10, 1000, 7);
        check_value(20, 2000, 5);
        check_source(SOURCE_STATE_PARTIAL, 3, 0, 0, 0, 1);
        ck_assert_str_eq(reason(),
                         "1 process (timed-out): they keep the lock of their memory taken, or need "
                         "more time than HeapTime= of ctprofd.conf gives; --no-heap skips all");
        /* Release the thread that still waits. */
        fd = openat(tree.fd, "proc/1/task/1/maps", O_RDWR | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        (void) close(fd);
}
END_TEST

/* So many that process 30 is read in several batches, by several threads. */
#define N_MANY (5 * BATCH_MAX_THREADS)

/* Their map cannot be used. */
static void add_many_threads(void) {
        for (pid_t tid = 1000; tid < 1000 + N_MANY; tid++) {
                char path[64];

                add_thread(30, tid);
                snprintf(path, sizeof(path), "proc/30/task/%d/maps", tid);
                tree_write_text(&tree, path, "x\n");
        }
}

/* A process that is read in several batches counts once. */
START_TEST(a_process_in_several_batches_is_counted_once) {
        add_many_threads();
        tree_write_text(&tree, "proc/30/task/30/maps", "x\n");
        captured.options.n_workers = 2;
        capture();
        check_source(SOURCE_STATE_PARTIAL, 3, 0, 0, 0, N_MANY + 1);
        ck_assert_str_eq(summary(), SUMMARY("4", "2", "3", "1", "\"maps-read-failure\"", "false",
                                            "\"maps-read-failure\":1"));
}
END_TEST

START_TEST(a_failure_without_the_leader_has_a_reason) {
        add_many_threads();
        /* What is found out of the leader is not known to be of these. */
        for (pid_t tid = 1000; tid < 1000 + N_MANY; tid++) {
                char path[64];

                snprintf(path, sizeof(path), "proc/30/task/%d/status", tid);
                tree_write_text(&tree, path, "Name:\tx\n");
        }
        capture();
        ck_assert_int_eq(captured.sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_PARTIAL);
        ck_assert_str_eq(reason(), "1 process (maps-read-failure): /proc/PID/maps could not be "
                                   "read, or has more than fits");
        ck_assert_str_eq(summary(), SUMMARY("4", "2", "3", "1", "\"maps-read-failure\"", "false",
                                            "\"maps-read-failure\":1"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-heap-failures");
        TCase *failures = tcase_create("failures"), *bounds = tcase_create("bounds");
        TCase *tcases[] = { failures, bounds };

        for (size_t i = 0; i < ELEMENTSOF(tcases) && thread_machine != EM_NONE; i++) {
                tcase_add_checked_fixture(tcases[i], setup, teardown);
                suite_add_tcase(suite, tcases[i]);
        }
        tcase_add_loop_test(failures, a_file_that_cannot_be_used_is_a_failure_of_the_process, 0,
                            ELEMENTSOF(verdict_rows));
        tcase_add_loop_test(failures, a_word_that_leads_nowhere_is_a_failure, 0,
                            ELEMENTSOF(slot_rows));
        tcase_add_loop_test(failures, a_map_that_cannot_be_used_is_a_failure_of_the_process, 0,
                            ELEMENTSOF(maps_rows));
        tcase_add_test(failures, a_path_is_taken_if_it_is_the_same_file);
        tcase_add_test(failures, nothing_but_a_regular_file_is_opened);
        tcase_add_test(failures, a_process_of_another_user_is_denied);
        tcase_add_test(failures, a_thread_that_cannot_be_read_is_counted_by_itself);
        tcase_add_test(failures, workers_of_the_kernel_have_no_counters);
        tcase_add_test(failures, a_process_that_hides_its_stack_is_not_even_tried);
        tcase_add_test(failures, a_thread_that_ends_meanwhile_is_no_failure);
        tcase_add_loop_test(failures, what_is_read_of_two_processes_is_dropped, 0,
                            ELEMENTSOF(change_rows));
        tcase_add_loop_test(bounds, a_job_that_does_not_answer_costs_these_readings_only, 0,
                            ELEMENTSOF(job_rows));
        tcase_add_test(bounds, a_library_that_cannot_be_asked_of_threads_is_a_failure);
        tcase_add_test(bounds, a_job_that_hangs_costs_its_time);
        tcase_add_test(bounds, an_answer_that_cannot_be_is_refused);
        tcase_add_test(bounds, what_does_not_fit_into_the_time_is_left_out_and_told);
        tcase_add_test(bounds, a_process_that_makes_us_wait_costs_half_of_the_time);
        tcase_add_test(bounds, a_process_in_several_batches_is_counted_once);
        tcase_add_test(bounds, a_failure_without_the_leader_has_a_reason);
        return check_main(suite);
}
