/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* rows */

static bool is_sorted_by(const View *view, unsigned index) {
        for (unsigned i = 0; i < view->sort.n_keys; i++) {
                const ViewSortKey *key = &view->sort.keys[i];

                if (index == row_index(key->is_derived, key->id))
                        return view->sort.order == VIEW_ORDER_METRICS;
        }
        return false;
}

/* The weight of a group is made of these (set-weight.h), whatever the view shows. */
static bool is_weighed(unsigned index) {
        static const MetricId weighed[] = {
                METRIC_run_time_ns,          METRIC_wait_time_ns, METRIC_iowait_sum,
                METRIC_blkio_delay_total_ns, METRIC_read_bytes,   METRIC_write_bytes,
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

static void forget_capture(SetGroup *group) {
        group->window = aggregate_free(group->window);
        group->totals = aggregate_free(group->totals);
        memset(group->held, 0, sizeof(group->held));
        memset(group->fallen, 0, sizeof(group->fallen));
}

SetGroup *set_group_free(SetGroup *group, const SetRowList *list) {
        if (!group)
                return NULL;
        forget_capture(group);
        for (size_t slot = 0; slot < list->n_slots; slot++)
                set_samples_done(&group->rows[slot].samples);
        set_samples_done(&group->threads);
        free(group->rows);
        free(group);
        return NULL;
}

/* one capture */

static void set_bit(uint64_t *words, unsigned id) {
        words[id / 64] |= UINT64_C(1) << id % 64;
}

/*
 * The work of a thread in the window is known if the thread is in both captures or was born between
 * them. An older thread that the first capture lacks was overlooked there, and its lifetime totals
 * are not work of this window.
 */
static bool knows_work(const SetCapture *capture, const ThreadSample *before,
                       const ThreadSample *after) {
        return capture->elapsed_ns > 0 && (before || after->start_ticks >= capture->earlier_ticks);
}

/* The work of the thread in the window by one sum; false when it is not known. */
static bool find_work(SetGroup *group, const ThreadSample *before, const ThreadSample *after,
                      MetricId id, uint64_t *ret) {
        uint64_t from = 0, to = thread_sample_get(after, id);

        if (before && !life_before(before, after, id, &from))
                return false;
        if (to < from) {
                set_bit(group->fallen, id);
                return false;
        }
        *ret = to - from;
        return true;
}

static void keep_work(SetGroup *group, const SetCapture *capture, const ThreadSample *before,
                      const ThreadSample *after, ThreadSample *work) {
        bool is_known = knows_work(capture, before, after);

        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                uint64_t amount = 0;

                if (set_row_kind(id) != SET_ROW_RATE || !thread_sample_has(after, (MetricId) id))
                        continue;
                set_bit(group->held, id);
                if (is_known && find_work(group, before, after, (MetricId) id, &amount))
                        thread_sample_put(work, (MetricId) id, amount);
                else
                        thread_sample_drop(work, (MetricId) id);
        }
}

/* Adds up the lifetime totals that differences are computed from. */
static int fold_totals(SetGroup *group, const ThreadSample *after) {
        ThreadSample totals;
        bool has_any = false;
        int r;

        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                const Derived *derived = &derived_table[id];

                if (derived->formula != DERIVED_FORMULA_DIFFERENCE)
                        continue;
                for (unsigned i = 0; i < derived->n_inputs; i++) {
                        MetricId input = derived->inputs[i];

                        if (!thread_sample_has(after, input))
                                continue;
                        if (!has_any)
                                thread_sample_clear(&totals);
                        has_any = true;
                        thread_sample_put(&totals, input, thread_sample_get(after, input));
                }
        }
        if (!has_any)
                return 0;
        r = group->totals ? 0 : aggregate_new(&group->totals);
        return r == 0 ? aggregate_fold(group->totals, &totals) : r;
}

int set_group_fold(SetGroup *group, const SetCapture *capture, const ThreadSample *before,
                   const ThreadSample *after) {
        ThreadSample work = *after;
        int r;

        r = group->window ? 0 : aggregate_new(&group->window);
        if (r == 0)
                r = fold_totals(group, after);
        if (r != 0)
                return r;
        if (before || (capture->has_earlier && after->start_ticks <= capture->earlier_ticks))
                group->lives_on = true;
        keep_work(group, capture, before, after, &work);
        return aggregate_fold(group->window, &work);
}

int set_group_take(SetGroup *group, const SetRowList *list, const SetCapture *capture,
                   size_t n_captures, size_t index) {
        const SetSight sight = {
                .window = group->window,
                .totals = group->totals,
                .held = group->held,
                .fallen = group->fallen,
                .elapsed_ns = capture->elapsed_ns,
                .side = capture->side,
                .n_captures = n_captures,
                .capture = index,
        };
        int r;

        if (!group->window)
                return 0;
        r = set_samples_put(&group->threads, n_captures, index, (double) group->window->n_threads);
        for (size_t slot = 0; r == 0 && slot < list->n_slots; slot++)
                r = set_row_take(&group->rows[slot], list->indexes[slot], &sight);
        forget_capture(group);
        return r;
}
