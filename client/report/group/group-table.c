/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/group-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "render/cell.h"
#include "render/printable.h"
#include "report/group/group-columns.h"
#include "report/overview/group-label.h"

_Static_assert(_GROUP_COLUMN_MAX <= TABLE_MAX_COLUMNS, "a table can have all columns at once");

struct GroupTable {
        ReportKind kind;
        GroupColumns columns;
        TableColumn table_columns[_GROUP_COLUMN_MAX];
        Table *table;
        bool raw;
        uint32_t user_hz;
        Buffer label;      /* of the group whose rows are added */
        Buffer next_label; /* of its rows behind the first one, if that differs */
        Buffer threads;
        json_object *uptime; /* of that group; borrowed, may be NULL */

        /* of a tree */
        bool is_tree;
        json_object **groups; /* owned, each of them too */
        size_t n_groups, n_allocated;
};

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
                                             view_axis_header(options->view.axis));
                column->keep_end = columns->ids[i] == GROUP_COLUMN_GROUP &&
                                   options->view.axis == VIEW_AXIS_CGROUP;
                /* Columns that the user named are never omitted. */
                if (i >= columns->n_default)
                        column->omit = 0;
        }
        r = table_new(table->table_columns, columns->n, &session->terminal, session_legend(session),
                      out, &table->table);
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

/* "N", or "A→B". */
static void append_threads(Buffer *cell, json_object *group) {
        json_object *threads = cell_member(group, "threads");
        bool has_sides = json_object_is_type(threads, json_type_object);
        json_object *before =
                has_sides ? cell_member(threads, "a") : cell_member(group, "threadsBefore");
        json_object *after =
                has_sides ? cell_member(threads, "b") : cell_member(group, "threadsAfter");
        uint64_t n_before = json_object_get_uint64(before), n_after = json_object_get_uint64(after);

        if (!before || !after)
                buffer_append_u64(cell, json_object_get_uint64(has_sides ? before : threads));
        else if (n_before == n_after)
                buffer_append_u64(cell, n_before);
        else
                buffer_append_format(cell, "%llu\u2192%llu", (unsigned long long) n_before,
                                     (unsigned long long) n_after);
}

/* rows */

/* In whole percents, because it is a mean of ages. */
static void append_uptime(Buffer *cell, json_object *uptime, bool raw) {
        Quantity percent;

        if (!cell_quantity(uptime, &percent))
                buffer_append_byte(cell, '-');
        else if (raw)
                buffer_append_text(cell, json_object_to_json_string(uptime));
        else
                buffer_append_format(cell, "%.0f%%", json_object_get_double(uptime));
}

static void append_cell(GroupTable *table, GroupColumn column, const GroupRow *row) {
        Buffer *cell = table_cell(table->table);

        if (column == GROUP_COLUMN_GROUP)
                buffer_append(cell, table->label.bytes, table->label.n);
        else if (column == GROUP_COLUMN_THREADS)
                buffer_append(cell, table->threads.bytes, table->threads.n);
        else if (column == GROUP_COLUMN_UPTIME)
                append_uptime(cell, table->uptime, table->raw);
        else
                group_cell_append(cell, column, row);
}

static void add_rows(GroupTable *table, json_object *metrics) {
        json_object_iter member;

        if (!json_object_is_type(metrics, json_type_object))
                return;
        json_object_object_foreachC(metrics, member) {
                GroupRow row = group_row_of(table->kind, member.key, member.val, table->raw,
                                            table->user_hz);
                uint32_t bold = 0;

                if (group_row_is_idle(&row, metrics))
                        continue;
                for (size_t i = 0; i < table->columns.n; i++) {
                        append_cell(table, table->columns.ids[i], &row);
                        if (group_cell_is_bold(table->columns.ids[i], &row))
                                bold |= UINT32_C(1) << i;
                }
                table_end_row(table->table, bold);
                if (table->next_label.n > 0) {
                        buffer_clear(&table->label);
                        buffer_append(&table->label, table->next_label.bytes, table->next_label.n);
                }
        }
}

/* The labels are set. */
static void add_group(GroupTable *table, json_object *group) {
        table->uptime = cell_member(group, "uptimePercent");
        buffer_clear(&table->threads);
        append_threads(&table->threads, group);
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

/* As a row with nothing but its group, because the column of the group is not the first. */
static void add_inner_heading(GroupTable *table) {
        bool shown = false;

        for (size_t i = 0; i < table->columns.n; i++)
                shown = shown || table->columns.ids[i] == GROUP_COLUMN_GROUP;
        if (!shown)
                return;
        for (size_t i = 0; i < table->columns.n; i++) {
                Buffer *cell = table_cell(table->table);

                if (table->columns.ids[i] == GROUP_COLUMN_GROUP)
                        buffer_append(cell, table->label.bytes, table->label.n);
                else
                        buffer_append_byte(cell, ' '); /* an empty cell would be shown as "-" */
        }
        table_end_row(table->table, 0);
}

/* A line with one part of the key of the groups below it; @part NULL is unknown. */
static void add_heading(GroupTable *table, const char *before, json_object *part) {
        const char *text;
        int r;

        set_label(&table->label, before, part);
        r = buffer_terminate(&table->label, &text);
        table_fail(table->table, r);
        if (table->columns.ids[0] != GROUP_COLUMN_GROUP)
                add_inner_heading(table);
        else if (r == 0)
                table_add_heading(table->table, text);
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

/* A branch gets the place of its first group. */
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

/* The threads of one process, from @begin to @end, each with its name alone as the label. */
static void add_process(GroupTable *table, const Leaf *leaves, size_t begin, size_t end,
                        bool last) {
        add_heading(table, last ? "\u2514\u2500" : "\u251c\u2500",
                    cell_member(leaves[begin].group, "process"));
        for (size_t i = begin; i < end; i++) {
                json_object *group = leaves[i].group, *thread = cell_member(group, "thread");
                bool last_thread = i + 1 == end;

                /* In front of the name in the first row of the group, and in its other rows. */
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

static int add_tree(GroupTable *table) {
        size_t n = table->n_groups;
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
        return 0;
}

/* the end */

int group_table_end(GroupTable *table, bool *ret_empty) {
        int r = add_tree(table);

        if (r < 0)
                return r;
        *ret_empty = table_is_empty(table->table);
        return *ret_empty ? 0 : table_end(table->table);
}

void group_table_omitted(const GroupTable *table, Buffer *names) {
        table_omitted(table->table, names);
}
