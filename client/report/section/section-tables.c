/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/cell.h"
#include "render/printable.h"
#include "render/table.h"
#include "report/section/section-cell.h"
#include "report/section/section-row.h"

#define MAX_COLUMNS 8
#define NAME_SHRUNK 12
#define HEADING_BYTES 96

struct SectionTables {
        const Session *session;
        ReportKind kind;
        bool raw;

        /* the table that is open */
        Table *table; /* NULL: none */
        SectionId id;
        char heading[HEADING_BYTES];
        TableColumn columns[MAX_COLUMNS];
        size_t n_columns;

        json_object **kept; /* owned: rows that a second table will need */
        size_t n_kept, n_allocated;

        bool came[_SECTION_MAX], shown[_SECTION_MAX];
        uint64_t n_hidden;
        bool narrow[_SECTION_MAX]; /* a table of it went without a column */
        Buffer omitted;
};

int section_tables_new(const Session *session, ReportKind kind, SectionTables **ret) {
        SectionTables *tables = malloc(sizeof(*tables));

        if (!tables)
                return -ENOMEM;
        *tables = (SectionTables){
                .session = session,
                .kind = kind,
                .raw = options_have(session->options, OPTION_RAW),
        };
        *ret = tables;
        return 0;
}

static void forget_rows(SectionTables *tables) {
        for (size_t i = 0; i < tables->n_kept; i++)
                (void) json_object_put(tables->kept[i]);
        tables->n_kept = 0;
}

SectionTables *section_tables_free(SectionTables *tables) {
        if (!tables)
                return NULL;
        forget_rows(tables);
        free(tables->kept);
        tables->table = table_free(tables->table);
        buffer_done(&tables->omitted);
        free(tables);
        return NULL;
}

static bool is_pair(const SectionTables *tables) {
        return tables->kind == REPORT_PAIR;
}

/* the table that is open */

static int close_table(SectionTables *tables) {
        _cleanup_(buffer_done) Buffer omitted = {};
        int r;

        if (!tables->table)
                return 0;
        r = table_end(tables->table);
        table_omitted(tables->table, &omitted);
        if (r == 0 && omitted.n > 0 && !tables->narrow[tables->id]) {
                tables->narrow[tables->id] = true;
                r = buffer_append_format(&tables->omitted, "%s%.*s of %s",
                                         tables->omitted.n > 0 ? ", " : "", (int) omitted.n,
                                         omitted.bytes, view_table_name(tables->id));
        }
        tables->table = table_free(tables->table);
        return r;
}

/* Columns are there; their table begins. */
static int open_table(SectionTables *tables, SectionId id, const char *heading) {
        const Session *session = tables->session;
        bool bold = session->terminal.colour;
        int r;

        (void) snprintf(tables->heading, sizeof(tables->heading), "%s", heading);
        (void) printf("\n%s%s%s\n", bold ? "\033[1m" : "", heading, bold ? "\033[0m" : "");
        tables->id = id;
        tables->shown[id] = true;
        r = table_new(tables->columns, tables->n_columns, &session->terminal,
                      session_legend(session), stdout, &tables->table);
        if (r == 0 && options_have(session->options, OPTION_WRAP))
                table_set_wrap(tables->table);
        return r;
}

static void add_column(SectionTables *tables, TableColumn column) {
        tables->columns[tables->n_columns++] = column;
}

static void add_number_column(SectionTables *tables, const char *header) {
        add_column(tables, (TableColumn){ .header = header, .right = true });
}

static void begin_columns(SectionTables *tables, SectionId id) {
        const char *item = section_item(id);

        tables->n_columns = 0;
        if (item)
                add_column(tables, (TableColumn){ .header = item,
                                                  .shrink_to = NAME_SHRUNK,
                                                  .keep_end = true });
}

static int add_item(SectionTables *tables, SectionId id, const SectionRow *row) {
        Span name = cell_string(row->item);

        if (!section_item(id))
                return 0;
        if (name.n == 0)
                return buffer_append_text(table_cell(tables->table), "\"\"");
        return printable_append_name(table_cell(tables->table), name);
}

/* a value a row */

