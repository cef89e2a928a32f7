/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-json.h"

#include <stdio.h>

#include "analysis/compare/row.h"
#include "analysis/key/thread-group.h"
#include "analysis/set/set-order.h"
#include "analysis/set/set-family.h"

typedef const SourceTable *const *Sources;

static const char *const side_names[SIDES] = { "before", "after" };

static void write_double(JsonWriter *writer, const char *key, double value) {
        json_write_key(writer, key);
        json_write_double(writer, value);
}

/* Both sides have samples. */
static const char *reason_of_no_test(const SetGroup *group, unsigned index, const SetRowView *row) {
        SetRowKind kind = set_row_kind(index);

        if (kind == SET_ROW_LABEL)
                return "not tested: the number of a CPU is a name";
        if (kind == SET_ROW_RECORD && group->lives_on)
                return "not tested: a thread keeps its record for life, so captures of the same "
                       "threads are not independent";
        if (row->test)
                return "not adjusted: with so few or so equal samples it could not be significant "
                       "even alone";
        if (row->sides[0].n < 2 || row->sides[1].n < 2)
                return "not tested: needs two samples per side";
        return "not tested: all samples are equal";
}

/* Says why there is no sample, or no test. */
static void write_reason(JsonWriter *writer, const SetFamily *family, Sources sources,
                         const SetGroup *group, size_t slot, const SetRowView *row) {
        char absence[ABSENCE_BYTES], text[SIDES * ABSENCE_BYTES + 32] = "";
        const SetRow *samples = &group->rows[slot];
        const char *why;
        size_t n = 0;

        if (row->sides[0].n > 0 && row->sides[1].n > 0) {
                if (!row->is_in_family)
                        json_write_member_text(
                                writer, "reason",
                                reason_of_no_test(group, family->list->indexes[slot], row));
                return;
        }
        for (unsigned side = 0; side < SIDES; side++) {
                bool seen = samples->seen & 1u << side;

                if (row->sides[side].n > 0)
                        continue;
                if (!(group->threads.present & family->sides[side]))
                        why = "no capture has a thread of this group";
                else if (samples->reset & 1u << side)
                        why = "the counter was reset";
                else if (seen && samples->outcomes[side] != DERIVED_DENOMINATOR_ZERO)
                        why = "no two consecutive captures of one boot have these threads";
                else if (!seen && set_row_kind(family->list->indexes[slot]) == SET_ROW_WORD)
                        why = "a word has no median";
                else
                        why = absence_of_value(&row->row, side, sources[side], absence);
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s: %s", n > 0 ? "; " : "",
                                       side_names[side], why);
        }
        /* A reason from a file may end within a character. */
        json_write_member_name(writer, "reason", span_of(text));
}

/* rows */

static void write_number(JsonWriter *writer, const char *key, bool has, double value) {
        if (has)
                write_double(writer, key, value);
        else
                json_write_member_null(writer, key);
}

static void write_row(JsonWriter *writer, const SetFamily *family, Sources sources,
                      const SetGroup *group, size_t slot) {
        static const SetTest none = { .u = 0 };
        char text[ABSENCE_BYTES];
        const char *approximation = NULL;
        const SetTest *test;
        double percent = 0;
        SetRowView row;
        bool has;

        set_family_view(family, group, slot, &row);
        test = row.test ? row.test : &none;
        json_write_key(writer, row_name(family->list->indexes[slot]));
        json_write_object(writer);
        for (unsigned side = 0; side < SIDES; side++) {
                const Quartiles *quartiles = &row.sides[side];

                if (quartiles->n == 0) {
                        json_write_member_null(writer, side_names[side]);
                        continue;
                }
                json_write_key(writer, side_names[side]);
                json_write_object(writer);
                json_write_member_u64(writer, "n", quartiles->n);
                write_double(writer, "median", quartiles->median);
                write_double(writer, "min", quartiles->min);
                write_double(writer, "max", quartiles->max);
                write_double(writer, "q1", quartiles->q1);
                write_double(writer, "q3", quartiles->q3);
                json_write_end(writer);
                if (!approximation)
                        approximation =
                                approximation_of_value(&row.row, side, family->defects[side], text);
        }
        write_number(writer, "delta", row.row.has_number, row.row.delta.real);
        has = row_percent(&row.row, &percent);
        write_number(writer, "percent", has, percent);
        write_number(writer, "u", row.test, test->u);
        write_number(writer, "p", row.test, test->p);
        write_number(writer, "pAdjusted", row.is_in_family, test->adjusted);
        json_write_member_bool(writer, "significant", row.significant);
        json_write_member_bool(writer, "perSecond",
                               set_row_kind(family->list->indexes[slot]) == SET_ROW_RATE);
        if (group->rows[slot].reset)
                json_write_member_bool(writer, "reset", true);
        write_reason(writer, family, sources, group, slot, &row);
        if (approximation)
                json_write_member_text(writer, "approximate", approximation);
        json_write_end(writer);
}

void set_group_write_json(JsonWriter *writer, const SetFamily *family,
                          const SourceTable *const sources[static SIDES], const SetGroup *group) {
        static const char *const threads[SIDES] = { "threadsBefore", "threadsAfter" };
        size_t slots[ROW_MAX], n_rows = set_order_rows(family, group, slots), i = 0;
        double values[SET_MAX_CAPTURES], weight;
        SetRates rates[SIDES];
        bool known;

        json_write_object(writer);
        group_write_key(writer, group->group, family->view->axis);
        for (unsigned side = 0; side < SIDES; side++) {
                size_t n = set_samples_get(&group->threads, family->sides[side], values);

                write_double(writer, threads[side], n > 0 ? quartiles_of(values, n).median : 0);
        }
        /* The weight on a host of unknown size is null. */
        known = set_weight_find(family, group, rates, &weight);
        for (unsigned side = 0; side < SIDES; side++)
                known = known && (!rates[side].has_group || family->hosts[side].n_cpus.n > 0);
        write_number(writer, "weight", known, weight);
        json_write_key(writer, "rates");
        json_write_object(writer);
        for (unsigned side = 0; side < SIDES; side++) {
                const Account *second = &rates[side].second;

                if (!rates[side].has_group) {
                        json_write_member_null(writer, side_names[side]);
                        continue;
                }
                json_write_key(writer, side_names[side]);
                json_write_object(writer);
                amount_write_json(writer, "runningNs", second->running_ns);
                amount_write_json(writer, "waitingNs", second->waiting_ns);
                amount_write_json(writer, "storageNs", second->storage_ns);
                json_write_member_bool(writer, "exact", second->storage_exact);
                amount_write_json(writer, "blockedNs", second->blocked_ns);
                amount_write_json(writer, "lockNs", second->reasons_ns[WAIT_REASON_lock]);
                amount_write_json(writer, "readBytes", second->read_bytes);
                amount_write_json(writer, "writeBytes", second->write_bytes);
                amount_write_json(writer, "memoryGrowthBytes", second->rss_growth_bytes);
                json_write_end(writer);
        }
        json_write_end(writer);
        json_write_key(writer, "metrics");
        json_write_object(writer);
        for (; i < n_rows && family->list->indexes[slots[i]] < _METRIC_MAX; i++)
                write_row(writer, family, sources, group, slots[i]);
        json_write_end(writer);
        json_write_key(writer, "derived");
        json_write_object(writer);
        for (; i < n_rows; i++)
                write_row(writer, family, sources, group, slots[i]);
        json_write_end(writer);
        json_write_end(writer);
}
