/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-group.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

/* samples */

int set_samples_put(SetSamples *samples, size_t n_captures, size_t capture, double value) {
        assert(capture < n_captures && n_captures <= SET_MAX_CAPTURES);
        assert(!(samples->present >> capture & 1));
        if (!samples->present)
                samples->first = value;
        if (!samples->values && (value < samples->first || value > samples->first)) {
                samples->values = calloc(n_captures, sizeof(*samples->values));
                if (!samples->values)
                        return -ENOMEM;
                for (size_t i = 0; i < n_captures; i++)
                        samples->values[i] = samples->first;
        }
        if (samples->values)
                samples->values[capture] = value;
        samples->present |= UINT64_C(1) << capture;
        return 0;
}

size_t set_samples_get(const SetSamples *samples, uint64_t captures,
                       double ret_values[static SET_MAX_CAPTURES]) {
        size_t n = 0;

        for (uint64_t bits = samples->present & captures; bits; bits &= bits - 1) {
                size_t capture = (size_t) __builtin_ctzll(bits);

                ret_values[n++] = samples->values ? samples->values[capture] : samples->first;
        }
        return n;
}

/* quartiles */

static int by_value(const void *a, const void *b) {
        double left = *(const double *) a, right = *(const double *) b;

        return left < right ? -1 : left > right;
}

/* The value at @quarters quarters of the sorted @values. */
static double at(const double *values, size_t n, size_t quarters) {
        size_t index = quarters * (n - 1) / 4;
        double rest = (double) (quarters * (n - 1) % 4) / 4;

        if (quarters * (n - 1) % 4 == 0)
                return values[index];
        /*
         * Interpolate so that equal neighbours give exactly their value and large ones do not
         * overflow.
         */
        return values[index] + rest * (values[index + 1] - values[index]);
}

Quartiles quartiles_of(double *values, size_t n) {
        if (n == 0)
                return (Quartiles){ .n = 0 };
        qsort(values, n, sizeof(*values), by_value);
        return (Quartiles){
                .n = n,
                .min = values[0],
                .q1 = at(values, n, 1),
                .median = at(values, n, 2),
                .q3 = at(values, n, 3),
                .max = values[n - 1],
        };
}

void quartiles_write_json(JsonWriter *writer, const char *key, const Quartiles *quartiles) {
        if (quartiles->n == 0) {
                json_write_member_null(writer, key);
                return;
        }
        json_write_key(writer, key);
        json_write_object(writer);
        json_write_member_u64(writer, "n", quartiles->n);
        double_write_json(writer, "median", true, quartiles->median);
        double_write_json(writer, "min", true, quartiles->min);
        double_write_json(writer, "max", true, quartiles->max);
        double_write_json(writer, "q1", true, quartiles->q1);
        double_write_json(writer, "q3", true, quartiles->q3);
        json_write_end(writer);
}

SetRowKind set_row_kind(unsigned index) {
        MetricId id = (MetricId) index;
        MetricKind kind;

        if (row_has_rate(index))
                return SET_ROW_RATE;
        if (index >= _METRIC_MAX)
                return SET_ROW_LEVEL;
        kind = metric_table[id].kind;
        if (kind == METRIC_KIND_PEAK || kind == METRIC_KIND_FLOOR || id == METRIC_acct_elapsed_ns)
                return SET_ROW_RECORD;
        if (kind == METRIC_KIND_WORD)
                return SET_ROW_WORD;
        return metric_is_momentary(id) ? SET_ROW_LABEL : SET_ROW_LEVEL;
}

/* rows */

void set_row_list_init(SetRowList *list, const View *view) {
        /* The weight of a group is made of these (set-comparison.c), whatever the view shows. */
        static const MetricId weighed[] = {
                METRIC_run_time_ns, METRIC_wait_time_ns,         METRIC_storage_wait_ns,
                METRIC_iowait_sum,  METRIC_blkio_delay_total_ns, METRIC_uninterruptible_ns,
                METRIC_block_sum,   METRIC_lock_wait_ns,         METRIC_read_bytes,
                METRIC_write_bytes,
        };

        *list = (SetRowList){ .n_slots = 0 };
        for (unsigned index = 0; index < ROW_MAX; index++) {
                bool wanted = row_is_wanted(view, index), has_samples = wanted;

                for (size_t i = 0; i < ELEMENTSOF(weighed); i++)
                        has_samples = has_samples || index == (unsigned) weighed[i];
                for (unsigned i = 0;
                     view->sort.order == VIEW_ORDER_METRICS && i < view->sort.n_keys; i++) {
                        const ViewSortKey *key = &view->sort.keys[i];

                        if (key->kind == VIEW_KEY_COLUMN
                                    ? index < _METRIC_MAX &&
                                              view_column_has((ViewColumn) key->id, index)
                                    : index == key->id + (key->kind == VIEW_KEY_DERIVED
                                                                  ? _METRIC_MAX
                                                                  : 0u))
                                has_samples = true;
                }
                list->slots[index] = has_samples ? (uint8_t) list->n_slots++ : SET_NO_SLOT;
                list->wanted[index] = wanted;
                list->n_wanted += wanted;
        }
}

/* life */

int set_group_new(Group *group, const SetRowList *list, SetGroup **ret) {
        SetGroup *made = calloc(1, sizeof(*made) + list->n_slots * sizeof(made->rows[0]));

        if (!made)
                return -ENOMEM;
        made->group = group;
        *ret = made;
        return 0;
}

