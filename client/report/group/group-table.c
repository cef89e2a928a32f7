/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/group-table.h"

#include <stdlib.h>
#include <string.h>

#include "metric/metric.h"
#include "render/cell.h"
#include "render/printable.h"

#define BOLD_PERCENT 50

_Static_assert(_GROUP_COLUMN_MAX <= TABLE_MAX_COLUMNS, "all columns at once make a table");

struct GroupTable {
        GroupColumns columns;
        TableColumn table_columns[_GROUP_COLUMN_MAX];
        Table *table;
        bool raw;
        Buffer label;      /* of the group whose rows are added */
        Buffer next_label; /* after its first row, where that differs */
        Buffer threads;
        json_object *uptime; /* of that group; borrowed, may be NULL */
};

/* One metric of one group. */
typedef struct GroupRow {
        const char *metric;
        json_object *entry;
        CellStyle style;
        const Metric *registered; /* NULL for derived and unknown ones */
} GroupRow;

int group_table_new(const Session *session, const GroupColumns *columns, GroupTable **ret) {
        _cleanup_(group_table_freep) GroupTable *table = NULL;
        int r;

        table = malloc(sizeof(*table));
        if (!table)
                return -ENOMEM;
        *table = (GroupTable){
                .columns = *columns,
                .raw = options_have(session->options, OPTION_RAW),
        };
        for (size_t i = 0; i < columns->n; i++) {
                table->table_columns[i] = group_column_table(
                        columns->ids[i], view_axis_header(session->options->view.axis));
                table->table_columns[i].keep_end = columns->ids[i] == GROUP_COLUMN_GROUP &&
                                                   session->options->view.axis == VIEW_AXIS_CGROUP;
                /* Who names columns gets them. */
                if (i >= columns->n_default)
                        table->table_columns[i].omit = 0;
        }
        r = table_new(table->table_columns, columns->n, &session->terminal, session_legend(session),
                      stdout, &table->table);
        if (r < 0)
                return r;
        if (options_have(session->options, OPTION_WRAP))
                table_set_wrap(table->table);
        *ret = TAKE_PTR(table);
        return 0;
}

GroupTable *group_table_free(GroupTable *table) {
        if (!table)
                return NULL;
        table->table = table_free(table->table);
        buffer_done(&table->label);
        buffer_done(&table->next_label);
        buffer_done(&table->threads);
        free(table);
        return NULL;
}

/* "process/thread[tid]", without the process where the thread has its name. */
static int append_thread(Buffer *label, json_object *group) {
        Span process = cell_string(cell_member(group, "process"));
        Span thread = cell_string(cell_member(group, "thread"));
        int r = 0;

        if (process.n > 0 && !span_equal(process, thread)) {
                r = printable_append_name(label, process);
                if (r == 0)
                        r = buffer_append_byte(label, '/');
        }
        if (r == 0)
                r = printable_append_name(label, thread);
        if (r < 0)
                return r;
        return buffer_append_format(label, "[%lld]",
                                    (long long) json_object_get_int64(cell_member(group, "tid")));
}

int group_label_append(Buffer *label, json_object *group) {
        Span key = cell_string(cell_member(group, "key"));
        int r;

        if (cell_member(group, "tid"))
                return append_thread(label, group);
        if (key.n == 0) /* a name may be empty; a cgroup that is, is not known */
                return buffer_append_text(label, cell_member(group, "process") ||
                                                                 cell_member(group, "thread")
                                                         ? "\"\""
                                                         : "(unknown)");
        for (;;) {
                const char *joint = memchr(key.bytes, '\x1f', key.n);
                size_t n = joint ? (size_t) (joint - key.bytes) : key.n;

                r = printable_append_name(label, (Span){ key.bytes, n });
                if (r < 0 || !joint)
                        return r;
                r = buffer_append_text(label, " / ");
                if (r < 0)
                        return r;
                key = (Span){ joint + 1, key.n - n - 1 };
        }
}

/* "N", or "A→B". */
static int append_threads(Buffer *cell, json_object *group) {
        json_object *before = cell_member(group, "threadsBefore");
        json_object *after = cell_member(group, "threadsAfter");
        uint64_t n_before = json_object_get_uint64(before), n_after = json_object_get_uint64(after);

        if (!before || !after)
                return buffer_append_u64(cell,
                                         json_object_get_uint64(cell_member(group, "threads")));
        if (n_before == n_after)
                return buffer_append_u64(cell, n_before);
        return buffer_append_format(cell, "%llu\u2192%llu", (unsigned long long) n_before,
                                    (unsigned long long) n_after);
}

