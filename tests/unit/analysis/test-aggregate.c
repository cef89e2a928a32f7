/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/group/aggregate.h"
#include "thread.h"

#define MAX UINT64_MAX
#define NEGATIVE(n) ((uint64_t) - (n))

static Aggregate *folded(MetricId id, const uint64_t *values, size_t n_values) {
        Aggregate *aggregate = NULL;

        for (size_t i = 0; i < n_values; i++) {
                ThreadSample sample = thread_with(id, values[i]);

                ck_assert_int_eq(aggregate_add(&aggregate, &sample), 0);
        }
        return aggregate;
}

static const struct {
        MetricId id;
        uint64_t values[3];
        size_t n_values;
        uint64_t reduced;
} number_rows[] = {
        { METRIC_run_time_ns, { 1, 2, 3 }, 3, 6 },
        { METRIC_run_time_ns, { 0, 0, 0 }, 3, 0 },
        { METRIC_run_time_ns, { MAX, 1, 1 }, 3, MAX }, /* saturates */
        { METRIC_minflt, { MAX - 1, 1 }, 2, MAX },
        { METRIC_wait_max, { 3, 9, 4 }, 3, 9 },
        { METRIC_nr_threads, { 3, 1 }, 2, 3 },
        { METRIC_fair_slice_ns, { 0 }, 1, 0 },
        { METRIC_hiwater_rss_bytes, { 7, MAX }, 2, MAX },
        { METRIC_cpu_delay_min_ns, { 5, 0, 3 }, 3, 3 }, /* 0: no event */
        { METRIC_cpu_delay_min_ns, { 0, 5 }, 2, 5 },
        { METRIC_cpu_delay_min_ns, { 0, 0 }, 2, 0 },
};

START_TEST(numbers_follow_their_rule) {
        _cleanup_(aggregate_freep) Aggregate *aggregate =
                folded(number_rows[_i].id, number_rows[_i].values, number_rows[_i].n_values);
        Value value = aggregate_value(aggregate, number_rows[_i].id);

        ck_assert_int_eq(value.kind, VALUE_INTEGER);
        ck_assert_uint_eq(value.integer.magnitude, number_rows[_i].reduced);
        ck_assert(!value.integer.negative);
        ck_assert_uint_eq(aggregate->present[number_rows[_i].id], number_rows[_i].n_values);
}
END_TEST

static const struct {
        MetricId id;
        uint64_t values[3];
        Integer min, max;
} range_rows[] = {
        { METRIC_nice, { 0, NEGATIVE(20), 19 }, { true, 20 }, { false, 19 } },
        { METRIC_nice, { NEGATIVE(3), NEGATIVE(3), NEGATIVE(3) }, { true, 3 }, { true, 3 } },
        { METRIC_priority, { NEGATIVE(2), NEGATIVE(101), 39 }, { true, 101 }, { false, 39 } },
        { METRIC_nice, { NEGATIVE(1), 0, 0 }, { true, 1 }, { false, 0 } },
        { METRIC_nice,
          { UINT64_C(1) << 63, 0, INT64_MAX },
          { true, UINT64_C(1) << 63 },
          { false, INT64_MAX } },
        { METRIC_processor, { 4, 0, 7 }, { false, 0 }, { false, 7 } },
        { METRIC_rt_priority, { 99, 0, 1 }, { false, 0 }, { false, 99 } },
        { METRIC_rt_priority, { MAX, 5, 6 }, { false, 5 }, { false, MAX } }, /* unsigned */
};

START_TEST(ordinals_span_a_range) {
        _cleanup_(aggregate_freep) Aggregate *aggregate =
                folded(range_rows[_i].id, range_rows[_i].values, 3);
        Value value = aggregate_value(aggregate, range_rows[_i].id);

        ck_assert_int_eq(value.kind, VALUE_RANGE);
        ck_assert_uint_eq(value.range.min.magnitude, range_rows[_i].min.magnitude);
        ck_assert(value.range.min.negative == range_rows[_i].min.negative);
        ck_assert_uint_eq(value.range.max.magnitude, range_rows[_i].max.magnitude);
        ck_assert(value.range.max.negative == range_rows[_i].max.negative);
}
END_TEST

