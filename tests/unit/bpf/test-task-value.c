/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <sys/sysmacros.h>

#include "base/macro.h"
#include "kernel/bpf/task-value.h"

/* states: what fs/proc/array.c prints for them */

static const struct {
        unsigned state, exit_state;
        char letter;
} states[] = {
        { 0, 0, 'R' },      { 0x1, 0, 'S' },     { 0x2, 0, 'D' },     { 0x4, 0, 'T' },
        { 0x8, 0, 't' },    { 0x80, 0x10, 'X' }, { 0x80, 0x20, 'Z' }, { 0x40, 0, 'P' },
        { 0x402, 0, 'I' },  { 0x2001, 0, 'S' },  { 0x102, 0, 'D' },   { 0x1000, 0, 'D' },
        { 0x8000, 0, 'D' }, { 0x200, 0, 'R' },   { 0x2402, 0, 'I' },  { 0x1002, 0, 'D' },
};

START_TEST(a_state_has_its_letter) {
        TaskRecord record = { .state = states[_i].state, .exit_state = states[_i].exit_state };

        ck_assert_msg(task_state(&record) == states[_i].letter, "%#x, %#x: %c", states[_i].state,
                      states[_i].exit_state, task_state(&record));
}
END_TEST

/* times */

static const struct {
        uint64_t user, system, run, prev_user, prev_system;
        uint64_t shown_user, shown_system;
} times[] = {
        /* nothing was sampled: all is the user's, as in the kernel */
        { 0, 0, 5000, 0, 0, 5000, 0 },
        { 4000, 0, 5000, 0, 0, 5000, 0 },
        { 0, 4000, 5000, 0, 0, 0, 5000 },
        /* in proportion */
        { 4000, 4000, 5000, 0, 0, 2500, 2500 },
        { 3000, 1000, 1000000007, 0, 0, 750000006, 250000001 },
        /* what was shown does not fall */
        { 4000, 4000, 5000, 0, 3000, 2000, 3000 },
        { 4000, 4000, 5000, 3000, 1000, 3000, 2000 },
        /* nothing has been added */
        { 9000, 1, 5000, 2000, 3000, 2000, 3000 },
        { 9000, 1, 5000, 2000, 4000, 2000, 4000 },
        /* products beyond 64 bits: 100 days */
        { UINT64_C(8640000000000000), UINT64_C(2160000000000000), UINT64_C(10800000000000003), 0, 0,
          UINT64_C(8640000000000003), UINT64_C(2160000000000000) },
        /* numbers that no kernel has */
        { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX },
        { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0, 0, UINT64_MAX },
};

START_TEST(cpu_times_are_those_of_procfs) {
        TaskRecord record = {
                .has = TASK_HAS_PREV_TIMES,
                .user_ns = times[_i].user,
                .system_ns = times[_i].system,
                .run_time_ns = times[_i].run,
                .prev_user_ns = times[_i].prev_user,
                .prev_system_ns = times[_i].prev_system,
        };
        uint64_t user, system;

        task_cpu_times(&record, &user, &system);
        ck_assert_uint_eq(user, times[_i].shown_user);
        ck_assert_uint_eq(system, times[_i].shown_system);
}
END_TEST

START_TEST(cpu_times_that_the_kernel_does_not_scale_stay_as_they_are) {
        const TaskRecord record = { .user_ns = 7, .system_ns = 9, .run_time_ns = 1000 };
        uint64_t user, system;

        task_cpu_times(&record, &user, &system);
        ck_assert_uint_eq(user, 7);
        ck_assert_uint_eq(system, 9);
}
END_TEST

/* places and sizes */

START_TEST(a_device_is_that_of_stat) {
        ck_assert_uint_eq(task_device(0xfe00000 | 3), makedev(0xfe, 3));
        ck_assert_uint_eq(task_device((UINT64_C(259) << 20) | 0x12345), makedev(259, 0x12345));
}
END_TEST

START_TEST(the_code_of_the_program_is_not_that_of_libraries) {
        TaskMemory memory = { .executable = 100, .code_begin = 0x401000, .code_end = 0x402001 };

        /* 2 pages are begun */
        ck_assert_uint_eq(task_library_code(&memory, 4096), 98 * 4096);
        memory.executable = 1;
        ck_assert_uint_eq(task_library_code(&memory, 4096), 0);
}
END_TEST

START_TEST(resident_pages_are_those_of_three_kinds) {
        TaskMemory memory = { .resident = { 10, 200, 4000, 7 } };

        ck_assert_uint_eq(task_resident(&memory), 217);
        memory.resident[TASK_MEMORY_FILE] = -3; /* a sum that others changed meanwhile */
        ck_assert_uint_eq(task_resident(&memory), 207);
}
END_TEST

START_TEST(an_integral_does_not_wrap) {
        ck_assert_uint_eq(task_integral_mb_us(0, 4096), 0);
        ck_assert_uint_eq(task_integral_mb_us(250, 4096), 1);
        ck_assert_uint_eq(task_integral_mb_us(249, 4096), 0);
        ck_assert_uint_eq(task_integral_mb_us(1024001, 4096), 4096);
        /* A week of 64 CPUs with 200 MiB each: the product with the size of a page has 73 bits. */
        ck_assert_uint_eq(task_integral_mb_us(UINT64_C(1890000000000000000), 4096),
                          UINT64_C(7560000000000000));
        ck_assert_uint_eq(task_integral_mb_us(UINT64_MAX, UINT64_C(1) << 30), UINT64_MAX);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("task-value");
        TCase *tcase = tcase_create("values");

        tcase_add_loop_test(tcase, a_state_has_its_letter, 0, ELEMENTSOF(states));
        tcase_add_loop_test(tcase, cpu_times_are_those_of_procfs, 0, ELEMENTSOF(times));
        tcase_add_test(tcase, cpu_times_that_the_kernel_does_not_scale_stay_as_they_are);
        tcase_add_test(tcase, a_device_is_that_of_stat);
        tcase_add_test(tcase, the_code_of_the_program_is_not_that_of_libraries);
        tcase_add_test(tcase, resident_pages_are_those_of_three_kinds);
        tcase_add_test(tcase, an_integral_does_not_wrap);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
