/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

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

START_TEST(absence_is_explained_by_the_source) {
        SourceTable sources = { .sources = { { .state = SOURCE_STATE_OK } } };
        Source *source = &sources.sources[metric_table[METRIC_rchar].explained_by];
        Source no_reason = { .state = SOURCE_STATE_NOT_REQUESTED };
        char text[ABSENCE_BYTES];

        ck_assert_str_eq(absence_of_metric(NULL, METRIC_rchar, text), "not recorded by this file");
        ck_assert_str_eq(absence_of_metric(&sources, METRIC_rchar, text),
                         "this kernel does not give it for these threads");
        *source = (Source){ .state = SOURCE_STATE_PARTIAL, .reason = "run as root" };
        ck_assert_str_eq(absence_of_metric(&sources, METRIC_rchar, text), "run as root");
        ck_assert_str_eq(absence_of_metric(&sources, METRIC_minflt, text),
                         "this kernel does not give it for these threads");
        *source = no_reason;
        ck_assert_str_eq(absence_of_metric(&sources, METRIC_rchar, text), "not-requested");
}
END_TEST

static const struct {
        Source source;
        const char *text, *derived;
} allocator_rows[] = {
        { { .state = SOURCE_STATE_OK },
          "not applicable: no thread of this group that could be read uses jemalloc",
          "no allocated_bytes: not applicable: no thread of this group that could be read uses "
          "jemalloc" },
        { { .state = SOURCE_STATE_NOT_APPLICABLE,
            .reason = "no process of this host uses jemalloc" },
          "no process of this host uses jemalloc",
          "no allocated_bytes: no process of this host uses jemalloc" },
        { { .state = SOURCE_STATE_PARTIAL, .reason = "2 threads" },
          "no thread of this group uses jemalloc, or none could be read: 2 threads",
          "no allocated_bytes: no thread of this group uses jemalloc, or none could be read: 2 "
          "threads" },
        { { .state = SOURCE_STATE_UNAVAILABLE, .reason = "run as root" },
          "run as root",
          "no allocated_bytes: run as root" },
        { { .state = SOURCE_STATE_NOT_REQUESTED },
          "not-requested",
          "no allocated_bytes: not-requested" },
};

/* It is never 0: a thread that uses another allocator has not allocated nothing. */
START_TEST(threads_without_the_allocator_have_no_counters) {
        ThreadSample sample = thread_of("p", "t", 1);
        SourceTable sources = {};
        char text[ABSENCE_BYTES];
        Row row;

        sources.sources[SOURCE_JEMALLOC] = allocator_rows[_i].source;
        fold_into(group, 0, &sample);
        row_init(&row, group, 0, METRIC_allocated_bytes, false);
        ck_assert_int_eq(row.values[0].kind, VALUE_ABSENT);
        ck_assert_str_eq(absence_of_value(&row, 0, &sources, text), allocator_rows[_i].text);
        row_init(&row, group, 0, _METRIC_MAX + DERIVED_live_heap_estimate, false);
        ck_assert_int_eq(row.values[0].kind, VALUE_ABSENT);
        ck_assert_str_eq(absence_of_value(&row, 0, &sources, text), allocator_rows[_i].derived);
}
END_TEST

START_TEST(some_with_it_are_enough_for_a_sum) {
        ThreadSample with = thread_of("p", "t", 1), without = thread_of("p", "t", 2);
        Row row;

        thread_sample_put(&with, METRIC_allocated_bytes, 0);
        fold_into(group, 0, &with);
        fold_into(group, 0, &without);
        row_init(&row, group, 0, METRIC_allocated_bytes, false);
        ck_assert_int_ne(row.values[0].kind, VALUE_ABSENT);
        ck_assert_uint_eq(row.present, 1);
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
        fold_into(group, 0, &sample);
        row_init(&row, group, 0, _METRIC_MAX + absence_rows[_i].id, false);
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

        fold_into(group, 0, &sample);
        source->state = SOURCE_STATE_UNAVAILABLE;
        memset(source->reason, 'x', sizeof(source->reason) - 1);
        row_init(&row, group, 0, _METRIC_MAX + DERIVED_total_offcpu_delay_ns, false);
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
        tcase_add_loop_test(reasons, threads_without_the_allocator_have_no_counters, 0,
                            ELEMENTSOF(allocator_rows));
        tcase_add_test(reasons, some_with_it_are_enough_for_a_sum);
        tcase_add_test(reasons, the_longest_reason_fits);
        suite_add_tcase(suite, reasons);
        return check_main(suite);
}