static int open_values(SectionTables *tables, SectionId id) {
        static const char *const names[_SECTION_MAX] = {
                [SECTION_SMAPS_ROLLUP] = "key",    [SECTION_CGROUP_STATS] = "counter",
                [SECTION_CGROUP_LIMITS] = "limit", [SECTION_MEMORY_STAT] = "key",
                [SECTION_MEMORY_EVENTS] = "event", [SECTION_SCHED_EXT] = "attr",
        };

        begin_columns(tables, id);
        add_column(
                tables,
                (TableColumn){ .header = names[id], .shrink_to = NAME_SHRUNK, .keep_end = true });
        if (!is_pair(tables)) {
                add_column(tables, (TableColumn){ .header = "value",
                                                  .right = true,
                                                  .shrink_to = 2 * NAME_SHRUNK });
                return open_table(tables, id, view_table_name(id));
        }
        add_column(tables,
                   (TableColumn){ .header = "before", .right = true, .shrink_to = NAME_SHRUNK });
        add_column(tables,
                   (TableColumn){ .header = "after", .right = true, .shrink_to = NAME_SHRUNK });
        add_number_column(tables, "delta");
        add_number_column(tables, "%");
        return open_table(tables, id, view_table_name(id));
}

static int begin_value(SectionTables *tables, SectionId id, const SectionRow *row, Span name) {
        int r = 0;

        if (!tables->table || tables->id != id) {
                r = close_table(tables);
                if (r == 0)
                        r = open_values(tables, id);
        }
        if (r == 0)
                r = add_item(tables, id, row);
        return r < 0 ? r : printable_append_name(table_cell(tables->table), name);
}

static int add_value(SectionTables *tables, SectionId id, const SectionRow *row,
                     const SectionValue *value) {
        json_object *json = value->value;
        bool large = false;
        int r;

        r = begin_value(tables, id, row, value->name);
        if (r == 0 && !is_pair(tables)) {
                r = section_cell_value(table_cell(tables->table), json, value->unit, tables->raw);
                return r < 0 ? r : table_end_row(tables->table, 0);
        }
        if (r == 0)
                r = section_cell_value(table_cell(tables->table), cell_member(json, "before"),
                                       value->unit, tables->raw);
        if (r == 0)
                r = section_cell_value(table_cell(tables->table), cell_member(json, "after"),
                                       value->unit, tables->raw);
        if (r == 0)
                r = section_cell_delta(table_cell(tables->table), json, value->unit, tables->raw);
        if (r == 0)
                r = section_cell_percent(table_cell(tables->table), json, value->unit, tables->raw,
                                         &large);
        return r < 0 ? r
                     : table_end_row(tables->table,
                                     large ? UINT32_C(1) << (tables->n_columns - 1) : 0);
}

/* The two numbers of cpu.max are one text of the kernel. */
static int add_cpu_max(SectionTables *tables, const SectionRow *row) {
        static const char *const sides[] = { "before", "after" };
        json_object *quota = row->values[SECTION_LIMITS_QUOTA].value;
        json_object *period = row->values[SECTION_LIMITS_PERIOD].value;
        int r;

        r = begin_value(tables, SECTION_CGROUP_LIMITS, row, SPAN_LITERAL("cpu.max"));
        for (size_t i = 0; r == 0 && i < 2; i++)
                r = section_cell_cpu_max(table_cell(tables->table), cell_member(quota, sides[i]),
                                         cell_member(period, sides[i]), tables->raw);
        for (size_t i = 0; r == 0 && i < 2; i++)
                r = buffer_append_byte(table_cell(tables->table), '-');
        return r < 0 ? r : table_end_row(tables->table, 0);
}

/* Rows that say nothing are counted instead, unless all are wanted. */
static bool is_shown(SectionTables *tables, const SectionValue *value) {
        const Options *options = tables->session->options;

        if (!is_pair(tables) ||
            (options_have(options, OPTION_ALL_ROWS) && !options->view.has_threshold))
                return true;
        return section_value_moved(value, &options->view);
}

static int add_values(SectionTables *tables, SectionId id, const SectionRow *row) {
        size_t first = 0;
        int r = 0;

        if (id == SECTION_CGROUP_LIMITS) {
                if (is_shown(tables, &row->values[SECTION_LIMITS_QUOTA]) ||
                    is_shown(tables, &row->values[SECTION_LIMITS_PERIOD]))
                        r = add_cpu_max(tables, row);
                else
                        tables->n_hidden++;
                first = SECTION_LIMITS_CPUS;
        }
        for (size_t i = first; r == 0 && i < row->n_values; i++)
                if (is_shown(tables, &row->values[i]))
                        r = add_value(tables, id, row, &row->values[i]);
                else
                        tables->n_hidden++;
        return r;
}

/* a cgroup a row */

