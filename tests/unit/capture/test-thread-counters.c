/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <elf.h>
#include <stdlib.h>

#include "capture/heap/thread-counters.h"
#include "fake-memory.h"

#define FIRST UINT64_C(0x7f0000000000)
#define STRIDE UINT64_C(0x100000) /* between the control blocks of two threads */
#define VECTORS UINT64_C(0x550000000000)
#define BLOCKS UINT64_C(0x560000000000)

static FakeMemory memory;
static CounterRequest request;
static ThreadGeometry geometry; /* as the threads are made */

static const HeapPlan static_plan = {
        .kind = HEAP_PLAN_STATIC, .distance = -2640, .allocated = 824, .deallocated = 840
};
static const HeapPlan vector_plan = {
        .kind = HEAP_PLAN_VECTOR, .module = 3, .allocated = 16, .deallocated = 24
};

static ssize_t read_memory(void *userdata, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n) {
        return fake_read(&memory, pid, local, remote, n);
}

static int find_robust_list(void *userdata, pid_t tid, uint64_t *ret_head) {
        return fake_robust_list(&memory, tid, ret_head);
}

static void set_machine(uint16_t machine) {
        request.machine = machine;
        ck_assert(thread_geometry_usual(machine, &geometry));
        request.way.geometry = geometry;
}

static void setup(void) {
        memset(&memory, 0, sizeof(memory));
        memset(&request, 0, sizeof(request));
        request.system.read_memory = read_memory;
        request.system.find_robust_list = find_robust_list;
        set_machine(EM_X86_64);
        request.way.plans[0] = static_plan;
        request.way.n_plans = 1;
}

static uint64_t pointer_of(size_t i) {
        return FIRST + STRIDE * i;
}

static uint64_t vector_of(size_t i) {
        return VECTORS + STRIDE * i;
}

/* Thread number @i has tid 100 + @i. */
static FakeTask *add_thread(size_t i) {
        pid_t tid = (pid_t) (100 + i);

        request.threads[request.n++] = (ThreadCounters){ .tid = tid, .number = tid };
        return fake_add_task(&memory, request.machine, geometry, tid, (uint32_t) tid, pointer_of(i),
                             vector_of(i));
}

static void put_static(size_t i, uint64_t allocated, uint64_t deallocated) {
        uint64_t at = pointer_of(i) + (uint64_t) static_plan.distance + static_plan.allocated;

        fake_word(&memory, at, allocated);
        fake_word(&memory, at + 8, 0xdead);
        fake_word(&memory, at + 16, deallocated);
}

/* The thread's vector is @length long and has @block for module 3. */
static void put_vector(size_t i, uint64_t length, uint64_t block) {
        fake_word(&memory, vector_of(i) - 16, length);
        fake_word(&memory, vector_of(i) + 48, block);
}

static void put_far(size_t i, uint64_t allocated, uint64_t deallocated) {
        uint64_t block = BLOCKS + STRIDE * i;

        put_vector(i, 5, block);
        fake_word(&memory, block + 16, allocated);
        fake_word(&memory, block + 24, deallocated);
}

static void check_read(size_t i, uint64_t allocated, uint64_t deallocated) {
        const ThreadCounters *thread = &request.threads[i];

        ck_assert_msg(thread->failure == HEAP_FAILURE_NONE, "thread %zu: %s", i,
                      heap_failures[thread->failure].name);
        ck_assert_uint_eq(thread->allocated, allocated);
        ck_assert_uint_eq(thread->deallocated, deallocated);
}

static void check_failed(size_t i, HeapFailure failure) {
        ck_assert_int_eq(request.threads[i].failure, failure);
}

static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };

START_TEST(all_threads_of_a_process_are_read_by_one_call) {
        set_machine(machines[_i]);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++) {
                (void) add_thread(i);
                put_static(i, 1000 + i, i);
        }
        thread_counters_read(&request);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++)
                check_read(i, 1000 + i, i);
        ck_assert_uint_eq(memory.n_reads, 1);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++)
                ck_assert_uint_eq(memory.tasks[i].n_asked, 1);
}
END_TEST

