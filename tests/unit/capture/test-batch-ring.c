/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <pthread.h>

#include "base/macro.h"
#include "capture/batch-ring.h"

static BatchRing *ring;

static void setup(void) {
        ck_assert_int_eq(batch_ring_new(3, &ring), 0);
}

static void teardown(void) {
        ring = batch_ring_free(ring);
}

static void submit(pid_t tid) {
        Batch *batch = batch_ring_next(ring);

        ck_assert_ptr_nonnull(batch);
        batch->tids[0] = tid;
        batch->n_tids = 1;
        batch_ring_submit(ring);
}

static void collect(pid_t tid) {
        Batch *batch = batch_ring_collect(ring, false);

        ck_assert_ptr_nonnull(batch);
        ck_assert_int_eq(batch->tids[0], tid);
        batch_ring_release(ring);
}

START_TEST(a_ring_has_so_many_batches_and_no_more) {
        for (pid_t tid = 1; tid <= 3; tid++)
                submit(tid);
        ck_assert_ptr_null(batch_ring_next(ring));
        batch_ring_finish(ring, batch_ring_take(ring, false));
        ck_assert_ptr_null(batch_ring_next(ring));
        collect(1);
        submit(4);
        ck_assert_ptr_null(batch_ring_next(ring));
}
END_TEST

START_TEST(batches_are_collected_in_order_whoever_is_first) {
        Batch *first, *second;

        submit(1);
        submit(2);
        first = batch_ring_take(ring, false);
        second = batch_ring_take(ring, false);
        ck_assert_ptr_null(batch_ring_take(ring, false));
        batch_ring_finish(ring, second);
        ck_assert_ptr_null(batch_ring_collect(ring, false));
        batch_ring_finish(ring, first);
        collect(1);
        collect(2);
        ck_assert_ptr_null(batch_ring_collect(ring, true));
}
END_TEST

START_TEST(a_released_batch_is_empty_again) {
        Batch *batch;

        submit(1);
        batch = batch_ring_take(ring, false);
        ck_assert_int_eq(buffer_append_text(&batch->rows, "rows"), 0);
        batch->error = -1;
        batch->n_processes = 1;
        batch_ring_finish(ring, batch);
        collect(1);
        submit(2);
        submit(3);
        batch = batch_ring_next(ring);
        ck_assert_uint_eq(batch->rows.n, 0);
        ck_assert_uint_eq(batch->n_tids, 0);
        ck_assert_uint_eq(batch->n_processes, 0);
        ck_assert_int_eq(batch->error, 0);
}
END_TEST

START_TEST(a_closed_ring_gives_nothing_more) {
        submit(1);
        batch_ring_close(ring);
        ck_assert_ptr_null(batch_ring_take(ring, true));
        ck_assert_ptr_null(batch_ring_take(ring, false));
}
END_TEST

static void *work(void *userdata) {
        Batch *batch;

        while ((batch = batch_ring_take(ring, true))) {
                ck_assert_int_eq(buffer_append_u64(&batch->rows, (uint64_t) batch->tids[0]), 0);
                batch_ring_finish(ring, batch);
        }
        return NULL;
}

START_TEST(workers_keep_the_order_of_a_thousand_batches) {
        pid_t n_submitted = 0, n_collected = 0;
        pthread_t workers[3];

        for (size_t i = 0; i < ELEMENTSOF(workers); i++)
                ck_assert_int_eq(pthread_create(&workers[i], NULL, work, NULL), 0);
        while (n_collected < 1000) {
                Batch *batch;

                while (n_submitted < 1000 && batch_ring_next(ring))
                        submit(++n_submitted);
                batch = batch_ring_collect(ring, true);
                ck_assert_int_eq(batch->tids[0], ++n_collected);
                ck_assert_uint_gt(batch->rows.n, 0);
                batch_ring_release(ring);
        }
        batch_ring_close(ring);
        for (size_t i = 0; i < ELEMENTSOF(workers); i++)
                ck_assert_int_eq(pthread_join(workers[i], NULL), 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("batch-ring");
        TCase *order = tcase_create("order");

        tcase_add_checked_fixture(order, setup, teardown);
        tcase_add_test(order, a_ring_has_so_many_batches_and_no_more);
        tcase_add_test(order, batches_are_collected_in_order_whoever_is_first);
        tcase_add_test(order, a_released_batch_is_empty_again);
        tcase_add_test(order, a_closed_ring_gives_nothing_more);
        tcase_add_test(order, workers_keep_the_order_of_a_thousand_batches);
        suite_add_tcase(suite, order);
        return check_main(suite);
}
