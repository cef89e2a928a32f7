/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/compare/row.h"
#include "thread.h"
#include "two-columns.h"

static GroupTable table = { .columns = &two_columns };
static Group *group;

static void setup(void) {
        ck_assert_int_eq(group_table_obtain(&table, span_of("g"), &group), 0);
}

static void teardown(void) {
        group_table_done(&table);
}

/* Gives thread @tid the value @value of @id; no value when @value is UINT64_MAX. */
static void fold(unsigned side, pid_t tid, MetricId id, uint64_t value) {
        ThreadSample sample = thread_of("p", "t", tid);

        if (value != UINT64_MAX)
                thread_sample_put(&sample, id, value);
        fold_into(group, side, &sample);
}

static const struct {
        MetricId id;
        pid_t tid_after;
        bool in_order;
        uint64_t before, after;
        bool reset;
} reset_rows[] = {
        { METRIC_minflt, 1, true, 10, 3, true },
        { METRIC_minflt, 1, true, 3, 10, false },
        { METRIC_minflt, 1, true, 10, 10, false },
        { METRIC_minflt, 1, false, 10, 3, false },
        { METRIC_minflt, 2, true, 10, 3, false },   /* another thread */
        { METRIC_wait_max, 1, true, 10, 3, false }, /* not a counter */
        { METRIC_minflt, 1, true, UINT64_MAX, 3, false },
        { METRIC_rss_anon_bytes, 1, true, 10, 3, false }, /* a sum, but a level */
};

START_TEST(a_counter_that_fell_without_a_loss_was_reset) {
        double number;
        Row row;

        fold(0, 1, reset_rows[_i].id, reset_rows[_i].before);
        fold(1, reset_rows[_i].tid_after, reset_rows[_i].id, reset_rows[_i].after);
        row_init(&row, group, BOTH_SIDES, reset_rows[_i].id, reset_rows[_i].in_order);
        ck_assert(row.reset == reset_rows[_i].reset);
        if (row.reset) {
                ck_assert(!row_percent(&row, &number));
                ck_assert(!row_per_second(&row, NSEC_PER_SEC, &number));
                ck_assert(row.delta.integer.negative);
        }
}
END_TEST

START_TEST(a_value_that_was_lost_is_no_reset) {
        Row row;

        fold(0, 1, METRIC_minflt, 10);
        fold(0, 2, METRIC_minflt, 10);
        fold(1, 1, METRIC_minflt, 11);
        fold(1, 2, METRIC_minflt, UINT64_MAX);
        row_init(&row, group, BOTH_SIDES, METRIC_minflt, true);
        ck_assert(row.delta.integer.negative);
        ck_assert(!row.reset);
}
END_TEST

START_TEST(rates_are_of_sums_over_time) {
        double number;
        Row row;

        fold(0, 1, METRIC_minflt, 10);
        fold(1, 1, METRIC_minflt, 40);
        row_init(&row, group, BOTH_SIDES, METRIC_minflt, true);
        ck_assert(row_per_second(&row, 2 * NSEC_PER_SEC, &number));
        ck_assert_double_eq(number, 15);
        ck_assert(row_percent(&row, &number));
        ck_assert_double_eq(number, 300);
        ck_assert(!row_per_second(&row, 0, &number));
}
END_TEST

START_TEST(peaks_have_no_rate) {
        double number;
        Row row;

        fold(0, 1, METRIC_wait_max, 10);
        fold(1, 1, METRIC_wait_max, 40);
        row_init(&row, group, BOTH_SIDES, METRIC_wait_max, true);
        ck_assert(row_percent(&row, &number));
        ck_assert(!row_per_second(&row, NSEC_PER_SEC, &number));
}
END_TEST

