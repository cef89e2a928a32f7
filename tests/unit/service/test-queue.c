/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "service/manager/queue.h"
#include "wire/limits.h"

typedef struct QueueLimits {
        unsigned running, running_of_user, waiting, waiting_of_user;
} QueueLimits;

static Users *users;
static Queue queue;
static QueueEntry entries[512];

static void set_limits(QueueLimits bounds) {
        UserLimits limits = user_default_limits(LIMIT_ANALYSES);

        limits.of_all[USE_RUNNING + QUEUE_READING] = bounds.running;
        limits.of_all[USE_RESTING + QUEUE_READING] = bounds.running;
        limits.of_user[USE_RUNNING + QUEUE_READING] = bounds.running_of_user;
        limits.of_all[USE_WAITING + QUEUE_READING] = bounds.waiting;
        limits.of_user[USE_WAITING + QUEUE_READING] = bounds.waiting_of_user;
        users->limits = limits;
}

static void setup(void) {
        const UserLimits limits = user_default_limits(LIMIT_ANALYSES);

        ck_assert_int_eq(users_new(&limits, &users), 0);
        set_limits((QueueLimits){ 1, 1, 8, 4 });
        queue = (Queue){ .users = users, .kind = QUEUE_READING };
}

static void teardown(void) {
        for (size_t i = 0; i < ELEMENTSOF(entries); i++)
                queue_remove(&queue, &entries[i]);
        users = users_free(users);
}

static unsigned n_running(void) {
        return (unsigned) users->n[USE_RUNNING + QUEUE_READING];
}

static unsigned n_waiting(void) {
        return (unsigned) users->n[USE_WAITING + QUEUE_READING];
}

static void add(unsigned i, uid_t uid) {
        ck_assert_int_eq(queue_add(&queue, &entries[i], uid), USER_OK);
}

/* Removes the running entry, starts the next one and returns its user. */
static int advance(QueueEntry **running) {
        if (*running)
                queue_remove(&queue, *running);
        *running = queue_next(&queue);
        return *running ? (int) (*running - entries) : -1;
}

START_TEST(one_user_is_served_in_order) {
        QueueEntry *running = NULL;

        for (unsigned i = 0; i < 3; i++)
                add(i, 1000);
        for (int i = 0; i < 3; i++)
                ck_assert_int_eq(advance(&running), i);
        ck_assert_int_eq(advance(&running), -1);
        ck_assert_uint_eq(n_running(), 0);
}
END_TEST

START_TEST(users_take_turns) {
        static const int order[] = { 0, 3, 5, 1, 4, 2 };
        QueueEntry *running = NULL;

        add(0, 1);
        add(1, 1);
        add(2, 1);
        add(3, 2);
        add(4, 2);
        add(5, 3);
        for (size_t i = 0; i < ELEMENTSOF(order); i++)
                ck_assert_int_eq(advance(&running), order[i]);
}
END_TEST

START_TEST(a_newcomer_goes_before_who_was_served_already) {
        QueueEntry *running = NULL;

        add(0, 1);
        ck_assert_int_eq(advance(&running), 0);
        add(1, 1);
        add(2, 2);
        ck_assert_int_eq(advance(&running), 2);
        ck_assert_int_eq(advance(&running), 1);
}
END_TEST

START_TEST(coming_back_is_no_way_to_the_front) {
        QueueEntry *running = NULL;

        add(0, 1);
        ck_assert_int_eq(advance(&running), 0);
        add(1, 2);
        ck_assert_int_eq(advance(&running), 1); /* user 1 has no more entries */
        add(2, 1);
        add(3, 3);
        ck_assert_int_eq(advance(&running), 3);
        ck_assert_int_eq(advance(&running), 2);
}
END_TEST

START_TEST(nobody_runs_past_the_bound) {
        add(0, 1);
        add(1, 2);
        ck_assert(users_have_room(users, USE_RUNNING + (Use) queue.kind, 1));
        ck_assert_ptr_eq(queue_next(&queue), &entries[0]);
        ck_assert(!users_have_room(users, USE_RUNNING + (Use) queue.kind, 1));
        ck_assert_ptr_null(queue_next(&queue));
        ck_assert_uint_eq(n_running(), 1);
        ck_assert_uint_eq(n_waiting(), 1);
}
END_TEST

