/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/group-table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "metric/metric.h"
#include "render/cell.h"
#include "render/printable.h"
#include "report/group/group-columns.h"
#include "report/overview/group-label.h"

#define BOLD_PERCENT 50

_Static_assert(_GROUP_COLUMN_MAX <= TABLE_MAX_COLUMNS, "a table can have all columns at once");

int group_table_new(const Session *session, const GroupColumns *columns, ReportKind kind,
                    uint32_t user_hz, FILE *out, GroupTable **ret) {
        _cleanup_(group_table_freep) GroupTable *table = NULL;
        const Options *options = session->options;
        int r;

        table = malloc(sizeof(*table));
        if (!table)
                return -ENOMEM;
        *table = (GroupTable){ .columns = *columns,
                               .kind = kind,
                               .raw = options_have(options, OPTION_RAW),
                               .user_hz = user_hz,
                               .is_tree =
                                       options->view.axis == VIEW_AXIS_ALL && kind != REPORT_SETS };
        for (size_t i = 0; i < columns->n; i++) {
                TableColumn *column = &table->table_columns[i];

                *column = group_column_table(columns->ids[i], kind,
                                             view_axis_headers[options->view.axis]);
                column->keep_end = columns->ids[i] == GROUP_COLUMN_GROUP &&
                                   options->view.axis == VIEW_AXIS_CGROUP;
                /* Columns that the user named are never omitted. */
                if (i >= columns->n_default)
                        column->omit = 0;
        }
        r = table_new(table->table_columns, columns->n, &session->terminal, session->legend, out,
                      &table->table);
        if (r < 0)
                return r;
        if (options_have(options, OPTION_WRAP))
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
        for (size_t i = 0; i < table->n_groups; i++)
                (void) json_object_put(table->groups[i]);
        free(table->groups);
        free(table);
        return NULL;
}

/* Makes @label the name in a part of a key, behind @before. */
static void set_label(Buffer *label, const char *before, json_object *part) {
        Span name = cell_string(part);

        buffer_clear(label);
        buffer_append_text(label, before);
        if (name.n == 0)
                buffer_append_text(label, part ? "\"\"" : "(unknown)");
        else
                printable_append_name(label, name);
}

/* rows */

static void append_cell(GroupTable *table, GroupColumn column, const GroupRow *row) {
        Buffer *cell = table_cell(table->table);
        Quantity percent;

        if (column == GROUP_COLUMN_GROUP)
                buffer_append(cell, table->label.bytes, table->label.n);
        else if (column == GROUP_COLUMN_THREADS)
                buffer_append(cell, table->threads.bytes, table->threads.n);
        else if (column != GROUP_COLUMN_UPTIME)
                group_cell_append(cell, column, row);
        else if (!cell_quantity(table->uptime, &percent))
                buffer_append_byte(cell, '-');
        else if (table->raw)
                buffer_append_text(cell, json_object_to_json_string(table->uptime));
        else /* whole percents, because it is a mean of ages */
                buffer_append_format(cell, "%.0f%%", json_object_get_double(table->uptime));
}

