/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/row.h"

#include <math.h>

#include "base/macro.h"

const char *row_name(unsigned index) {
        return index < _METRIC_MAX ? metric_table[index].name
                                   : derived_table[index - _METRIC_MAX].name;
}

MetricUnit row_unit(unsigned index) {
        return index < _METRIC_MAX ? metric_table[index].unit
                                   : derived_table[index - _METRIC_MAX].unit;
}

bool row_is_wanted(const View *view, unsigned index) {
        return index < _METRIC_MAX ? view_wants_metric(view, (MetricId) index)
                                   : view_wants_derived(view, (DerivedId) (index - _METRIC_MAX));
}

bool row_ranks(unsigned index) {
        return index >= _METRIC_MAX ||
               metric_table[index].section != METRIC_SECTION_TASKSTATS_ACCOUNTING;
}

/* Derives delta, number and change from the values. */
static void init_number(Row *row, unsigned side) {
        if (side != BOTH_SIDES) {
                row->has_number = value_has_number(&row->values[0]);
                return;
        }
        row->delta = delta_between(&row->values[0], &row->values[1]);
        row->has_number = row->delta.kind != DELTA_NONE;
        row->changed = !value_equal(&row->values[0], &row->values[1]);
}

/*
 * In one boot, a sum over the same threads with as many values can only grow. If a thread lost a
 * value while another gained one this also looks like a reset, but that takes a race in the reader.
 */
static bool is_reset(const Row *row, const Group *group, MetricId id) {
        if (row->window) /* each thread was checked by itself */
                return group_window_fell(row->window, id);
        return metric_table[id].shape == METRIC_SHAPE_SUM && row->delta.kind == DELTA_INTEGER &&
               row->delta.integer.negative && group_survived(group) &&
               group->sides[0]->present[id] == group->sides[1]->present[id];
}

void row_init_metric(Row *row, const Group *group, unsigned side, MetricId id, bool same_boot) {
        *row = (Row){ .id = id };
        if (side == BOTH_SIDES) {
                row->window = group->window;
                for (unsigned i = 0; i < SIDES; i++)
                        row->values[i] = aggregate_value(group->sides[i], id);
        } else {
                row->values[0] = aggregate_value(group->sides[side], id);
                row->present = group->sides[side]->present[id];
        }
        init_number(row, side);
        row->reset = same_boot && is_reset(row, group, id);
}

void row_init_derived(Row *row, const Group *group, unsigned side, DerivedId id) {
        *row = (Row){ .is_derived = true, .id = id };
        row->window = side == BOTH_SIDES ? group->window : NULL;
        for (unsigned i = 0; i < (side == BOTH_SIDES ? SIDES : 1); i++)
                row->outcomes[i] = derived_value(group->sides[side == BOTH_SIDES ? i : side], id,
                                                 &row->values[i], &row->inputs[i]);
        init_number(row, side);
}

void row_init(Row *row, const Group *group, unsigned side, unsigned index, bool same_boot) {
        if (index < _METRIC_MAX)
                row_init_metric(row, group, side, (MetricId) index, same_boot);
        else
                row_init_derived(row, group, side, (DerivedId) (index - _METRIC_MAX));
}

bool row_percent(const Row *row, double *ret) {
        if (row->reset || (row->is_derived && derived_table[row->id].unit == METRIC_UNIT_RATIO))
                return false;
        return delta_percent(&row->delta, &row->values[0], ret);
}

bool row_growth(const Row *row, double *ret) {
        if (row_percent(row, ret)) {
                *ret = fabs(*ret);
                return true;
        }
        if (row->reset || row->delta.kind == DELTA_NONE ||
            (row->is_derived && derived_table[row->id].unit == METRIC_UNIT_RATIO) ||
            fabs(value_number(&row->values[0])) > 0)
                return false;
        *ret = fabs(delta_number(&row->delta)) > 0 ? INFINITY : 0;
        return true;
}

bool row_per_second(const Row *row, uint64_t elapsed_ns, double *ret) {
        if (row->is_derived || metric_table[row->id].shape != METRIC_SHAPE_SUM || row->reset ||
            row->delta.kind == DELTA_NONE || elapsed_ns == 0)
                return false;
        *ret = delta_number(&row->delta) * (double) NSEC_PER_SEC / (double) elapsed_ns;
        return true;
}
