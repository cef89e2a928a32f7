/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "user/user.h"
#include "wire/limits.h"

static Users *users;
static Charge charges[400];

static void setup(void) {
        const UserLimits limits = user_default_limits(LIMIT_ANALYSES);

        ck_assert_int_eq(users_new(&limits, &users), 0);
}

static void teardown(void) {
        for (size_t i = 0; i < ELEMENTSOF(charges); i++)
                charge_end(&charges[i]);
        users = users_free(users);
}

static void begin(unsigned i, uid_t uid, Use use, uint64_t n) {
        ck_assert_int_eq(charge_begin(&charges[i], users, uid, use, n), 0);
}

/* Every use that is bounded, and both of its bounds. */
static const struct {
        Use use;
        uint64_t of_user, of_all;
} bound_rows[] = {
        { USE_CONNECTIONS, 64, 256 },
        { USE_BYTES, 64 << 20, 128 << 20 },
        { USE_CLOSING, 256, UINT64_MAX },
        { USE_HELD, UINT64_C(1024) << 20, UINT64_C(1536) << 20 },
        { USE_HANGABLE, 3, 8 },
        { USE_STUCK, 3, 64 },
        { USE_RUNNING + QUEUE_ADDING, 1, 1 },
        { USE_RUNNING + QUEUE_RECORDING, 1, 1 },
        { USE_RUNNING + QUEUE_READING, 3, 4 },
        { USE_RUNNING + QUEUE_CHANGING, 1, 1 },
        { USE_RUNNING + QUEUE_SURVEYING, 1, 1 },
        { USE_RUNNING + QUEUE_LOADING, 1, 1 },
        { USE_RESTING + QUEUE_ADDING, UINT64_MAX, 1 },
        { USE_RESTING + QUEUE_RECORDING, UINT64_MAX, 1 },
        { USE_RESTING + QUEUE_READING, UINT64_MAX, 4 },
        { USE_RESTING + QUEUE_CHANGING, UINT64_MAX, 1 },
        { USE_RESTING + QUEUE_SURVEYING, UINT64_MAX, 1 },
        { USE_RESTING + QUEUE_LOADING, UINT64_MAX, 1 },
        { USE_WAITING + QUEUE_ADDING, 8, 32 },
        { USE_WAITING + QUEUE_RECORDING, 16, 64 },
        { USE_WAITING + QUEUE_READING, 16, 64 },
        { USE_WAITING + QUEUE_CHANGING, 16, 64 },
        { USE_WAITING + QUEUE_SURVEYING, 16, 64 },
        { USE_WAITING + QUEUE_LOADING, 16, 64 },
};

/* What is counted and has no bound is bounded as a part of something else. */
START_TEST(everything_has_its_bound) {
        for (unsigned use = 0; use < _USE_MAX; use++) {
                bool has_row = use == USE_UNREAD; /* of USE_BYTES */

                for (size_t i = 0; i < ELEMENTSOF(bound_rows); i++)
                        has_row = has_row || bound_rows[i].use == use;
                ck_assert_msg(has_row, "use %u has no row", use);
        }
}
END_TEST

START_TEST(a_user_gets_as_much_as_it_may_have_and_no_more) {
        Use use = bound_rows[_i].use;
        uint64_t n = bound_rows[_i].of_user;

        ck_assert_uint_eq(users->limits.of_user[use], n);
        if (n == UINT64_MAX)
                return;
        begin(0, 7, use, n - 1);
        ck_assert_int_eq(users_ask(users, 7, use, 1), USER_OK);
        ck_assert_int_ne(users_ask(users, 7, use, 2), USER_OK);
        charge_set(&charges[0], n);
        ck_assert_int_eq(users_ask(users, 7, use, 0), USER_OK);
        ck_assert_int_ne(users_ask(users, 7, use, 1), USER_OK);
        ck_assert_int_ne(users_ask(users, 7, use, UINT64_MAX), USER_OK);
        charge_set(&charges[0], n + 1);
        ck_assert_int_ne(users_ask(users, 7, use, 0), USER_OK);
        charge_end(&charges[0]);
        ck_assert_int_eq(users_ask(users, 7, use, n), USER_OK);
}
END_TEST

START_TEST(all_users_together_get_as_much_as_they_may_have) {
        Use use = bound_rows[_i].use;
        uint64_t n = bound_rows[_i].of_all;

        ck_assert_uint_eq(users->limits.of_all[use], n);
        if (n == UINT64_MAX)
                return;
        begin(0, 7, use, n);
        ck_assert(users_have_room(users, use, 0));
        ck_assert(!users_have_room(users, use, 1));
        /* The server makes room for bytes of another user, and refuses none. */
        ck_assert_int_eq(users_ask(users, 8, use, 1), use == USE_BYTES ? USER_OK : USER_E_FULL);
        charge_set(&charges[0], n - 1);
        ck_assert_int_eq(users_ask(users, 8, use, 1), USER_OK);
}
END_TEST

