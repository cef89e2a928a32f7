/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * DerivedValue
 *
 * The derived values of a group, computed from its reduced metrics (not averaged over its threads).
 * Sums and differences stay exact integers; quotients are doubles. If the denominator is 0 or an
 * input is absent there is no value, and the outcome says which.
 */

#include "base/macro.h"
#include "analysis/group/aggregate.h"
#include "analysis/group/value.h"
#include "metric/metric.h"

typedef enum DerivedOutcome {
        DERIVED_COMPUTED,
        DERIVED_INPUT_ABSENT,     /* *ret_input is the first absent input */
        DERIVED_DENOMINATOR_ZERO, /* there was no event to average over */
} DerivedOutcome;

/* *ret is VALUE_ABSENT unless the outcome is DERIVED_COMPUTED. */
DerivedOutcome derived_value(const Aggregate *aggregate, DerivedId id, Value *ret,
                             MetricId *ret_input);