SetGroup *set_group_free(SetGroup *group, const SetRowList *list) {
        if (!group)
                return NULL;
        for (size_t slot = 0; slot < list->n_slots; slot++)
                free(group->rows[slot].samples.values);
        for (unsigned figure = 0; figure < _SET_FIGURE_MAX; figure++)
                free(group->figures[figure].values);
        free(group);
        return NULL;
}

/* one capture */

/* Takes the sample of one row, or notes why there is none. 0 or -ENOMEM. */
static int take_row(SetRow *row, unsigned index, const Column *column, const GroupColumn *of,
                    unsigned side, size_t n_captures, size_t capture) {
        uint64_t elapsed_ns = column->setup.elapsed_ns;
        uint8_t bit = (uint8_t) (1u << side);
        SetRowKind kind = set_row_kind(index);
        const Derived *derived;
        RowValue value;

        if (kind == SET_ROW_WORD)
                return 0;
        value = row_value(of, index, ROW_RATE, elapsed_ns);
        if (index >= _METRIC_MAX) {
                derived = &derived_table[index - _METRIC_MAX];
                for (unsigned i = 0; i < derived->n_inputs; i++)
                        if (!column_holds(of, derived->inputs[i])) {
                                row->outcomes[side] = DERIVED_INPUT_ABSENT;
                                row->inputs[side] = (uint8_t) derived->inputs[i];
                                return 0;
                        }
                if (derived->formula != DERIVED_FORMULA_DIFFERENCE &&
                    (elapsed_ns == 0 || column_fallen_input(of, derived) != _METRIC_MAX)) {
                        row->seen |= bit;
                        return 0;
                }
                row->outcomes[side] = (uint8_t) value.outcome;
                row->inputs[side] = (uint8_t) value.input;
        } else if (kind == SET_ROW_RATE) {
                if (column_holds(of, (MetricId) index))
                        row->seen |= bit;
                if (column_fell(of, (MetricId) index))
                        row->reset |= bit;
        }
        if (!value_has_number(&value.value))
                return 0;
        row->seen |= bit;
        return set_samples_put(&row->samples, n_captures, capture, value_number(&value.value));
}

int set_group_take(SetGroup *group, const SetRowList *list, const Column *column, unsigned side,
                   size_t n_captures, size_t index) {
        GroupColumn *of = &group->group->of[0];
        uint64_t elapsed_ns = column->setup.elapsed_ns;
        bool has_rates = column->period.known && elapsed_ns > 0;
        Amount figures[_SET_FIGURE_MAX] = {}, rss, heap = { .known = false };
        double amount;
        SetRow *row;
        int r = 0;

        if (!of->ends[SIDE_AFTER]) {
                if (of->exited && group_exited_moved(of->exited))
                        group->renamed |= UINT64_C(1) << index;
                group_column_done(of);
                return 0;
        }
        figures[SET_THREADS] = amount_of(of->ends[SIDE_AFTER]->n_threads);
        if (has_rates && !of->tally.lacks_alive)
                figures[SET_ALIVE] = amount_of(of->tally.alive_ns);
        /*
         * As an interval has it (account.h). Without a ledger it is not known: memory that vanished
         * with threads that ended would not be taken off.
         */
        rss = life_tally_rss_growth(&of->tally);
        if (!of->exited || group_exited_n_short_lived(of->exited) == 0)
                heap = life_tally_heap_growth(&of->tally);
        if (has_rates && column->setup.has_ledger && !column->lost_names &&
            (rss.known || heap.known))
                figures[SET_GROWN] = amount_of(MAX_OF(rss.n, heap.n));
        for (unsigned i = 0; i < _SET_FIGURE_MAX && r == 0; i++) {
                if (!figures[i].known)
                        continue;
                amount = (double) figures[i].n;
                if (i != SET_THREADS)
                        amount = amount * (double) NSEC_PER_SEC / (double) elapsed_ns;
                r = set_samples_put(&group->figures[i], n_captures, index, amount);
        }
        for (unsigned id = 0; r == 0 && id < ROW_MAX; id++) {
                row = set_group_row(group, list, id);
                if (row)
                        r = take_row(row, id, column, of, side, n_captures, index);
        }
        group_column_done(of);
        return r;
}

int set_group_take_nothing(SetGroup *group, const SetRowList *list, uint64_t side,
                           uint64_t captures, size_t n_captures) {
        uint64_t bits = side & captures & ~set_group_captures(group) & ~group->renamed;
        SetRow *row;
        int r = 0;

        if (!(set_group_captures(group) & side))
                return 0;
        for (; bits != 0 && r == 0; bits &= bits - 1) {
                size_t capture = (size_t) __builtin_ctzll(bits);

                for (unsigned i = 0; i < _SET_FIGURE_MAX && r == 0; i++)
                        r = set_samples_put(&group->figures[i], n_captures, capture, 0);
                /* It is 0 for the number of threads, and for a rate that it has elsewhere. */
                for (unsigned id = 0; r == 0 && id < ROW_MAX; id++) {
                        row = set_group_row(group, list, id);
                        if (row && row->samples.present &&
                            (id == METRIC_thread_count || row_has_rate(id)))
                                r = set_samples_put(&row->samples, n_captures, capture, 0);
                }
        }
        return r;
}
