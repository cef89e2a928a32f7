/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "analysis/compare/row.h"
#include "thread.h"

static GroupTable table;
static Group *group;

static void setup(void) {
        ck_assert_int_eq(group_table_obtain(&table, span_of("g"), &group), 0);
}

static void teardown(void) {
        group_table_done(&table);
}

START_TEST(absence_is_explained_by_the_source) {
        SourceTable sources = { .sources = { { .state = SOURCE_STATE_OK } } };
        Source *source = &sources.sources[metric_table[METRIC_rchar].explained_by];
        Source no_reason = { .state = SOURCE_STATE_NOT_REQUESTED };

        ck_assert_str_eq(absence_of_metric(NULL, METRIC_rchar), "not recorded by this file");
        ck_assert_str_eq(absence_of_metric(&sources, METRIC_rchar),
                         "this kernel does not give it for these threads");
        *source = (Source){ .state = SOURCE_STATE_PARTIAL, .reason = "run as root" };
        ck_assert_str_eq(absence_of_metric(&sources, METRIC_rchar), "run as root");
        ck_assert_str_eq(absence_of_metric(&sources, METRIC_minflt),
                         "this kernel does not give it for these threads");
        *source = no_reason;
        ck_assert_str_eq(absence_of_metric(&sources, METRIC_rchar), "not-requested");
}
END_TEST

static const struct {
        DerivedId id;
        uint64_t first, second; /* UINT64_MAX: absent */
        const char *text;
} absence_rows[] = {
        { DERIVED_avg_wait_ns, 5, 0, "wait_count is 0" },
        { DERIVED_avg_wait_ns, UINT64_MAX, 0, "no wait_sum: not recorded by this file" },
        { DERIVED_avg_wait_ns, 5, UINT64_MAX, "no wait_count: not recorded by this file" },
        { DERIVED_cpu_efficiency, 0, 0, "run_time_ns and wait_time_ns are 0" },
};

START_TEST(derived_values_say_what_is_missing) {
        const Derived *derived = &derived_table[absence_rows[_i].id];
        ThreadSample sample = thread_of("p", "t", 1);
        char text[ABSENCE_BYTES];
        Row row;

        if (absence_rows[_i].first != UINT64_MAX)
                thread_sample_put(&sample, derived->inputs[0], absence_rows[_i].first);
        if (absence_rows[_i].second != UINT64_MAX)
                thread_sample_put(&sample, derived->inputs[1], absence_rows[_i].second);
        ck_assert_int_eq(group_fold(group, 0, &sample), 0);
        row_init_derived(&row, group, 0, absence_rows[_i].id);
        ck_assert_int_eq(row.values[0].kind, VALUE_ABSENT);
        ck_assert_str_eq(absence_of_value(&row, 0, NULL, text), absence_rows[_i].text);
}
END_TEST

START_TEST(the_longest_reason_fits) {
        SourceTable sources = { .sources = { { .state = SOURCE_STATE_OK } } };
        Source *source = &sources.sources[metric_table[METRIC_cpu_delay_total_ns].explained_by];
        ThreadSample sample = thread_of("p", "t", 1);
        char text[ABSENCE_BYTES];
        Row row;

        ck_assert_int_eq(group_fold(group, 0, &sample), 0);
        source->state = SOURCE_STATE_UNAVAILABLE;
        memset(source->reason, 'x', sizeof(source->reason) - 1);
        row_init_derived(&row, group, 0, DERIVED_total_offcpu_delay_ns);
        ck_assert_uint_gt(strlen(absence_of_value(&row, 0, &sources, text)),
                          SOURCE_REASON_BYTES - 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("absence");
        TCase *reasons = tcase_create("reasons");

        tcase_add_checked_fixture(reasons, setup, teardown);
        tcase_add_test(reasons, absence_is_explained_by_the_source);
        tcase_add_loop_test(reasons, derived_values_say_what_is_missing, 0,
                            ELEMENTSOF(absence_rows));
        tcase_add_test(reasons, the_longest_reason_fits);
        suite_add_tcase(suite, reasons);
        return check_main(suite);
}