START_TEST(levels_are_added_up_and_have_no_rate) {
        double number;
        Row row;

        fold(0, 1, METRIC_rss_anon_bytes, 10);
        fold(0, 2, METRIC_rss_anon_bytes, 10);
        fold(1, 1, METRIC_rss_anon_bytes, 40);
        fold(1, 2, METRIC_rss_anon_bytes, 40);
        row_init(&row, group, BOTH_SIDES, METRIC_rss_anon_bytes, true);
        ck_assert_uint_eq(row.values[1].integer.magnitude, 80);
        ck_assert(row_percent(&row, &number));
        ck_assert_double_eq(number, 300);
        ck_assert(!row_per_second(&row, NSEC_PER_SEC, &number));
}
END_TEST

START_TEST(ratios_have_no_percent) {
        ThreadSample sample = thread_of("p", "t", 1);
        double number;
        Row row;

        thread_sample_put(&sample, METRIC_run_time_ns, 1);
        thread_sample_put(&sample, METRIC_wait_time_ns, 3);
        thread_sample_put(&sample, METRIC_timeslices, 2);
        fold_into(group, 0, &sample);
        thread_sample_put(&sample, METRIC_run_time_ns, 3);
        fold_into(group, 1, &sample);

        row_init(&row, group, BOTH_SIDES, _METRIC_MAX + DERIVED_cpu_efficiency, false);
        ck_assert(row.changed);
        ck_assert(row.has_number);
        ck_assert_double_eq(row.delta.real, 0.25);
        ck_assert(!row_percent(&row, &number));
        ck_assert(!row_per_second(&row, NSEC_PER_SEC, &number));

        row_init(&row, group, BOTH_SIDES, _METRIC_MAX + DERIVED_avg_slice_ns, false);
        ck_assert(row_percent(&row, &number));
        ck_assert_double_eq(number, 200);
}
END_TEST

START_TEST(a_value_on_one_side_only_is_a_change_without_delta) {
        double number;
        Row row;

        fold(0, 1, METRIC_minflt, UINT64_MAX);
        fold(1, 1, METRIC_minflt, 0);
        row_init(&row, group, BOTH_SIDES, METRIC_minflt, true);
        ck_assert(row.changed);
        ck_assert(!row.has_number);
        ck_assert_int_eq(row.delta.kind, DELTA_NONE);
        ck_assert(!row_percent(&row, &number));
        row_init(&row, group, BOTH_SIDES, METRIC_majflt, true);
        ck_assert(!row.changed);
}
END_TEST

static const MetricId momentary_rows[] = { METRIC_processor, METRIC_state };

START_TEST(a_place_or_a_state_is_no_quantity) {
        MetricId id = momentary_rows[_i];
        double number;
        Row row;

        fold(0, 1, id, 'R');
        fold(1, 1, id, 'S');
        row_init(&row, group, BOTH_SIDES, id, true);
        ck_assert_int_ne(row.values[0].kind, VALUE_ABSENT);
        ck_assert_int_ne(row.values[1].kind, VALUE_ABSENT);
        ck_assert(!row.changed);
        ck_assert(!row.has_number);
        ck_assert_int_eq(row.delta.kind, DELTA_NONE);
        ck_assert(!row_percent(&row, &number));
        ck_assert(!row_growth(&row, &number));
        row_init(&row, group, SIDE_AFTER, id, true);
        ck_assert(!row.has_number);
}
END_TEST

START_TEST(one_side_has_a_value_and_no_delta) {
        Row row;

        fold(1, 1, METRIC_minflt, 5);
        fold(1, 2, METRIC_minflt, UINT64_MAX);
        row_init(&row, group, 1, METRIC_minflt, true);
        ck_assert_uint_eq(row.values[0].integer.magnitude, 5);
        ck_assert_uint_eq(row.present, 1);
        ck_assert(row.has_number);
        ck_assert(!row.changed);
        row_init(&row, group, 1, _METRIC_MAX + DERIVED_avg_wait_ns, false);
        ck_assert(!row.has_number);
        ck_assert_int_eq(row.outcomes[0], DERIVED_INPUT_ABSENT);
}
END_TEST