static int add_stats(SectionTables *tables, const SectionRow *row) {
        int r = 0;

        if (!tables->table || tables->id != SECTION_CGROUP_STATS) {
                r = close_table(tables);
                begin_columns(tables, SECTION_CGROUP_STATS);
                for (size_t i = 0; i < row->n_values; i++)
                        add_number_column(tables, row->values[i].name.bytes);
                if (r == 0)
                        r = open_table(tables, SECTION_CGROUP_STATS,
                                       view_table_name(SECTION_CGROUP_STATS));
        }
        if (r == 0)
                r = add_item(tables, SECTION_CGROUP_STATS, row);
        for (size_t i = 0; r == 0 && i < row->n_values; i++)
                r = section_cell_value(table_cell(tables->table), row->values[i].value,
                                       row->values[i].unit, tables->raw);
        return r < 0 ? r : table_end_row(tables->table, 0);
}

static int keep_row(SectionTables *tables, json_object *row) {
        if (tables->n_kept == tables->n_allocated) {
                size_t n = tables->n_allocated > 0 ? 2 * tables->n_allocated : 64;
                json_object **kept = reallocarray(tables->kept, n, sizeof(*kept));

                if (!kept)
                        return -ENOMEM;
                tables->kept = kept;
                tables->n_allocated = n;
        }
        tables->kept[tables->n_kept++] = json_object_get(row);
        return 0;
}

static int add_limit_cells(SectionTables *tables, const SectionRow *row, const unsigned *ids,
                           size_t n_ids) {
        int r;

        r = add_item(tables, SECTION_CGROUP_LIMITS, row);
        for (size_t i = 0; r == 0 && i < n_ids; i++) {
                const SectionValue *value = &row->values[ids[i]];

                if (ids[i] == SECTION_LIMITS_QUOTA)
                        r = section_cell_cpu_max(table_cell(tables->table), value->value,
                                                 row->values[SECTION_LIMITS_PERIOD].value,
                                                 tables->raw);
                else
                        r = section_cell_value(table_cell(tables->table), value->value, value->unit,
                                               tables->raw);
        }
        return r < 0 ? r : table_end_row(tables->table, 0);
}

static int print_limit_table(SectionTables *tables, const char *heading, const unsigned *ids,
                             const char *const *headers, size_t n_ids) {
        int r;

        r = close_table(tables);
        for (size_t i = 0; r == 0 && i < tables->n_kept; i++) {
                SectionRow row = section_row_read(SECTION_CGROUP_LIMITS, tables->kept[i]);

                if (i == 0) {
                        begin_columns(tables, SECTION_CGROUP_LIMITS);
                        for (size_t k = 0; k < n_ids; k++)
                                add_number_column(tables, headers[k]);
                        r = open_table(tables, SECTION_CGROUP_LIMITS, heading);
                }
                if (r == 0)
                        r = add_limit_cells(tables, &row, ids, n_ids);
        }
        return r;
}

/* Eleven columns do not fit a terminal: two tables of those that go together. */
static int print_limits(SectionTables *tables) {
        static const unsigned cpu_ids[] = { SECTION_LIMITS_QUOTA,  SECTION_LIMITS_CPUS,
                                            SECTION_LIMITS_WEIGHT, SECTION_LIMITS_NICE,
                                            SECTION_LIMITS_PIDS,   SECTION_LIMITS_PIDS_MAX };
        static const char *const cpu_headers[] = { "cpu.max", "cpus",         "cpu.weight",
                                                   "nice",    "pids.current", "pids.max" };
        static const unsigned memory_ids[] = { SECTION_LIMITS_MEMORY_MAX,
                                               SECTION_LIMITS_MEMORY_HIGH,
                                               SECTION_LIMITS_MEMORY_LOW,
                                               SECTION_LIMITS_MEMORY_MIN };
        static const char *const memory_headers[] = { "memory.max", "memory.high", "memory.low",
                                                      "memory.min" };
        int r;

        if (tables->n_kept == 0)
                return 0;
        r = print_limit_table(tables, "cgroup-limits: cpu and pids", cpu_ids, cpu_headers,
                              ELEMENTSOF(cpu_ids));
        if (r == 0)
                r = print_limit_table(tables, "cgroup-limits: memory", memory_ids, memory_headers,
                                      ELEMENTSOF(memory_ids));
        forget_rows(tables);
        return r;
}

/* pressure: a line a half */

static int open_pressure(SectionTables *tables, SectionId id, const char *heading) {
        static const char *const averages[] = { "avg10", "avg60", "avg300" };

        begin_columns(tables, id);
        add_column(tables, (TableColumn){ .header = "row" });
        for (size_t i = 0; i < ELEMENTSOF(averages); i++)
                add_number_column(tables, averages[i]);
        add_column(tables,
                   (TableColumn){ .header = "total", .right = true, .omit = is_pair(tables) });
        if (is_pair(tables)) {
                add_number_column(tables, "delta");
                add_number_column(tables, "%");
        }
        return open_table(tables, id, heading);
}

