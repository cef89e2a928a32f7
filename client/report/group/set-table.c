/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/set-table.h"

#include <stdlib.h>

#include "metric/metric.h"
#include "render/cell.h"
#include "render/table.h"
#include "report/group/group-table.h"

enum {
        COLUMN_GROUP,
        COLUMN_METRIC,
        COLUMN_BEFORE,
        COLUMN_AFTER,
        COLUMN_DELTA,
        COLUMN_PERCENT,
        COLUMN_P,
        COLUMN_SPREAD_BEFORE,
        COLUMN_SPREAD_AFTER,
        COLUMN_SAMPLES,
        N_COLUMNS,
};

static const TableColumn columns[N_COLUMNS] = {
        [COLUMN_GROUP] = { .shrink_to = 12 }, /* its header is that of the axis */
        [COLUMN_METRIC] = { .header = "metric", .shrink_to = 20 },
        [COLUMN_BEFORE] = { .header = "before", .right = true },
        [COLUMN_AFTER] = { .header = "after", .right = true },
        [COLUMN_DELTA] = { .header = "delta", .right = true, .omit = 1 },
        [COLUMN_PERCENT] = { .header = "%", .right = true },
        [COLUMN_P] = { .header = "p (adj)", .right = true },
        [COLUMN_SPREAD_BEFORE] = { .header = "before min..max", .right = true, .omit = 3 },
        [COLUMN_SPREAD_AFTER] = { .header = "after min..max", .right = true, .omit = 2 },
        [COLUMN_SAMPLES] = { .header = "n", .right = true, .omit = 4 },
};

struct SetTable {
        TableColumn columns[N_COLUMNS];
        Table *table;
        bool raw;
        Buffer label; /* of the group whose rows are added */
};

/* One metric of one group. */
typedef struct SetTableRow {
        const char *metric;
        json_object *entry;
        CellStyle style;
        bool per_second;
} SetTableRow;

int set_table_new(const Session *session, SetTable **ret) {
        _cleanup_(set_table_freep) SetTable *table = calloc(1, sizeof(*table));
        int r;

        if (!table)
                return -ENOMEM;
        for (size_t i = 0; i < N_COLUMNS; i++)
                table->columns[i] = columns[i];
        table->columns[COLUMN_GROUP].header = view_axis_header(session->options->view.axis);
        table->raw = options_have(session->options, OPTION_RAW);
        r = table_new(table->columns, N_COLUMNS, &session->terminal, session_legend(session),
                      stdout, &table->table);
        if (r < 0)
                return r;
        if (options_have(session->options, OPTION_WRAP))
                table_set_wrap(table->table);
        *ret = TAKE_PTR(table);
        return 0;
}

SetTable *set_table_free(SetTable *table) {
        if (!table)
                return NULL;
        table->table = table_free(table->table);
        buffer_done(&table->label);
        free(table);
        return NULL;
}

/* cells */

static int end_amount(Buffer *cell, json_object *value, const SetTableRow *row) {
        return value && row->per_second && !row->style.raw ? buffer_append_text(cell, "/s") : 0;
}

static int append_amount(Buffer *cell, json_object *value, const SetTableRow *row) {
        int r = cell_append_value(cell, value, &row->style);

        return r < 0 ? r : end_amount(cell, value, row);
}

static int append_delta(Buffer *cell, const SetTableRow *row) {
        int r = cell_append_delta(cell, row->entry, &row->style);

        return r < 0 ? r : end_amount(cell, cell_member(row->entry, "delta"), row);
}

/* The medians are no integers: there is nothing to be more exact about. */
static int append_percent(Buffer *cell, const SetTableRow *row) {
        json_object *value = cell_member(row->entry, "percent");
        char text[QUANTITY_CHARS];
        Quantity percent;

        if (row->style.raw || !cell_quantity(value, &percent))
                return cell_append_value(cell, value, &row->style);
        return buffer_append(cell, text, quantity_format_percent(percent, text));
}

/* Two digits that count; what is less than a ten thousandth is only that. */
static int append_p(Buffer *cell, const SetTableRow *row) {
        json_object *value = cell_member(row->entry, "pAdjusted");
        double p = json_object_get_double(value), scaled = p;
        int digits = 1;

        if (!value)
                return buffer_append_text(cell, "-");
        if (row->style.raw)
                return buffer_append_format(cell, "%.6g", p);
        if (p < 0.0001)
                return buffer_append_text(cell, "<0.0001");
        while (scaled < 1) {
                scaled *= 10;
                digits++;
        }
        return buffer_append_format(cell, "%.*f", digits, p);
}

