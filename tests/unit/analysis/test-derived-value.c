/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "analysis/compare/row.h"
#include "thread.h"

#define MAX UINT64_MAX

/* Makes a group whose inputs of @id are @inputs, in registry order. */
static Aggregate *group_with(DerivedId id, const uint64_t *inputs, unsigned n_inputs) {
        ThreadSample sample = thread_of("p", "t", 1);
        Aggregate *aggregate = NULL;

        for (unsigned i = 0; i < n_inputs; i++)
                thread_sample_put(&sample, derived_table[id].inputs[i], inputs[i]);
        ck_assert_int_eq(aggregate_add(&aggregate, &sample), 0);
        return aggregate;
}

static DerivedOutcome derived_of(Aggregate *aggregate, DerivedId id, Value *ret,
                                 MetricId *ret_input) {
        const GroupColumn column = { .ends = { NULL, aggregate } };
        RowValue value = row_value(&column, _METRIC_MAX + id, ROW_WORK, 0);

        *ret = value.value;
        *ret_input = value.input;
        return value.outcome;
}

static const struct {
        DerivedId id;
        uint64_t inputs[DERIVED_MAX_INPUTS];
        double value;
} real_rows[] = {
        { DERIVED_affine_success_ratio, { 3, 4 }, 0.75 },
        { DERIVED_avg_wait_ns, { 1000, 3 }, 1000.0 / 3 },
        { DERIVED_cpu_efficiency, { 30, 10 }, 0.75 },
        { DERIVED_cpu_efficiency, { 0, 10 }, 0 },
        { DERIVED_cpu_efficiency, { MAX, MAX }, 0.5 }, /* the sum needs 65 bits */
        { DERIVED_avg_slice_ns, { 100, 8 }, 12.5 },
        { DERIVED_involuntary_csw_ratio, { 1, 3 }, 0.25 },
        { DERIVED_disk_io_fraction, { 3, 2 }, 1.5 },
        { DERIVED_avg_iowait_ns, { 9, 3 }, 3 },
        { DERIVED_avg_cpu_delay_ns, { 7, 2 }, 3.5 },
        { DERIVED_avg_irq_delay_ns, { MAX, 1 }, 0x1p64 },
};

START_TEST(quotients_are_of_the_group) {
        _cleanup_(aggregate_freep) Aggregate *aggregate = group_with(
                real_rows[_i].id, real_rows[_i].inputs, derived_table[real_rows[_i].id].n_inputs);
        MetricId input;
        Value value;

        ck_assert_int_eq(derived_of(aggregate, real_rows[_i].id, &value, &input), DERIVED_COMPUTED);
        ck_assert_int_eq(value.kind, VALUE_REAL);
        ck_assert_double_eq(value.real, real_rows[_i].value);
}
END_TEST

static const struct {
        DerivedId id;
        uint64_t inputs[DERIVED_MAX_INPUTS];
        Integer value;
} integer_rows[] = {
        { DERIVED_live_heap_estimate, { 10, 4 }, { false, 6 } },
        { DERIVED_live_heap_estimate, { 4, 10 }, { true, 6 } },
        { DERIVED_live_heap_estimate, { 0, 0 }, { false, 0 } },
        { DERIVED_live_heap_estimate, { 0, MAX }, { true, MAX } },
        { DERIVED_live_heap_estimate, { 9007199254740993, 1 }, { false, 9007199254740992 } },
        /* six delays, then the larger of swapin and thrashing */
        { DERIVED_total_offcpu_delay_ns, { 1, 2, 4, 8, 16, 32, 64, 128 }, { false, 191 } },
        { DERIVED_total_offcpu_delay_ns, { 1, 2, 4, 8, 16, 32, 128, 64 }, { false, 191 } },
        { DERIVED_total_offcpu_delay_ns, { 0, 0, 0, 0, 0, 0, 0, 0 }, { false, 0 } },
        { DERIVED_total_offcpu_delay_ns, { MAX, 1, 0, 0, 0, 0, 0, 0 }, { false, MAX } },
};