START_TEST(modules_of_a_process_are_summed) {
        set_machine(machines[_i]);
        request.way.plans[1] = vector_plan;
        request.way.n_plans = 2;
        for (size_t i = 0; i < 3; i++)
                (void) add_thread(i);
        put_static(0, 10, 1);
        put_far(0, 100, 50);
        put_static(1, 20, 2);
        put_vector(1, 5, UINT64_MAX); /* it has never used the other one */
        put_static(2, UINT64_MAX, 3);
        put_far(2, 1, 1); /* clipped rather than wrapped */
        thread_counters_read(&request);
        check_read(0, 110, 51);
        check_read(1, 20, 2);
        check_read(2, UINT64_MAX, 4);
}
END_TEST

/* vectors */

static const struct {
        uint64_t length, block;
        bool is_unused;
} vector_rows[] = {
        { 5, UINT64_MAX, true }, { 5, 0, true },       { 2, 0x123, true },
        { 0, BLOCKS, true },     { 3, BLOCKS, false }, { 5, BLOCKS, false },
};

START_TEST(a_thread_that_never_used_the_module_has_zeros) {
        request.way.plans[0] = vector_plan;
        (void) add_thread(0);
        put_far(0, 7, 6);
        put_vector(0, vector_rows[_i].length, vector_rows[_i].block);
        thread_counters_read(&request);
        check_read(0, vector_rows[_i].is_unused ? 0 : 7, vector_rows[_i].is_unused ? 0 : 6);
}
END_TEST

START_TEST(a_vector_that_ends_before_the_module_is_not_read_beyond) {
        request.way.plans[0] = vector_plan;
        (void) add_thread(0);
        fake_word(&memory, vector_of(0) - 16, 2); /* nothing is mapped at the module's pair */
        thread_counters_read(&request);
        check_read(0, 0, 0);
}
END_TEST

START_TEST(what_cannot_be_a_vector_or_a_block_is_refused) {
        request.way.plans[0] = vector_plan;
        for (size_t i = 0; i < 6; i++) {
                (void) add_thread(i);
                put_far(i, 1, 1);
        }
        fake_word(&memory, pointer_of(0) + 8, vector_of(0) + 4);
        fake_word(&memory, pointer_of(1) + 8, 8);
        fake_unmap(&memory, vector_of(2) - 16);
        fake_unmap(&memory, vector_of(3) + 48);
        fake_unmap(&memory, BLOCKS + STRIDE * 4 + 24);
        put_vector(5, 5, BLOCKS + 4);
        thread_counters_read(&request);
        check_failed(0, HEAP_FAILURE_TLS_ARITHMETIC);
        check_failed(1, HEAP_FAILURE_TLS_ARITHMETIC);
        check_failed(2, HEAP_FAILURE_PROCESS_VM_READV);
        check_failed(3, HEAP_FAILURE_PROCESS_VM_READV);
        check_failed(4, HEAP_FAILURE_PROCESS_VM_READV);
        check_failed(5, HEAP_FAILURE_TLS_ARITHMETIC);
}
END_TEST

/* thread pointers */

static const struct {
        uint64_t head;
        int error;
        HeapFailure failure;
} head_rows[] = {
        { 0, 0, HEAP_FAILURE_NO_THREAD_POINTER },
        { 0, -ESRCH, HEAP_FAILURE_THREAD_EXITED },
        { 0, -EPERM, HEAP_FAILURE_PERMISSION },
        { 0, -EACCES, HEAP_FAILURE_PERMISSION },
        { 0, -ENOSYS, HEAP_FAILURE_NO_THREAD_POINTER },
        { 0x100, 0, HEAP_FAILURE_TLS_ARITHMETIC },
        { FIRST + 4, 0, HEAP_FAILURE_TLS_ARITHMETIC },
        { BLOCKS, 0, HEAP_FAILURE_PROCESS_VM_READV }, /* nothing is there */
};

