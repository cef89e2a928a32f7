/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/group/column.h"
#include "thread.h"

#define NONE UINT64_MAX       /* no value */
#define GONE (UINT64_MAX - 1) /* not in that snapshot */

typedef struct Life {
        uint64_t before, after;
} Life;

#define MAX_LIVES 4

static ThreadSample sample_of(MetricId id, unsigned tid, uint64_t value) {
        ThreadSample sample = thread_of("p", "t", (pid_t) tid);

        if (value < GONE)
                thread_sample_put(&sample, id, value);
        return sample;
}

static const Column interval = { .setup = { .has_begin = true, .keeps_begin = true } };
static const Column one_of_two = { .setup = { .has_begin = true } };

/* The account of such threads, each the only one of its process. */
static GroupColumn account_of(const Column *column, MetricId id, const Life *lives) {
        GroupColumn of = { .work = NULL };

        for (unsigned i = 0; i < MAX_LIVES && (lives[i].before > 0 || lives[i].after > 0); i++) {
                ThreadSample before = sample_of(id, 100 * (i + 1), lives[i].before);
                ThreadSample after = sample_of(id, 100 * (i + 1), lives[i].after);

                ck_assert_int_eq(column_add(column, &of, lives[i].before == GONE ? NULL : &before,
                                            lives[i].after == GONE ? NULL : &after),
                                 0);
        }
        ck_assert_int_eq(column_settle(column, &of, false), 0);
        return of;
}

static const struct {
        const char *what;
        Life lives[MAX_LIVES];
        uint64_t work;    /* NONE: not known */
        uint32_t present; /* threads that have it */
} work_rows[] = {
        { "differences of survivors, all of the born",
          { { 10, 15 }, { 7, 7 }, { GONE, 4 } },
          9,
          3 },
        { "what ended left no work", { { 10, 15 }, { 900, GONE } }, 5, 1 },
        { "a fall is left out, the others remain", { { 10, 15 }, { 900, 3 } }, 5, 1 },
        { "two falls are left out", { { 10, 15 }, { 900, 3 }, { 8, 7 } }, 5, 1 },
        { "only a fall", { { 900, 3 } }, NONE, 0 },
        { "a value of one side is left out", { { 10, 15 }, { NONE, 900 }, { 70, NONE } }, 5, 1 },
        { "no value at all", { { NONE, NONE } }, NONE, 0 },
        { "a reused tid is one that ended and one that was born",
          { { 900, GONE }, { GONE, 4 } },
          4,
          1 },
        { "large sums are exact", { { UINT64_MAX - 9, UINT64_MAX - 3 } }, 6, 1 },
        { "what stopped at 2^64-1 is not known",
          { { UINT64_MAX - 9, UINT64_MAX - 3 }, { 1, 20 } },
          NONE,
          0 },
};

START_TEST(work_is_what_was_done_between) {
        GroupColumn of = account_of(&interval, METRIC_run_time_ns, work_rows[_i].lives);
        Sum work = column_sum(&of, METRIC_run_time_ns);

        ck_assert_msg((work.present > 0) == (work_rows[_i].work != NONE), "%s", work_rows[_i].what);
        ck_assert_uint_eq(work.present, work_rows[_i].present);
        if (work_rows[_i].work != NONE)
                ck_assert_msg(work.value == work_rows[_i].work, "%s", work_rows[_i].what);
        group_column_done(&of);
}
END_TEST

/* Beside another interval the levels at the begin are not kept, and the work is the same. */
START_TEST(work_is_the_same_beside_another_interval) {
        GroupColumn of;
        Sum work;

        if (work_rows[_i].lives[0].before > UINT64_MAX / 2)
                return; /* the totals are too large to be added up, but not what they grew by */
        of = account_of(&one_of_two, METRIC_run_time_ns, work_rows[_i].lives);
        work = aggregate_read_sum(of.ends[SIDE_AFTER], METRIC_run_time_ns);
        ck_assert_ptr_null(of.ends[SIDE_BEFORE]);
        ck_assert_uint_eq(work.present, work_rows[_i].present);
        if (work_rows[_i].work != NONE)
                ck_assert_uint_eq(work.value, work_rows[_i].work);
        group_column_done(&of);
}
END_TEST

