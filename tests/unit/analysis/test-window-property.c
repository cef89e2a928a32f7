/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "base/number.h"
#include "compared.h"
#include "random-threads.h"

/*
 * Properties that hold for any threads that are followed, checked with random threads on each axis.
 */

#define N_SEEDS 3
#define N_THREADS 60

static const ViewAxis axes[] = { VIEW_AXIS_PCOMM,  VIEW_AXIS_COMM, VIEW_AXIS_COMM_EXACT,
                                 VIEW_AXIS_CGROUP, VIEW_AXIS_ALL,  VIEW_AXIS_THREAD };
#define N_CASES ((int) (N_SEEDS * ELEMENTSOF(axes)))

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };
static const SideSetup setup = { .n_sides = 2, .boots = BOOTS_SAME, .elapsed_ns = NSEC_PER_SEC };

typedef struct Case {
        ThreadSample before[N_THREADS], after[N_THREADS];
        Threads sides[2];
        View view;
} Case;

/* The others are gone or born. */
static bool lives_on(pid_t i) {
        return i < N_THREADS / 2;
}

/*
 * Half of the threads survive, some under another name. Their counters grow and are small enough
 * that no sum saturates at 2^64-1.
 */
static void case_init(Case *one, int index) {
        random_state = (uint64_t) index + 1000;
        for (pid_t i = 0; i < N_THREADS; i++) {
                ThreadSample *before = &one->before[i], *after = &one->after[i];

                *before = random_thread(i);
                *after = random_thread(lives_on(i) ? i : i + N_THREADS);
                if (lives_on(i))
                        before->self = after->self;
                for (unsigned id = 0; id < _METRIC_MAX; id++) {
                        MetricId metric = (MetricId) id;

                        if (metric_table[id].shape != METRIC_SHAPE_SUM)
                                continue;
                        if (thread_sample_has(before, metric))
                                thread_sample_put(before, metric,
                                                  thread_sample_get(before, metric) >> 8);
                        if (!thread_sample_has(after, metric))
                                continue;
                        thread_sample_put(after, metric, thread_sample_get(after, metric) >> 8);
                        if (lives_on(i) && thread_sample_has(before, metric))
                                thread_sample_put(after, metric,
                                                  thread_sample_get(after, metric) +
                                                          thread_sample_get(before, metric));
                }
        }
        one->sides[0] = (Threads){ one->before, N_THREADS };
        one->sides[1] = (Threads){ one->after, N_THREADS };
        view_init(&one->view);
        one->view.axis = axes[(size_t) index % ELEMENTSOF(axes)];
        one->view.window = true;
        one->view.limit = 0;
        memset(one->view.sections, true, sizeof(one->view.sections));
}

static bool is_work(unsigned id) {
        return metric_is_cumulative((MetricId) id) && id != METRIC_thread_count;
}

/* The expected totals of threads that are not ctprof's own. */
static void add_up(const Case *one, MetricId id, uint64_t *ret_before, uint64_t *ret_after) {
        *ret_before = *ret_after = 0;
        for (pid_t i = 0; i < N_THREADS; i++) {
                const ThreadSample *before = &one->before[i], *after = &one->after[i];
                uint64_t from = 0;

                if (after->self || !thread_sample_has(after, id))
                        continue;
                if (lives_on(i) ? !life_before(before, after, id, &from)
                                : life_may_inherit(after, id))
                        continue;
                *ret_after += thread_sample_get(after, id);
                if (lives_on(i))
                        *ret_before += from;
        }
}

static json_object *row_of(json_object *group, unsigned id) {
        return json_object_object_get(json_object_object_get(group, "metrics"),
                                      metric_table[id].name);
}

static uint64_t number_at(json_object *object, const char *member) {
        return json_object_get_uint64(json_object_object_get(object, member));
}

START_TEST(sums_of_groups_are_sums_of_lives) {
        Compared compared;
        Case one;

        case_init(&one, _i);
        compared = compared_window_of(&one.view, &setup, one.sides, no_sources);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                json_object *groups = compared.lists[COMPARISON_GROUPS];
                uint64_t before = 0, after = 0, before_wanted, after_wanted;

                if (!is_work(id))
                        continue;
                for (size_t i = 0; i < json_object_array_length(groups); i++) {
                        json_object *row = row_of(json_object_array_get_idx(groups, i), id);

                        before += number_at(row, "before");
                        after += number_at(row, "after");
                }
                add_up(&one, (MetricId) id, &before_wanted, &after_wanted);
                ck_assert_uint_eq(before, before_wanted);
                ck_assert_uint_eq(after, after_wanted);
        }
        compared_done(&compared);
}
END_TEST

START_TEST(no_work_is_negative_however_pools_shrink) {
        Compared compared;
        Case one;

        case_init(&one, _i);
        one.sides[1].n = N_THREADS / 4; /* the rest is gone; nothing was born */
        compared = compared_window_of(&one.view, &setup, one.sides, no_sources);
        for (size_t i = 0; i < json_object_array_length(compared.lists[COMPARISON_GROUPS]); i++) {
                json_object *group =
                        json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], i);

                for (unsigned id = 0; id < _METRIC_MAX; id++) {
                        json_object *row = row_of(group, id);
                        const char *delta = json_at(row, "delta", NULL);

                        if (!is_work(id))
                                continue;
                        ck_assert_msg(delta[0] != '-', "%s: %s", metric_table[id].name, delta);
                        ck_assert(!json_object_get_boolean(json_object_object_get(row, "reset")));
                        ck_assert_int_eq(strcmp(json_at(row, "before", NULL), "null") == 0,
                                         strcmp(json_at(row, "after", NULL), "null") == 0);
                }
        }
        compared_done(&compared);
}
END_TEST