START_TEST(a_thread_that_cannot_be_found_costs_only_itself) {
        for (size_t i = 0; i < 3; i++) {
                FakeTask *task = add_thread(i);

                put_static(i, 5, 5);
                if (i != 1)
                        continue;
                task->head = head_rows[_i].head;
                task->head_error = head_rows[_i].error;
        }
        thread_counters_read(&request);
        check_read(0, 5, 5);
        check_failed(1, head_rows[_i].failure);
        check_read(2, 5, 5);
}
END_TEST

START_TEST(a_block_that_does_not_point_to_itself_is_none) {
        (void) add_thread(0);
        (void) add_thread(1);
        put_static(0, 5, 5);
        put_static(1, 6, 6);
        fake_word(&memory, pointer_of(0) + 16, 0);
        thread_counters_read(&request);
        check_failed(0, HEAP_FAILURE_NO_THREAD_POINTER);
        check_read(1, 6, 6);
        ck_assert_int_eq(request.way.geometry.pointer, geometry.pointer);
}
END_TEST

/* A C library to come may have its control block elsewhere: then it is looked for, once. */
START_TEST(another_distance_of_the_block_is_found) {
        geometry.pointer = -0x340;
        for (size_t i = 0; i < 60; i++) {
                (void) add_thread(i);
                put_static(i, i, 1);
                for (uint64_t at = 0; at < 8 * THREAD_SEARCH_WORDS; at += 8) {
                        uint64_t address = memory.tasks[i].head - 8 - at, word;

                        if (!fake_find(&memory, address, &word))
                                fake_word(&memory, address, 0x11);
                }
        }
        thread_counters_read(&request);
        for (size_t i = 0; i < 60; i++)
                check_read(i, i, 1);
        ck_assert_int_eq(request.way.geometry.pointer, -0x340);
}
END_TEST

START_TEST(a_thread_is_known_by_its_number) {
        for (size_t i = 0; i < 4; i++) {
                (void) add_thread(i);
                put_static(i, 5, 5);
        }
        /* cleared by the kernel; another thread's; gone while it was looked at */
        fake_word(&memory, memory.tasks[0].head - 16, 0);
        fake_word(&memory, memory.tasks[1].head - 16, 102);
        fake_word(&memory, memory.tasks[2].head - 16, 1);
        memory.tasks[2].next_error = -ESRCH;
        thread_counters_read(&request);
        check_failed(0, HEAP_FAILURE_THREAD_EXITED);
        check_failed(1, HEAP_FAILURE_TID_MISMATCH);
        check_failed(2, HEAP_FAILURE_THREAD_EXITED);
        check_read(3, 5, 5);
}
END_TEST

START_TEST(the_number_may_be_in_either_half_of_a_word) {
        geometry.tid = request.way.geometry.tid = -12;
        (void) add_thread(0);
        put_static(0, 5, 4);
        thread_counters_read(&request);
        check_read(0, 5, 4);
        request.way.geometry.tid = -16;
        thread_counters_read(&request);
        check_failed(0, HEAP_FAILURE_TID_MISMATCH);
}
END_TEST

/* In a nested namespace the number is another one: that the list stays the same decides. */
START_TEST(numbers_of_nested_namespaces_are_not_compared) {
        for (size_t i = 0; i < 5; i++) {
                FakeTask *task = add_thread(i);

                put_static(i, 5, 5);
                request.threads[i].number = 0;
                request.threads[i].pointer = pointer_of(4); /* without a number of no use */
                fake_word(&memory, task->head - 16, 1 + i);
        }
        memory.tasks[1].next_head = memory.tasks[1].head + 64;
        memory.tasks[2].next_error = -ESRCH;
        fake_word(&memory, memory.tasks[3].head - 16, 0);
        fake_word(&memory, memory.tasks[4].head - 16, 0x7fffffff);
        thread_counters_read(&request);
        check_read(0, 5, 5);
        check_failed(1, HEAP_FAILURE_TID_MISMATCH);
        check_failed(2, HEAP_FAILURE_THREAD_EXITED);
        check_failed(3, HEAP_FAILURE_THREAD_EXITED);
        check_failed(4, HEAP_FAILURE_TID_MISMATCH);
}
END_TEST