/* Of the totals at both ends. */
static const struct {
        Life lives[MAX_LIVES];
        Sum ends[SIDES];
} total_rows[] = {
        { { { 10, 15 }, { GONE, 4 } }, { { 2, false, 10 }, { 2, false, 19 } } },
        { { { 10, 15 }, { 900, 3 } }, { { 2, false, 910 }, { 2, false, 18 } } },
        { { { 10, 15 }, { 7, GONE }, { NONE, 8 } }, { { 1, false, 10 }, { 1, false, 15 } } },
        { { { 7, GONE } }, { { 1, false, 7 }, { 1, false, 7 } } }, /* it is listed as it stood */
        { { { 5, UINT64_MAX - 3 }, { 9, 13 } }, { { 2, false, 14 }, { 2, true, UINT64_MAX } } },
        { { { UINT64_MAX - 9, UINT64_MAX - 3 }, { 10, 20 } },
          { { 2, true, UINT64_MAX }, { 2, true, UINT64_MAX } } },
};

START_TEST(totals_at_both_ends_are_of_the_same_threads) {
        GroupColumn of = account_of(&interval, METRIC_run_time_ns, total_rows[_i].lives);

        for (unsigned end = 0; end < SIDES; end++) {
                Sum sum = column_total(&of, (Side) end, METRIC_run_time_ns);
                const Sum *wanted = &total_rows[_i].ends[end];

                ck_assert_uint_eq(sum.present, wanted->present);
                ck_assert_int_eq(sum.saturated, wanted->saturated);
                ck_assert_uint_eq(sum.value, wanted->value);
        }
        group_column_done(&of);
}
END_TEST

/* A forked child has the counters of the thread that forked, which its other threads have not. */
START_TEST(a_thread_did_not_do_what_it_may_have_inherited) {
        const Column *const columns[] = { &interval, &one_of_two };

        for (unsigned i = 0; i < 2 * ELEMENTSOF(columns); i++) {
                bool leads = i % 2;
                ThreadSample after = sample_of(METRIC_allocated_bytes, leads ? 100 : 101, 900);
                GroupColumn of = { .work = NULL };

                thread_sample_put(&after, METRIC_run_time_ns, 3);
                ck_assert_int_eq(column_add(columns[i / 2], &of, NULL, &after), 0);
                ck_assert_int_eq(column_settle(columns[i / 2], &of, false), 0);
                ck_assert_int_eq(column_sum(&of, METRIC_allocated_bytes).present > 0, !leads);
                ck_assert_int_eq(bits_has(of.work->inherited, METRIC_allocated_bytes), leads);
                ck_assert(column_holds(&of, METRIC_allocated_bytes));
                ck_assert_uint_eq(column_level(&of, METRIC_allocated_bytes).value, 900);
                ck_assert_uint_eq(column_sum(&of, METRIC_run_time_ns).value, 3);
                group_column_done(&of);
        }
}
END_TEST

START_TEST(a_survivor_did_what_its_counters_grew_by) {
        static const Life lives[MAX_LIVES] = { { 10, 15 }, { GONE, 900 } };
        GroupColumn of = account_of(&interval, METRIC_allocated_bytes, lives);

        ck_assert_uint_eq(column_sum(&of, METRIC_allocated_bytes).value, 5);
        ck_assert_uint_eq(column_sum(&of, METRIC_allocated_bytes).present, 1);
        group_column_done(&of);
}
END_TEST

/* What the threads had whose record moved; NONE: it is not known of any of them. */
static const struct {
        MetricId id;
        Life lives[MAX_LIVES];
        uint64_t records[SIDES];
} move_rows[] = {
        { METRIC_wait_max, { { 10, 11 } }, { 10, 11 } },
        { METRIC_wait_max, { { 10, 10 }, { 900, GONE } }, { NONE, NONE } },
        /* The highest of the group ended, or has been there all the time; another rose below it. */
        { METRIC_wait_max, { { 10, 20 }, { 900, GONE } }, { 10, 20 } },
        { METRIC_wait_max, { { 900, 900 }, { 1, 2 } }, { 1, 2 } },
        { METRIC_wait_max, { { 900, 900 }, { 1, 2 }, { 7, 8 }, { 3, 30 } }, { 7, 30 } },
        { METRIC_wait_max, { { 900, 900 }, { 1, 2 }, { GONE, 5 }, { GONE, 4 } }, { 1, 5 } },
        { METRIC_wait_max, { { 10, 10 }, { GONE, 4 } }, { NONE, 4 } },
        { METRIC_wait_max, { { 10, 10 }, { GONE, 0 } }, { NONE, NONE } },
        { METRIC_wait_max, { { NONE, 10 } }, { NONE, NONE } },
        { METRIC_wait_max, { { 10, NONE } }, { NONE, NONE } },
        { METRIC_cpu_delay_min_ns, { { 10, 9 } }, { 10, 9 } },
        { METRIC_cpu_delay_min_ns, { { 10, 10 } }, { NONE, NONE } },
        { METRIC_cpu_delay_min_ns, { { 0, 10 } }, { 0, 10 } }, /* the first event */
        { METRIC_cpu_delay_min_ns, { { 2, 2 }, { 0, 10 }, { 12, 11 } }, { 12, 10 } },
        { METRIC_hiwater_rss_bytes, { { 10, 11 } }, { 10, 11 } },
        { METRIC_nr_threads, { { 10, 11 } }, { NONE, NONE } }, /* a level is no peak */
        { METRIC_run_time_ns, { { 10, 11 } }, { NONE, NONE } },
};

