/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "capture/batch/largest.h"

#define N_PROCESSES 1000

static Largest largest;

static void offer(pid_t tgid, uint64_t resident, uint64_t swap, bool is_closed) {
        ck_assert_int_eq(largest_offer(&largest, (LargestProcess){ .tgid = tgid,
                                                                   .is_closed = is_closed,
                                                                   .resident_bytes = resident,
                                                                   .swap_bytes = swap }),
                         0);
}

static void end(void) {
        free(largest.processes);
        largest = (Largest){};
}

/* Resident bytes of process @i of N_PROCESSES, all different, in several orders. */
static uint64_t rising(unsigned i) {
        return i;
}
static uint64_t falling(unsigned i) {
        return N_PROCESSES - i;
}
static uint64_t scattered(unsigned i) {
        return i * 617 % 1009; /* a prime: no two are the same */
}
static uint64_t equal(unsigned i) {
        return 7;
}

static uint64_t (*const orders[])(unsigned i) = { rising, falling, scattered, equal };
static const size_t bounds[] = { 1, 2, 63, 64, 65, 999, 1000, 1001 };

/* Beside sorting all: a process is among the largest if fewer than @n_max come before it. */
START_TEST(as_many_are_kept_as_are_wanted_and_no_smaller_ones) {
        uint64_t (*order)(unsigned i) = orders[(size_t) _i / ELEMENTSOF(bounds)];
        size_t n_max = bounds[(size_t) _i % ELEMENTSOF(bounds)];

        largest = (Largest){ .n_max = n_max, .max_bytes = UINT64_MAX };
        for (unsigned i = 0; i < N_PROCESSES; i++)
                offer((pid_t) i + 1, order(i), 0, false);
        largest_settle(&largest);
        ck_assert_uint_eq(largest.n, MIN_OF(n_max, (size_t) N_PROCESSES));
        for (unsigned i = 0; i < N_PROCESSES; i++) {
                size_t n_larger = 0;

                for (unsigned k = 0; k < N_PROCESSES; k++)
                        n_larger += order(k) > order(i) || (order(k) == order(i) && k > i);
                ck_assert(largest_has(&largest, (pid_t) i + 1) == (n_larger < n_max));
        }
        ck_assert(largest_has(&largest, N_PROCESSES + 1) == (n_max >= N_PROCESSES));
        end();
}
END_TEST

START_TEST(the_bound_counts_swap_and_who_is_beyond_it_takes_no_place) {
        largest = (Largest){ .n_max = 1, .max_bytes = 100 };
        offer(1, 50, 50, false);
        offer(2, 60, 41, false);
        offer(3, UINT64_MAX, UINT64_MAX, false);
        ck_assert(!largest.has_refused);
        offer(4, 10, 90, false); /* swap makes none larger */
        largest_settle(&largest);
        ck_assert(largest_has(&largest, 1));
        for (pid_t tgid = 2; tgid <= 4; tgid++)
                ck_assert(!largest_has(&largest, tgid));
        end();
}
END_TEST

START_TEST(those_that_cannot_be_read_come_last) {
        largest = (Largest){ .n_max = 2, .max_bytes = UINT64_MAX };
        offer(1, 1000, 0, true);
        offer(2, 2000, 0, true);
        offer(3, 1, 0, false);
        largest_settle(&largest);
        ck_assert(!largest_has(&largest, 1));
        ck_assert(largest_has(&largest, 2) && largest_has(&largest, 3));
        end();
}
END_TEST

START_TEST(without_offers_all_are_among_them) {
        largest = (Largest){ .n_max = 2, .max_bytes = UINT64_MAX };
        largest_settle(&largest);
        ck_assert(largest_has(&largest, 1));
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("largest");
        TCase *choice = tcase_create("choice");

        tcase_add_loop_test(choice, as_many_are_kept_as_are_wanted_and_no_smaller_ones, 0,
                            ELEMENTSOF(orders) * ELEMENTSOF(bounds));
        tcase_add_test(choice, the_bound_counts_swap_and_who_is_beyond_it_takes_no_place);
        tcase_add_test(choice, those_that_cannot_be_read_come_last);
        tcase_add_test(choice, without_offers_all_are_among_them);
        suite_add_tcase(suite, choice);
        return check_main(suite);
}
