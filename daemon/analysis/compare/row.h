/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Row
 *
 * One metric or derived value of one group: its reduced values and how they differ. With one side
 * only values[0] is used and nothing counts as changed.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "analysis/group/value.h"
#include "analysis/group/group.h"
#include "metric/kernel-defect.h"
#include "metric/metric.h"
#include "view/view.h"
#include "analysis/group/aggregate.h"
#include "snapshot/source.h"

/*
 * The derived values of a group, computed from its reduced metrics (not averaged over its threads).
 * Sums and differences stay exact integers; quotients are doubles. If the denominator is 0 or an
 * input is absent there is no value, and the outcome says which.
 */
typedef enum DerivedOutcome {
        DERIVED_COMPUTED,
        DERIVED_INPUT_ABSENT,     /* the input is the first absent one, or the first that fell */
        DERIVED_DENOMINATOR_ZERO, /* there was no event to average over */
        DERIVED_INPUT_SATURATED,  /* of a difference: the input is more than 2^64-1 */
} DerivedOutcome;

/* Rows are numbered in registry order: metrics first, then derived values. */
#define ROW_MAX (_METRIC_MAX + _DERIVED_MAX)

const char *row_name(unsigned index);
MetricUnit row_unit(unsigned index);
/* True if its value is a rate in an interval, as it grows with what threads do. */
bool row_has_rate(unsigned index);
bool row_is_wanted(const View *view, unsigned index);
/* Taskstats accounting repeats other rows and ranks no groups unless it is named. */
bool row_ranks(unsigned index);

/* The kind of value that a row takes from the account of a column. */
typedef enum RowTerm {
        ROW_BEGIN, /* what threads had at an end of an interval whose begin is kept, */
        ROW_END,   /* sums of whole lives among it */
        ROW_WORK,  /* sums are what was done; without a begin in whole lives */
        /*
         * Likewise, a second, and absent where one fell or @elapsed_ns is 0. Sums of whole lives
         * that have no rate, and their differences, are levels at the end, such as the heap in use.
         */
        ROW_RATE,
} RowTerm;

/* The value of one row of one column. */
typedef struct RowValue {
        Value value;
        uint32_t present; /* of a metric: threads that have it */
        bool is_rate;     /* a second */
        bool limited;     /* the sum, or one that the value is derived from, is at its limit */
        /* Why a derived value is absent. */
        DerivedOutcome outcome;
        MetricId input;
} RowValue;

/* @of has a thread at that end. @elapsed_ns: of ROW_RATE, how long the column is. */
RowValue row_value(const GroupColumn *of, unsigned index, RowTerm term, uint64_t elapsed_ns);

typedef struct Row {
        unsigned index;
        bool is_derived;
        unsigned id; /* MetricId or DerivedId */
        Value values[SIDES];
        uint32_t present; /* with one side: how many threads have it */
        /* Why a derived value is absent. */
        DerivedOutcome outcomes[SIDES];
        MetricId inputs[SIDES];
        /* Both ends of this interval are shown; NULL: they are not. */
        const GroupColumn *interval;
        /* The two intervals that are shown, whose sums are the work done; NULL: there are none. */
        const GroupColumn *works[SIDES];
        /* The threads that ended in an interval, by the same index; NULL: none is known. */
        const GroupExited *exited[SIDES];
        bool has_no_thread[SIDES]; /* none is there: all ended, or none was born yet */
        bool is_rate;              /* the values are per second */
        /* The doubts of the threads of each side; NULL: none of their values is in doubt. */
        const Doubts *doubts[SIDES];

        Delta delta;
        bool has_number; /* has a delta; with one side, a number; never for what is momentary */
        /*
         * The values differ; of a mode, the winners. A peak or minimum in an interval has changed
         * if it moved inside: the values also differ because threads ended. Then the values are
         * those of the threads whose peak or minimum moved, and of no other. A value at its limit
         * is not known to be unchanged.
         */
        bool changed;
        bool has_inside; /* it is a peak or a minimum in an interval */
        bool inside;     /* of those: column_moved() */
        /* The sum, or one that the value is derived from, is at its limit: 2^64-1 or more. */
        bool limited[SIDES];
        bool refuted;     /* the values contradict each other (group_refutes_growth()): no delta */
        bool reset;       /* a counter fell although its threads live: it was reset */
        double impact;    /* IMPACT_NONE for rows without impact */
        bool significant; /* of sets: by its test */
        /* By these order_rows() sorts. */
        unsigned block;
        double order;
} Row;

/*
 * In two intervals the values are rates (ROW_RATE).
 *
 * @side: the side to show, or BOTH_SIDES; the group has it, or both. @in_order: both captures
 * are of one boot and the second is the later one, so a counter that fell was reset.
 */
void row_init(Row *row, const Group *group, unsigned side, unsigned index, bool in_order);

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

/*
 * Explains in words why a value is missing: what the capture said about the source that would have
 * it, that the value does not apply, or which input of a derived value is missing.
 */
#define ABSENCE_BYTES (SOURCE_REASON_BYTES + 128)

/* Why a quotient has no value: which of its inputs are 0. */
void derived_format_zero(const Derived *derived, char ret_text[static ABSENCE_BYTES]);
/* @sources of the side; NULL when its file records none. @ret_text: room for it. */
const char *absence_of_metric(const SourceTable *sources, MetricId id,
                              char ret_text[static ABSENCE_BYTES]);
/* Explains values[@index] of @row, which must be absent. Returns @ret_text. */
const char *absence_of_value(const Row *row, unsigned index, const SourceTable *sources,
                             char ret_text[static ABSENCE_BYTES]);

/*
 * Says why values[@index], which is present, is only approximate: because its sum is at its limit,
 * because of what is wrong with the kernel, because a total was corrected (judge.h), or because
 * threads ended under other names than they had before (group-exited.h). Returns @ret_text, or NULL
 * if it is exact.
 */
const char *approximation_of_value(const Row *row, unsigned index, KernelDefects defects,
                                   char ret_text[static ABSENCE_BYTES]);

#define JOINED_BYTES (3 * ABSENCE_BYTES + 64)
/*
 * Writes "before: ...; after: ..." of the @reasons of both sides, or one of them, or "before and
 * after: ..." once what both say; a side without one has NULL. @names: of the sides. Returns false
 * and writes nothing of use if neither has a reason.
 */
bool sides_join(const char *const names[static SIDES], const char *const reasons[static SIDES],
                char ret_text[static JOINED_BYTES]);

/* It says this of a sum at its limit, which also is why there is no delta. */
#define ROW_AT_ITS_LIMIT "at its limit: 2^64-1 or more"
