/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-comparison.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "analysis/compare/column-table.h"
#include "analysis/set/rank-test.h"
#include "analysis/set/set-family.h"
#include "analysis/set/set-group.h"
#include "analysis/set/set-json.h"
#include "analysis/set/set-order.h"

struct SetComparison {
        View view;
        ColumnTable table; /* its column is the capture that is being read */
        SetRowList list;
        SetGroup **groups; /* owned; in the order of the table's */
        size_t n_groups, n_allocated;
        size_t n_captures, n_begun;
        uint64_t ledgers;   /* captures whose windows have one */
        uint64_t unplaced;  /* of these, those whose rows have no cgroups */
        SetCapture capture; /* being read */
        double windows_ns;  /* total length */
        size_t n_windows;

        /* after finish */
        SetFamily family;
        const SourceTable *sources[SIDES]; /* borrowed */
        SetGroup **shown;                  /* owned; the groups are borrowed */
        size_t n_shown;
        SetFigures figures;
};

int set_comparison_new(const View *view, size_t n_captures, double alpha, SetComparison **ret) {
        _cleanup_(set_comparison_freep) SetComparison *comparison = calloc(1, sizeof(*comparison));
        int r;

        assert(n_captures > 0 && n_captures <= SET_MAX_CAPTURES);
        if (!comparison)
                return -ENOMEM;
        comparison->view = *view;
        comparison->n_captures = n_captures;
        set_row_list_init(&comparison->list, &comparison->view);
        comparison->family = (SetFamily){
                .view = &comparison->view,
                .list = &comparison->list,
                .alpha = alpha,
        };
        r = column_table_init(&comparison->table, &comparison->view, 1, BOOTS_UNKNOWN);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(comparison);
        return 0;
}

SetComparison *set_comparison_free(SetComparison *comparison) {
        if (!comparison)
                return NULL;
        free(comparison->family.tests);
        for (size_t i = 0; i < comparison->n_groups; i++)
                set_group_free(comparison->groups[i], &comparison->list);
        free(comparison->groups);
        free(comparison->shown);
        column_table_done(&comparison->table);
        free(comparison);
        return NULL;
}

/* input */

bool set_comparison_wants_census(const SetComparison *comparison) {
        return thread_groups_want_census(&comparison->table.threads);
}

int set_comparison_census(SetComparison *comparison, const ThreadSample *sample) {
        return thread_groups_census(&comparison->table.threads, sample);
}

bool set_comparison_wants_cgroups(SetComparison *comparison) {
        return thread_groups_want_cgroups(&comparison->table.threads);
}

int set_comparison_census_cgroup(SetComparison *comparison, Span path) {
        return thread_groups_census_cgroup(&comparison->table.threads, path);
}

void set_comparison_set_host(SetComparison *comparison, unsigned side, const HostUse *host) {
        comparison->family.hosts[side] = *host;
}

void set_comparison_begin(SetComparison *comparison, const SetCapture *capture) {
        assert(comparison->n_begun < comparison->n_captures && capture->side < SIDES);
        comparison->capture = *capture;
        column_table_begin(&comparison->table, 0, &capture->column);
        comparison->family.sides[capture->side] |= UINT64_C(1) << comparison->n_begun;
        comparison->family.defects[capture->side] |= capture->column.defects;
        comparison->n_begun++;
        if (capture->column.elapsed_ns > 0) {
                comparison->windows_ns += (double) capture->column.elapsed_ns;
                comparison->n_windows++;
        }
}

/* Makes the SetGroup of each group of the table that has none yet: both have the same numbers. */
static int make_groups(SetComparison *comparison) {
        const GroupTable *table = &comparison->table.threads.table;
        int r = ARRAY_RESERVE(comparison->groups, comparison->n_allocated, table->n_groups);

        while (r == 0 && comparison->n_groups < table->n_groups) {
                r = set_group_new(table->groups[comparison->n_groups], &comparison->list,
                                  &comparison->groups[comparison->n_groups]);
                comparison->n_groups += r == 0;
        }
        return r;
}

int set_comparison_add_ended(SetComparison *comparison, Side end, const DeadRow *row) {
        assert(comparison->capture.column.has_ledger);
        return column_table_add_ended(&comparison->table, 0, end, row);
}

int set_comparison_add(SetComparison *comparison, const ThreadSample *before,
                       const ThreadSample *after) {
        const SetCapture *capture = &comparison->capture;
        Group *group;
        int r;

        if (!after && !capture->column.has_ledger)
                return 0;
        r = column_table_add(&comparison->table, 0, before, after, &group);
        if (r != 0 || !group || !after)
                return r;
        /* The samples of a thread that an earlier capture has, too, are not independent. */
        if (!(before && !capture->is_interval) &&
            !(capture->has_earlier && after->start_ticks <= capture->earlier_ticks))
                return 0;
        r = make_groups(comparison);
        if (r == 0)
                comparison->groups[group->index]->lives_on = true;
        return r;
}

void set_comparison_lose_names(SetComparison *comparison) {
        comparison->table.columns.of[0].lost_names = true;
}