static const struct {
        MetricId id;
        uint64_t values[5];
        size_t n_values;
        const char *mode;
        uint64_t count;
} mode_rows[] = {
        { METRIC_state, { 'S', 'R', 'S' }, 3, "S", 2 },
        { METRIC_state, { 'S', 'S' }, 2, "S", 2 },
        { METRIC_state, { 'S', 'R' }, 2, "R", 1 }, /* ties: bytewise smallest */
        { METRIC_state, { 'S', 'D', 'R', 'D', 'R' }, 5, "D", 2 },
        { METRIC_policy, { 0, 1 }, 2, "SCHED_FIFO", 1 }, /* by the text, not the number */
        { METRIC_policy, { 0, 1, 0 }, 3, "SCHED_OTHER", 2 },
        { METRIC_policy, { 9 }, 1, "SCHED_UNKNOWN(9)", 1 },
        { METRIC_ext_enabled, { 1, 0 }, 2, "false", 1 },
        { METRIC_ext_enabled, { 1, 0, 1 }, 3, "true", 2 },
};

START_TEST(words_elect_a_mode) {
        _cleanup_(aggregate_freep) Aggregate *aggregate =
                folded(mode_rows[_i].id, mode_rows[_i].values, mode_rows[_i].n_values);
        Value value = aggregate_value(aggregate, mode_rows[_i].id);

        ck_assert_int_eq(value.kind, VALUE_MODE);
        ck_assert(span_is((Span){ value.mode.text, value.mode.n_text }, mode_rows[_i].mode));
        ck_assert_uint_eq(value.mode.count, mode_rows[_i].count);
        ck_assert_uint_eq(value.mode.total, mode_rows[_i].n_values);
}
END_TEST

START_TEST(words_beyond_the_bound_count_in_the_total) {
        Aggregate *aggregate = NULL;
        Value value;

        for (unsigned i = 0; i < 2 * (AGGREGATE_MAX_WORDS + 10); i++) {
                ThreadSample sample = thread_with(METRIC_policy, 100 + i / 2);

                ck_assert_int_eq(aggregate_add(&aggregate, &sample), 0);
        }
        value = aggregate_value(aggregate, METRIC_policy);
        ck_assert(span_is((Span){ value.mode.text, value.mode.n_text }, "SCHED_UNKNOWN(100)"));
        ck_assert_uint_eq(value.mode.count, 2);
        ck_assert_uint_eq(value.mode.total, 2 * (AGGREGATE_MAX_WORDS + 10));
        aggregate_free(aggregate);
}
END_TEST

static const struct {
        const char *lists[3];
        uint64_t counts[3];
        size_t n;
        uint64_t min, max;
        const char *uniform; /* NULL: not */
} cpus_rows[] = {
        { { "0-3", "0-3" }, { 4, 4 }, 2, 4, 4, "0-3" },
        { { "0-1", "2-3" }, { 2, 2 }, 2, 2, 2, NULL },
        { { "0-1", "2-3", "0-1" }, { 2, 2, 2 }, 3, 2, 2, NULL }, /* stays different */
        { { "0-1", "0-5" }, { 2, 6 }, 2, 2, 6, NULL },
        { { "", "" }, { 0, 0 }, 2, 0, 0, "" },
};