static GroupRow describe_row(const GroupTable *table, const char *name, json_object *entry) {
        MetricId metric = metric_find(span_of(name));
        DerivedId derived = metric < _METRIC_MAX ? _DERIVED_MAX : derived_find(span_of(name));
        GroupRow row = { .metric = name, .entry = entry, .style = { .raw = table->raw } };

        if (metric < _METRIC_MAX) {
                row.registered = &metric_table[metric];
                row.style.unit = metric_table[metric].unit;
        } else if (derived < _DERIVED_MAX) {
                row.style.unit = derived_table[derived].unit;
                row.style.derived = true;
        }
        return row;
}

static int append_arrow(Buffer *cell, const GroupRow *row) {
        int r;

        r = cell_append_value(cell, cell_member(row->entry, "before"), &row->style);
        if (r == 0)
                r = buffer_append_text(cell, " \u2192 ");
        return r < 0 ? r : cell_append_value(cell, cell_member(row->entry, "after"), &row->style);
}

/* "VALUE NAME[TID]": the thread that has the most. Where there is no room, its name is cut. */
static int append_top(Buffer *cell, const GroupRow *row) {
        json_object *top = cell_member(cell_member(row->entry, "spread"), "top");
        int r;

        if (!top)
                return buffer_append_byte(cell, '-');
        r = cell_append_value(cell, cell_member(top, "value"), &row->style);
        if (r == 0)
                r = buffer_append_byte(cell, ' ');
        if (r == 0)
                r = printable_append_name(cell, cell_string(cell_member(top, "name")));
        return r < 0 ? r
                     : buffer_append_format(
                               cell, "[%lld]",
                               (long long) json_object_get_int64(cell_member(top, "tid")));
}

static int append_percentile(Buffer *cell, const GroupRow *row, const char *key) {
        return cell_append_value(cell, cell_member(cell_member(row->entry, "spread"), key),
                                 &row->style);
}

/* Whole percents: it is a mean of ages. */
static int append_uptime(Buffer *cell, json_object *uptime, bool raw) {
        Quantity percent;

        if (!cell_quantity(uptime, &percent))
                return buffer_append_byte(cell, '-');
        if (raw)
                return buffer_append_text(cell, json_object_to_json_string(uptime));
        return buffer_append_format(cell, "%.0f%%", json_object_get_double(uptime));
}

