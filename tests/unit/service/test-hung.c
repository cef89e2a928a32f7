/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "base/buffer.h"
#include "job/fd-store.h"
#include "service/manager/hung.h"
#include "wire/limits.h"

static FdStore *fd_store;
static Hung hung;

static void setup(void) {
        ck_assert_int_eq(fd_store_new("test", &fd_store), 0);
        hung_init(&hung, fd_store);
}

static void teardown(void) {
        hung.fd = fd_close(hung.fd);
        fd_store = fd_store_free(fd_store);
}

/* As after a restart: the descriptor store has the file, and the jobs are not ours. */
static void restart(void) {
        (void) fd_close(hung.fd);
        hung_init(&hung, fd_store);
}

/* As JSON, which is easy to read here. */
static void check_order(const char *expected) {
        _cleanup_(buffer_done) Buffer text = {};
        uint32_t barred[LIMIT_HUNG_PROCESSES];
        size_t n_barred = hung_get_barred(&hung, barred, ELEMENTSOF(barred));
        const char *written;

        buffer_append_text(&text, "{\"hung\":[");
        for (size_t i = 0; i < hung.n; i++)
                buffer_append_format(&text, "%s{\"tgid\":%u,\"startTicks\":%lu}", i > 0 ? "," : "",
                                     hung.rows[i].tgid, (unsigned long) hung.rows[i].start_ticks);
        buffer_append_text(&text, "],\"barred\":[");
        for (size_t i = 0; i < n_barred; i++)
                buffer_append_format(&text, "%s%u", i > 0 ? "," : "", barred[i]);
        buffer_append_text(&text, "]}");
        ck_assert_int_eq(buffer_terminate(&text, &written), 0);
        ck_assert_str_eq(written, expected);
}

static size_t n_barred(void) {
        uint32_t owners[LIMIT_HUNG_PROCESSES];

        return hung_get_barred(&hung, owners, LIMIT_HUNG_PROCESSES);
}

START_TEST(an_owner_of_two_is_barred) {
        check_order("{\"hung\":[],\"barred\":[]}");
        hung_add(&hung, 1000, 10, 77, 5);
        hung_add(&hung, 1001, 11, 78, 6);
        check_order("{\"hung\":[{\"tgid\":10,\"startTicks\":77},{\"tgid\":11,\"startTicks\":78}],"
                    "\"barred\":[]}");
        hung_add(&hung, 1001, 12, 79, 5);
        check_order("{\"hung\":[{\"tgid\":10,\"startTicks\":77},{\"tgid\":11,\"startTicks\":78},"
                    "{\"tgid\":12,\"startTicks\":79}],\"barred\":[5]}");
        hung_add(&hung, 1002, 13, 0, 6);
        ck_assert_uint_eq(n_barred(), 2);
}
END_TEST

START_TEST(it_is_known_after_a_restart) {
        size_t at = 0;

        hung_add(&hung, 1000, 10, 77, 5);
        hung_add(&hung, 1000, 11, 78, 5);
        ck_assert_uint_eq(hung_next_of(&hung, 1000, &at)->tgid, 10);
        ck_assert_uint_eq(hung_next_of(&hung, 1000, &at)->tgid, 11);
        ck_assert_ptr_null(hung_next_of(&hung, 1000, &at));
        restart();
        check_order("{\"hung\":[{\"tgid\":10,\"startTicks\":77},{\"tgid\":11,\"startTicks\":78}],"
                    "\"barred\":[5]}");
        /* No job of this daemon hangs in it. */
        at = 0;
        ck_assert_ptr_null(hung_next_of(&hung, 1000, &at));
}
END_TEST

/* A job that was taken over can say what it likes. */
START_TEST(one_job_bars_few_and_none_without_end) {
        for (uint32_t i = 0; i < 100; i++)
                hung_add(&hung, 1000, 1 + i, 1, i / 2);
        ck_assert_uint_le(n_barred(), 4);
        for (uint32_t i = 0; i < 1000; i++)
                hung_add(&hung, (pid_t) (2000 + i), 1 + i, 1, 1000 + i / 2);
        ck_assert_uint_le(n_barred(), LIMIT_HUNG_PROCESSES / 2);
        restart();
        ck_assert_uint_gt(n_barred(), 0);
        /* What is over makes room. */
        for (uint32_t i = 0; i < LIMIT_HUNG_PROCESSES; i++)
                hung_add(&hung, (pid_t) (5000 + i), 100000 + i, 1, 9);
        ck_assert_uint_eq(n_barred(), 1);
}
END_TEST

START_TEST(without_a_process_nothing_is_kept) {
        hung_add(&hung, 1000, 0, 5, 5);
        check_order("{\"hung\":[],\"barred\":[]}");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("hung");
        TCase *processes = tcase_create("processes");

        tcase_add_checked_fixture(processes, setup, teardown);
        tcase_add_test(processes, an_owner_of_two_is_barred);
        tcase_add_test(processes, it_is_known_after_a_restart);
        tcase_add_test(processes, one_job_bars_few_and_none_without_end);
        tcase_add_test(processes, without_a_process_nothing_is_kept);
        suite_add_tcase(suite, processes);
        return check_main(suite);
}
