/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-group.h"

#include <errno.h>
#include <stdlib.h>

/* rows */

static bool is_sorted_by(const View *view, unsigned index) {
        for (unsigned i = 0; i < view->sort.n_keys; i++) {
                const ViewSortKey *key = &view->sort.keys[i];

                if (key->kind == VIEW_KEY_COLUMN
                            ? index < _METRIC_MAX && view_column_has((ViewColumn) key->id, index)
                            : index == row_index(key->kind == VIEW_KEY_DERIVED, key->id))
                        return view->sort.order == VIEW_ORDER_METRICS;
        }
        return false;
}

/* The weight of a group is made of these (set-weight.h), whatever the view shows. */
static bool is_weighed(unsigned index) {
        static const MetricId weighed[] = {
                METRIC_run_time_ns, METRIC_wait_time_ns,         METRIC_storage_wait_ns,
                METRIC_iowait_sum,  METRIC_blkio_delay_total_ns, METRIC_uninterruptible_ns,
                METRIC_block_sum,   METRIC_lock_wait_ns,         METRIC_read_bytes,
                METRIC_write_bytes,
        };

        for (size_t i = 0; i < ELEMENTSOF(weighed); i++)
                if (index == row_index(false, weighed[i]))
                        return true;
        return false;
}

void set_row_list_init(SetRowList *list, const View *view) {
        *list = (SetRowList){ .n_slots = 0 };
        for (unsigned index = 0; index < ROW_MAX; index++) {
                bool wanted = row_is_wanted(view, index);

                if (!wanted && !is_sorted_by(view, index) && !is_weighed(index))
                        continue;
                list->wanted[list->n_slots] = wanted;
                list->indexes[list->n_slots++] = (uint8_t) index;
                list->n_wanted += wanted;
        }
}

size_t set_row_list_find(const SetRowList *list, unsigned index) {
        for (size_t slot = 0; slot < list->n_slots; slot++)
                if (list->indexes[slot] == index)
                        return slot;
        return SET_NO_SLOT;
}

/* life */

int set_group_new(Group *group, const SetRowList *list, SetGroup **ret) {
        SetGroup *made = calloc(1, sizeof(*made));

        if (!made)
                return -ENOMEM;
        made->group = group;
        made->rows = calloc(list->n_slots + 1, sizeof(*made->rows)); /* calloc(0) may return NULL */
        if (!made->rows) {
                free(made);
                return -ENOMEM;
        }
        *ret = made;
        return 0;
}

SetGroup *set_group_free(SetGroup *group, const SetRowList *list) {
        if (!group)
                return NULL;
        for (size_t slot = 0; slot < list->n_slots; slot++)
                set_samples_done(&group->rows[slot].samples);
        set_samples_done(&group->threads);
        set_samples_done(&group->alive);
        set_samples_done(&group->grown);
        free(group->rows);
        free(group);
        return NULL;
}

/* one capture */

/* What the time of the group came to in a second of the window. */
static int put_rate(SetSamples *samples, const Column *column, double amount, size_t n_captures,
                    size_t index) {
        return set_samples_put(samples, n_captures, index,
                               amount * (double) NSEC_PER_SEC / (double) column->setup.elapsed_ns);
}

/*
 * As an interval has it (account.h). Without a ledger, memory that is gone with threads that ended
 * is not taken off.
 */
static Amount grown_of(const Column *column, const GroupColumn *of) {
        Amount rss = life_tally_rss_growth(&of->tally), heap = { .known = false };

        if (!column->setup.has_ledger || column->lost_names)
                return heap;
        if (!of->dead || group_dead_n_fleeting(of->dead) == 0)
                heap = life_tally_heap_growth(&of->tally);
        return (Amount){ .known = rss.known || heap.known, .n = MAX_OF(rss.n, heap.n) };
}

int set_group_take(SetGroup *group, const SetRowList *list, const Column *column, unsigned side,
                   size_t n_captures, size_t index) {
        GroupColumn *of = &group->group->of[0];
        bool has_window = column->period.known && column->setup.elapsed_ns > 0;
        const SetSight sight = {
                .of = of,
                .elapsed_ns = column->setup.elapsed_ns,
                .side = side,
                .n_captures = n_captures,
                .capture = index,
        };
        int r = 0;

        if (of->ends[SIDE_AFTER]) {
                Amount grown = grown_of(column, of);

                r = set_samples_put(&group->threads, n_captures, index,
                                    (double) of->ends[SIDE_AFTER]->n_threads);
                if (r == 0 && has_window && !of->tally.lacks_alive)
                        r = put_rate(&group->alive, column, (double) of->tally.alive_ns, n_captures,
                                     index);
                if (r == 0 && has_window && grown.known)
                        r = put_rate(&group->grown, column, (double) grown.n, n_captures, index);
                for (size_t slot = 0; r == 0 && slot < list->n_slots; slot++)
                        r = set_row_take(&group->rows[slot], list->indexes[slot], &sight);
        } else if (of->dead && group_dead_moved(of->dead)) {
                group->renamed |= UINT64_C(1) << index;
        }
        group_column_done(of);
        return r;
}

int set_group_take_nothing(SetGroup *group, const SetRowList *list, uint64_t side,
                           uint64_t captures, size_t n_captures) {
        uint64_t bits = side & captures & ~group->threads.present & ~group->renamed;
        int r = 0;

        if (!(group->threads.present & side))
                return 0;
        for (; bits != 0 && r == 0; bits &= bits - 1) {
                size_t capture = (size_t) __builtin_ctzll(bits);

                r = set_samples_put(&group->threads, n_captures, capture, 0);
                if (r == 0)
                        r = set_samples_put(&group->alive, n_captures, capture, 0);
                if (r == 0)
                        r = set_samples_put(&group->grown, n_captures, capture, 0);
                for (size_t slot = 0; r == 0 && slot < list->n_slots; slot++)
                        r = set_row_take_nothing(&group->rows[slot], list->indexes[slot],
                                                 n_captures, capture);
        }
        return r;
}