START_TEST(one_user_leaves_a_place_to_others) {
        set_limits((QueueLimits){ 3, 2, 8, 8 });
        for (unsigned i = 0; i < 3; i++)
                add(i, 1);
        ck_assert_ptr_eq(queue_next(&queue), &entries[0]);
        ck_assert_ptr_eq(queue_next(&queue), &entries[1]);
        ck_assert_ptr_null(queue_next(&queue));
        add(3, 2);
        ck_assert_ptr_eq(queue_next(&queue), &entries[3]);
        queue_remove(&queue, &entries[0]);
        ck_assert_ptr_eq(queue_next(&queue), &entries[2]);
}
END_TEST

START_TEST(jobs_that_may_hang_hold_back_one_user_and_not_others) {
        Charge hangable = {}, stuck = {};

        users->limits.of_user[USE_HANGABLE] = 1;
        ck_assert_int_eq(charge_begin(&hangable, users, 1, USE_HANGABLE, 1), 0);
        add(0, 1);
        add(1, 2);
        ck_assert_ptr_eq(queue_next(&queue), &entries[1]);
        queue_remove(&queue, &entries[1]);
        ck_assert_ptr_null(queue_next(&queue));
        charge_end(&hangable);
        ck_assert_ptr_eq(queue_next(&queue), &entries[0]);
        queue_remove(&queue, &entries[0]);
        /* If too many are known to hang it passes, to be refused. */
        users->limits.of_user[USE_STUCK] = 1;
        ck_assert_int_eq(charge_begin(&hangable, users, 1, USE_HANGABLE, 1), 0);
        ck_assert_int_eq(charge_begin(&stuck, users, 1, USE_STUCK, 1), 0);
        add(0, 1);
        ck_assert_ptr_eq(queue_next(&queue), &entries[0]);
        charge_end(&hangable);
        charge_end(&stuck);
}
END_TEST

START_TEST(waiting_is_bounded_for_a_user_and_for_all) {
        for (unsigned i = 0; i < 4; i++)
                add(i, 1);
        ck_assert_int_eq(queue_add(&queue, &entries[4], 1), USER_E_FULL_FOR_USER);
        for (unsigned i = 4; i < 8; i++)
                add(i, 2);
        ck_assert_int_eq(queue_add(&queue, &entries[8], 3), USER_E_FULL);
        ck_assert_int_eq(entries[8].place, QUEUE_OUTSIDE);
        queue_remove(&queue, &entries[2]);
        add(8, 3);
        ck_assert_uint_eq(n_waiting(), 8);
}
END_TEST

START_TEST(leaving_the_line_keeps_the_others_in_order) {
        QueueEntry *running = NULL;

        for (unsigned i = 0; i < 4; i++)
                add(i, 1);
        queue_remove(&queue, &entries[0]);
        queue_remove(&queue, &entries[2]);
        queue_remove(&queue, &entries[2]); /* not in the queue: does nothing */
        ck_assert_int_eq(advance(&running), 1);
        ck_assert_int_eq(advance(&running), 3);
        ck_assert_int_eq(advance(&running), -1);
}
END_TEST

START_TEST(more_users_than_can_be_remembered_are_served) {
        QueueEntry *running = NULL;

        for (unsigned i = 0; i < ELEMENTSOF(entries); i++) {
                add(i, 5000 + i);
                ck_assert_int_eq(advance(&running), (int) i);
        }
}
END_TEST