static void add_rows(GroupTable *table, json_object *metrics) {
        json_object_iter member;

        if (!json_object_is_type(metrics, json_type_object))
                return;
        json_object_object_foreachC(metrics, member) {
                MetricId id = metric_find(span_of(member.key));
                DerivedId derived =
                        id < _METRIC_MAX ? _DERIVED_MAX : derived_find(span_of(member.key));
                GroupRow row = { .kind = table->kind,
                                 .metric = member.key,
                                 .entry = member.val,
                                 .style = { .raw = table->raw, .user_hz = table->user_hz } };
                uint32_t bold = 0;
                Quantity percent;

                if (id < _METRIC_MAX) {
                        row.registered = &metric_table[id];
                        row.style.unit = metric_table[id].unit;
                } else if (derived < _DERIVED_MAX) {
                        row.style.unit = derived_table[derived].unit;
                        row.style.derived = true;
                }
                if (group_row_is_idle(&row, metrics))
                        continue;
                for (size_t i = 0; i < table->columns.n; i++) {
                        GroupColumn column = table->columns.ids[i];

                        append_cell(table, column, &row);
                        /* A significant p and a large percentage stand out. */
                        if (column == GROUP_COLUMN_P
                                    ? json_object_get_boolean(cell_member(row.entry, "significant"))
                                    : column == GROUP_COLUMN_PERCENT &&
                                              cell_quantity(cell_member(row.entry, "percent"),
                                                            &percent) &&
                                              percent.whole >= BOLD_PERCENT)
                                bold |= UINT32_C(1) << i;
                }
                table_end_row(table->table, bold);
                if (table->next_label.n > 0) {
                        buffer_clear(&table->label);
                        buffer_append(&table->label, table->next_label.bytes, table->next_label.n);
                }
        }
}

/* Adds the rows of a group whose labels are set. */
static void add_group(GroupTable *table, json_object *group) {
        json_object *threads = cell_member(group, "threads");
        bool has_sides = json_object_is_type(threads, json_type_object);
        json_object *before =
                has_sides ? cell_member(threads, "a") : cell_member(group, "threadsBefore");
        json_object *after =
                has_sides ? cell_member(threads, "b") : cell_member(group, "threadsAfter");
        uint64_t n_before = json_object_get_uint64(before), n_after = json_object_get_uint64(after);

        table->uptime = cell_member(group, "uptimePercent");
        buffer_clear(&table->threads);
        if (!before || !after)
                buffer_append_u64(&table->threads,
                                  json_object_get_uint64(has_sides ? before : threads));
        else
                buffer_append_u64(&table->threads, n_before);
        if (before && after && n_before != n_after)
                buffer_append_format(&table->threads, "\u2192%llu", (unsigned long long) n_after);
        table_fail(table->table, buffer_failure(&table->threads));
        table_fail(table->table, buffer_failure(&table->next_label));
        table_fail(table->table, buffer_failure(&table->label));
        add_rows(table, cell_member(group, "metrics"));
        add_rows(table, cell_member(group, "derived"));
        table_fail(table->table, buffer_failure(&table->label));
}

int group_table_add(GroupTable *table, json_object *group) {
        int r;

        if (table->is_tree) {
                r = ARRAY_RESERVE(table->groups, table->n_allocated, table->n_groups + 1);
                if (r == 0)
                        table->groups[table->n_groups++] = json_object_get(group);
                return r;
        }
        buffer_clear(&table->label);
        buffer_clear(&table->next_label);
        group_label_append(&table->label, group);
        add_group(table, group);
        return 0;
}

/* a tree */

/* Adds a line with one part of the key of the groups below it; @part NULL is unknown. */
static void add_heading(GroupTable *table, const char *before, json_object *part) {
        const GroupColumns *columns = &table->columns;
        bool shown = false;
        const char *text;
        int r;

        set_label(&table->label, before, part);
        r = buffer_terminate(&table->label, &text);
        table_fail(table->table, r);
        if (columns->ids[0] == GROUP_COLUMN_GROUP) {
                if (r == 0)
                        table_add_heading(table->table, text);
                return;
        }
        /* The column of the group is not the first: a row has nothing but the group. */
        for (size_t i = 0; i < columns->n; i++)
                shown = shown || columns->ids[i] == GROUP_COLUMN_GROUP;
        if (!shown)
                return;
        for (size_t i = 0; i < columns->n; i++) {
                Buffer *cell = table_cell(table->table);

                if (columns->ids[i] == GROUP_COLUMN_GROUP)
                        buffer_append(cell, table->label.bytes, table->label.n);
                else
                        buffer_append_byte(cell, ' '); /* an empty cell would be shown as "-" */
        }
        table_end_row(table->table, 0);
}

