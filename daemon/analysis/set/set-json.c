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

/* why there is no sample, or no test */

static void format_absence(const SetFamily *family, Sources sources, const SetGroup *group,
                           size_t slot, const SetRowView *row, unsigned side,
                           char ret_text[static ABSENCE_BYTES]) {
        const SetRow *samples = &group->rows[slot];
        unsigned index = family->list->indexes[slot];
        unsigned bit = 1u << side;

        if (!(group->threads.present & family->sides[side]))
                (void) snprintf(ret_text, ABSENCE_BYTES, "no capture has a thread of this group");
        else if (samples->reset & bit)
                (void) snprintf(ret_text, ABSENCE_BYTES, "the counter was reset");
        else if ((samples->seen & bit) && samples->outcomes[side] != DERIVED_DENOMINATOR_ZERO)
                (void) snprintf(ret_text, ABSENCE_BYTES,
                                "no two consecutive captures of one boot have these threads");
        else if (!(samples->seen & bit) && set_row_kind(index) == SET_ROW_WORD)
                (void) snprintf(ret_text, ABSENCE_BYTES, "a word has no median");
        else
                (void) absence_of_value(&row->row, side, sources[side], ret_text);
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

static void write_reason(JsonWriter *writer, const SetFamily *family, Sources sources,
                         const SetGroup *group, size_t slot, const SetRowView *row) {
        char texts[SIDES][ABSENCE_BYTES], text[SIDES * ABSENCE_BYTES + 32] = "";
        size_t n = 0;

        if (row->sides[0].n > 0 && row->sides[1].n > 0) {
                if (!row->is_in_family)
                        json_write_member_text(
                                writer, "reason",
                                reason_of_no_test(group, family->list->indexes[slot], row));
                return;
        }
        for (unsigned side = 0; side < SIDES; side++) {
                if (row->sides[side].n > 0)
                        continue;
                format_absence(family, sources, group, slot, row, side, texts[side]);
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s: %s", n > 0 ? "; " : "",
                                       side_names[side], texts[side]);
        }
        /* A reason from a file may end within a character. */
        json_write_member_name(writer, "reason", span_of(text));
}

/* Says why the medians are only approximate. */
static void write_approximation(JsonWriter *writer, const SetFamily *family,
                                const SetRowView *row) {
        char text[ABSENCE_BYTES];

        for (unsigned side = 0; side < SIDES; side++)
                if (row->sides[side].n > 0 &&
                    approximation_of_value(&row->row, side, family->defects[side], text)) {
                        json_write_member_text(writer, "approximate", text);
                        return;
                }
}

/* rows */

static void write_side(JsonWriter *writer, const char *key, const Quartiles *quartiles) {
        json_write_key(writer, key);
        if (quartiles->n == 0) {
                json_write_null(writer);
                return;
        }
        json_write_object(writer);
        json_write_member_u64(writer, "n", quartiles->n);
        write_double(writer, "median", quartiles->median);
        write_double(writer, "min", quartiles->min);
        write_double(writer, "max", quartiles->max);
        write_double(writer, "q1", quartiles->q1);
        write_double(writer, "q3", quartiles->q3);
        json_write_end(writer);
}

static void write_number(JsonWriter *writer, const char *key, bool has, double value) {
        if (has)
                write_double(writer, key, value);
        else
                json_write_member_null(writer, key);
}

static void write_row(JsonWriter *writer, const SetFamily *family, Sources sources,
                      const SetGroup *group, size_t slot) {
        static const SetTest none = { .u = 0 };
        const SetTest *test;
        double percent = 0;
        SetRowView row;
        bool has;

        set_family_view(family, group, slot, &row);
        test = row.test ? row.test : &none;
        json_write_key(writer, row_name(family->list->indexes[slot]));
        json_write_object(writer);
        for (unsigned side = 0; side < SIDES; side++)
                write_side(writer, side_names[side], &row.sides[side]);
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
        write_approximation(writer, family, &row);
        json_write_end(writer);
}

static void write_rows(JsonWriter *writer, const SetFamily *family, Sources sources,
                       const SetGroup *group) {
        size_t slots[ROW_MAX], n = set_order_rows(family, group, slots), i = 0;

        json_write_key(writer, "metrics");
        json_write_object(writer);
        for (; i < n && family->list->indexes[slots[i]] < _METRIC_MAX; i++)
                write_row(writer, family, sources, group, slots[i]);
        json_write_end(writer);
        json_write_key(writer, "derived");
        json_write_object(writer);
        for (; i < n; i++)
                write_row(writer, family, sources, group, slots[i]);
        json_write_end(writer);
}

/* Writes the median over the captures that have threads of the group. */
static void write_threads(JsonWriter *writer, const SetFamily *family, const SetGroup *group,
                          unsigned side, const char *key) {
        double values[SET_MAX_CAPTURES];
        size_t n = set_samples_get(&group->threads, family->sides[side], values);

        write_double(writer, key, n > 0 ? quartiles_of(values, n).median : 0);
}

void set_group_write_json(JsonWriter *writer, const SetFamily *family,
                          const SourceTable *const sources[static SIDES], const SetGroup *group) {
        json_write_object(writer);
        group_write_key(writer, group->group, family->view->axis);
        write_threads(writer, family, group, 0, "threadsBefore");
        write_threads(writer, family, group, 1, "threadsAfter");
        set_weight_write_json(writer, family, group);
        write_rows(writer, family, sources, group);
        json_write_end(writer);
}
