/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "check-main.h"

#include "analysis/group/group.h"
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

/* A group of such threads, each the only one of its process. */
static Group group_of(MetricId id, const Life *lives) {
        Group group = { .window = NULL };

        for (unsigned i = 0; i < MAX_LIVES && (lives[i].before > 0 || lives[i].after > 0); i++) {
                ThreadSample before = sample_of(id, 100 * (i + 1), lives[i].before);
                ThreadSample after = sample_of(id, 100 * (i + 1), lives[i].after);

                ck_assert_int_eq(group_fold_life(&group, lives[i].before == GONE ? NULL : &before,
                                                 lives[i].after == GONE ? NULL : &after),
                                 0);
        }
        ck_assert_int_eq(group_settle_window(&group), 0);
        return group;
}

static void group_done(Group *group) {
        for (unsigned side = 0; side < SIDES; side++)
                aggregate_free(group->sides[side]);
        group_window_free(group->window);
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
        Group group = group_of(METRIC_run_time_ns, work_rows[_i].lives);
        Aggregate work;

        group_window_work(group.window, group.sides, &work);
        ck_assert_msg(aggregate_has(&work, METRIC_run_time_ns) == (work_rows[_i].work != NONE),
                      "%s", work_rows[_i].what);
        ck_assert_uint_eq(work.present[METRIC_run_time_ns], work_rows[_i].present);
        if (work_rows[_i].work != NONE)
                ck_assert_msg(aggregate_sum(&work, METRIC_run_time_ns) == work_rows[_i].work, "%s",
                              work_rows[_i].what);
        ck_assert(!aggregate_has(&work, METRIC_thread_count));
        group_done(&group);
}
END_TEST

/* The same sum comes from folding what each thread did, which a view of two intervals does. */
START_TEST(work_is_the_sum_over_the_work_of_threads) {
        Aggregate *folded;
        Aggregate work;
        Group group;

        if (work_rows[_i].lives[0].before > UINT64_MAX / 2)
                return; /* the samples are too large to be added up before their difference */
        group = group_of(METRIC_run_time_ns, work_rows[_i].lives);
        group_window_work(group.window, group.sides, &work);
        ck_assert_int_eq(aggregate_new(&folded), 0);
        for (unsigned i = 0; i < MAX_LIVES; i++) {
                const Life *life = &work_rows[_i].lives[i];
                ThreadSample before = sample_of(METRIC_run_time_ns, i + 1, life->before);
                ThreadSample after = sample_of(METRIC_run_time_ns, i + 1, life->after), did;

                if (life->after == GONE || (life->before == 0 && life->after == 0))
                        continue;
                if (life->before == GONE)
                        did = after;
                else
                        life_work(&before, &after, &did);
                ck_assert_int_eq(aggregate_fold(folded, &did), 0);
        }
        ck_assert_uint_eq(work.present[METRIC_run_time_ns], folded->present[METRIC_run_time_ns]);
        ck_assert_uint_eq(aggregate_sum(&work, METRIC_run_time_ns),
                          aggregate_sum(folded, METRIC_run_time_ns));
        aggregate_free(folded);
        group_done(&group);
}
END_TEST

/* A forked child has the counters of the thread that forked, which its other threads have not. */
START_TEST(a_thread_did_not_do_what_it_may_have_inherited) {
        for (unsigned leads = 0; leads < 2; leads++) {
                ThreadSample after = sample_of(METRIC_allocated_bytes, leads ? 100 : 101, 900);
                Group group = { .window = NULL };
                ThreadSample did;
                Aggregate work;

                thread_sample_put(&after, METRIC_run_time_ns, 3);
                ck_assert_int_eq(group_fold_life(&group, NULL, &after), 0);
                ck_assert_int_eq(group_settle_window(&group), 0);
                group_window_work(group.window, group.sides, &work);
                ck_assert_int_eq(aggregate_has(&work, METRIC_allocated_bytes), !leads);
                ck_assert_int_eq(group_window_inherited(group.window, METRIC_allocated_bytes),
                                 leads);
                ck_assert_uint_eq(aggregate_sum(&work, METRIC_run_time_ns), 3);
                group_done(&group);

                group = (Group){ .window = NULL };
                ck_assert_int_eq(group_fold_work(&group, SIDE_AFTER, NULL, &after, &did), 0);
                ck_assert_int_eq(thread_sample_has(&did, METRIC_allocated_bytes), !leads);
                ck_assert_uint_eq(thread_sample_get(&did, METRIC_run_time_ns), 3);
                ck_assert(group_work_held(group.works[SIDE_AFTER], METRIC_allocated_bytes));
                aggregate_free(group.sides[SIDE_AFTER]);
                group_work_done(group.works[SIDE_AFTER]);
                free(group.works[SIDE_AFTER]);
        }
}
END_TEST

