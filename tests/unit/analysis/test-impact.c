/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/compare/order.h"
#include "thread.h"
#include "two-columns.h"

static GroupTable table = { .columns = &two_columns };

static void teardown(void) {
        group_table_done(&table);
}

static Group *put(const char *key, unsigned side, MetricId id, uint64_t value) {
        ThreadSample sample = thread_with(id, value);
        Group *group;

        ck_assert_int_eq(group_table_obtain(&table, span_of(key), &group), 0);
        fold_into(group, side, &sample);
        return group;
}

static const struct {
        MetricUnit unit;
        uint64_t floor;
} floor_rows[] = {
        { METRIC_UNIT_NS, UINT64_C(1000000000) },
        { METRIC_UNIT_TICKS, 100 },
        { METRIC_UNIT_BYTES, 1048576 },
        { METRIC_UNIT_COUNT, 1000 },
};

START_TEST(every_unit_has_a_floor) {
        ck_assert_uint_eq(impact_floor(floor_rows[_i].unit), floor_rows[_i].floor);
}
END_TEST

START_TEST(impact_is_a_share_of_the_larger_total) {
        ImpactScale scale;

        put("a", 0, METRIC_minflt, 1000);
        put("b", 0, METRIC_minflt, 1000);
        put("a", 1, METRIC_minflt, 4000);
        put("only after", 1, METRIC_minflt, 4000);
        impact_scale_init(&scale, &table);
        ck_assert_double_eq(2000 / scale.denominators[METRIC_minflt], 0.25);
        ck_assert_double_eq(2000 / scale.denominators[METRIC_majflt], 2); /* by the floor */
}
END_TEST

START_TEST(totals_saturate) {
        ImpactScale scale;

        put("a", 0, METRIC_minflt, UINT64_MAX);
        put("b", 0, METRIC_minflt, UINT64_MAX);
        impact_scale_init(&scale, &table);
        ck_assert_double_eq((double) UINT64_MAX / scale.denominators[METRIC_minflt], 1);
}
END_TEST

START_TEST(a_group_ranks_by_its_best_sum) {
        ImpactScale scale;
        Group *group = put("a", 0, METRIC_minflt, 0);

        put("a", 1, METRIC_minflt, 500);
        put("a", 0, METRIC_wait_max, 0);
        put("a", 1, METRIC_wait_max, UINT64_MAX); /* no sum */
        put("a", 0, METRIC_acct_utime_ns, 0);
        put("a", 1, METRIC_acct_utime_ns, UINT64_MAX); /* repeats the run time */
        put("a", 1, METRIC_majflt, UINT64_MAX);        /* no value before */
        impact_scale_init(&scale, &table);
        impact_rank_group(&scale, 2, group);
        ck_assert_double_eq(group->rank, 0.5);
        ck_assert_uint_eq(group->rank_row, METRIC_minflt);
        impact_rank_group(&scale, 1, group);
        ck_assert_double_eq(group->rank, 3.0 / 1000); /* three threads before */
}
END_TEST

static Row row_of(MetricId id, bool has_number, double impact) {
        return (Row){ .id = id, .has_number = has_number, .impact = impact };
}

START_TEST(rows_stand_by_impact_then_without_then_numberless) {
        Row rows[] = {
                row_of(METRIC_thread_count, true, 0),
                row_of(METRIC_policy, false, IMPACT_NONE),
                row_of(METRIC_nice, true, IMPACT_NONE),
                row_of(METRIC_run_time_ns, true, 0.5),
                row_of(METRIC_timeslices, false, IMPACT_NONE),
                row_of(METRIC_wait_max, true, IMPACT_NONE),
                row_of(METRIC_minflt, true, 0.5),
                row_of(METRIC_majflt, true, 0.75),
                { .is_derived = true, .id = 0, .impact = IMPACT_NONE },
                { .is_derived = true, .id = 3, .has_number = true, .impact = IMPACT_NONE },
        };
        static const unsigned wanted[] = {
                METRIC_majflt,
                METRIC_run_time_ns,
                METRIC_minflt,
                METRIC_thread_count,
                METRIC_nice,
                METRIC_wait_max,
                METRIC_policy,
                METRIC_timeslices,
                3,
                0,
        };
        const ViewSort by_impact = { .order = VIEW_ORDER_IMPACT };

        order_rows(&(GroupOrder){ .sort = &by_impact }, rows, ELEMENTSOF(rows));
        for (size_t i = 0; i < ELEMENTSOF(wanted); i++)
                ck_assert_uint_eq(rows[i].id, wanted[i]);
}
END_TEST

START_TEST(groups_tie_by_registry_then_key) {
        Group groups[] = {
                { .id = (char[]){ "z" }, .n_id = 1, .rank = 0.5, .rank_row = 3 },
                { .id = (char[]){ "b" }, .n_id = 1, .rank = 0.5, .rank_row = 4 },
                { .id = (char[]){ "a" }, .n_id = 1, .rank = 0.5, .rank_row = 4 },
                { .id = (char[]){ "c" }, .n_id = 1, .rank = IMPACT_NONE, .rank_row = _METRIC_MAX },
                { .id = (char[]){ "d" }, .n_id = 1, .rank = 0.75, .rank_row = 50 },
        };
        Group *sorted[ELEMENTSOF(groups)];

        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                sorted[i] = &groups[i];
        impact_sort_groups(sorted, ELEMENTSOF(sorted));
        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                ck_assert_int_eq(sorted[i]->id[0], "dzabc"[i]);
}
END_TEST

START_TEST(one_sided_groups_stand_by_run_time) {
        Group *sorted[] = {
                put("small", 1, METRIC_run_time_ns, 5),  put("none", 1, METRIC_minflt, 5),
                put("large", 1, METRIC_run_time_ns, 50), put("zero", 1, METRIC_run_time_ns, 0),
                put("also", 1, METRIC_run_time_ns, 5),
        };
        static const char *const wanted[] = { "large", "also", "small", "zero", "none" };

        impact_sort_one_sided(sorted, ELEMENTSOF(sorted), 1);
        for (size_t i = 0; i < ELEMENTSOF(sorted); i++)
                ck_assert(span_is(group_key(sorted[i]), wanted[i]));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("impact");
        TCase *scale = tcase_create("scale");
        TCase *order = tcase_create("order");

        tcase_add_checked_fixture(scale, NULL, teardown);
        tcase_add_loop_test(scale, every_unit_has_a_floor, 0, ELEMENTSOF(floor_rows));
        tcase_add_test(scale, impact_is_a_share_of_the_larger_total);
        tcase_add_test(scale, totals_saturate);
        tcase_add_test(scale, a_group_ranks_by_its_best_sum);
        suite_add_tcase(suite, scale);
        tcase_add_checked_fixture(order, NULL, teardown);
        tcase_add_test(order, rows_stand_by_impact_then_without_then_numberless);
        tcase_add_test(order, groups_tie_by_registry_then_key);
        tcase_add_test(order, one_sided_groups_stand_by_run_time);
        suite_add_tcase(suite, order);
        return check_main(suite);
}