START_TEST(peaks_and_minima_move_inside) {
        MetricId id = move_rows[_i].id;
        GroupColumn of = account_of(&interval, id, move_rows[_i].lives);

        ck_assert_int_eq(column_moved(&of, id), move_rows[_i].records[SIDE_AFTER] != NONE);
        for (unsigned end = 0; end < SIDES; end++) {
                Value record = column_record(&of, (Side) end, id);

                ck_assert_int_eq(record.kind == VALUE_INTEGER, move_rows[_i].records[end] != NONE);
                if (move_rows[_i].records[end] != NONE)
                        ck_assert_uint_eq(record.integer.magnitude, move_rows[_i].records[end]);
        }
        group_column_done(&of);
}
END_TEST

START_TEST(records_of_merged_accounts_count) {
        static const Life some[MAX_LIVES] = { { 7, GONE }, { 9, GONE } };
        static const Life more[MAX_LIVES] = { { GONE, 2 }, { GONE, 50 } };
        GroupColumn of = account_of(&interval, METRIC_wait_max, some);
        GroupColumn from = account_of(&interval, METRIC_wait_max, more);

        from.ends[SIDE_BEFORE] = aggregate_free(from.ends[SIDE_BEFORE]);
        ck_assert_int_eq(group_column_merge(&of, &from), 0);
        ck_assert_int_eq(column_record(&of, SIDE_BEFORE, METRIC_wait_max).kind, VALUE_ABSENT);
        ck_assert_int_eq(column_record(&of, SIDE_AFTER, METRIC_wait_max).kind, VALUE_INTEGER);
        ck_assert_uint_eq(column_record(&of, SIDE_AFTER, METRIC_wait_max).integer.magnitude, 50);
        ck_assert_uint_eq(of.work->lives.vanished, 2);
        ck_assert_uint_eq(of.work->lives.born, 2);
        group_column_done(&of);
        group_column_done(&from);
}
END_TEST

START_TEST(a_thread_born_in_an_old_process_brings_no_peak_of_its_memory) {
        for (unsigned leads = 0; leads < 2; leads++) {
                ThreadSample after = sample_of(METRIC_hiwater_rss_bytes, leads ? 100 : 101, 9);
                GroupColumn of = { .work = NULL };

                thread_sample_put(&after, METRIC_wait_max, 3);
                ck_assert_int_eq(column_add(&interval, &of, NULL, &after), 0);
                ck_assert_int_eq(column_moved(&of, METRIC_hiwater_rss_bytes), leads);
                ck_assert(column_moved(&of, METRIC_wait_max));
                group_column_done(&of);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("column");
        TCase *work = tcase_create("work"), *moves = tcase_create("moves");

        tcase_add_loop_test(work, work_is_what_was_done_between, 0, ELEMENTSOF(work_rows));
        tcase_add_loop_test(work, work_is_the_same_beside_another_interval, 0,
                            ELEMENTSOF(work_rows));
        tcase_add_loop_test(work, totals_at_both_ends_are_of_the_same_threads, 0,
                            ELEMENTSOF(total_rows));
        tcase_add_test(work, a_thread_did_not_do_what_it_may_have_inherited);
        tcase_add_test(work, a_survivor_did_what_its_counters_grew_by);
        suite_add_tcase(suite, work);
        tcase_add_loop_test(moves, peaks_and_minima_move_inside, 0, ELEMENTSOF(move_rows));
        tcase_add_test(moves, records_of_merged_accounts_count);
        tcase_add_test(moves, a_thread_born_in_an_old_process_brings_no_peak_of_its_memory);
        suite_add_tcase(suite, moves);
        return check_main(suite);
}