/* pointers that the kernel saved */

/* As add_thread(), with its pointer. */
static FakeTask *add_saved(size_t i) {
        FakeTask *task = add_thread(i);

        put_static(i, 1000 + i, i);
        request.threads[i].pointer = pointer_of(i);
        return task;
}

/* A thread of musl, with its pointer. */
static FakeTask *add_musl(size_t i) {
        pid_t tid = (pid_t) (100 + i);

        put_static(i, 1000 + i, i);
        request.threads[request.n++] =
                (ThreadCounters){ .tid = tid, .number = tid, .pointer = pointer_of(i) };
        return fake_add_musl_task(&memory, request.machine, tid, (uint32_t) tid, pointer_of(i),
                                  vector_of(i));
}

START_TEST(a_saved_pointer_takes_no_question) {
        set_machine(machines[_i]);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++)
                (void) add_saved(i);
        thread_counters_read(&request);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++) {
                check_read(i, 1000 + i, i);
                ck_assert_uint_eq(memory.tasks[i].n_asked, 0);
        }
        ck_assert_uint_eq(memory.n_reads, 1);
}
END_TEST

START_TEST(threads_of_musl_are_read_by_saved_pointers) {
        set_machine(machines[_i]);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++)
                (void) add_musl(i);
        thread_counters_read(&request);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++)
                check_read(i, 1000 + i, i);
        /* Without them they are not found, and with those of others neither. */
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++)
                request.threads[i].pointer = i % 2 == 0 ? 0 : pointer_of(0);
        thread_counters_read(&request);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++)
                check_failed(i, HEAP_FAILURE_NO_THREAD_POINTER);
}
END_TEST

START_TEST(the_vector_of_a_thread_of_musl_has_its_own_form) {
        set_machine(machines[_i]);
        request.way.plans[0] = vector_plan;
        for (size_t i = 0; i < 3; i++) {
                (void) add_musl(i);
                put_far(i, 100 + i, i); /* at the places of glibc's there are other words */
        }
        for (size_t i = 0; i < 2; i++) {
                fake_word(&memory, vector_of(i), i == 0 ? 3 : 2); /* the second ends before it */
                fake_word(&memory, vector_of(i) + 24, BLOCKS + STRIDE * i);
        }
        thread_counters_read(&request);
        check_read(0, 100, 0);
        check_read(1, 0, 0);
        /* Who it is was known: that its vector cannot be read is what failed. */
        check_failed(2, HEAP_FAILURE_PROCESS_VM_READV);
}
END_TEST

/* What a wrong pointer leads to, of thread 1; its list leads to the right one. */
static void move_to_nothing(void) {
        request.threads[1].pointer = BLOCKS;
}
static void move_to_odd_place(void) {
        request.threads[1].pointer += 4;
}
static void move_to_top(void) {
        request.threads[1].pointer = UINT64_MAX - 7;
}
static void move_to_bottom(void) {
        request.threads[1].pointer = 8;
}
static void move_to_other_thread(void) {
        request.threads[1].pointer = pointer_of(0);
}
/* Words that point to themselves, the thread's number, and a list that is elsewhere. */
static void move_to_copy(void) {
        (void) fake_add_task(&memory, request.machine, geometry, 4711, 101, pointer_of(9),
                             vector_of(1));
        fake_word(&memory, fake_task(&memory, 4711)->head, memory.tasks[1].head);
        put_static(9, 6, 6);
        request.threads[1].pointer = pointer_of(9);
}
static void lock_robust_mutex(void) {
        fake_word(&memory, memory.tasks[1].head, BLOCKS);
}
static void (*const mistakes[])(void) = {
        move_to_nothing,      move_to_odd_place, move_to_top,       move_to_bottom, NULL,
        move_to_other_thread, move_to_copy,      lock_robust_mutex,
};