/* "[cfs-only] [SCHEDSTATS]": class, then kernel options without what all of them begin with. */
static int append_tags(Buffer *cell, const Metric *metric) {
        static const char prefix[] = "CONFIG_";
        size_t n_before = cell->n;
        const char *gates;
        int r = 0;

        if (!metric)
                return 0;
        if (metric->class != METRIC_CLASS_ANY)
                r = buffer_append_format(cell, "[%s]", metric_class_name(metric->class));
        for (gates = metric->gates; r == 0 && *gates != '\0';) {
                size_t n = strcspn(gates, ", ");
                size_t skip = strncmp(gates, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;

                r = buffer_append_format(cell, "%s[%.*s]", cell->n > n_before ? " " : "",
                                         (int) (n - skip), gates + skip);
                gates += n;
                gates += strspn(gates, ", ");
        }
        return r;
}

static int append_cell(GroupTable *table, GroupColumn column, const GroupRow *row, Buffer *cell) {
        switch (column) {
        case GROUP_COLUMN_GROUP:
                return buffer_append(cell, table->label.bytes, table->label.n);
        case GROUP_COLUMN_THREADS:
                return buffer_append(cell, table->threads.bytes, table->threads.n);
        case GROUP_COLUMN_METRIC:
                return printable_append(cell, span_of(row->metric));
        case GROUP_COLUMN_BEFORE:
                return cell_append_value(cell, cell_member(row->entry, "before"), &row->style);
        case GROUP_COLUMN_AFTER:
                return cell_append_value(cell, cell_member(row->entry, "after"), &row->style);
        case GROUP_COLUMN_ARROW:
                return append_arrow(cell, row);
        case GROUP_COLUMN_DELTA:
                return cell_append_delta(cell, row->entry, &row->style);
        case GROUP_COLUMN_PERCENT:
                return cell_append_percent(cell, row->entry, &row->style);
        case GROUP_COLUMN_RATE:
                return cell_append_rate(cell, row->entry, &row->style);
        case GROUP_COLUMN_VALUE:
                return cell_append_value(cell, cell_member(row->entry, "value"), &row->style);
        case GROUP_COLUMN_TOP:
                return append_top(cell, row);
        case GROUP_COLUMN_P50:
                return append_percentile(cell, row, "p50");
        case GROUP_COLUMN_P99:
                return append_percentile(cell, row, "p99");
        case GROUP_COLUMN_UPTIME:
                return append_uptime(cell, table->uptime, table->raw);
        case GROUP_COLUMN_TAGS:
                return append_tags(cell, row->registered);
        case GROUP_COLUMN_UNIT:
                return buffer_append_text(cell, metric_unit_name(row->style.unit));
        case _GROUP_COLUMN_MAX:
                break;
        }
        return 0;
}

static int add_row(GroupTable *table, const GroupRow *row) {
        uint32_t bold = 0;
        Quantity percent;

        for (size_t i = 0; i < table->columns.n; i++) {
                int r = append_cell(table, table->columns.ids[i], row, table_cell(table->table));

                if (r < 0)
                        return r;
                if (table->columns.ids[i] == GROUP_COLUMN_PERCENT &&
                    cell_quantity(cell_member(row->entry, "percent"), &percent) &&
                    percent.whole >= BOLD_PERCENT)
                        bold |= UINT32_C(1) << i;
        }
        return table_end_row(table->table, bold);
}

static int add_rows(GroupTable *table, json_object *metrics) {
        json_object_iter member;

        if (!json_object_is_type(metrics, json_type_object))
                return 0;
        json_object_object_foreachC(metrics, member) {
                GroupRow row = describe_row(table, member.key, member.val);
                int r = add_row(table, &row);

                if (r == 0 && table->next_label.n > 0) {
                        buffer_clear(&table->label);
                        r = buffer_append(&table->label, table->next_label.bytes,
                                          table->next_label.n);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_group(GroupTable *table, json_object *group) {
        int r;

        table->uptime = cell_member(group, "uptimePercent");
        buffer_clear(&table->threads);
        r = append_threads(&table->threads, group);
        if (r == 0)
                r = add_rows(table, cell_member(group, "metrics"));
        return r < 0 ? r : add_rows(table, cell_member(group, "derived"));
}

int group_table_add(GroupTable *table, json_object *group) {
        int r;

        buffer_clear(&table->label);
        buffer_clear(&table->next_label);
        r = group_label_append(&table->label, group);
        return r < 0 ? r : add_group(table, group);
}

/* @label is @before and the part of a key. */
static int set_label(Buffer *label, const char *before, json_object *part) {
        Span name = cell_string(part);
        int r;

        buffer_clear(label);
        r = buffer_append_text(label, before);
        if (r < 0)
                return r;
        if (name.n == 0)
                return buffer_append_text(label, part ? "\"\"" : "(unknown)");
        return printable_append_name(label, name);
}

/* Of a group's column that is not the first. */
static int add_inner_heading(GroupTable *table) {
        bool shown = false;
        int r = 0;

        for (size_t i = 0; i < table->columns.n; i++)
                shown = shown || table->columns.ids[i] == GROUP_COLUMN_GROUP;
        if (!shown)
                return 0;
        for (size_t i = 0; r == 0 && i < table->columns.n; i++) {
                Buffer *cell = table_cell(table->table);

                if (table->columns.ids[i] == GROUP_COLUMN_GROUP)
                        r = buffer_append(cell, table->label.bytes, table->label.n);
                else
                        r = buffer_append_byte(cell, ' '); /* nothing would be shown as absent */
        }
        return r < 0 ? r : table_end_row(table->table, 0);
}

int group_table_add_heading(GroupTable *table, const char *before, json_object *part) {
        const char *text;
        int r;

        r = set_label(&table->label, before, part);
        if (r < 0)
                return r;
        if (table->columns.ids[0] != GROUP_COLUMN_GROUP)
                return add_inner_heading(table);
        r = buffer_terminate(&table->label, &text);
        return r < 0 ? r : table_add_heading(table->table, text);
}

int group_table_add_branch(GroupTable *table, json_object *group, const GroupBranch *branch) {
        json_object *thread = cell_member(group, "thread");
        int r;

        r = set_label(&table->label, branch->first, thread);
        if (r == 0)
                r = set_label(&table->next_label, branch->next, thread);
        return r < 0 ? r : add_group(table, group);
}

bool group_table_is_empty(const GroupTable *table) {
        return table_is_empty(table->table);
}

int group_table_end(GroupTable *table) {
        return table_end(table->table);
}

void group_table_omitted(const GroupTable *table, Buffer *names) {
        table_omitted(table->table, names);
}