START_TEST(a_survivor_did_what_its_counters_grew_by) {
        static const Life lives[MAX_LIVES] = { { 10, 15 }, { GONE, 900 } };
        Group group = group_of(METRIC_allocated_bytes, lives);
        Aggregate work;

        group_window_work(group.window, group.sides, &work);
        ck_assert_uint_eq(aggregate_sum(&work, METRIC_allocated_bytes), 5);
        ck_assert_uint_eq(work.present[METRIC_allocated_bytes], 1);
        group_done(&group);
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
        Group group = group_of(id, move_rows[_i].lives);

        ck_assert_int_eq(group_window_moved(group.window, id),
                         move_rows[_i].records[SIDE_AFTER] != NONE);
        for (unsigned side = 0; side < SIDES; side++) {
                uint64_t record;

                ck_assert_int_eq(group_window_record(group.window, side, id, &record),
                                 move_rows[_i].records[side] != NONE);
                if (move_rows[_i].records[side] != NONE)
                        ck_assert_uint_eq(record, move_rows[_i].records[side]);
        }
        group_done(&group);
}
END_TEST

START_TEST(records_of_adopted_threads_count) {
        static const Life some[MAX_LIVES] = { { 7, 9 } }, more[MAX_LIVES] = { { 1, 2 }, { 8, 50 } };
        Group group = group_of(METRIC_wait_max, some), from = group_of(METRIC_wait_max, more);
        uint64_t record;

        group_window_adopt(group.window, TAKE_PTR(from.window));
        ck_assert(group_window_record(group.window, SIDE_BEFORE, METRIC_wait_max, &record));
        ck_assert_uint_eq(record, 8);
        ck_assert(group_window_record(group.window, SIDE_AFTER, METRIC_wait_max, &record));
        ck_assert_uint_eq(record, 50);
        group_done(&group);
        group_done(&from);
}
END_TEST

START_TEST(a_thread_born_in_an_old_process_brings_no_peak_of_its_memory) {
        for (unsigned leads = 0; leads < 2; leads++) {
                ThreadSample after = sample_of(METRIC_hiwater_rss_bytes, leads ? 100 : 101, 9);
                Group group = { .window = NULL };

                thread_sample_put(&after, METRIC_wait_max, 3);
                ck_assert_int_eq(group_fold_life(&group, NULL, &after), 0);
                ck_assert_int_eq(group_window_moved(group.window, METRIC_hiwater_rss_bytes), leads);
                ck_assert(group_window_moved(group.window, METRIC_wait_max));
                group_done(&group);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("group-work");
        TCase *work = tcase_create("work"), *moves = tcase_create("moves");

        tcase_add_loop_test(work, work_is_what_was_done_between, 0, ELEMENTSOF(work_rows));
        tcase_add_loop_test(work, work_is_the_sum_over_the_work_of_threads, 0,
                            ELEMENTSOF(work_rows));
        tcase_add_test(work, a_thread_did_not_do_what_it_may_have_inherited);
        tcase_add_test(work, a_survivor_did_what_its_counters_grew_by);
        suite_add_tcase(suite, work);
        tcase_add_loop_test(moves, peaks_and_minima_move_inside, 0, ELEMENTSOF(move_rows));
        tcase_add_test(moves, records_of_adopted_threads_count);
        tcase_add_test(moves, a_thread_born_in_an_old_process_brings_no_peak_of_its_memory);
        suite_add_tcase(suite, moves);
        return check_main(suite);
}
