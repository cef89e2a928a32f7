/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "base/number.h"
#include "compared.h"
#include "random-threads.h"

/* Properties that hold for any threads, checked with random threads on each axis. */

#define N_SEEDS 3
#define N_THREADS 60

static const ViewAxis axes[] = { VIEW_AXIS_PCOMM, VIEW_AXIS_COMM, VIEW_AXIS_COMM_EXACT,
                                 VIEW_AXIS_CGROUP, VIEW_AXIS_THREAD };
#define N_CASES ((int) (N_SEEDS * ELEMENTSOF(axes)))

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };
static const SideSetup setup = { .n_sides = 2, .boots = BOOTS_SAME, .elapsed_ns = NSEC_PER_SEC };

typedef struct Case {
        ThreadSample before[N_THREADS], after[N_THREADS];
        Threads sides[2], swapped[2];
        View view;
} Case;

/* Half of the threads live on. */
static void case_init(Case *one, int index) {
        random_state = (uint64_t) index;
        for (pid_t i = 0; i < N_THREADS; i++) {
                one->before[i] = random_thread(i);
                one->after[i] = random_thread(i + N_THREADS / 2);
                if (i < N_THREADS / 2) {
                        one->after[i].pcomm = one->before[i].pcomm;
                        one->after[i].comm = one->before[i].comm;
                        one->after[i].tid = one->before[i].tid;
                        one->after[i].tgid = one->before[i].tgid;
                        one->after[i].start_ticks = one->before[i].start_ticks;
                }
        }
        one->sides[0] = one->swapped[1] = (Threads){ one->before, N_THREADS };
        one->sides[1] = one->swapped[0] = (Threads){ one->after, N_THREADS };
        view_init(&one->view);
        one->view.axis = axes[(size_t) index % ELEMENTSOF(axes)];
        one->view.limit = 0;
        memset(one->view.sections, true, sizeof(one->view.sections));
}

static uint64_t sum_of_threads(const Threads *threads, MetricId id) {
        uint64_t sum = 0;

        for (size_t i = 0; i < threads->n; i++) {
                const ThreadSample *sample = &threads->samples[i];

                if (sample->self)
                        continue;
                if (id == METRIC_thread_count)
                        sum++;
                else if (thread_sample_has(sample, id))
                        sum = number_add_saturating(sum, thread_sample_get(sample, id));
        }
        return sum;
}

static uint64_t sum_of_groups(json_object *groups, MetricId id, const char *member) {
        uint64_t sum = 0;

        for (size_t i = 0; i < json_object_array_length(groups); i++) {
                json_object *group = json_object_array_get_idx(groups, i), *row, *value;

                row = json_object_object_get(json_object_object_get(group, "metrics"),
                                             metric_table[id].name);
                value = json_object_object_get(row, member);
                sum = number_add_saturating(sum, json_object_get_uint64(value));
        }
        return sum;
}

START_TEST(sums_of_groups_are_sums_of_threads) {
        Compared compared;
        Case one;

        case_init(&one, _i);
        compared = compared_of(&one.view, &setup, one.sides, no_sources);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                json_object *both = compared.lists[COMPARISON_GROUPS];
                uint64_t before, after;

                if (metric_table[id].shape != METRIC_SHAPE_SUM)
                        continue;
                before = number_add_saturating(sum_of_groups(both, (MetricId) id, "before"),
                                               sum_of_groups(compared.lists[COMPARISON_ONLY_BEFORE],
                                                             (MetricId) id, "value"));
                after = number_add_saturating(sum_of_groups(both, (MetricId) id, "after"),
                                              sum_of_groups(compared.lists[COMPARISON_ONLY_AFTER],
                                                            (MetricId) id, "value"));
                ck_assert_uint_eq(before, sum_of_threads(&one.sides[0], (MetricId) id));
                ck_assert_uint_eq(after, sum_of_threads(&one.sides[1], (MetricId) id));
        }
        compared_done(&compared);
}
END_TEST

