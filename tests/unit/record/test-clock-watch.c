/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "base/clock.h"
#include "record/clock-watch.h"

#define HZ 100
#define CLOCK_NS UINT64_C(10000000)
#define N_CPUS 300

static uint64_t ticks[N_CPUS];
static ClockWatch *watch;

static void setup(void) {
        memset(ticks, 0, sizeof(ticks));
        ck_assert_int_eq(clock_watch_new(ticks, N_CPUS, CLOCK_NS, &watch), 0);
}

static void teardown(void) {
        watch = clock_watch_free(watch);
}

static void look(const char *stat, double seconds) {
        clock_watch_look(watch, span_of(stat), HZ, (uint64_t) (seconds * NSEC_PER_SEC));
}

static void expect_told(const char *cpus, uint64_t ns) {
        UnclockedTime told;

        clock_watch_tell(watch, &told);
        ck_assert_str_eq(told.cpus, cpus);
        ck_assert_uint_eq(told.ns, ns);
        ck_assert(unclocked_time_is_valid(&told));
}

/* 20 ticks are 20 units of a file that counts hundredths of a second. */

START_TEST(a_clock_that_stands_still_is_none) {
        ck_assert(clock_watch_is_due(watch, 1));
        look("cpu  1 2 3\ncpu0 10 0 0 500 9 0 0 7 0 0\ncpu1 10 20 30 1 1 40 50 60 0 0\nintr 5\n",
             10);
        ck_assert(!clock_watch_is_due(watch, 10 * NSEC_PER_SEC + NSEC_PER_MSEC));
        ck_assert(clock_watch_is_due(watch, 11 * NSEC_PER_SEC));
        ticks[0] += 100;
        /* User, nice, system, irq and softirq; idle, waiting for storage and stolen are no work. */
        look("cpu0 90 0 0 520 9 0 0 7 0 0\ncpu1 11 22 33 91 91 44 55 96 0 0\n", 11);
        expect_told("", 0); /* it may only be late */
        ticks[0] += 100;
        look("cpu0 91 0 0 520 9 0 0 7 0 0\ncpu1 15 22 33 91 91 44 56 96 0 0\n", 12);
        expect_told("1", 20 * NSEC_PER_SEC / HZ);
        /* It goes on so, and what it did while its clock ran has samples. */
        ticks[0] += 100;
        look("cpu0 91 0 0 520 9 0 0 7 0 0\ncpu1 16 22 33 91 91 44 56 96 0 0\n", 13);
        expect_told("1", 21 * NSEC_PER_SEC / HZ);
        ticks[1] += 3;
        look("cpu0 91 0 0 520 9 0 0 7 0 0\ncpu1 99 22 33 91 91 44 55 96 0 0\n", 14);
        look("cpu0 91 0 0 520 9 0 0 7 0 0\ncpu1 118 22 33 91 91 44 55 96 0 0\n", 15);
        expect_told("1", 21 * NSEC_PER_SEC / HZ);
}
END_TEST

/* While it is idle its clock may rest. */
START_TEST(a_cpu_that_does_little_has_a_clock) {
        for (unsigned i = 0; i < 50; i++) {
                char stat[64];

                (void) snprintf(stat, sizeof(stat), "cpu0 %u 0 0 500 9 0 0 7\n", 10 + 6 * i);
                look(stat, 10 + i);
                ticks[0] += i % 3 == 0;
        }
        expect_told("", 0);
}
END_TEST

START_TEST(a_cpu_that_comes_is_known_from_then_on) {
        look("cpu0 10 0 0 500 9 0 0 7\n", 10);
        ticks[0] = 1;
        look("cpu0 20 0 0 500 9 0 0 7\ncpu7 1000 0 0 0 0 0 0\n", 11);
        expect_told("", 0);
        ticks[0] = 2;
        look("cpu0 20 0 0 500 9 0 0 7\ncpu7 1050 0 0 0 0 0 0\n", 12);
        expect_told("7", NSEC_PER_SEC / 2);
        /* And goes, and comes again. */
        ticks[0] = 3;
        look("cpu0 20 0 0 500 9 0 0 7\n", 13);
        ticks[0] = 4;
        look("cpu0 20 0 0 500 9 0 0 7\ncpu7 1060 0 0 0 0 0 0\n", 14);
        expect_told("7", 6 * NSEC_PER_SEC / 10);
}
END_TEST

static const char *const strange[] = {
        "cpu0 30\n",
        "cpu0\n",
        "cpu 30 0 0 0 0 0 0\n",
        "cpux 30 0 0 0 0 0 0\n",
        "cpu300 30 0 0 0 0 0 0\n",
        "cpu4294967296 30 0 0 0 0 0 0\n",
        "cpu0 30 0 0 0 0 0 -1\n",
        "gpu0 30 0 0 0 0 0 0\n",
        "",
        "cpu0 9 0 0 0 0 0 0\n", /* it went back */
};

START_TEST(what_has_no_sense_says_nothing) {
        look("cpu0 10 0 0 500 9 0 0 7\n", 10);
        look(strange[_i], 11);
        expect_told("", 0);
}
END_TEST

START_TEST(many_are_a_list) {
        Buffer stat = {};
        const char *text;

        for (unsigned round = 0; round < 2; round++) {
                buffer_clear(&stat);
                for (unsigned cpu = 1; cpu < N_CPUS; cpu += 70 < cpu ? 2 : 1)
                        buffer_append_format(&stat, "cpu%u %u 0 0 0 0 0 0\n", cpu, 100 * round);
                ck_assert_int_eq(buffer_terminate(&stat, &text), 0);
                look(text, 10 + round);
        }
        {
                UnclockedTime told;

                clock_watch_tell(watch, &told);
                ck_assert(unclocked_time_is_valid(&told));
                ck_assert_int_eq(strncmp(told.cpus, "1-71,73,75,", 11), 0);
                /* There is no room for all. */
                ck_assert_str_eq(told.cpus + strlen(told.cpus) - 4, ",...");
        }
        buffer_done(&stat);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("clock-watch");
        TCase *tcase = tcase_create("clock-watch");

        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, a_clock_that_stands_still_is_none);
        tcase_add_test(tcase, a_cpu_that_does_little_has_a_clock);
        tcase_add_test(tcase, a_cpu_that_comes_is_known_from_then_on);
        tcase_add_loop_test(tcase, what_has_no_sense_says_nothing, 0, ELEMENTSOF(strange));
        tcase_add_test(tcase, many_are_a_list);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
