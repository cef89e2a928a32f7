/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/macro.h"
#include "capture/batch/blocking-thread.h"

static sem_t go_on, is_done;

typedef struct Sum {
        unsigned a, b, sum;
        bool stuck, begun;
        _Atomic bool *works; /* until this is false; NULL: no longer than it takes */
} Sum;

static void add(void *memory) {
        Sum *sum = memory;

        sum->begun = true;
        if (sum->stuck)
                sem_wait(&go_on);
        while (sum->works && atomic_load(sum->works))
                continue;
        sum->sum = sum->a + sum->b;
}

static void note_done(void *memory) {
        const Sum *sum = memory;

        /*
         * On a thread that Check does not know. One that was left behind before it began, as on a
         * busy host, has nothing to add any more.
         */
        assert(!sum->begun || sum->sum == sum->a + sum->b);
        sem_post(&is_done);
}

static const BlockingWork work = { .n_bytes = sizeof(Sum), .run = add, .done = note_done };

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}

static void setup(void) {
        sem_init(&go_on, 0, 0);
        sem_init(&is_done, 0, 0);
}

static void teardown(void) {
        sem_destroy(&go_on);
        sem_destroy(&is_done);
}

START_TEST(it_works_in_its_memory_as_often_as_it_is_asked) {
        BlockingThread *thread;
        Sum *sum;
        int n_done;

        ck_assert_int_eq(blocking_thread_new(&work, &thread), 0);
        sum = (void *) thread->memory;
        ck_assert_uint_eq(sum->a, 0);
        for (unsigned i = 1; i < 20; i++) {
                *sum = (Sum){ .a = i, .b = 1 };
                ck_assert_int_eq(blocking_thread_run(thread, 100 * NSEC_PER_SEC), 0);
                ck_assert_uint_eq(sum->sum, i + 1);
        }
        ck_assert_ptr_null(blocking_thread_free(thread));
        ck_assert_int_eq(sem_getvalue(&is_done, &n_done), 0);
        ck_assert_int_eq(n_done, 1);
}
END_TEST

/* Its memory is released by itself, later, and never by the owner: sanitizers would tell. */
START_TEST(one_that_does_not_answer_is_left_behind) {
        BlockingThread *thread;
        Sum *sum;
        int n_done;

        ck_assert_int_eq(blocking_thread_new(&work, &thread), 0);
        sum = (void *) thread->memory;
        *sum = (Sum){ .a = 3, .b = 4, .stuck = true };
        ck_assert_int_eq(blocking_thread_run(thread, NSEC_PER_MSEC), -ETIMEDOUT);
        ck_assert_ptr_null(blocking_thread_free(thread));
        ck_assert_int_eq(sem_getvalue(&is_done, &n_done), 0);
        ck_assert_int_eq(n_done, 0);
        sem_post(&go_on);
        sem_wait(&is_done);
}
END_TEST

/* Where the states of threads cannot be read, nobody is waited for. */
START_TEST(one_that_works_is_waited_for_and_one_that_sleeps_is_not) {
        _Atomic bool works = true;
        BlockingThread *thread;
        uint64_t begin_ns;
        Sum *sum;

        ck_assert_int_eq(blocking_thread_new(&work, &thread), 0);
        sum = (void *) thread->memory;
        *sum = (Sum){ .a = 5, .b = 6, .works = &works };
        ck_assert_int_eq(blocking_thread_run(thread, NSEC_PER_MSEC), -ETIMEDOUT);
        ck_assert_int_eq(blocking_thread_wait(thread, NSEC_PER_MSEC), -ETIMEDOUT);
        atomic_store(&works, false);
        ck_assert_int_eq(blocking_thread_wait(thread, 100 * NSEC_PER_SEC), 0);
        ck_assert_uint_eq(sum->sum, 11);

        *sum = (Sum){ .a = 7, .b = 8, .stuck = true };
        ck_assert_int_eq(blocking_thread_run(thread, NSEC_PER_MSEC), -ETIMEDOUT);
        /* Until it sleeps it is waited for. */
        do {
                begin_ns = now_ns();
                ck_assert_int_eq(blocking_thread_wait(thread, 10 * NSEC_PER_SEC), -ETIMEDOUT);
        } while (now_ns() - begin_ns >= 10 * NSEC_PER_SEC);
        sem_post(&go_on);
        ck_assert_int_eq(blocking_thread_wait(thread, 100 * NSEC_PER_SEC), 0);
        ck_assert_ptr_null(blocking_thread_free(thread));
        sem_wait(&is_done);
}
END_TEST

START_TEST(one_that_was_never_asked_ends) {
        BlockingThread *thread;

        ck_assert_int_eq(blocking_thread_new(&work, &thread), 0);
        ck_assert_ptr_null(blocking_thread_free(thread));
        ck_assert_ptr_null(blocking_thread_free(NULL));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("patient-thread");
        TCase *life = tcase_create("life");

        tcase_add_checked_fixture(life, setup, teardown);
        tcase_add_test(life, it_works_in_its_memory_as_often_as_it_is_asked);
        tcase_add_test(life, one_that_does_not_answer_is_left_behind);
        tcase_add_test(life, one_that_works_is_waited_for_and_one_that_sleeps_is_not);
        tcase_add_test(life, one_that_was_never_asked_ends);
        suite_add_tcase(suite, life);
        return check_main(suite);
}