START_TEST(presence_counts_threads) {
        const SideSetup alone = { .n_sides = 1 };
        Compared compared;
        Case one;

        case_init(&one, _i);
        compared = compared_of(&one.view, &alone, one.sides, no_sources);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                uint64_t n_present = 0;

                for (size_t i = 0; i < N_THREADS; i++)
                        n_present += !one.before[i].self &&
                                     (id == METRIC_thread_count ||
                                      thread_sample_has(&one.before[i], (MetricId) id));
                ck_assert_uint_eq(
                        sum_of_groups(compared.lists[COMPARISON_GROUPS], (MetricId) id, "present"),
                        n_present);
        }
        compared_done(&compared);
}
END_TEST

static void assert_negated(json_object *rows, json_object *swapped_rows) {
        json_object_object_foreach(rows, name, row) {
                json_object *swapped = json_object_object_get(swapped_rows, name);
                double delta = json_object_get_double(json_object_object_get(row, "delta"));
                double negated = json_object_get_double(json_object_object_get(swapped, "delta"));

                ck_assert_ptr_nonnull(swapped);
                ck_assert(json_object_get_boolean(json_object_object_get(row, "changed")) ==
                          json_object_get_boolean(json_object_object_get(swapped, "changed")));
                if (delta > -0x1p63 && negated > -0x1p63) /* json-c cuts off what is below */
                        ck_assert_msg(delta + negated == 0, "%s: %f, %f", name, delta, negated);
        }
}

START_TEST(swapping_sides_negates_every_delta) {
        Compared compared, swapped;
        Case one;

        case_init(&one, _i);
        compared = compared_of(&one.view, &setup, one.sides, no_sources);
        swapped = compared_of(&one.view, &setup, one.swapped, no_sources);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]),
                          json_object_array_length(swapped.lists[COMPARISON_GROUPS]));
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_ONLY_BEFORE]),
                          json_object_array_length(swapped.lists[COMPARISON_ONLY_AFTER]));
        for (size_t i = 0; i < json_object_array_length(compared.lists[COMPARISON_GROUPS]); i++) {
                json_object *group =
                        json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], i);
                json_object *other = json_object_array_get_idx(swapped.lists[COMPARISON_GROUPS], i);

                /* The order ignores the sign. */
                ck_assert_str_eq(json_object_get_string(json_object_object_get(group, "key")),
                                 json_object_get_string(json_object_object_get(other, "key")));
                assert_negated(json_object_object_get(group, "metrics"),
                               json_object_object_get(other, "metrics"));
                assert_negated(json_object_object_get(group, "derived"),
                               json_object_object_get(other, "derived"));
        }
        compared_done(&compared);
        compared_done(&swapped);
}
END_TEST

START_TEST(the_order_of_threads_is_nothing) {
        Compared compared, reversed;
        Case one;

        case_init(&one, _i);
        compared = compared_of(&one.view, &setup, one.sides, no_sources);
        threads_reverse(one.before, N_THREADS);
        threads_reverse(one.after, N_THREADS);
        reversed = compared_of(&one.view, &setup, one.sides, no_sources);
        compared_assert_same(&compared, &reversed);
        compared_done(&compared);
        compared_done(&reversed);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("comparison-property");
        TCase *properties = tcase_create("properties");

        tcase_add_loop_test(properties, sums_of_groups_are_sums_of_threads, 0,
                            check_rounds(N_CASES));
        tcase_add_loop_test(properties, presence_counts_threads, 0, check_rounds(N_CASES));
        tcase_add_loop_test(properties, swapping_sides_negates_every_delta, 0,
                            check_rounds(N_CASES));
        tcase_add_loop_test(properties, the_order_of_threads_is_nothing, 0, check_rounds(N_CASES));
        suite_add_tcase(suite, properties);
        return check_main(suite);
}
