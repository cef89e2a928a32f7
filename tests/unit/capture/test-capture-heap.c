/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/scene/scene.h"
#include "captured.h"
#include "fake-memory.h"
#include "file/file-question.h"
#include "kernel/memory/heap-layout.h"

/*
 * The processes of the tree: 1 and 30 without jemalloc, 10 and 20 with it; of 10 it is the program
 * that has it, of 20 a library. Each module is a file whose content is what the file job answers.
 */

#define POINTER UINT64_C(0x7f0000100000) /* control blocks of threads, by tid */
#define POINTER_OF(tid) (POINTER + UINT64_C(0x10000) * (uint64_t) (tid))
#define LIBRARY UINT64_C(0x7f1000000000) /* where the library is mapped */
#define SLOT UINT64_C(0x3008)
#define DISTANCE (thread_machine == EM_X86_64 ? INT64_C(-4096) : INT64_C(4096))

static Tree tree;
static FakeSystem fake;
static Captured captured;
static FakeMemory memory;

/* the system */

static ssize_t read_memory(void *userdata, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n) {
        return fake_read(&memory, pid, local, remote, n);
}

static int find_robust_list(void *userdata, pid_t tid, uint64_t *ret_head) {
        return fake_robust_list(&memory, tid, ret_head);
}

/* the file job: answers with the content of the file, which is a layout, and knows no threads */

static struct {
        pthread_t thread;
        int fd;
        unsigned n_started, n_asked;
        int start_error, answer_error, thread_error;
        bool is_silent;
} job;

