/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SideSetup
 *
 * What a test says of the sides of a comparison, and the columns that follow from it as from a call
 * of the interface: a window of one boot is one interval, and all else is as many columns as sides.
 */

#include "analysis/compare/comparison.h"

typedef struct SideSetup {
        unsigned n_sides;
        Boots boots;
        uint64_t elapsed_ns, interval_ns;
        KernelDefects defects[SIDES];
        JudgeTime times[SIDES];
        uint64_t interval_of_ns[SIDES]; /* the sides are intervals of that length; 0: snapshots */
        JudgeTime begins[SIDES];        /* of these */
        bool has_ledger[SIDES];         /* of a window under SIDE_AFTER */
        Amount waits_since_ns[SIDES], reasons_since_ns[SIDES];
} SideSetup;

static inline bool side_setup_is_interval(const SideSetup *setup, const View *view) {
        return view->window && setup->n_sides == 2 && setup->boots == BOOTS_SAME;
}

static inline ComparisonSetup side_setup_columns(const SideSetup *setup, const View *view) {
        bool is_interval = side_setup_is_interval(setup, view);
        ComparisonSetup columns = { .n_columns = is_interval ? 1 : setup->n_sides,
                                    .boots = setup->boots,
                                    .elapsed_ns = setup->elapsed_ns,
                                    .interval_ns = is_interval ? 0 : setup->interval_ns };

        for (unsigned i = 0; i < columns.n_columns; i++) {
                unsigned side = is_interval ? SIDE_AFTER : i;

                columns.columns[i] = (ColumnSetup){
                        .has_begin = is_interval || setup->interval_of_ns[side] > 0,
                        .keeps_begin = is_interval,
                        .begin = is_interval ? setup->times[SIDE_BEFORE] : setup->begins[side],
                        .end = setup->times[side],
                        .elapsed_ns = is_interval ? setup->elapsed_ns : setup->interval_of_ns[side],
                        .has_ledger = setup->has_ledger[side],
                        .defects = setup->defects[side],
                        .waits_since_ns = setup->waits_since_ns[side],
                        .reasons_since_ns = setup->reasons_since_ns[side],
                };
        }
        return columns;
}

static inline int side_setup_compare(const View *view, const SideSetup *setup, Comparison **ret) {
        const ComparisonSetup columns = side_setup_columns(setup, view);

        return comparison_new(view, &columns, ret);
}

/* Adds a thread to the groups of @comparison, whichever it is in. */
static inline int side_setup_add(Comparison *comparison, unsigned column,
                                 const ThreadSample *before, const ThreadSample *after) {
        Group *group;

        return column_table_add(&comparison->table, column, before, after, &group);
}