static int begin_pressure(SectionTables *tables, SectionId id, const SectionRow *row) {
        _cleanup_(buffer_done) Buffer heading = {};
        const char *text;
        int r;

        r = buffer_append_format(&heading, "%s: ", view_table_name(id));
        if (r == 0)
                r = cell_append_text(&heading, row->resource);
        if (r == 0)
                r = buffer_terminate(&heading, &text);
        if (r != 0)
                return r;
        if (tables->table && tables->id == id && strcmp(text, tables->heading) == 0)
                return 0;
        r = close_table(tables);
        return r < 0 ? r : open_pressure(tables, id, text);
}

static int add_pressure(SectionTables *tables, SectionId id, const SectionRow *row) {
        const SectionValue *total = &row->values[SECTION_PRESSURE_TOTAL];
        bool shown = false, large = false;
        int r;

        for (size_t i = 0; i < row->n_values; i++)
                shown = shown || is_shown(tables, &row->values[i]);
        if (!shown) {
                tables->n_hidden++;
                return 0;
        }
        r = begin_pressure(tables, id, row);
        if (r == 0)
                r = add_item(tables, id, row);
        if (r == 0)
                r = cell_append_text(table_cell(tables->table), row->half);
        for (size_t i = 0; r == 0 && i < row->n_values; i++) {
                const SectionValue *value = &row->values[i];

                r = is_pair(tables) ? section_cell_change(table_cell(tables->table), value->value,
                                                          value->unit, tables->raw)
                                    : section_cell_value(table_cell(tables->table), value->value,
                                                         value->unit, tables->raw);
        }
        if (r == 0 && is_pair(tables)) {
                r = section_cell_delta(table_cell(tables->table), total->value, total->unit,
                                       tables->raw);
                if (r == 0)
                        r = section_cell_percent(table_cell(tables->table), total->value,
                                                 total->unit, tables->raw, &large);
        }
        return r < 0 ? r
                     : table_end_row(tables->table,
                                     large ? UINT32_C(1) << (tables->n_columns - 1) : 0);
}

static int add_row(SectionTables *tables, SectionId id, json_object *json) {
        SectionRow row = section_row_read(id, json);

        if (id == SECTION_PRESSURE || id == SECTION_HOST_PRESSURE)
                return add_pressure(tables, id, &row);
        if (is_pair(tables))
                return add_values(tables, id, &row);
        if (id == SECTION_CGROUP_STATS)
                return add_stats(tables, &row);
        return id == SECTION_CGROUP_LIMITS ? keep_row(tables, json) : add_values(tables, id, &row);
}

int section_tables_add(SectionTables *tables, json_object *part) {
        json_object_iter member;

        json_object_object_foreachC(part, member) {
                SectionId id = section_find(member.key);
                size_t n = cell_length(member.val);
                int r = 0;

                if (id == _SECTION_MAX)
                        continue;
                tables->came[id] = true;
                if (id != SECTION_CGROUP_LIMITS)
                        r = print_limits(tables);
                for (size_t i = 0; r == 0 && i < n; i++)
                        r = add_row(tables, id, cell_element(member.val, i));
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Why a section that was named has no table. */
static const char *why_not(const SectionTables *tables, SectionId id) {
        if (tables->came[id] && tables->session->options->view.has_threshold)
                return "nothing moved by more";
        if (tables->came[id])
                return is_pair(tables) ? "nothing changed" : "nothing but zeros";
        /* It does not come either when both sides have the same. */
        return id == SECTION_SCHED_EXT && is_pair(tables) ? "no data, or nothing changed"
                                                          : "no data";
}

int section_tables_end(SectionTables *tables) {
        const View *view = &tables->session->options->view;
        int r;

        r = print_limits(tables);
        if (r == 0)
                r = close_table(tables);
        for (unsigned id = 0; r == 0 && view->has_sections && id < _SECTION_MAX; id++)
                if (view_wants_table(view, (SectionId) id) && !tables->shown[id])
                        (void) printf("\n%s: %s\n", view_table_name((SectionId) id),
                                      why_not(tables, (SectionId) id));
        return r;
}

bool section_tables_any(const SectionTables *tables) {
        for (unsigned id = 0; id < _SECTION_MAX; id++)
                if (tables->came[id])
                        return true;
        return false;
}

uint64_t section_tables_hidden(const SectionTables *tables) {
        return tables->n_hidden;
}

int section_tables_omitted(const SectionTables *tables, Buffer *ret_names) {
        return buffer_append(ret_names, tables->omitted.bytes, tables->omitted.n);
}
