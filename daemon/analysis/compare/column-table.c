/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/column-table.h"

#include <string.h>

#include "base/index.h"

int column_table_init(ColumnTable *table, const View *view, unsigned n_columns, Boots boots) {
        table->view = view;
        table->columns.n = n_columns;
        table->threads.view = view;
        table->threads.table.columns = &table->columns;
        thread_keys_init(&table->threads.keys, view, boots);
        return 0;
}

void column_table_done(ColumnTable *table) {
        pairing_free(table->pairing);
        name_set_done(&table->spread_names.set);
        group_table_done(&table->threads.table);
        thread_keys_done(&table->threads.keys);
}

void column_table_begin(ColumnTable *table, unsigned column, const ColumnSetup *setup) {
        Columns *columns = &table->columns;
        Column *begun = &columns->of[column];

        *begun = (Column){
                .setup = *setup,
                .period = period_of(setup->has_begin ? &setup->begin : NULL, &setup->end),
                .life_seed = hash_seed(),
                .spread_names = table->covers && table->view->spread ? &table->spread_names : NULL,
                .by_process = table->view->axis == VIEW_AXIS_PCOMM,
                .finds_excess = table->covers,
        };
        columns->are_ends = columns->n == 1 && begun->setup.keeps_begin;
        columns->are_intervals = columns->n == SIDES && begun->setup.has_begin;
        columns->n_sides = columns->are_ends ? SIDES : columns->n;
        for (unsigned side = 0; side < SIDES; side++)
                columns->sides[side] = columns->are_ends   ? (ColumnSide){ 0, (Side) side }
                                       : side < columns->n ? (ColumnSide){ side, SIDE_AFTER }
                                                           : (ColumnSide){ 0, SIDE_BEFORE };
        if (columns->are_intervals)
                columns->scale_ns = MAX_OF(columns->scale_ns, setup->elapsed_ns);
}

int column_table_add(ColumnTable *table, unsigned index, const ThreadSample *before,
                     const ThreadSample *after, Group **ret) {
        Column *column = &table->columns.of[index];
        bool are_ends = table->columns.are_ends;
        bool is_told_of = !after && column->setup.has_ledger; /* its end is, by a row */
        ThreadSample room;
        Span cgroup;
        int r;

        *ret = NULL;
        if (!before && after && column->setup.has_begin &&
            period_overlooked(&column->period, after)) {
                room = *after;
                memset(room.present, 0, sizeof(room.present));
                memset(room.implausible, 0, sizeof(room.implausible));
                memset(room.corrected, 0, sizeof(room.corrected));
                before = &room;
        }
        if (table->covers && column->setup.has_begin) {
                coverage_add(&table->coverages[index], before, after);
                if (is_told_of)
                        group_exited_add_vanished(&column->ended, &column->period, before);
        }
        /* A thread that was ctprof's own in one snapshot is left out of both. */
        if ((before && thread_is_left_out(table->view, before)) ||
            (after && thread_is_left_out(table->view, after)))
                return 0;
        if (is_told_of) {
                r = thread_groups_obtain_exited(&table->threads, before, 0, ret);
                if (r == 0)
                        r = thread_groups_note_unplaced(&table->threads, before, *ret);
                vanished_peaks_add(&column->vanished_peaks, before);
        } else {
                r = thread_groups_obtain(&table->threads,
                                         !are_ends ? (Side) index
                                         : after   ? SIDE_AFTER
                                                   : SIDE_BEFORE,
                                         after ? after : before, ret);
        }
        if (r == 0 && table->pairing) {
                cgroup = group_names(*ret, table->view->axis).cgroup;
                if (before && are_ends)
                        r = pairing_add(table->pairing, cgroup, SIDE_BEFORE, before);
                if (r == 0 && after)
                        r = pairing_add(table->pairing, cgroup, are_ends ? SIDE_AFTER : index,
                                        after);
        }
        return r == 0 ? column_add(column, &(*ret)->of[index], before, after) : r;
}

int column_table_add_ended(ColumnTable *table, unsigned index, Side end, const ExitedRow *row) {
        Column *column = &table->columns.of[index];
        uint64_t n = end == SIDE_AFTER ? row->exits : -row->exits;
        Group *group;
        int r;

        if (table->covers) {
                coverage_add_exited(&table->coverages[index], end, row);
                group_exited_add_row(&column->ended, end, row);
        }
        column->places.has_row = true;
        column->places.has_cgroup = column->places.has_cgroup || row->sample.cgroup.n > 0;
        if (thread_is_left_out(table->view, &row->sample))
                return 0;
        column->n_exits += n;
        r = thread_groups_obtain_exited(&table->threads, &row->sample, n, &group);
        return r == 0 ? column_add_ended(&group->of[index], end, row) : r;
}

bool column_table_place_vanished(ColumnTable *table, unsigned index) {
        GroupTable *groups = &table->threads.table;
        const Column *column = &table->columns.of[index];

        if (!column->setup.has_ledger || !column->places.has_row || column->places.has_cgroup)
                return false;
        for (size_t i = 0; i < groups->n_groups; i++)
                if (groups->groups[i]->unplaced)
                        group_exited_adopt(&groups->groups[i]->unplaced->of[index].exited,
                                           &groups->groups[i]->of[index].exited);
        return true;
}

int column_table_settle(ColumnTable *table, unsigned index) {
        GroupTable *groups = &table->threads.table;
        Column *column = &table->columns.of[index];
        bool lacks_places =
                column->setup.has_ledger && column->places.has_row && !column->places.has_cgroup;
        LifeCounts *lives = &column->lives;
        uint64_t n_short_lived;
        int r = 0;

        for (size_t i = 0; i < groups->n_groups && r == 0; i++) {
                Group *group = groups->groups[i];
                bool tells = column->setup.has_ledger && !column->lost_names &&
                             !(lacks_places && group_is_placed(group, table->view->axis));

                if (group->of[index].work) {
                        lives->survived += group->of[index].work->lives.survived;
                        lives->born += group->of[index].work->lives.born;
                        lives->vanished += group->of[index].work->lives.vanished;
                }
                r = column_settle(column, &group->of[index], tells);
        }
        /* Fewer exits than threads are gone is what no ledger says that knows them all. */
        n_short_lived = column->n_exits - lives->vanished;
        if (column->setup.has_ledger && (int64_t) n_short_lived >= 0) {
                lives->exits = amount_of(column->n_exits);
                lives->short_lived = amount_of(n_short_lived);
        }
        return r;
}
