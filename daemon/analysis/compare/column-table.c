/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/column-table.h"

int column_table_init(ColumnTable *table, const View *view, unsigned n_columns, Boots boots) {
        int r = thread_groups_init(&table->threads, view, boots);

        table->view = view;
        table->columns.n = n_columns;
        table->threads.table.columns = &table->columns;
        return r;
}

void column_table_done(ColumnTable *table) {
        pairing_free(table->pairing);
        spread_names_free(table->spread_names);
        thread_groups_done(&table->threads);
}

void column_table_begin(ColumnTable *table, unsigned column, const ColumnSetup *setup) {
        Column *begun = &table->columns.of[column];

        column_init(begun, setup);
        begun->spread_names = table->spread_names;
        begun->by_process = table->view->axis == VIEW_AXIS_PCOMM;
        begun->finds_excess = table->covers;
}

/* A thread that ended is one of those that the ledger tells of, if there is one. */
static int obtain_group(ColumnTable *table, unsigned index, const ThreadSample *before,
                        const ThreadSample *after, Group **ret) {
        Column *column = &table->columns.of[index];
        Side names = (Side) index;
        int r;

        if (!after && column->setup.has_ledger) {
                r = thread_groups_obtain_dead(&table->threads, before, 0, ret);
                if (r == 0)
                        r = thread_groups_note_unplaced(&table->threads, before, *ret);
                if (r == 0)
                        r = column_add_gone(column, &(*ret)->of[index], before);
                gone_peaks_add(&column->gone_peaks, before);
                return r;
        }
        if (columns_are_ends(&table->columns))
                names = after ? SIDE_AFTER : SIDE_BEFORE;
        return thread_groups_obtain(&table->threads, names, after ? after : before, ret);
}

/* Notes on which side the cgroup of a group has the thread. */
static int note_kind(ColumnTable *table, const Group *group, unsigned index,
                     const ThreadSample *before, const ThreadSample *after) {
        Span cgroup = group_names(group, table->view->axis).cgroup;
        bool are_ends = columns_are_ends(&table->columns);
        int r = 0;

        if (before && are_ends)
                r = pairing_add(table->pairing, cgroup, SIDE_BEFORE, before);
        if (r == 0 && after)
                r = pairing_add(table->pairing, cgroup, are_ends ? SIDE_AFTER : index, after);
        return r;
}

int column_table_add(ColumnTable *table, unsigned index, const ThreadSample *before,
                     const ThreadSample *after, Group **ret) {
        Column *column = &table->columns.of[index];
        ThreadSample room;
        int r;

        *ret = NULL;
        before = column_earlier(column, before, after, &room);
        if (table->covers && column->setup.has_begin) {
                coverage_add(&table->coverages[index], before, after);
                if (!after && column->setup.has_ledger)
                        group_dead_add_gone(&column->ended, &column->period, before);
        }
        /* A thread that was ctprof's own in one snapshot is left out of both. */
        if ((before && thread_is_left_out(table->view, before)) ||
            (after && thread_is_left_out(table->view, after)))
                return 0;
        r = obtain_group(table, index, before, after, ret);
        if (r == 0 && table->pairing)
                r = note_kind(table, *ret, index, before, after);
        if (r == 0)
                r = column_add(column, &(*ret)->of[index], before, after);
        if (r == 0 && column->setup.has_begin)
                life_counts_add(&column->lives, before, after);
        return r;
}

int column_table_add_ended(ColumnTable *table, unsigned index, Side end, const DeadRow *row) {
        Column *column = &table->columns.of[index];
        uint64_t n = end == SIDE_AFTER ? row->exits : -row->exits;
        Group *group;
        int r;

        if (table->covers) {
                coverage_add_dead(&table->coverages[index], end, row);
                group_dead_add_row(&column->ended, end, row);
        }
        ledger_places_note(&column->places, row);
        if (thread_is_left_out(table->view, &row->sample))
                return 0;
        column->n_exits += n;
        r = thread_groups_obtain_dead(&table->threads, &row->sample, n, &group);
        return r == 0 ? column_add_ended(&group->of[index], end, row) : r;
}

static bool lacks_places(const Column *column) {
        return column->setup.has_ledger && ledger_lacks_places(&column->places);
}

bool column_table_place_gone(ColumnTable *table, unsigned index) {
        GroupTable *groups = &table->threads.table;

        if (!lacks_places(&table->columns.of[index]))
                return false;
        for (size_t i = 0; i < groups->n_groups; i++)
                if (groups->groups[i]->unplaced)
                        group_dead_adopt(&groups->groups[i]->unplaced->of[index].dead,
                                         &groups->groups[i]->of[index].dead);
        return true;
}

/* The ledger tells which threads of the group ended. */
static bool is_told_of(const ColumnTable *table, const Column *column, const Group *group) {
        return column->setup.has_ledger && !column->lost_names &&
               !(lacks_places(column) && group_is_placed(group, table->view->axis));
}

int column_table_settle(ColumnTable *table, unsigned index) {
        GroupTable *groups = &table->threads.table;
        Column *column = &table->columns.of[index];
        int r = 0;

        for (size_t i = 0; i < groups->n_groups && r == 0; i++)
                r = column_settle(column, &groups->groups[i]->of[index],
                                  is_told_of(table, column, groups->groups[i]));
        column_settle_lives(column);
        return r;
}
