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

static void forget_capture(SetGroup *group) {
        group->window = aggregate_free(group->window);
        group_work_done(&group->work);
        group->work = (GroupWork){ .totals = NULL };
        group->tally = (LifeTally){ .alive_ns = 0 };
        group->dead = group_dead_free(group->dead);
}

SetGroup *set_group_free(SetGroup *group, const SetRowList *list) {
        if (!group)
                return NULL;
        forget_capture(group);
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

/*
 * The work of a thread in the window is known if the thread is in both captures or was born between
 * them. An older thread that the first capture lacks was overlooked there, and its lifetime totals
 * are not work of this window.
 */
static bool knows_work(const SetCapture *capture, const ThreadSample *before,
                       const ThreadSample *after) {
        return capture->elapsed_ns > 0 && (before || after->start_ticks >= capture->window_ticks);
}

int set_group_fold(SetGroup *group, const SetCapture *capture, const ThreadSample *before,
                   const ThreadSample *after) {
        ThreadSample sample;

        if ((before && !capture->is_interval) ||
            (capture->has_earlier && after->start_ticks <= capture->earlier_ticks))
                group->lives_on = true;
        life_tally_add(&group->tally, &capture->period, before, after);
        return group_work_fold(&group->work, &group->window, before, after,
                               knows_work(capture, before, after), &sample);
}

int set_group_fold_gone(SetGroup *group, const SetCapture *capture, const ThreadSample *gone) {
        int r = group->dead ? 0 : group_dead_new(&group->dead);

        if (r != 0)
                return r;
        group_dead_add_gone(group->dead, &capture->period, gone);
        life_tally_add(&group->tally, &capture->period, gone, NULL);
        return 0;
}

int set_group_fold_dead(SetGroup *group, Side end, const DeadRow *row) {
        int r = group->dead ? 0 : group_dead_new(&group->dead);

        if (r == 0)
                group_dead_add_row(group->dead, end, row);
        return r;
}

/* A group may have none but threads that ended: then it has no thread at the end. */
static int settle_dead(SetGroup *group, const Period *period) {
        const Amount no_peak = { .known = false };
        int r;

        if (!group->dead || group_dead_exits(group->dead) == 0)
                return 0;
        group_dead_judge(group->dead, period);
        r = group->window ? 0 : aggregate_new_empty(&group->window);
        for (unsigned i = 0; i < _METRIC_MAX && r == 0; i++) {
                DeadSum sum = group_dead_sum(group->dead, (MetricId) i);

                if (sum.known && group_work_counts((MetricId) i))
                        group_work_add_ended(&group->work, group->window, (MetricId) i, sum.value,
                                             sum.threads);
        }
        /* Time alive counts where the time in which they ran does. */
        if (group_dead_left_out(group->dead, METRIC_run_time_ns) == 0)
                life_tally_add_ended(&group->tally,
                                     group_dead_alive_ns(group->dead, period->tick_ns), no_peak);
        return r;
}

static int take_alive(SetGroup *group, const SetCapture *capture, size_t n_captures, size_t index) {
        if (!capture->period.known || capture->elapsed_ns == 0 || group->tally.lacks_alive)
                return 0;
        return set_samples_put(&group->alive, n_captures, index,
                               (double) group->tally.alive_ns * (double) NSEC_PER_SEC /
                                       (double) capture->elapsed_ns);
}

/*
 * As an interval has it (account.h). Without a ledger, memory that is gone with threads that ended
 * is not taken off.
 */
static int take_grown(SetGroup *group, const SetCapture *capture, size_t n_captures, size_t index) {
        Amount rss = life_tally_rss_growth(&group->tally), heap = { .known = false };

        if (!capture->period.known || capture->elapsed_ns == 0 || !capture->has_ledger)
                return 0;
        if (!group->dead || group_dead_n_fleeting(group->dead) == 0)
                heap = life_tally_heap_growth(&group->tally);
        if (!rss.known && !heap.known)
                return 0;
        return set_samples_put(&group->grown, n_captures, index,
                               (double) MAX_OF(rss.n, heap.n) * (double) NSEC_PER_SEC /
                                       (double) capture->elapsed_ns);
}

int set_group_take(SetGroup *group, const SetRowList *list, const SetCapture *capture,
                   size_t n_captures, size_t index) {
        SetSight sight = {
                .work = &group->work,
                .elapsed_ns = capture->elapsed_ns,
                .side = capture->side,
                .n_captures = n_captures,
                .capture = index,
        };
        int r;

        if (!capture->has_ledger)
                group->dead = group_dead_free(group->dead);
        r = settle_dead(group, &capture->period);
        sight.window = group->window;
        if (r != 0 || !group->window) {
                if (group->dead && group_dead_moved(group->dead))
                        group->renamed |= UINT64_C(1) << index;
                forget_capture(group);
                return r;
        }
        r = set_samples_put(&group->threads, n_captures, index, (double) group->window->n_threads);
        if (r == 0)
                r = take_alive(group, capture, n_captures, index);
        if (r == 0)
                r = take_grown(group, capture, n_captures, index);
        for (size_t slot = 0; r == 0 && slot < list->n_slots; slot++)
                r = set_row_take(&group->rows[slot], list->indexes[slot], &sight);
        forget_capture(group);
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

void set_group_adopt_dead(SetGroup *group, SetGroup *from) {
        group_dead_adopt(&group->dead, &from->dead);
}
