/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdint.h>
#include <string.h>

#include "base/macro.h"
#include "snapshot/thread-sample.h"

START_TEST(a_cleared_sample_has_nothing) {
        ThreadSample sample;

        memset(&sample, 0xff, sizeof(sample));
        thread_sample_clear(&sample);
        ck_assert(!thread_sample_has(&sample, (MetricId) _i));
        ck_assert_ptr_null(sample.comm.bytes);
        ck_assert(!sample.has_ppid && !sample.has_owner && !sample.has_kthread && !sample.has_exe);
        ck_assert(!sample.self);
}
END_TEST

START_TEST(a_value_put_is_the_value_got_and_no_other) {
        ThreadSample sample;

        thread_sample_clear(&sample);
        thread_sample_put(&sample, (MetricId) _i, UINT64_MAX - (unsigned) _i);
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                ck_assert_int_eq(thread_sample_has(&sample, (MetricId) id), id == (unsigned) _i);
        ck_assert_uint_eq(thread_sample_get(&sample, (MetricId) _i), UINT64_MAX - (unsigned) _i);
        thread_sample_drop(&sample, (MetricId) _i);
        ck_assert(!thread_sample_has(&sample, (MetricId) _i));
}
END_TEST

static const struct {
        int64_t policy;
        const char *name;
} policy_rows[] = {
        { 0, "SCHED_OTHER" },
        { 1, "SCHED_FIFO" },
        { 2, "SCHED_RR" },
        { 3, "SCHED_BATCH" },
        { 4, "SCHED_UNKNOWN(4)" },
        { 5, "SCHED_IDLE" },
        { 6, "SCHED_DEADLINE" },
        { 7, "SCHED_EXT" },
        { 99, "SCHED_UNKNOWN(99)" },
        { -1, "SCHED_UNKNOWN(-1)" },
        { INT32_MAX, "SCHED_UNKNOWN(2147483647)" },
        { INT32_MIN, "SCHED_UNKNOWN(-2147483648)" },
};

START_TEST(policies_have_names_and_names_policies) {
        char name[POLICY_NAME_CHARS];
        int64_t policy;
        size_t n = policy_format(policy_rows[_i].policy, name);

        ck_assert(span_is((Span){ name, n }, policy_rows[_i].name));
        ck_assert(policy_parse(span_of(policy_rows[_i].name), &policy));
        ck_assert_int_eq(policy, policy_rows[_i].policy);
}
END_TEST

START_TEST(the_longest_policy_fits) {
        char name[POLICY_NAME_CHARS];

        ck_assert_uint_le(policy_format(INT64_MIN, name), sizeof(name));
        ck_assert_uint_le(policy_format(INT64_MAX, name), sizeof(name));
}
END_TEST

START_TEST(other_words_are_no_policies) {
        static const char *const rows[] = {
                "",
                "SCHED_",
                "sched_other",
                "SCHED_OTHER ",
                "SCHED_UNKNOWN",
                "SCHED_UNKNOWN(",
                "SCHED_UNKNOWN()",
                "SCHED_UNKNOWN(1",
                "SCHED_UNKNOWN(x)",
                "SCHED_UNKNOWN(+1)",
        };
        int64_t policy = 4711;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                ck_assert_msg(!policy_parse(span_of(rows[i]), &policy), "%s", rows[i]);
        ck_assert_int_eq(policy, 4711);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("thread-sample");
        TCase *values = tcase_create("values"), *policy = tcase_create("policy");

        tcase_add_loop_test(values, a_cleared_sample_has_nothing, 0, _METRIC_MAX);
        tcase_add_loop_test(values, a_value_put_is_the_value_got_and_no_other, 0, _METRIC_MAX);
        suite_add_tcase(suite, values);
        tcase_add_loop_test(policy, policies_have_names_and_names_policies, 0,
                            ELEMENTSOF(policy_rows));
        tcase_add_test(policy, the_longest_policy_fits);
        tcase_add_test(policy, other_words_are_no_policies);
        suite_add_tcase(suite, policy);
        return check_main(suite);
}