START_TEST(a_saved_pointer_that_fails_a_check_is_not_used) {
        for (int is_listed = 1; is_listed >= 0; is_listed--) {
                setup();
                set_machine(machines[_i % 2]);
                for (size_t i = 0; i < 3; i++)
                        (void) add_saved(i);
                if (mistakes[_i / 2])
                        mistakes[_i / 2]();
                else
                        request.threads[1].pointer = 0;
                if (!is_listed)
                        memory.tasks[1].head = 0;
                thread_counters_read(&request);
                check_read(0, 1000, 0);
                check_read(2, 1002, 2);
                if (is_listed)
                        check_read(1, 1001, 1);
                else
                        check_failed(1, HEAP_FAILURE_NO_THREAD_POINTER);
                ck_assert_uint_eq(memory.tasks[0].n_asked + memory.tasks[2].n_asked, 0);
        }
}
END_TEST

/* The kernel has cleared its number. */
START_TEST(a_thread_that_ended_has_no_counters) {
        FakeTask *task = add_saved(0);

        fake_word(&memory, task->head - 16, 0);
        thread_counters_read(&request);
        check_failed(0, HEAP_FAILURE_THREAD_EXITED);
        task->head_error = -ESRCH;
        thread_counters_read(&request);
        check_failed(0, HEAP_FAILURE_THREAD_EXITED);
}
END_TEST

/* No process has both, but one of each in a call shows that neither disturbs the other. */
START_TEST(each_thread_is_found_in_its_own_way) {
        FakeTask *task;

        (void) add_musl(0);
        (void) add_saved(1);
        task = add_thread(2);
        put_static(2, 1002, 2);
        (void) add_musl(3);
        request.threads[3].number = 4;
        thread_counters_read(&request);
        for (size_t i = 0; i < 3; i++)
                check_read(i, 1000 + i, i);
        check_failed(3, HEAP_FAILURE_NO_THREAD_POINTER);
        ck_assert_uint_eq(task->n_asked, 1);
}
END_TEST

START_TEST(what_cannot_be_read_of_a_found_thread_is_its_failure) {
        (void) add_musl(0);
        fake_unmap(&memory, pointer_of(0) + (uint64_t) static_plan.distance + 824);
        thread_counters_read(&request);
        check_failed(0, HEAP_FAILURE_PROCESS_VM_READV);
}
END_TEST

/* memory */

START_TEST(counters_that_cannot_be_read_cost_one_thread) {
        for (size_t i = 0; i < 5; i++) {
                (void) add_thread(i);
                if (i != (size_t) _i)
                        put_static(i, 5, 5);
        }
        thread_counters_read(&request);
        for (size_t i = 0; i < 5; i++)
                if (i == (size_t) _i)
                        check_failed(i, HEAP_FAILURE_PROCESS_VM_READV);
                else
                        check_read(i, 5, 5);
}
END_TEST

START_TEST(memory_is_reached_by_any_thread_that_has_it) {
        for (size_t i = 0; i < 3; i++) {
                FakeTask *task = add_thread(i);

                put_static(i, 5, 5);
                task->memory_error = i < 2 ? -ESRCH : 0;
        }
        thread_counters_read(&request);
        for (size_t i = 0; i < 3; i++)
                check_read(i, 5, 5);
        ck_assert_uint_eq(memory.n_reads, 3);
}
END_TEST

static const struct {
        int error;
        HeapFailure failure;
} memory_rows[] = {
        { -ESRCH, HEAP_FAILURE_THREAD_EXITED },
        { -EPERM, HEAP_FAILURE_PERMISSION },
        { -ENOMEM, HEAP_FAILURE_PROCESS_VM_READV },
};

