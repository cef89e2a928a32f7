/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/heap/heap.h"
#include "fake-memory.h"
#include "memory-served.h"
#include "tree.h"

/*
 * A process of two threads in a nested pid namespace, of which it is known from before where its
 * counters are. Its threads are 10 and 11 for us, and 1 and 7 for themselves.
 */

#define TGID 10
#define POINTER UINT64_C(0x7f0000100000)
#define POINTER_OF(i) (POINTER + UINT64_C(0x10000) * (uint64_t) (i))
#define START_STACK 5000
#define LIBRARY_CODE 4096

static const HeapPlan plan = {
        .kind = HEAP_PLAN_STATIC, .distance = 2048, .allocated = 16, .deallocated = 24
};
static const pid_t tids[] = { 10, 11 }, numbers[] = { 1, 7 };

static Tree tree;
static FakeMemory memory;
static CaptureSystem fake;
static CaptureHost host;
static Heap *heap;
static Readings *readings;
static Batch batch;
static HeapSummary summary;
static HeapReader *reader;

static ssize_t read_memory(void *userdata, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n) {
        return fake_read(&memory, pid, local, remote, n);
}

static int find_robust_list(void *userdata, pid_t tid, uint64_t *ret_head) {
        return fake_robust_list(&memory, tid, ret_head);
}

static uint64_t now_ns(void *userdata) {
        return NSEC_PER_SEC;
}

static void put_status(size_t i, const char *namespaces) {
        char path[64];

        (void) snprintf(path, sizeof(path), "proc/%d/task/%d/status", TGID, tids[i]);
        tree_write_text(&tree, path, "Name:\tx\nUmask:\t0022\n%sThreads:\t2\n", namespaces);
}

static void know_process(HeapFailure verdict) {
        HeapProcess process = {
                .key = {
                        .start_ticks = 1000 + TGID,
                        .start_stack = START_STACK,
                        .library_code = LIBRARY_CODE,
                        .tgid = TGID,
                },
                .found = {
                        .verdict = verdict,
                        .n_plans = verdict == HEAP_FAILURE_NONE,
                        .plans = { plan },
                },
        };

        ck_assert(thread_geometry_usual(thread_machine, &process.found.geometry));
        ck_assert_int_eq(heap_cache_put_process(heap->cache, &process), 0);
}

static void setup(void) {
        const HeapOptions options = { .wanted = true,
                                      .limit_ns = 100 * NSEC_PER_SEC,
                                      .cache_fd = -EBADF,
                                      .open_memory = memory_served_open };

        memset(&memory, 0, sizeof(memory));
        memset(&batch, 0, sizeof(batch));
        tree_make(&tree);
        fake = (CaptureSystem){ .read_memory = read_memory,
                                .find_robust_list = find_robust_list,
                                .now_ns = now_ns };
        memset(&memory_served, 0, sizeof(memory_served));
        memory_served.options = (MemoryJobOptions){ .proc_fd = tree.proc_fd,
                                                    .system = &fake,
                                                    .limit_ns = options.limit_ns,
                                                    .cache_fd = -EBADF };
        host = (CaptureHost){ .proc_fd = tree.proc_fd, .system = &fake };
        ck_assert_int_eq(heap_new(&options, &host, &heap), 0);
        readings = calloc(1, sizeof(*readings));
        ck_assert_ptr_nonnull(readings);
        readings->host = &host;
        summary = (HeapSummary){};
        ck_assert_int_eq(heap_reader_new(heap, readings, &summary, &reader), 0);
        know_process(HEAP_FAILURE_NONE);

        batch.n_tids = batch.processes[0].n = ELEMENTSOF(tids);
        batch.n_processes = 1;
        batch.processes[0].tgid = TGID;
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                uint64_t at = POINTER_OF(i) + (uint64_t) plan.distance + plan.allocated;
                char line[32];

                batch.tids[i] = tids[i];
                tree_add_thread(&tree, &(TreeThread){ .tgid = TGID,
                                                      .tid = tids[i],
                                                      .start_stack = START_STACK,
                                                      .num_threads = 2 });
                (void) snprintf(line, sizeof(line), "NSpid:\t%d\t%d\n", tids[i], numbers[i]);
                put_status(i, line);
                fake_word(&memory, at, 100 + i);
                fake_word(&memory, at + 8, i);
        }
}