/* A group with the places of its branches. */
typedef struct Leaf {
        json_object *group;
        Span cgroup, process;
        size_t at, process_at, cgroup_at;
} Leaf;

static int compare_branches(const void *a, const void *b) {
        const Leaf *x = a, *y = b;
        int r = span_compare(x->cgroup, y->cgroup);

        if (r == 0)
                r = span_compare(x->process, y->process);
        return r != 0 ? r : (x->at > y->at) - (x->at < y->at);
}

static int compare_places(const void *a, const void *b) {
        const Leaf *x = a, *y = b;

        if (x->cgroup_at != y->cgroup_at)
                return x->cgroup_at < y->cgroup_at ? -1 : 1;
        if (x->process_at != y->process_at)
                return x->process_at < y->process_at ? -1 : 1;
        return (x->at > y->at) - (x->at < y->at);
}

/* Gives each branch the place of its first group. */
static void place(Leaf *leaves, size_t n) {
        qsort(leaves, n, sizeof(*leaves), compare_branches);
        for (size_t begin = 0, end; begin < n; begin = end) {
                size_t first = SIZE_MAX;

                for (end = begin; end < n && span_equal(leaves[end].cgroup, leaves[begin].cgroup);
                     end++) {
                        first = MIN_OF(first, leaves[end].at);
                        /* Groups of one process are in order already. */
                        leaves[end].process_at = end > begin && span_equal(leaves[end].process,
                                                                           leaves[end - 1].process)
                                                         ? leaves[end - 1].process_at
                                                         : leaves[end].at;
                }
                for (size_t i = begin; i < end; i++)
                        leaves[i].cgroup_at = first;
        }
        qsort(leaves, n, sizeof(*leaves), compare_places);
}

/* Adds the threads of one process, from @begin to @end, each with its name alone as the label. */
static void add_process(GroupTable *table, const Leaf *leaves, size_t begin, size_t end,
                        bool last) {
        add_heading(table, last ? "\u2514\u2500" : "\u251c\u2500",
                    cell_member(leaves[begin].group, "process"));
        for (size_t i = begin; i < end; i++) {
                json_object *group = leaves[i].group, *thread = cell_member(group, "thread");
                bool last_thread = i + 1 == end;

                /* The branches in front of the name differ in the first row and in the others. */
                set_label(&table->label,
                          last          ? last_thread ? "  \u2514\u2500" : "  \u251c\u2500"
                          : last_thread ? "\u2502 \u2514\u2500"
                                        : "\u2502 \u251c\u2500",
                          thread);
                set_label(&table->next_label,
                          last          ? last_thread ? "    " : "  \u2502 "
                          : last_thread ? "\u2502   "
                                        : "\u2502 \u2502 ",
                          thread);
                add_group(table, group);
        }
}

int group_table_end(GroupTable *table, bool *ret_empty) {
        size_t n = table->n_groups; /* 0 if it is no tree */
        _cleanup_(freep) Leaf *leaves = calloc(n > 0 ? n : 1, sizeof(*leaves));

        if (!leaves)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                leaves[i] = (Leaf){
                        .group = table->groups[i],
                        .cgroup = cell_string(cell_member(table->groups[i], "cgroup")),
                        .process = cell_string(cell_member(table->groups[i], "process")),
                        .at = i,
                };
        place(leaves, n);
        for (size_t begin = 0, end; begin < n; begin = end) {
                bool last;

                if (begin == 0 || leaves[begin].cgroup_at != leaves[begin - 1].cgroup_at)
                        add_heading(table, "", cell_member(leaves[begin].group, "cgroup"));
                for (end = begin; end < n && leaves[end].process_at == leaves[begin].process_at;)
                        end++;
                last = end == n || leaves[end].cgroup_at != leaves[begin].cgroup_at;
                add_process(table, leaves, begin, end, last);
        }
        *ret_empty = table_is_empty(table->table);
        return *ret_empty ? 0 : table_end(table->table);
}
