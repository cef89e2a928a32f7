/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/derived-value.h"

#include "base/number.h"

/*
 * This rounds twice where long double is wider than double, and once where it is not; both are more
 * exact than the digits that are shown.
 */
static Value quotient(uint64_t numerator, long double denominator) {
        return (Value){ .kind = VALUE_REAL,
                        .real = (double) ((long double) numerator / denominator) };
}

/* Adds all but the last two inputs, plus the larger of those two because their waits overlap. */
static Value sum_with_overlap(const uint64_t *inputs, unsigned n) {
        uint64_t sum = MAX_OF(inputs[n - 2], inputs[n - 1]);

        for (unsigned i = 0; i + 2 < n; i++)
                sum = number_add_saturating(sum, inputs[i]);
        return (Value){ .kind = VALUE_INTEGER, .integer = integer_of_u64(sum) };
}

DerivedOutcome derived_value(const Aggregate *aggregate, DerivedId id, Value *ret,
                             MetricId *ret_input) {
        const Derived *derived = &derived_table[id];
        uint64_t inputs[DERIVED_MAX_INPUTS] = {};
        long double denominator;

        *ret = (Value){ .kind = VALUE_ABSENT };
        for (unsigned i = 0; i < derived->n_inputs; i++) {
                if (!aggregate_has(aggregate, derived->inputs[i])) {
                        *ret_input = derived->inputs[i];
                        return DERIVED_INPUT_ABSENT;
                }
                inputs[i] = aggregate_sum(aggregate, derived->inputs[i]);
        }

        switch (derived->formula) {
        case DERIVED_FORMULA_QUOTIENT:
        case DERIVED_FORMULA_SHARE:
                denominator = (long double) inputs[1];
                if (derived->formula == DERIVED_FORMULA_SHARE)
                        denominator += (long double) inputs[0];
                if (!(denominator > 0))
                        return DERIVED_DENOMINATOR_ZERO;
                *ret = quotient(inputs[0], denominator);
                break;
        case DERIVED_FORMULA_DIFFERENCE:
                ret->kind = VALUE_INTEGER;
                ret->integer =
                        integer_subtract(integer_of_u64(inputs[0]), integer_of_u64(inputs[1]));
                break;
        case DERIVED_FORMULA_OFFCPU:
                *ret = sum_with_overlap(inputs, derived->n_inputs);
                break;
        }
        return DERIVED_COMPUTED;
}