static void teardown(void) {
        free(reader);
        (void) blocking_thread_free(readings->blocking.thread);
        buffer_done(&readings->texts);
        free(readings);
        heap_free(heap);
        memory_served_join(0);
        tree_remove(&tree);
}

static FakeTask *add_musl(size_t i, size_t at) {
        return fake_add_musl_task(&memory, thread_machine, tids[i], (uint32_t) numbers[i],
                                  POINTER_OF(at), 0);
}

static FakeTask *add_glibc(size_t i) {
        ThreadGeometry geometry;

        ck_assert(thread_geometry_usual(thread_machine, &geometry));
        return fake_add_task(&memory, thread_machine, geometry, tids[i], (uint32_t) numbers[i],
                             POINTER_OF(i), 0);
}

/* The slots are as a backend leaves them that knows the threads' pointers. */
static void begin(void) {
        readings_begin(readings, &batch);
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                ThreadSlot *slot = &readings->slots[i];

                thread_sample_clear(&slot->sample);
                slot->kept = slot->has_space = slot->is_nested = slot->has_library_code = true;
                slot->state = 'S';
                slot->start_stack = START_STACK;
                slot->library_code = LIBRARY_CODE;
                slot->thread_pointer = POINTER_OF(i);
                slot->sample.start_ticks = 1000 + (uint64_t) tids[i];
        }
}

static void end(void) {
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                readings->slots[i].fd = fd_close(readings->slots[i].fd);
}

static void check_read(size_t i) {
        const ThreadSample *sample = &readings->slots[i].sample;

        ck_assert(thread_sample_has(sample, METRIC_allocated_bytes));
        ck_assert_uint_eq(thread_sample_get(sample, METRIC_allocated_bytes), 100 + i);
        ck_assert_uint_eq(thread_sample_get(sample, METRIC_deallocated_bytes), i);
}

static void check_absent(size_t i, SourceOutcome outcome) {
        ck_assert(!thread_sample_has(&readings->slots[i].sample, METRIC_allocated_bytes));
        ck_assert(!thread_sample_has(&readings->slots[i].sample, METRIC_deallocated_bytes));
        ck_assert_int_eq(readings->slots[i].outcomes[SOURCE_JEMALLOC], outcome + 1);
}

static void read_process(void) {
        CommandPlace place;

        heap_reader_add(reader, &batch.processes[0], &place);
        heap_reader_read(reader);
        ck_assert_int_eq(readings->error, 0);
}

static uint64_t n_without_pointer(void) {
        return summary.failures[HEAP_FAILURE_NO_THREAD_POINTER];
}

START_TEST(threads_of_musl_in_a_namespace_are_read_by_their_own_numbers) {
        (void) add_musl(0, 0);
        (void) add_musl(1, 1);
        begin();
        read_process();
        check_read(0);
        check_read(1);
        ck_assert_uint_eq(n_without_pointer(), 0);
        end();
}
END_TEST

/* As a child in vfork() has it, or a thread whose number has passed to another one. */
START_TEST(the_pointer_of_another_thread_is_not_used) {
        (void) add_musl(0, 0);
        (void) add_musl(1, 1);
        begin();
        readings->slots[1].thread_pointer = POINTER_OF(0);
        read_process();
        check_read(0);
        check_absent(1, SOURCE_OUTCOME_unsupported);
        ck_assert_uint_eq(n_without_pointer(), 1);
        end();
}
END_TEST

static const char *const namespaces[] = {
        "",           "NSpid:\t11\tx\n", "NSpid:\t11\t4294967303\n", "NSpid:\t11\t2147483655\n",
        "NSpid:\t\n", "NSpid:\t11\n",
};

START_TEST(without_a_number_the_thread_is_not_read) {
        (void) add_musl(0, 0);
        (void) add_musl(1, 1);
        put_status(1, namespaces[_i]);
        begin();
        read_process();
        check_read(0);
        check_absent(1, SOURCE_OUTCOME_unsupported);
        end();
}
END_TEST

