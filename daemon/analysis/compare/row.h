/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Row
 *
 * One metric or derived value of one group: its reduced values and how they differ. With one side
 * only values[0] is used and nothing counts as changed.
 */

#include <stdbool.h>
#include "analysis/compare/delta.h"
#include "analysis/compare/derived-value.h"
#include "analysis/group/group.h"
#include "analysis/group/value.h"
#include "metric/metric.h"
#include "view/view.h"

/* Rows are numbered in registry order: metrics first, then derived values. */
#define ROW_MAX (_METRIC_MAX + _DERIVED_MAX)

static inline unsigned row_index(bool is_derived, unsigned id) {
        return is_derived ? _METRIC_MAX + id : id;
}
const char *row_name(unsigned index);
MetricUnit row_unit(unsigned index);
bool row_is_wanted(const View *view, unsigned index);
/* Taskstats accounting repeats other rows and ranks no groups unless it is named. */
bool row_ranks(unsigned index);

typedef struct Row {
        bool is_derived;
        unsigned id; /* MetricId or DerivedId */
        Value values[SIDES];
        uint32_t present; /* with one side: how many threads have it */
        /* Why a derived value is absent. */
        DerivedOutcome outcomes[SIDES];
        MetricId inputs[SIDES];
        /* The window of the group when both sides are shown; NULL: no window. */
        const GroupWindow *window;

        Delta delta;
        bool has_number; /* has a delta; with one side, a number */
        bool changed;    /* the values differ; of a mode, the winners */
        bool reset;      /* a counter fell although its threads live: it was reset */
        double impact;   /* IMPACT_NONE for rows without impact */
} Row;

/*
 * @side: the side to show, or BOTH_SIDES; the group has it, or both. @same_boot: both captures are
 * of one boot, so a counter that fell was reset.
 */
void row_init_metric(Row *row, const Group *group, unsigned side, MetricId id, bool same_boot);
void row_init_derived(Row *row, const Group *group, unsigned side, DerivedId id);
void row_init(Row *row, const Group *group, unsigned side, unsigned index, bool same_boot);

/* The change in percent. There is none without a delta, from 0, for ratios and after a reset. */
bool row_percent(const Row *row, double *ret);
/*
 * The change in percent without its sign; infinite for growth from 0. False where a row has no
 * percent for any other reason.
 */
bool row_growth(const Row *row, double *ret);
/*
 * The change per second. Only sums have one, but not after a reset, and not when @elapsed_ns is 0.
 */
bool row_per_second(const Row *row, uint64_t elapsed_ns, double *ret);