int set_comparison_end(SetComparison *comparison) {
        const Column *column = &comparison->table.columns.of[0];
        uint64_t bit = UINT64_C(1) << (comparison->n_begun - 1);
        int r;

        if (column->setup.has_ledger && !column->lost_names) {
                comparison->ledgers |= bit;
                if (column_table_place_gone(&comparison->table, 0))
                        comparison->unplaced |= bit;
        }
        r = column_table_settle(&comparison->table, 0);
        if (r == 0)
                r = make_groups(comparison);
        for (size_t i = 0; i < comparison->n_groups && r == 0; i++)
                r = set_group_take(comparison->groups[i], &comparison->list, column,
                                   comparison->capture.side, comparison->n_captures,
                                   comparison->n_begun - 1);
        return r;
}

/* the end */

static int choose_groups(SetComparison *comparison) {
        const SetFamily *family = &comparison->family;
        const SetRowList *list = &comparison->list;
        const View *view = &comparison->view;
        SetFigures *figures = &comparison->figures;
        bool hides_rows = view->changed_only || view->has_threshold;
        size_t slots[ROW_MAX], n_left = 0, limit = view->limit;
        int r;

        comparison->shown = calloc(comparison->n_groups + 1, sizeof(SetGroup *));
        if (!comparison->shown)
                return -ENOMEM;
        for (size_t i = 0; i < comparison->n_groups; i++) {
                SetGroup *group = comparison->groups[i];
                bool has_side[SIDES];

                /* A ledger also tells of threads that ended before all captures. */
                if (!group->threads.present || !group_passes(group->group, view))
                        continue;
                figures->n_matched++;
                for (unsigned side = 0; side < SIDES; side++) {
                        has_side[side] = group->threads.present & family->sides[side];
                        figures->n_only[1 - side] += !has_side[side];
                }
                /*
                 * Groups that no test can say anything about are shown by their weight alone: those
                 * of one side, and all of them where the samples are too few for any test. A
                 * threshold wants rows that moved.
                 */
                if (!hides_rows || set_order_rows(family, group, slots) > 0 ||
                    (!view->has_threshold &&
                     (!figures->could_succeed || !has_side[0] || !has_side[1])))
                        comparison->shown[n_left++] = group;
                else
                        figures->n_hidden_rows += list->n_wanted;
        }
        r = set_order_groups(family, comparison->shown, n_left);
        if (r != 0)
                return r;
        comparison->n_shown = limit > 0 ? MIN_OF(limit, n_left) : n_left;
        figures->n_hidden_groups = n_left - comparison->n_shown;
        for (size_t i = 0; i < n_left; i++) {
                const SetGroup *group = comparison->shown[i];

                if (i < comparison->n_shown) {
                        member_list_sort(&group->group->members);
                        member_list_sort(&group->group->commands);
                        if (hides_rows)
                                figures->n_hidden_rows +=
                                        list->n_wanted - set_order_rows(family, group, slots);
                }
                for (size_t slot = 0; view->has_threshold && slot < list->n_slots; slot++) {
                        SetRowView row;

                        if (!list->wanted[slot] || group->rows[slot].test == 0)
                                continue;
                        set_family_view(family, group, slot, &row);
                        figures->n_above_threshold += set_family_is_above(family, &row);
                }
        }
        return 0;
}

int set_comparison_finish(SetComparison *comparison,
                          const SourceTable *const sources[static SIDES]) {
        SetFamily *family = &comparison->family;
        SetFigures *figures = &comparison->figures;
        size_t n_able;
        int r;

        assert(comparison->n_begun == comparison->n_captures);
        for (unsigned side = 0; side < SIDES; side++)
                comparison->sources[side] = sources[side];
        if (comparison->n_windows > 0)
                family->window_ns = comparison->windows_ns / (double) comparison->n_windows;
        /* A group may be found in the last capture only, so this waits for all of them. */
        for (size_t i = 0; i < comparison->n_groups; i++) {
                SetGroup *group = comparison->groups[i];
                uint64_t captures = comparison->ledgers;

                if (group_is_placed(group->group, comparison->view.axis))
                        captures &= ~comparison->unplaced;
                for (unsigned side = 0; side < SIDES; side++) {
                        r = set_group_take_nothing(group, &comparison->list, family->sides[side],
                                                   captures, comparison->n_captures);
                        if (r != 0)
                                return r;
                }
        }
        r = set_family_test(family, comparison->groups, comparison->n_groups);
        if (r != 0)
                return r;
        n_able = family->n_able;
        figures->n_tested = family->n_family;
        figures->n_significant = family->n_significant;
        figures->least_p = family->least_p;
        figures->could_succeed = family->n_significant > 0 ||
                                 (family->n_family > 0 &&
                                  family->least_p * (double) family->n_family < family->alpha);
        if (family->n_short > 0 ||
            (n_able > 0 && !(family->least_p * (double) n_able < family->alpha)))
                figures->n_needed = rank_test_enough(n_able + family->n_short, family->alpha);
        return choose_groups(comparison);
}

/* output */

const SetFigures *set_comparison_figures(const SetComparison *comparison) {
        return &comparison->figures;
}

size_t set_comparison_n(const SetComparison *comparison) {
        return comparison->n_shown;
}

void set_comparison_write(const SetComparison *comparison, size_t index, JsonWriter *writer) {
        assert(index < comparison->n_shown);
        set_group_write_json(writer, &comparison->family, comparison->sources,
                             comparison->shown[index]);
}