START_TEST(one_that_has_too_much_is_told_so_unless_nobody_gets_in) {
        UserLimits limits = users->limits;
        static const Use uses[] = { USE_CONNECTIONS, USE_WAITING + QUEUE_READING };

        for (unsigned i = 0; i < ELEMENTSOF(uses); i++) {
                limits.of_user[uses[i]] = limits.of_all[uses[i]] = 1;
                begin(i, 7, uses[i], 1);
        }
        users->limits = limits;
        ck_assert_int_eq(users_ask(users, 7, uses[0], 1), USER_E_FULL);
        ck_assert_int_eq(users_ask(users, 7, uses[1], 1), USER_E_FULL_FOR_USER);
        ck_assert_int_eq(users_ask(users, 8, uses[1], 1), USER_E_FULL);
}
END_TEST

static const struct {
        unsigned n_stuck, n_stuck_of_user;
        int verdict;
} stuck_rows[] = {
        { 0, 0, USER_OK },
        { 2, 2, USER_OK },
        { 3, 3, USER_E_FULL_FOR_USER },
        { 7, 1, USER_OK },
        { 9, 3, USER_E_FULL_FOR_USER }, /* of three users */
        { 9, 1, USER_E_FULL_FOR_USER },
        { 9, 0, USER_OK }, /* anybody else */
        { 63, 0, USER_OK },
        { 64, 0, USER_E_FULL },
};

START_TEST(jobs_that_hang_count_for_whose_they_are) {
        begin(0, 7, USE_STUCK, stuck_rows[_i].n_stuck_of_user);
        begin(1, 8, USE_STUCK, stuck_rows[_i].n_stuck - stuck_rows[_i].n_stuck_of_user);
        ck_assert_int_eq(users_ask(users, 7, USE_STUCK, 1), stuck_rows[_i].verdict);
}
END_TEST

START_TEST(jobs_that_are_known_to_hang_leave_room_for_those_that_could) {
        begin(0, 7, USE_HANGABLE, 2);
        begin(1, 7, USE_STUCK, 2);
        begin(2, 8, USE_HANGABLE, 7);
        ck_assert_int_eq(users_ask(users, 9, USE_HANGABLE, 1), USER_OK);
        charge_set(&charges[2], 8);
        ck_assert_int_eq(users_ask(users, 9, USE_HANGABLE, 1), USER_E_FULL);
        charge_set(&charges[2], 0);
        /* Of one user all count. */
        ck_assert_int_eq(users_ask(users, 7, USE_HANGABLE, 1), USER_OK);
        charge_set(&charges[0], 3);
        ck_assert_int_eq(users_ask(users, 7, USE_HANGABLE, 1), USER_E_FULL_FOR_USER);
}
END_TEST

START_TEST(who_rests_counts_for_its_user_alone) {
        begin(0, 7, USE_RUNNING + QUEUE_READING, 3);
        begin(1, 8, USE_RUNNING + QUEUE_READING, 1);
        ck_assert_int_eq(users_ask(users, 9, USE_RUNNING + QUEUE_READING, 1), USER_E_FULL);
        begin(2, 7, USE_RESTING + QUEUE_READING, 2);
        ck_assert_int_eq(users_ask(users, 9, USE_RUNNING + QUEUE_READING, 2), USER_OK);
        ck_assert_int_eq(users_ask(users, 7, USE_RUNNING + QUEUE_READING, 1), USER_E_FULL_FOR_USER);
}
END_TEST

START_TEST(room_is_what_is_left_to_the_user_and_to_all) {
        UserLimits limits = users->limits;

        limits.of_user[USE_HELD] = 10;
        limits.of_all[USE_HELD] = 15;
        users->limits = limits;
        ck_assert_int_eq(users_ask(users, 7, USE_HELD, 10), USER_OK);
        ck_assert_int_eq(users_ask(users, 7, USE_HELD, 11), USER_E_FULL_FOR_USER);
        begin(0, 7, USE_HELD, 4);
        ck_assert_int_eq(users_ask(users, 7, USE_HELD, 6), USER_OK);
        ck_assert_int_eq(users_ask(users, 7, USE_HELD, 7), USER_E_FULL_FOR_USER);
        begin(1, 8, USE_HELD, 9);
        ck_assert_int_eq(users_ask(users, 7, USE_HELD, 2), USER_OK);
        ck_assert_int_eq(users_ask(users, 7, USE_HELD, 3), USER_E_FULL);
        limits.of_user[USE_HELD] = limits.of_all[USE_HELD] = 3;
        users->limits = limits;
        ck_assert_int_eq(users_ask(users, 7, USE_HELD, 0), USER_E_FULL_FOR_USER);
}
END_TEST