static int receive_question(FileAsked *ret_asked) {
        char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
        struct iovec bytes = { ret_asked, sizeof(*ret_asked) };
        struct msghdr message = { .msg_iov = &bytes,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        int fd;

        if (recvmsg(job.fd, &message, MSG_CMSG_CLOEXEC) <= 0)
                return -1;
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
        return fd;
}

static void answer_about_threads(const FileAsked *asked) {
        const struct {
                FileAnswered head;
                ThreadLayout layout;
        } answer = { { asked->id, job.thread_error }, { .is_known = 0 } };
        size_t n = job.thread_error == 0 ? sizeof(answer) : sizeof(answer.head);

        (void) !send(job.fd, &answer, n, MSG_NOSIGNAL);
}

static void *run_job(void *userdata) {
        FileAsked asked;
        int fd;

        while ((fd = receive_question(&asked)) >= 0) {
                struct {
                        FileAnswered head;
                        HeapLayout layout;
                } answer = { { asked.id, job.answer_error }, { .verdict = HEAP_NOT_JEMALLOC } };
                size_t n = job.answer_error == 0 ? sizeof(answer) : sizeof(answer.head);

                if (asked.question == FILE_QUESTION_THREAD_LAYOUT) {
                        answer_about_threads(&asked);
                        (void) close(fd);
                        continue;
                }
                __atomic_add_fetch(&job.n_asked, 1, __ATOMIC_RELAXED);
                if (pread(fd, &answer.layout, sizeof(answer.layout), 0) !=
                    (ssize_t) sizeof(answer.layout))
                        answer.layout = (HeapLayout){ .verdict = HEAP_NOT_JEMALLOC };
                (void) close(fd);
                if (!job.is_silent)
                        (void) !send(job.fd, &answer, n, MSG_NOSIGNAL);
        }
        (void) close(job.fd);
        return NULL;
}

static int open_files(void *userdata, int peer_fd) {
        job.n_started++;
        job.fd = peer_fd;
        if (job.start_error == 0 && pthread_create(&job.thread, NULL, run_job, NULL) == 0)
                return 0;
        (void) close(peer_fd);
        return job.start_error;
}

/* the tree */

static void put_layout(const char *path, const HeapLayout *layout) {
        tree_write(&tree, path, (Span){ (const char *) layout, sizeof(*layout) });
}

static HeapLayout program_layout(void) {
        return (HeapLayout){
                .verdict = HEAP_READY,
                .machine = thread_machine,
                .tls_vaddr = 0x402000,
                .tls_memsz = 1024,
                .tls_align = 16,
                .first_vaddr = 0x400000,
                .tsd = 0,
                .is_fixed = 1,
                .allocated = 16,
                .deallocated = 24,
        };
}

static HeapLayout library_layout(HeapSlot slot) {
        return (HeapLayout){
                .verdict = HEAP_READY,
                .machine = thread_machine,
                .slot_kind = slot,
                .slot_vaddr = slot == HEAP_SLOT_NONE ? 0 : SLOT,
                .tls_vaddr = 0x2010,
                .tls_memsz = 2632,
                .tls_align = 16,
                .tsd = 0,
                .allocated = 824,
                .deallocated = 840,
        };
}

/* Where the block of a program with program_layout() is. */
static int64_t program_distance(void) {
        return thread_machine == EM_X86_64 ? -1024 : 16;
}

#define MAPS_OF_PROGRAM(inode)                                      \
        "00400000-00401000 r-xp 00000000 fd:01 " #inode " /bin/x\n" \
        "00402000-00403000 rw-p 00002000 fd:01 " #inode " /bin/x\n"
#define MAPS_OF_LIBRARY(inode)                                                             \
        "7f1000000000-7f1000001000 r--p 00000000 fd:01 " #inode " /lib/libjemalloc.so.2\n" \
        "7f1000001000-7f1000002000 r-xp 00001000 fd:01 " #inode " /lib/libjemalloc.so.2\n" \
        "7f1000002000-7f1000004000 rw-p 00002000 fd:01 " #inode " /lib/libjemalloc.so.2\n"
#define OTHER_MAPS                                                           \
        "7f2000000000-7f2000001000 r-xp 00000000 fd:01 900 /lib/libc.so.6\n" \
        "7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0 [stack]\n"

static void add_process(pid_t tgid, const char *maps) {
        char path[64];

        tree_add_thread(&tree, &(TreeThread){ .tgid = tgid,
                                              .tid = tgid,
                                              .start_stack = 5000 + (unsigned) tgid,
                                              .num_threads = 2 });
        snprintf(path, sizeof(path), "proc/%d/task/%d/maps", tgid, tgid);
        tree_write(&tree, path, span_of(maps));
        snprintf(path, sizeof(path), "proc/%d/map_files/7f2000000000-7f2000001000", tgid);
        tree_write_text(&tree, "libc.so.6", "libc");
        tree_link(&tree, path, "../../../libc.so.6");
}

static void add_thread(pid_t tgid, pid_t tid) {
        tree_add_thread(&tree, &(TreeThread){ .tgid = tgid,
                                              .tid = tid,
                                              .start_stack = 5000 + (unsigned) tgid,
                                              .num_threads = 2 });
}

/* Of thread @tid: @distance is that of the block from the thread pointer. */
static void put_counters(pid_t tid, int64_t distance, const HeapLayout *layout, uint64_t allocated,
                         uint64_t deallocated) {
        uint64_t block = POINTER_OF(tid) + (uint64_t) distance;

        for (uint64_t at = layout->allocated; at < layout->deallocated; at += 8)
                fake_word(&memory, block + at, 0xdead);
        fake_word(&memory, block + layout->allocated, allocated);
        fake_word(&memory, block + layout->deallocated, deallocated);
}

static FakeTask *add_task(pid_t tid, uint32_t number) {
        ThreadGeometry geometry;

        ck_assert(thread_geometry_usual(thread_machine, &geometry));
        return fake_add_task(&memory, thread_machine, geometry, tid, number, POINTER_OF(tid), 0);
}

static void put_library(HeapSlot slot) {
        const HeapLayout layout = library_layout(slot);

        put_layout("proc/20/map_files/7f1000000000-7f1000001000", &layout);
        fake_word(&memory, LIBRARY + SLOT, (uint64_t) DISTANCE);
}

static void setup(void) {
        const HeapLayout program = program_layout(), library = library_layout(HEAP_SLOT_TPOFF);

        memset(&memory, 0, sizeof(memory));
        memset(&job, 0, sizeof(job));
        tree_make(&tree);
        fake_system_init(&fake, &tree);
        fake.system.read_memory = read_memory;
        fake.system.find_robust_list = find_robust_list;
        captured_init(&captured, &tree, &fake);
        captured.options.heap = true;
        captured.options.heap_limit_ns = 100 * NSEC_PER_SEC;
        captured.options.open_files = open_files;
        captured.options.heap_cache_fd = memfd_create("cache", MFD_CLOEXEC);
        ck_assert_int_eq(ftruncate(captured.options.heap_cache_fd, 1 << 20), 0);

        add_process(1, OTHER_MAPS);
        add_process(10, MAPS_OF_PROGRAM(100) OTHER_MAPS);
        add_thread(10, 11);
        put_layout("proc/10/task/10/exe", &program);
        tree_link(&tree, "proc/10/map_files/400000-401000", "../task/10/exe");
        add_process(20, MAPS_OF_LIBRARY(200) OTHER_MAPS);
        put_library(HEAP_SLOT_TPOFF);
        add_process(30, OTHER_MAPS);
        for (pid_t tid = 10; tid <= 11; tid++) {
                (void) add_task(tid, (uint32_t) tid);
                put_counters(tid, program_distance(), &program, 100u * (unsigned) tid, 7);
        }
        (void) add_task(20, 20);
        put_counters(20, DISTANCE, &library, 2000, 5);
}

static void teardown(void) {
        (void) close(captured.options.heap_cache_fd);
        captured_done(&captured);
        tree_remove(&tree);
}

static void capture(void) {
        unsigned n_before = job.n_started;

        captured_run(&captured);
        ck_assert_int_eq(captured.result, 0);
        if (job.n_started > n_before && job.start_error == 0)
                (void) pthread_join(job.thread, NULL);
}

static bool has(pid_t tid) {
        return captured_has(&captured, tid, METRIC_allocated_bytes) &&
               captured_has(&captured, tid, METRIC_deallocated_bytes);
}

static void check_value(pid_t tid, uint64_t allocated, uint64_t deallocated) {
        ck_assert_uint_eq(captured_value(&captured, tid, METRIC_allocated_bytes), allocated);
        ck_assert_uint_eq(captured_value(&captured, tid, METRIC_deallocated_bytes), deallocated);
}

static const char *reason(void) {
        return captured.sources.sources[SOURCE_JEMALLOC].reason;
}

static const char *summary(void) {
        const char *text;

        ck_assert_int_eq(buffer_terminate(&captured.probe_summary, &text), 0);
        return text;
}

#define SUMMARY(walked, detected, ok, failed, dominant, denied, failures)                         \
        "{\"tgids_walked\":" walked ",\"jemalloc_detected\":" detected ",\"probed_ok\":" ok       \
        ",\"failed\":" failed ",\"dominant_failure\":" dominant ",\"privilege_dominant\":" denied \
        ",\"failures\":{" failures "}}"

static void check_source(SourceState state, uint64_t ok, uint64_t denied, uint64_t vanished,
                         uint64_t unsupported, uint64_t other) {
        captured_check_source(&captured, SOURCE_JEMALLOC, state, ok, denied, vanished, unsupported,
                              other);
}

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
        fake.system.read_memory = NULL;
        capture();
        check_source(SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 0, 0);
        ck_assert_uint_eq(job.n_started, 0);
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
        ck_assert_int_eq(capture_probe(&captured.options, &sources, &sample), 0);
        ck_assert_int_eq(sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_OK);
        ck_assert_uint_eq(sources.sources[SOURCE_JEMALLOC].counts[SOURCE_OUTCOME_ok], 2);
        ck_assert_uint_eq(job.n_started, 0);
        fake_task(&memory, 1)->memory_error = -EPERM;
        ck_assert_int_eq(capture_probe(&captured.options, &sources, &sample), 0);
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
        int fd = captured.options.heap_cache_fd;

        captured.options.heap_cache_fd = -EBADF;
        capture();
        capture();
        captured.options.heap_cache_fd = fd;
        check_value(10, 1000, 7);
        ck_assert_uint_eq(job.n_started, 2);
        ck_assert_uint_eq(job.n_asked, 6);
}
END_TEST