START_TEST(lives_add_up) {
        LifeCounts all, sum = {};
        Compared compared;
        Case one;

        case_init(&one, _i);
        compared = compared_window_of(&one.view, &setup, one.sides, no_sources);
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++)
                for (size_t i = 0; i < json_object_array_length(compared.lists[list]); i++) {
                        json_object *group = json_object_array_get_idx(compared.lists[list], i);
                        json_object *lives = json_object_object_get(group, "lives");
                        uint64_t survived = number_at(lives, "survived");
                        uint64_t born = number_at(lives, "born"),
                                 vanished = number_at(lives, "ended");

                        sum.survived += survived;
                        sum.born += born;
                        sum.vanished += vanished;
                        if (list == COMPARISON_GROUPS) {
                                ck_assert_uint_eq(number_at(group, "threadsBefore"),
                                                  survived + vanished);
                                ck_assert_uint_eq(number_at(group, "threadsAfter"),
                                                  survived + born);
                        } else {
                                ck_assert_uint_eq(list, COMPARISON_ONLY_BEFORE);
                                ck_assert_uint_eq(number_at(group, "threads"), vanished);
                        }
                }
        all = compared.comparison->table.columns.of[0].lives;
        ck_assert_uint_eq(sum.survived, all.survived);
        ck_assert_uint_eq(sum.born, all.born);
        ck_assert_uint_eq(sum.vanished, all.vanished);
        compared_done(&compared);
}
END_TEST

START_TEST(a_window_of_a_snapshot_with_itself_is_empty) {
        Compared compared;
        Case one;

        case_init(&one, _i);
        one.sides[1] = one.sides[0];
        compared = compared_window_of(&one.view, &setup, one.sides, no_sources);
        ck_assert_uint_eq(compared.comparison->table.columns.of[0].lives.born, 0);
        ck_assert_uint_eq(compared.comparison->table.columns.of[0].lives.vanished, 0);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_ONLY_BEFORE]), 0);
        for (size_t i = 0; i < json_object_array_length(compared.lists[COMPARISON_GROUPS]); i++) {
                json_object *group =
                        json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], i);

                for (unsigned id = 0; id < _METRIC_MAX; id++) {
                        json_object *row = row_of(group, id);

                        ck_assert_str_eq(json_at(row, "changed", NULL), "false");
                        ck_assert_str_eq(json_at(row, "reset", NULL), "false");
                        if (strcmp(json_at(row, "before", NULL), "null") != 0 && is_work(id))
                                ck_assert_str_eq(json_at(row, "delta", NULL), "0");
                }
        }
        compared_done(&compared);
}
END_TEST

START_TEST(threads_add_up_to_their_processes) {
        Compared threads, processes;
        Case one;

        case_init(&one, _i);
        one.view.thread_normalize = false;
        one.view.axis = VIEW_AXIS_THREAD;
        threads = compared_window_of(&one.view, &setup, one.sides, no_sources);
        one.view.axis = VIEW_AXIS_PCOMM;
        processes = compared_window_of(&one.view, &setup, one.sides, no_sources);
        for (size_t i = 0; i < json_object_array_length(processes.lists[COMPARISON_GROUPS]); i++) {
                json_object *process =
                        json_object_array_get_idx(processes.lists[COMPARISON_GROUPS], i);
                json_object *all = threads.lists[COMPARISON_GROUPS];

                for (unsigned id = 0; id < _METRIC_MAX; id++) {
                        uint64_t before = 0, after = 0;

                        if (!is_work(id))
                                continue;
                        for (size_t k = 0; k < json_object_array_length(all); k++) {
                                json_object *thread = json_object_array_get_idx(all, k);

                                if (strcmp(json_at(thread, "process", NULL),
                                           json_at(process, "key", NULL)) != 0)
                                        continue;
                                before += number_at(row_of(thread, id), "before");
                                after += number_at(row_of(thread, id), "after");
                        }
                        ck_assert_uint_eq(number_at(row_of(process, id), "before"), before);
                        ck_assert_uint_eq(number_at(row_of(process, id), "after"), after);
                }
        }
        compared_done(&threads);
        compared_done(&processes);
}
END_TEST

START_TEST(the_order_of_lives_is_nothing) {
        Compared compared, reversed;
        Case one;

        case_init(&one, _i);
        compared = compared_window_of(&one.view, &setup, one.sides, no_sources);
        threads_reverse(one.before, N_THREADS);
        threads_reverse(one.after, N_THREADS);
        reversed = compared_window_of(&one.view, &setup, one.sides, no_sources);
        compared_assert_same(&compared, &reversed);
        compared_done(&compared);
        compared_done(&reversed);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("window-property");
        TCase *properties = tcase_create("properties");

        tcase_add_loop_test(properties, sums_of_groups_are_sums_of_lives, 0, check_rounds(N_CASES));
        tcase_add_loop_test(properties, no_work_is_negative_however_pools_shrink, 0,
                            check_rounds(N_CASES));
        tcase_add_loop_test(properties, lives_add_up, 0, check_rounds(N_CASES));
        tcase_add_loop_test(properties, a_window_of_a_snapshot_with_itself_is_empty, 0,
                            check_rounds(N_CASES));
        tcase_add_loop_test(properties, threads_add_up_to_their_processes, 0,
                            check_rounds(N_SEEDS));
        tcase_add_loop_test(properties, the_order_of_lives_is_nothing, 0, check_rounds(N_CASES));
        suite_add_tcase(suite, properties);
        return check_main(suite);
}