START_TEST(cpu_sets_are_uniform_or_not) {
        Aggregate *aggregate = NULL;
        Value value;

        for (size_t i = 0; i < cpus_rows[_i].n; i++) {
                ThreadSample sample = thread_with(METRIC_cpu_affinity, cpus_rows[_i].counts[i]);

                sample.cpus = span_of(cpus_rows[_i].lists[i]);
                ck_assert_int_eq(aggregate_add(&aggregate, &sample), 0);
        }
        value = aggregate_value(aggregate, METRIC_cpu_affinity);
        ck_assert_int_eq(value.kind, VALUE_CPUS);
        ck_assert_uint_eq(value.cpus.min, cpus_rows[_i].min);
        ck_assert_uint_eq(value.cpus.max, cpus_rows[_i].max);
        ck_assert(value.cpus.uniform == (cpus_rows[_i].uniform != NULL));
        if (value.cpus.uniform)
                ck_assert(span_is(value.cpus.list, cpus_rows[_i].uniform));
        aggregate_free(aggregate);
}
END_TEST

START_TEST(an_absent_value_takes_no_part) {
        ThreadSample with = thread_with(METRIC_run_time_ns, 5), without = thread_of("p", "t", 2);
        Aggregate *aggregate = NULL;

        /* A value whose presence bit is clear does not count. */
        thread_sample_put(&without, METRIC_run_time_ns, 1000);
        thread_sample_drop(&without, METRIC_run_time_ns);
        ck_assert_int_eq(aggregate_add(&aggregate, &with), 0);
        ck_assert_int_eq(aggregate_add(&aggregate, &without), 0);
        ck_assert_uint_eq(aggregate_read_sum(aggregate, METRIC_run_time_ns).value, 5);
        ck_assert_uint_eq(aggregate->present[METRIC_run_time_ns], 1);
        ck_assert_uint_eq(aggregate->n_threads, 2);
        ck_assert(aggregate->present[METRIC_minflt] == 0);
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                ck_assert((aggregate_value(aggregate, (MetricId) id).kind == VALUE_ABSENT) ==
                          (id != METRIC_run_time_ns && id != METRIC_thread_count));
        aggregate_free(aggregate);
}
END_TEST

START_TEST(every_thread_is_counted_once) {
        ThreadSample with = thread_of("p", "t", 1), without = thread_of("p", "t", 2);
        Aggregate *aggregate = NULL;

        thread_sample_put(&with, METRIC_thread_count, 17); /* whatever the file says */
        thread_sample_drop(&without, METRIC_thread_count);
        ck_assert_int_eq(aggregate_add(&aggregate, &with), 0);
        ck_assert_int_eq(aggregate_add(&aggregate, &without), 0);
        ck_assert_uint_eq(aggregate_read_sum(aggregate, METRIC_thread_count).value, 2);
        ck_assert_uint_eq(aggregate->present[METRIC_thread_count], 2);
        aggregate_free(aggregate);
}
END_TEST

START_TEST(every_metric_folds_its_extremes) {
        static const uint64_t values[] = { 0, 1, MAX };

        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                _cleanup_(aggregate_freep) Aggregate *aggregate = folded((MetricId) id, values, 3);

                ck_assert_uint_eq(aggregate->present[id], 3);
                ck_assert_int_ne(aggregate_value(aggregate, (MetricId) id).kind, VALUE_ABSENT);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("aggregate");
        TCase *rules = tcase_create("rules");
        TCase *presence = tcase_create("presence");

        tcase_add_loop_test(rules, numbers_follow_their_rule, 0, ELEMENTSOF(number_rows));
        tcase_add_loop_test(rules, ordinals_span_a_range, 0, ELEMENTSOF(range_rows));
        tcase_add_loop_test(rules, words_elect_a_mode, 0, ELEMENTSOF(mode_rows));
        tcase_add_test(rules, words_beyond_the_bound_count_in_the_total);
        tcase_add_loop_test(rules, cpu_sets_are_uniform_or_not, 0, ELEMENTSOF(cpus_rows));
        tcase_add_test(rules, every_metric_folds_its_extremes);
        suite_add_tcase(suite, rules);
        tcase_add_test(presence, an_absent_value_takes_no_part);
        tcase_add_test(presence, every_thread_is_counted_once);
        suite_add_tcase(suite, presence);
        return check_main(suite);
}