START_TEST(who_rests_leaves_its_place_to_another_user) {
        set_limits((QueueLimits){ 2, 1, 8, 4 });
        for (unsigned i = 0; i < 6; i++)
                ck_assert_int_eq(queue_add(&queue, &entries[i], 100 + i), USER_OK);
        ck_assert_int_eq(queue_add(&queue, &entries[6], 100), USER_OK);
        ck_assert_ptr_eq(queue_next(&queue), &entries[0]);
        ck_assert_ptr_eq(queue_next(&queue), &entries[1]);
        queue_rest(&queue, &entries[0]);
        queue_rest(&queue, &entries[0]); /* does nothing: it rests already */
        ck_assert_uint_eq(n_running(), 2);
        ck_assert_ptr_eq(queue_next(&queue), &entries[2]);
        ck_assert_ptr_null(queue_next(&queue));
        queue_rest(&queue, &entries[1]);
        ck_assert_ptr_eq(queue_next(&queue), &entries[3]);
        /* At most as many may rest as may run. */
        queue_rest(&queue, &entries[2]);
        ck_assert_ptr_null(queue_next(&queue));
        ck_assert_uint_eq(n_running(), 4);
        /* When it wakes, one too many runs until another leaves. */
        queue_wake(&entries[0]);
        queue_remove(&queue, &entries[2]);
        ck_assert_ptr_null(queue_next(&queue));
        queue_remove(&queue, &entries[3]);
        ck_assert_ptr_eq(queue_next(&queue), &entries[4]);
        queue_remove(&queue, &entries[4]);
        ck_assert_ptr_eq(queue_next(&queue), &entries[5]);
        queue_remove(&queue, &entries[5]);
        /* A resting entry still counts for its user. */
        queue_rest(&queue, &entries[0]);
        ck_assert_ptr_null(queue_next(&queue));
        queue_remove(&queue, &entries[0]);
        ck_assert_ptr_eq(queue_next(&queue), &entries[6]);
        queue_remove(&queue, &entries[6]);
        queue_remove(&queue, &entries[1]);
        ck_assert_uint_eq(n_running(), 0);
}
END_TEST

START_TEST(other_limits_hold_from_then_on) {
        set_limits((QueueLimits){ 1, 1, 2, 2 });
        ck_assert_int_eq(queue_add(&queue, &entries[0], 7), USER_OK);
        ck_assert_int_eq(queue_add(&queue, &entries[1], 7), USER_OK);
        ck_assert_int_eq(queue_add(&queue, &entries[2], 8), USER_E_FULL);
        set_limits((QueueLimits){ 1, 1, 400, 300 });
        /* Each entry has its own user. */
        for (unsigned i = 2; i < 400; i++)
                ck_assert_int_eq(queue_add(&queue, &entries[i], 100 + i), USER_OK);
        ck_assert_ptr_eq(queue_next(&queue), &entries[0]);
        /* The new limit is below the number that waits: all of them stay. */
        set_limits((QueueLimits){ 1, 1, 2, 2 });
        queue_remove(&queue, &entries[0]);
        ck_assert_int_eq(queue_add(&queue, &entries[0], 9), USER_E_FULL);
        ck_assert_uint_eq(n_waiting(), 399);
        ck_assert_ptr_eq(queue_next(&queue), &entries[2]); /* 7 had its turn */
}
END_TEST

START_TEST(users_of_before_and_after_other_limits_fit_beside_each_other) {
        set_limits((QueueLimits){ 64, 1, 1, 1 });
        for (unsigned i = 0; i < 128; i++) {
                add(i, 1000 + i);
                ck_assert_ptr_eq(queue_next(&queue), &entries[i]);
                if (i < 64)
                        queue_rest(&queue, &entries[i]);
        }

        set_limits((QueueLimits){ 1, 1, 128, 1 });
        for (unsigned i = 128; i < 256; i++)
                add(i, 1000 + i);
        ck_assert_uint_eq(n_running(), 128);
        ck_assert_uint_eq(n_waiting(), 128);
        for (unsigned i = 0; i < 256; i++)
                queue_remove(&queue, &entries[i]);
        ck_assert_uint_eq(n_running() + n_waiting(), 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("queue");
        TCase *turns = tcase_create("turns");

        tcase_add_checked_fixture(turns, setup, teardown);
        tcase_add_test(turns, one_user_is_served_in_order);
        tcase_add_test(turns, users_take_turns);
        tcase_add_test(turns, a_newcomer_goes_before_who_was_served_already);
        tcase_add_test(turns, coming_back_is_no_way_to_the_front);
        tcase_add_test(turns, nobody_runs_past_the_bound);
        tcase_add_test(turns, one_user_leaves_a_place_to_others);
        tcase_add_test(turns, jobs_that_may_hang_hold_back_one_user_and_not_others);
        tcase_add_test(turns, waiting_is_bounded_for_a_user_and_for_all);
        tcase_add_test(turns, leaving_the_line_keeps_the_others_in_order);
        tcase_add_test(turns, more_users_than_can_be_remembered_are_served);
        tcase_add_test(turns, who_rests_leaves_its_place_to_another_user);
        tcase_add_test(turns, other_limits_hold_from_then_on);
        tcase_add_test(turns, users_of_before_and_after_other_limits_fit_beside_each_other);
        suite_add_tcase(suite, turns);
        return check_main(suite);
}