/* Of two threads each, of which no one is at any limit. */
static const struct {
        uint64_t before, after;
        bool limited[SIDES];
} limited_rows[] = {
        { UINT64_C(1) << 63, UINT64_C(1) << 63, { true, true } },
        { 1, UINT64_C(1) << 63, { false, true } },
        { UINT64_C(1) << 63, 1, { true, false } },
        { UINT64_MAX / 2, UINT64_MAX / 2, { false, false } },
};

static void fold_both(MetricId id, uint64_t before, uint64_t after) {
        for (pid_t tid = 1; tid <= 2; tid++) {
                fold(0, tid, id, before);
                fold(1, tid, id, after);
        }
}

START_TEST(a_sum_at_its_limit_is_not_unchanged) {
        bool any = limited_rows[_i].limited[0] || limited_rows[_i].limited[1];
        char text[ABSENCE_BYTES];
        double number;
        Row row;

        fold_both(METRIC_wchar, limited_rows[_i].before, limited_rows[_i].after);
        row_init(&row, group, BOTH_SIDES, METRIC_wchar, true);
        ck_assert(row.changed == any);
        ck_assert(row.has_number == !any);
        ck_assert(row_percent(&row, &number) == !any);
        ck_assert(row_per_second(&row, NSEC_PER_SEC, &number) == !any);
        ck_assert(!row.reset);
        for (unsigned side = 0; side < SIDES; side++) {
                bool limited = limited_rows[_i].limited[side];
                const char *said;
                Row one;

                said = approximation_of_value(&row, side, 0, text);
                ck_assert((said && strstr(said, "at its limit")) == limited);
                row_init(&one, group, side, METRIC_wchar, true);
                ck_assert((one.values[0].integer.magnitude == UINT64_MAX) == limited);
                ck_assert((approximation_of_value(&one, 0, 0, text) != NULL) == limited);
        }
}
END_TEST

START_TEST(what_is_derived_from_it_is_not_unchanged) {
        char text[ABSENCE_BYTES];
        Row row;

        for (unsigned i = 0; i < 2 * SIDES; i++) {
                ThreadSample sample = thread_of("p", "t", (pid_t) i / SIDES);

                thread_sample_put(&sample, METRIC_wait_sum, UINT64_C(1) << 63);
                thread_sample_put(&sample, METRIC_wait_count, 1);
                fold_into(group, i % SIDES, &sample);
        }
        row_init(&row, group, BOTH_SIDES, _METRIC_MAX + DERIVED_avg_wait_ns, false);
        ck_assert(row.changed);
        ck_assert_int_eq(row.delta.kind, DELTA_NONE);
        ck_assert_ptr_nonnull(approximation_of_value(&row, 0, 0, text));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("row");
        TCase *rows = tcase_create("rows");

        tcase_add_checked_fixture(rows, setup, teardown);
        tcase_add_loop_test(rows, a_sum_at_its_limit_is_not_unchanged, 0, ELEMENTSOF(limited_rows));
        tcase_add_test(rows, what_is_derived_from_it_is_not_unchanged);
        tcase_add_loop_test(rows, a_counter_that_fell_without_a_loss_was_reset, 0,
                            ELEMENTSOF(reset_rows));
        tcase_add_test(rows, a_value_that_was_lost_is_no_reset);
        tcase_add_test(rows, rates_are_of_sums_over_time);
        tcase_add_test(rows, peaks_have_no_rate);
        tcase_add_test(rows, levels_are_added_up_and_have_no_rate);
        tcase_add_test(rows, ratios_have_no_percent);
        tcase_add_test(rows, a_value_on_one_side_only_is_a_change_without_delta);
        tcase_add_loop_test(rows, a_place_or_a_state_is_no_quantity, 0, ELEMENTSOF(momentary_rows));
        tcase_add_test(rows, one_side_has_a_value_and_no_delta);
        suite_add_tcase(suite, rows);
        return check_main(suite);
}
