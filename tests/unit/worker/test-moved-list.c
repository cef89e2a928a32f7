/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/exited-list.h"

#include "check-main.h"

static ThreadSample thread(pid_t tgid, pid_t tid, uint64_t start, const char *name) {
        ThreadSample sample;

        thread_sample_clear(&sample);
        sample.tgid = tgid;
        sample.tid = tid;
        sample.start_ticks = start;
        sample.pcomm = sample.comm = span_of(name);
        sample.cgroup = SPAN_LITERAL("/here");
        return sample;
}

/* Process, thread and start tell one that ended. */
static const struct {
        pid_t tgid, tid;
        uint64_t start;
        const char *name;
} lives[] = {
        { 7, 8, 9, "first" },
        { 7, 8, 10, "later" },
        { 8, 8, 9, "other" },
        { 7, 9, 9, "" },
};

START_TEST(a_thread_is_called_by_its_last_names) {
        _cleanup_(moved_list_done) MovedList list = { .n = 0 };
        ThreadSample gone;

        for (size_t i = 0; i < ELEMENTSOF(lives); i++) {
                ThreadSample ended =
                        thread(lives[i].tgid, lives[i].tid, lives[i].start, lives[i].name);

                ended.cgroup = i % 2 == 0 ? SPAN_LITERAL("/there") : (Span){ NULL, 0 };
                ended.self = ended.has_kthread = i % 2 == 0;
                ck_assert_int_eq(moved_list_add(&list, &ended), 0);
        }
        for (size_t i = 0; i < ELEMENTSOF(lives); i++) {
                gone = thread(lives[i].tgid, lives[i].tid, lives[i].start, "miner");
                thread_sample_put(&gone, METRIC_run_time_ns, 5);
                moved_list_rename(&list, &gone);
                ck_assert(span_is(gone.pcomm, lives[i].name) && span_is(gone.comm, lives[i].name));
                ck_assert_int_eq(gone.cgroup.bytes != NULL, i % 2 == 0);
                ck_assert_int_eq(gone.self, i % 2 == 0);
                ck_assert_int_eq(gone.has_kthread, i % 2 == 0);
                ck_assert_uint_eq(thread_sample_get(&gone, METRIC_run_time_ns), 5);
        }
}
END_TEST

START_TEST(who_is_not_in_the_list_keeps_the_names) {
        _cleanup_(moved_list_done) MovedList list = { .n = 0 };
        ThreadSample gone = thread(7, 8, 9, "miner"), ended = thread(7, 8, 8, "victim");

        moved_list_rename(&list, &gone);
        ck_assert(span_is(gone.pcomm, "miner"));
        ck_assert_int_eq(moved_list_add(&list, &ended), 0);
        moved_list_rename(&list, &gone);
        ck_assert(span_is(gone.comm, "miner") && span_is(gone.cgroup, "/here"));
}
END_TEST

START_TEST(of_two_rows_the_first_counts) {
        _cleanup_(moved_list_done) MovedList list = { .n = 0 };
        ThreadSample gone = thread(7, 8, 9, "miner"), first = thread(7, 8, 9, "first"),
                     second = thread(7, 8, 9, "second");

        ck_assert_int_eq(moved_list_add(&list, &first), 0);
        ck_assert_int_eq(moved_list_add(&list, &second), 0);
        moved_list_rename(&list, &gone);
        ck_assert(span_is(gone.pcomm, "first"));
        ck_assert_uint_eq(list.n, 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("moved-list");
        TCase *tcase = tcase_create("names");

        tcase_add_test(tcase, a_thread_is_called_by_its_last_names);
        tcase_add_test(tcase, who_is_not_in_the_list_keeps_the_names);
        tcase_add_test(tcase, of_two_rows_the_first_counts);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
