/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/set-table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "render/cell.h"
#include "render/compact.h"
#include "render/table.h"
#include "report/overview/group-label.h"
#include "report/overview/overview.h"

#define NS_PER_SECOND 1e9

/* Only what a line shows: a set of groups with all their rows may be large. */
typedef struct SetLine {
        Buffer label;
        bool has_weight;
        double weight;
        json_object *sides[2]; /* owned; the rates of each, NULL where there is no such group */
} SetLine;

struct SetTable {
        const Session *session; /* borrowed */
        bool untested;
        SetLine *lines; /* owned */
        size_t n, n_allocated;
        Buffer omitted; /* headers for which there was no room */
};

int set_table_new(const Session *session, json_object *reply, SetTable **ret) {
        SetTable *table = malloc(sizeof(*table));

        if (!table)
                return -ENOMEM;
        *table = (SetTable){ .session = session, .untested = set_reply_is_untested(reply) };
        *ret = table;
        return 0;
}

SetTable *set_table_free(SetTable *table) {
        if (!table)
                return NULL;
        for (size_t i = 0; i < table->n; i++) {
                buffer_done(&table->lines[i].label);
                for (unsigned side = 0; side < 2; side++)
                        (void) json_object_put(table->lines[i].sides[side]);
        }
        free(table->lines);
        buffer_done(&table->omitted);
        free(table);
        return NULL;
}

int set_table_add(SetTable *table, json_object *group) {
        json_object *rates = cell_member(group, "rates"), *weight = cell_member(group, "weight");
        json_object *before = cell_member(rates, "before"), *after = cell_member(rates, "after");
        SetLine *line;
        int r;

        if (!rates || (before && after && !table->untested))
                return 0;
        r = ARRAY_RESERVE(table->lines, table->n_allocated, table->n + 1);
        if (r != 0)
                return r;
        line = &table->lines[table->n++];
        *line = (SetLine){
                .has_weight = weight,
                .weight = json_object_get_double(weight),
                .sides = { json_object_get(before), json_object_get(after) },
        };
        group_label_append(&line->label, group);
        return buffer_failure(&line->label);
}

bool set_table_is_untested(const SetTable *table) {
        return table->untested;
}

bool set_table_is_empty(const SetTable *table) {
        return table->n == 0;
}

/* cells */

typedef int AppendRate(Buffer *cell, double rate);

static int append_cpus(Buffer *cell, double ns) {
        return compact_append_cpus(cell, ns / NS_PER_SECOND);
}

/* The columns of rates; a time of each second is a number of CPUs. */
static const struct {
        const char *header, *member;
        AppendRate *append;
        unsigned omit;
} rates_shown[] = {
        { "CPU", "runningNs", append_cpus, 0 },
        { "WAIT", "waitingNs", append_cpus, 0 },
        { "IO", "storageNs", append_cpus, 0 },
        { "READ/S", "readBytes", compact_append_bytes, 2 },
        { "WRITE/S", "writeBytes", compact_append_bytes, 1 },
};

enum { COLUMN_GROUP, COLUMN_WEIGHT, COLUMN_RATES };
#define N_COLUMNS (COLUMN_RATES + ELEMENTSOF(rates_shown) + 1)

static void append_weight(Buffer *cell, const SetLine *line) {
        double percent = fabs(line->weight) * 100;

        if (!line->has_weight)
                return;
        if (percent > 0 && percent < 0.05)
                buffer_append_text(cell, line->weight < 0 ? "-<0.1%" : "+<0.1%");
        else
                buffer_append_format(cell, "%s%.1f%%", line->weight < 0 ? "-" : "+", percent);
}

static void append_rate(Buffer *cell, json_object *side, size_t rate) {
        json_object *value = cell_member(side, rates_shown[rate].member);
        json_object *exact = cell_member(side, "exact");
        bool is_storage = rates_shown[rate].append == append_cpus && rate == 2;

        if (!value) {
                buffer_append_byte(cell, '-');
                return;
        }
        if (is_storage && exact && !json_object_get_boolean(exact) &&
            json_object_get_double(value) > 0)
                buffer_append_byte(cell, '~');
        (void) rates_shown[rate].append(cell, json_object_get_double(value));
}

/* "0.84 → 1.20"; of a group of one side, or where both read the same, one number. */
static int append_rates(Buffer *cell, const SetLine *line, size_t rate) {
        _cleanup_(buffer_done) Buffer before = {}, after = {};
        bool differ;

        if (line->sides[0])
                append_rate(&before, line->sides[0], rate);
        if (line->sides[1])
                append_rate(&after, line->sides[1], rate);
        differ = after.n > 0 && !span_equal(buffer_span(&before), buffer_span(&after));
        buffer_append(cell, before.bytes, before.n);
        if (before.n > 0 && differ)
                buffer_append_text(cell, " \u2192 ");
        if (differ)
                buffer_append(cell, after.bytes, after.n);
        return buffer_failure(&before) < 0 ? buffer_failure(&before) : buffer_failure(&after);
}

static void add_line(Table *table, const SetLine *line) {
        Span label = buffer_span(&line->label);

        buffer_append(table_cell(table), label.bytes, label.n);
        append_weight(table_cell(table), line);
        for (size_t rate = 0; rate < ELEMENTSOF(rates_shown); rate++)
                table_fail(table, append_rates(table_cell(table), line, rate));
        buffer_append_text(table_cell(table), !line->sides[1]   ? "BEFORE"
                                              : !line->sides[0] ? "AFTER"
                                                                : "-");
        table_end_row(table, 0);
}

/* the table */

int set_table_print(SetTable *set_table) {
        const Options *options = set_table->session->options;
        _cleanup_(table_freep) Table *table = NULL;
        TableColumn columns[N_COLUMNS] = {
                [COLUMN_GROUP] = { .header = view_axis_header(options->view.axis),
                                   .shrink_to = 12,
                                   .keep_end = options->view.axis == VIEW_AXIS_CGROUP },
                [COLUMN_WEIGHT] = { .header = "WEIGHT", .right = true },
        };
        int r;

        if (set_table->n == 0)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(rates_shown); i++)
                columns[COLUMN_RATES + i] = (TableColumn){ .header = rates_shown[i].header,
                                                           .right = true,
                                                           .omit = rates_shown[i].omit };
        columns[N_COLUMNS - 1] = (TableColumn){ .header = "ONLY IN" };
        (void) puts(set_table->untested ? "medians, in order of weight; not tested"
                                        : "only on one side, in order of weight; not tested");
        r = table_new(columns, N_COLUMNS, &set_table->session->terminal,
                      session_legend(set_table->session), stdout, &table);
        if (r < 0)
                return r;
        if (options_have(options, OPTION_WRAP))
                table_set_wrap(table);
        for (size_t i = 0; i < set_table->n; i++)
                add_line(table, &set_table->lines[i]);
        r = table_end(table);
        table_omitted(table, &set_table->omitted);
        return r < 0 ? r : buffer_failure(&set_table->omitted);
}

void set_table_omitted(const SetTable *table, Buffer *names) {
        buffer_append(names, table->omitted.bytes, table->omitted.n);
}