static uint64_t last_turn_of(uid_t uid, QueueKind queue) {
        for (const User *user = users->first; user; user = user->next)
                if (user->uid == uid)
                        return user->last_turn[queue];
        return 0;
}

START_TEST(whoever_came_last_of_those_who_left_is_remembered) {
        for (uid_t uid = 1; uid <= 2 * LIMIT_REMEMBERED_USERS; uid++) {
                begin(0, uid, USE_RUNNING + QUEUE_READING, 1);
                charges[0].user->last_turn[QUEUE_READING] = ++users->n_turns;
                charge_end(&charges[0]);
        }
        ck_assert_uint_eq(last_turn_of(LIMIT_REMEMBERED_USERS, QUEUE_READING), 0);
        for (uid_t uid = LIMIT_REMEMBERED_USERS + 1; uid <= 2 * LIMIT_REMEMBERED_USERS; uid++)
                ck_assert_uint_eq(last_turn_of(uid, QUEUE_READING), uid);
        /* A turn in one queue is none in another. */
        ck_assert_uint_eq(last_turn_of(2 * LIMIT_REMEMBERED_USERS, QUEUE_ADDING), 0);
        /* Who only comes and goes does not displace one that had a turn. */
        for (uid_t uid = 1000; uid < 1100; uid++) {
                begin(0, uid, USE_CONNECTIONS, 1);
                charge_end(&charges[0]);
        }
        ck_assert_uint_eq(last_turn_of(2 * LIMIT_REMEMBERED_USERS, QUEUE_READING),
                          2 * LIMIT_REMEMBERED_USERS);
}
END_TEST

static void move(Charge *charge, Use use) {
        uint64_t n = charge->n;

        charge_set(charge, 0);
        charge->use = use;
        charge_set(charge, n);
}

/* Charges begin, change, move and end at random; the sums are always those of the charges. */
START_TEST(sums_are_those_of_the_charges) {
        uint32_t state = 1;

        for (unsigned step = 0; step < 20000; step++) {
                Charge *charge;
                uint32_t value;

                state = state * 1664525 + 1013904223;
                value = state >> 8;
                charge = &charges[value % ELEMENTSOF(charges)];
                if (!charge->user)
                        begin((unsigned) (charge - charges), value % 300, value % _USE_MAX, value);
                else if (value % 3 == 0)
                        charge_end(charge);
                else if (value % 3 == 1)
                        move(charge, value % _USE_MAX);
                else
                        charge_set(charge, value % 2 == 0 ? value : 0);
                if (step % 100 != 0)
                        continue;
                for (Use use = 0; use < _USE_MAX; use++) {
                        uint64_t sum = 0, of_users = 0;

                        for (size_t i = 0; i < ELEMENTSOF(charges); i++)
                                if (charges[i].user && charges[i].use == use)
                                        sum += charges[i].n;
                        for (uid_t uid = 0; uid < 300; uid++)
                                of_users += users_count(users, uid, use);
                        ck_assert_uint_eq(users->n[use], sum);
                        ck_assert_uint_eq(of_users, sum);
                }
        }
}
END_TEST

START_TEST(nothing_is_charged_before_and_after) {
        Charge none = {};

        charge_set(&none, 5);
        charge_end(&none);
        ck_assert_ptr_null(none.user);
        begin(0, 7, USE_BYTES, 5);
        /* It may be moved. */
        charges[1] = charges[0];
        memset(&charges[0], 0, sizeof(charges[0]));
        charge_end(&charges[1]);
        charge_end(&charges[1]);
        ck_assert_uint_eq(users_count(users, 7, USE_BYTES), 0);
        ck_assert_uint_eq(users_count(users, 8, USE_BYTES), 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("user");
        TCase *all = tcase_create("users");

        tcase_add_checked_fixture(all, setup, teardown);
        tcase_add_test(all, everything_has_its_bound);
        tcase_add_loop_test(all, a_user_gets_as_much_as_it_may_have_and_no_more, 0,
                            ELEMENTSOF(bound_rows));
        tcase_add_loop_test(all, all_users_together_get_as_much_as_they_may_have, 0,
                            ELEMENTSOF(bound_rows));
        tcase_add_test(all, one_that_has_too_much_is_told_so_unless_nobody_gets_in);
        tcase_add_loop_test(all, jobs_that_hang_count_for_whose_they_are, 0,
                            ELEMENTSOF(stuck_rows));
        tcase_add_test(all, jobs_that_are_known_to_hang_leave_room_for_those_that_could);
        tcase_add_test(all, who_rests_counts_for_its_user_alone);
        tcase_add_test(all, room_is_what_is_left_to_the_user_and_to_all);
        tcase_add_test(all, whoever_came_last_of_those_who_left_is_remembered);
        tcase_add_test(all, sums_are_those_of_the_charges);
        tcase_add_test(all, nothing_is_charged_before_and_after);
        suite_add_tcase(suite, all);
        return check_main(suite);
}