START_TEST(sums_and_differences_are_exact) {
        _cleanup_(aggregate_freep) Aggregate *aggregate =
                group_with(integer_rows[_i].id, integer_rows[_i].inputs,
                           derived_table[integer_rows[_i].id].n_inputs);
        MetricId input;
        Value value;

        ck_assert_int_eq(derived_of(aggregate, integer_rows[_i].id, &value, &input),
                         DERIVED_COMPUTED);
        ck_assert_int_eq(value.kind, VALUE_INTEGER);
        ck_assert_uint_eq(value.integer.magnitude, integer_rows[_i].value.magnitude);
        ck_assert(value.integer.negative == integer_rows[_i].value.negative);
}
END_TEST

START_TEST(a_difference_of_sums_that_stopped_is_absent) {
        static const uint64_t most[DERIVED_MAX_INPUTS] = { MAX, MAX };
        MetricId stopped = derived_table[DERIVED_live_heap_estimate].inputs[_i], input;
        _cleanup_(aggregate_freep) Aggregate *aggregate =
                group_with(DERIVED_live_heap_estimate, most, 2);
        ThreadSample sample = thread_of("p", "t", 2);
        Row row = { .is_derived = true, .id = DERIVED_live_heap_estimate };
        char text[ABSENCE_BYTES], wanted[ABSENCE_BYTES];
        Value value;

        ck_assert_int_eq(derived_of(aggregate, DERIVED_live_heap_estimate, &value, &input),
                         DERIVED_COMPUTED); /* 2^64-1 itself is exact */
        thread_sample_put(&sample, stopped, 1);
        ck_assert_int_eq(aggregate_add(&aggregate, &sample), 0);
        row.outcomes[0] = derived_of(aggregate, DERIVED_live_heap_estimate, &value, &row.inputs[0]);
        ck_assert_int_ne(row.outcomes[0], DERIVED_COMPUTED);
        ck_assert_int_eq(value.kind, VALUE_ABSENT);
        ck_assert_int_eq(row.inputs[0], stopped);
        (void) snprintf(wanted, sizeof(wanted), "the sum of %s is more than 2^64-1",
                        metric_table[stopped].name);
        ck_assert_str_eq(absence_of_value(&row, 0, NULL, text), wanted);
}
END_TEST

START_TEST(an_absent_input_gives_no_value) {
        for (unsigned n = 0; n < derived_table[_i].n_inputs; n++) {
                static const uint64_t ones[DERIVED_MAX_INPUTS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
                _cleanup_(aggregate_freep) Aggregate *aggregate =
                        group_with((DerivedId) _i, ones, n);
                MetricId input = _METRIC_MAX;
                Value value;

                ck_assert_int_eq(derived_of(aggregate, (DerivedId) _i, &value, &input),
                                 DERIVED_INPUT_ABSENT);
                ck_assert_int_eq(value.kind, VALUE_ABSENT);
                ck_assert_int_eq(input, derived_table[_i].inputs[n]);
        }
}
END_TEST

START_TEST(a_denominator_of_zero_gives_no_value) {
        static const uint64_t zeros[DERIVED_MAX_INPUTS] = { 0 };
        _cleanup_(aggregate_freep) Aggregate *aggregate =
                group_with((DerivedId) _i, zeros, derived_table[_i].n_inputs);
        bool divides = derived_table[_i].formula == DERIVED_FORMULA_QUOTIENT ||
                       derived_table[_i].formula == DERIVED_FORMULA_SHARE;
        MetricId input;
        Value value;

        ck_assert_int_eq(derived_of(aggregate, (DerivedId) _i, &value, &input),
                         divides ? DERIVED_DENOMINATOR_ZERO : DERIVED_COMPUTED);
        ck_assert((value.kind == VALUE_ABSENT) == divides);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("derived-value");
        TCase *values = tcase_create("values");
        TCase *absence = tcase_create("absence");

        tcase_add_loop_test(values, quotients_are_of_the_group, 0, ELEMENTSOF(real_rows));
        tcase_add_loop_test(values, sums_and_differences_are_exact, 0, ELEMENTSOF(integer_rows));
        suite_add_tcase(suite, values);
        tcase_add_loop_test(absence, a_difference_of_sums_that_stopped_is_absent, 0, 2);
        tcase_add_loop_test(absence, an_absent_input_gives_no_value, 0, _DERIVED_MAX);
        tcase_add_loop_test(absence, a_denominator_of_zero_gives_no_value, 0, _DERIVED_MAX);
        suite_add_tcase(suite, absence);
        return check_main(suite);
}