static int append_spread(Buffer *cell, json_object *side, const SetTableRow *row) {
        json_object *min = cell_member(side, "min"), *max = cell_member(side, "max");
        int r;

        if (!side)
                return buffer_append_text(cell, "-");
        r = cell_append_value(cell, min, &row->style);
        if (r == 0 && !json_object_equal(min, max)) {
                r = buffer_append_text(cell, "..");
                if (r == 0)
                        r = cell_append_value(cell, max, &row->style);
        }
        return r < 0 ? r : end_amount(cell, side, row);
}

static int append_samples(Buffer *cell, const SetTableRow *row) {
        json_object *before = cell_member(row->entry, "before");
        json_object *after = cell_member(row->entry, "after");

        return buffer_append_format(
                cell, "%llu+%llu",
                (unsigned long long) json_object_get_uint64(cell_member(before, "n")),
                (unsigned long long) json_object_get_uint64(cell_member(after, "n")));
}

static int append_cell(const SetTable *table, size_t column, const SetTableRow *row, Buffer *cell) {
        json_object *before = cell_member(row->entry, "before");
        json_object *after = cell_member(row->entry, "after");

        switch (column) {
        case COLUMN_GROUP:
                return buffer_append(cell, table->label.bytes, table->label.n);
        case COLUMN_METRIC:
                return buffer_append_text(cell, row->metric);
        case COLUMN_BEFORE:
                return append_amount(cell, cell_member(before, "median"), row);
        case COLUMN_AFTER:
                return append_amount(cell, cell_member(after, "median"), row);
        case COLUMN_DELTA:
                return append_delta(cell, row);
        case COLUMN_PERCENT:
                return append_percent(cell, row);
        case COLUMN_P:
                return append_p(cell, row);
        case COLUMN_SPREAD_BEFORE:
                return append_spread(cell, before, row);
        case COLUMN_SPREAD_AFTER:
                return append_spread(cell, after, row);
        case COLUMN_SAMPLES:
                return append_samples(cell, row);
        default:
                return 0;
        }
}

/* rows */

static SetTableRow describe_row(const SetTable *table, const char *name, json_object *entry) {
        MetricId metric = metric_find(span_of(name));
        DerivedId derived = metric < _METRIC_MAX ? _DERIVED_MAX : derived_find(span_of(name));
        SetTableRow row = {
                .metric = name,
                .entry = entry,
                .style = { .raw = table->raw },
                .per_second = json_object_get_boolean(cell_member(entry, "perSecond")),
        };

        if (metric < _METRIC_MAX)
                row.style.unit = metric_table[metric].unit;
        if (derived < _DERIVED_MAX)
                row.style = (CellStyle){ .unit = derived_table[derived].unit,
                                         .derived = true,
                                         .raw = table->raw };
        return row;
}

static int add_rows(SetTable *table, json_object *entries) {
        json_object_iter member;

        if (!json_object_is_type(entries, json_type_object))
                return 0;
        json_object_object_foreachC(entries, member) {
                SetTableRow row = describe_row(table, member.key, member.val);
                bool bold = json_object_get_boolean(cell_member(member.val, "significant"));
                int r = 0;

                for (size_t i = 0; r == 0 && i < N_COLUMNS; i++)
                        r = append_cell(table, i, &row, table_cell(table->table));
                if (r == 0)
                        r = table_end_row(table->table, bold ? UINT32_C(1) << COLUMN_P : 0);
                if (r < 0)
                        return r;
        }
        return 0;
}

int set_table_add(SetTable *table, json_object *group) {
        int r;

        buffer_clear(&table->label);
        r = group_label_append(&table->label, group);
        if (r == 0)
                r = add_rows(table, cell_member(group, "metrics"));
        return r < 0 ? r : add_rows(table, cell_member(group, "derived"));
}

bool set_table_is_empty(const SetTable *table) {
        return table_is_empty(table->table);
}

int set_table_end(SetTable *table) {
        return table_end(table->table);
}

void set_table_omitted(const SetTable *table, Buffer *names) {
        table_omitted(table->table, names);
}
