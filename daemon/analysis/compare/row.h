/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Row
 *
 * One metric or derived value of one group: its reduced values and what is to be said about their
 * difference. With one side only values[0] is used and nothing ever changed.
 */

#include <stdbool.h>
#include "analysis/compare/delta.h"
#include "analysis/compare/derived-value.h"
#include "analysis/group/group.h"
#include "analysis/group/value.h"
#include "metric/metric.h"

#define ROW_MAX (_METRIC_MAX + _DERIVED_MAX)

typedef struct Row {
        bool is_derived;
        unsigned id; /* MetricId or DerivedId */
        Value values[SIDES];
        uint32_t present; /* with one side: threads that had it */
        /* Why a derived value is absent. */
        DerivedOutcome outcomes[SIDES];
        MetricId inputs[SIDES];
        /* Both sides, by lives of threads: the group's, which explains more; else NULL. */
        const GroupWindow *window;

        Delta delta;
        bool has_number; /* a delta; with one side, a value that has a number */
        bool changed;    /* the values differ; the winners do, for a mode */
        bool reset;      /* a counter fell though its thread did not go: it was set back */
        double impact;   /* IMPACT_NONE where rows have none */
} Row;

/*
 * @side: the one that is shown, or BOTH_SIDES; it, or both, must have an aggregate.
 * @same_boot: counters that fell in both captures' one boot were reset.
 */
void row_init_metric(Row *row, const Group *group, unsigned side, MetricId id, bool same_boot);
void row_init_derived(Row *row, const Group *group, unsigned side, DerivedId id);

/* Percents: none without a delta, from 0, for ratios and after a reset. */
bool row_percent(const Row *row, double *ret);
/*
 * How far it moved, in percent and without a sign: infinitely far when it grew from 0. False where
 * a row has no percent for any other reason.
 */
bool row_growth(const Row *row, double *ret);
/* Rates: sums only, none after a reset. @elapsed_ns of 0: none. */
bool row_per_second(const Row *row, uint64_t elapsed_ns, double *ret);