/* failures */

static const struct {
        HeapVerdict verdict;
        bool is_program; /* what the program is, rather than what a library is */
        const char *name;
        SourceOutcome outcome; /* ok: it does not matter */
        const char *reason;
} verdict_rows[] = {
        { HEAP_LAYOUT_UNKNOWN, false, "layout-unknown", SOURCE_OUTCOME_unsupported,
          "1 process (layout-unknown): their jemalloc does not show where its counters are" },
        { HEAP_LAYOUT_CONFLICT, false, "layout-conflict", SOURCE_OUTCOME_malformed,
          "1 process (layout-conflict): their jemalloc contradicts itself about where its counters "
          "are" },
        { HEAP_TLS_POSITION_UNKNOWN, true, "tls-position-unknown", SOURCE_OUTCOME_unsupported,
          "1 process (tls-position-unknown): their jemalloc does not show where a thread keeps its "
          "counters" },
        { HEAP_TLS_MODEL_UNSUPPORTED, false, "tls-model-unsupported", SOURCE_OUTCOME_unsupported,
          "1 process (tls-model-unsupported): their jemalloc keeps its counters in a way that is "
          "not supported" },
        { HEAP_COUNTERS_DISABLED, true, "counters-disabled", SOURCE_OUTCOME_unsupported,
          "1 process (counters-disabled): their jemalloc was built without statistics" },
        { HEAP_FILE_UNREADABLE, true, "file-unreadable", SOURCE_OUTCOME_malformed,
          "1 process (file-unreadable): a file that they execute could not be read, or is "
          "damaged" },
        { HEAP_ARCH_MISMATCH, true, "arch-mismatch", SOURCE_OUTCOME_unsupported,
          "1 process (arch-mismatch): they are of another architecture" },
        /* What an emulator has mapped says nothing of the emulator. */
        { HEAP_ARCH_MISMATCH, false, "", SOURCE_OUTCOME_ok, "" },
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
                captured.options.open_files = NULL;
        capture();
        ck_assert_uint_eq(captured.n_threads, 5);
        ck_assert(!has(10));
        ck_assert_int_eq(captured.sources.sources[SOURCE_JEMALLOC].state, SOURCE_STATE_UNAVAILABLE);
        snprintf(failures, sizeof(failures), "\"failures\":{\"%s\":4}", job_rows[_i].failure);
        ck_assert_ptr_nonnull(strstr(summary(), failures));
        /* The next one may do better. */
        job.start_error = job.answer_error = 0;
        captured.options.open_files = open_files;
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
        Suite *suite = suite_create("capture-heap");
        TCase *values = tcase_create("values"), *not_read = tcase_create("not-read"),
              *known = tcase_create("known"), *failures = tcase_create("failures"),
              *bounds = tcase_create("bounds");
        TCase *tcases[] = { values, not_read, known, failures, bounds };

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