/* A list leads to it, which the kernel is asked for again; no file is needed. */
START_TEST(threads_of_glibc_in_a_namespace_need_no_number) {
        FakeTask *task = add_glibc(0);

        (void) add_glibc(1);
        put_status(0, "");
        put_status(1, "");
        begin();
        read_process();
        check_read(0);
        check_read(1);
        ck_assert_uint_eq(task->n_asked, 2);
        end();
}
END_TEST

START_TEST(a_pointer_that_is_not_known_is_not_looked_for) {
        (void) add_musl(0, 0);
        (void) add_musl(1, 1);
        begin();
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                readings->slots[i].thread_pointer = 0;
        read_process();
        check_absent(0, SOURCE_OUTCOME_unsupported);
        check_absent(1, SOURCE_OUTCOME_unsupported);
        ck_assert_uint_eq(memory.n_reads, 0);
        end();
}
END_TEST

/* Outside of such a namespace the number is the one that we know. */
START_TEST(a_thread_of_musl_has_the_number_that_we_know) {
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                (void) fake_add_musl_task(&memory, thread_machine, tids[i], (uint32_t) tids[i],
                                          POINTER_OF(i), 0);
                put_status(i, "");
        }
        begin();
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                readings->slots[i].is_nested = false;
        read_process();
        check_read(0);
        check_read(1);
        end();
}
END_TEST

/* What a backend tells of most processes is enough to know that there is nothing to read. */
START_TEST(a_process_that_is_known_to_have_none_costs_no_call) {
        know_process(HEAP_NOT_JEMALLOC);
        begin();
        read_process();
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                ck_assert_int_eq(readings->slots[i].fd, -EBADF);
        ck_assert_uint_eq(memory.n_reads, 0);
        ck_assert_uint_eq(summary.n_walked, 1);
        /* It maps more code: what was known does not hold. */
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                readings->slots[i].library_code++;
        read_process();
        ck_assert_int_ge(readings->slots[0].fd, 0);
        end();
}
END_TEST

/* Whoever keeps us from its files has not ended for that. */
START_TEST(an_owner_who_was_late_is_not_taken_for_gone) {
        (void) add_glibc(0);
        (void) add_glibc(1);
        begin();
        readings->blocking.n_late = 1;
        readings->blocking.late[0].uid = readings->slots[1].owner = 30;
        readings->blocking.late[0].n = 2;
        if (_i == 0)
                readings->slots[0].owner = 30;
        read_process();
        if (_i == 0)
                check_absent(0, SOURCE_OUTCOME_other);
        else
                check_read(0);
        check_absent(1, SOURCE_OUTCOME_other);
        ck_assert_uint_eq(summary.failures[HEAP_FAILURE_TIMED_OUT], 1);
        ck_assert_uint_eq(summary.failures[HEAP_FAILURE_PID_MISSING], 0);
        ck_assert_uint_eq(summary.failures[HEAP_FAILURE_THREAD_EXITED], 0);
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("heap-reader");
        TCase *known = tcase_create("known");
        TCase *pointers = tcase_create("pointers");

        if (thread_machine != EM_NONE) {
                tcase_add_checked_fixture(pointers, setup, teardown);
                tcase_add_test(pointers,
                               threads_of_musl_in_a_namespace_are_read_by_their_own_numbers);
                tcase_add_test(pointers, the_pointer_of_another_thread_is_not_used);
                tcase_add_loop_test(pointers, without_a_number_the_thread_is_not_read, 0,
                                    ELEMENTSOF(namespaces));
                tcase_add_test(pointers, threads_of_glibc_in_a_namespace_need_no_number);
                tcase_add_test(pointers, a_pointer_that_is_not_known_is_not_looked_for);
                tcase_add_test(pointers, a_thread_of_musl_has_the_number_that_we_know);
                tcase_add_loop_test(pointers, an_owner_who_was_late_is_not_taken_for_gone, 0, 2);
                tcase_add_checked_fixture(known, setup, teardown);
                tcase_add_test(known, a_process_that_is_known_to_have_none_costs_no_call);
        }
        suite_add_tcase(suite, known);
        suite_add_tcase(suite, pointers);
        return check_main(suite);
}