START_TEST(a_process_whose_memory_is_refused_has_no_counters) {
        for (size_t i = 0; i < 3; i++) {
                add_thread(i)->memory_error = memory_rows[_i].error;
                put_static(i, 5, 5);
        }
        thread_counters_read(&request);
        for (size_t i = 0; i < 3; i++)
                check_failed(i, memory_rows[_i].failure);
}
END_TEST

START_TEST(nothing_is_read_of_no_thread) {
        thread_counters_read(&request);
        ck_assert_uint_eq(memory.n_reads, 0);
        request.threads[request.n++].tid = 100; /* it has gone */
        thread_counters_read(&request);
        ck_assert_uint_eq(memory.n_reads, 0);
        check_failed(0, HEAP_FAILURE_THREAD_EXITED);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("thread-counters");
        TCase *plans = tcase_create("plans"), *pointers = tcase_create("pointers"),
              *saved = tcase_create("saved"), *reading = tcase_create("reading");

        tcase_add_checked_fixture(plans, setup, NULL);
        tcase_add_loop_test(plans, all_threads_of_a_process_are_read_by_one_call, 0,
                            ELEMENTSOF(machines));
        tcase_add_loop_test(plans, modules_of_a_process_are_summed, 0, ELEMENTSOF(machines));
        tcase_add_loop_test(plans, a_thread_that_never_used_the_module_has_zeros, 0,
                            ELEMENTSOF(vector_rows));
        tcase_add_test(plans, a_vector_that_ends_before_the_module_is_not_read_beyond);
        tcase_add_test(plans, what_cannot_be_a_vector_or_a_block_is_refused);
        suite_add_tcase(suite, plans);
        tcase_add_checked_fixture(pointers, setup, NULL);
        tcase_add_loop_test(pointers, a_thread_that_cannot_be_found_costs_only_itself, 0,
                            ELEMENTSOF(head_rows));
        tcase_add_test(pointers, a_block_that_does_not_point_to_itself_is_none);
        tcase_add_test(pointers, another_distance_of_the_block_is_found);
        tcase_add_test(pointers, a_thread_is_known_by_its_number);
        tcase_add_test(pointers, the_number_may_be_in_either_half_of_a_word);
        tcase_add_test(pointers, numbers_of_nested_namespaces_are_not_compared);
        suite_add_tcase(suite, pointers);
        tcase_add_checked_fixture(saved, setup, NULL);
        tcase_add_loop_test(saved, a_saved_pointer_takes_no_question, 0, ELEMENTSOF(machines));
        tcase_add_loop_test(saved, threads_of_musl_are_read_by_saved_pointers, 0,
                            ELEMENTSOF(machines));
        tcase_add_loop_test(saved, the_vector_of_a_thread_of_musl_has_its_own_form, 0,
                            ELEMENTSOF(machines));
        tcase_add_loop_test(saved, a_saved_pointer_that_fails_a_check_is_not_used, 0,
                            2 * ELEMENTSOF(mistakes));
        tcase_add_test(saved, a_thread_that_ended_has_no_counters);
        tcase_add_test(saved, each_thread_is_found_in_its_own_way);
        tcase_add_test(saved, what_cannot_be_read_of_a_found_thread_is_its_failure);
        suite_add_tcase(suite, saved);
        tcase_add_checked_fixture(reading, setup, NULL);
        tcase_add_loop_test(reading, counters_that_cannot_be_read_cost_one_thread, 0, 5);
        tcase_add_test(reading, memory_is_reached_by_any_thread_that_has_it);
        tcase_add_loop_test(reading, a_process_whose_memory_is_refused_has_no_counters, 0,
                            ELEMENTSOF(memory_rows));
        tcase_add_test(reading, nothing_is_read_of_no_thread);
        suite_add_tcase(suite, reading);
        return check_main(suite);
}
