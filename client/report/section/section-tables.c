/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/cell.h"
#include "render/printable.h"
#include "render/table.h"
#include "report/section/section-row.h"

#define MAX_COLUMNS 8
#define NAME_SHRUNK 12
#define HEADING_BYTES 96
#define LARGE_PERCENT 50

struct SectionTables {
        const Session *session;
        ReportKind kind;
        json_object *reply; /* the first one, which has the sources; borrowed */
        bool raw;

        /* the table that is being printed */
        Table *table; /* NULL: none */
        SectionId id;
        char heading[HEADING_BYTES];
        TableColumn columns[MAX_COLUMNS];
        size_t n_columns;

        json_object **kept; /* owned; rows that are shown in two tables */
        size_t n_kept, n_allocated;

        bool came[_SECTION_MAX], shown[_SECTION_MAX];
        uint64_t n_hidden;
        bool narrow[_SECTION_MAX]; /* one of its tables had to omit a column */
        Buffer omitted;

        int error; /* the first failure, -errno */
};

int section_tables_new(const Session *session, ReportKind kind, json_object *reply,
                       SectionTables **ret) {
        SectionTables *tables = malloc(sizeof(*tables));

        if (!tables)
                return -ENOMEM;
        *tables = (SectionTables){
                .session = session,
                .kind = kind,
                .reply = reply,
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
        return report_kind_has_sides(tables->kind);
}

static void fail(SectionTables *tables, int error) {
        if (tables->error == 0)
                tables->error = error;
}

/* cells */

/* Appends a number with a readable unit, or "-" for a value that was not measured. */
static void append_number(Buffer *cell, json_object *value, SectionUnit unit, QuantityForm form,
                          bool raw) {
        char text[QUANTITY_CHARS];
        Quantity quantity;

        if (!cell_quantity(value, &quantity))
                buffer_append_text(cell, "-");
        else if (unit == SECTION_UNIT_PERCENT || unit == SECTION_UNIT_HUNDREDTHS)
                buffer_append_format(cell, "%s%llu.%02u%s",
                                     quantity.negative             ? "-"
                                     : form == QUANTITY_FORM_DELTA ? "+"
                                                                   : "",
                                     (unsigned long long) (quantity.whole / 100),
                                     (unsigned) (quantity.whole % 100),
                                     raw || unit != SECTION_UNIT_PERCENT ? "" : "%");
        else if (raw)
                buffer_append_text(cell,
                                   json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        else
                buffer_append(cell, text,
                              quantity_format(quantity, section_units[unit].ladder, form, text));
}

/* A word stands for itself, as "max" for a limit that is not set. */
static void append_value(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        if (json_object_is_type(value, json_type_string))
                cell_append_text(cell, value);
        else
                append_number(cell, value, unit, QUANTITY_FORM_VALUE, raw);
}

/* Per second; of times of CPUs so many CPUs. */
static void append_rate(Buffer *cell, json_object *rate, SectionUnit unit, SectionId id, bool raw) {
        Quantity quantity;

        if (!raw && id == SECTION_HOST_CPU && unit == SECTION_UNIT_NS &&
            cell_quantity(rate, &quantity)) {
                cell_append_per_second(cell, rate, &(const CellStyle){ .unit = METRIC_UNIT_NS });
                return;
        }
        append_number(cell, rate, unit, QUANTITY_FORM_VALUE, raw);
        if (!raw && cell_quantity(rate, &quantity))
                buffer_append_text(cell, "/s");
}

/* "-" for a unit without amounts. Returns whether the value changed by half or more. */
static bool append_percent(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        Quantity before, delta;
        char text[QUANTITY_CHARS];
        double percent;
        size_t n;

        if (!section_value_percent(value, &percent)) {
                buffer_append_text(cell, "-");
                return false;
        }
        if (raw) {
                buffer_append_format(cell, "%.15g", percent);
        } else {
                if (unit != SECTION_UNIT_CPUS &&
                    cell_quantity(cell_member(value, "before"), &before) &&
                    cell_quantity(cell_member(value, "delta"), &delta))
                        n = quantity_format_percent_of(delta, before, text);
                else
                        n = quantity_format_percent(quantity_of_double(percent), text);
                buffer_append(cell, text, n);
        }
        return percent >= LARGE_PERCENT || percent <= -LARGE_PERCENT;
}

/* Without ".000", which most of these times have: "100ms". Two of them then fit a line. */
static void append_short(Buffer *cell, json_object *value, bool raw) {
        static const char zeros[] = ".000";
        size_t n_before = cell->n;
        char *point;

        append_value(cell, value, SECTION_UNIT_US, raw);
        if (cell->n == n_before)
                return;
        point = memmem(cell->bytes + n_before, cell->n - n_before, zeros, strlen(zeros));
        if (point) {
                char *rest = point + strlen(zeros);

                memmove(point, rest, (size_t) (cell->bytes + cell->n - rest));
                cell->n -= strlen(zeros);
        }
}

/* cpu.max of one side: "50ms/100ms", "max/100ms". */
static void append_cpu_max(Buffer *cell, json_object *quota, json_object *period, bool raw) {
        append_short(cell, quota, raw);
        if (quota || period) {
                buffer_append_byte(cell, '/');
                append_short(cell, period, raw);
        }
}

/* tables */

static void close_table(SectionTables *tables) {
        _cleanup_(buffer_done) Buffer omitted = {};

        if (!tables->table)
                return;
        fail(tables, table_end(tables->table));
        table_omitted(tables->table, &omitted);
        if (omitted.n > 0 && !tables->narrow[tables->id]) {
                tables->narrow[tables->id] = true;
                buffer_append_format(&tables->omitted, "%s%.*s of %s",
                                     tables->omitted.n > 0 ? ", " : "", (int) omitted.n,
                                     omitted.bytes, view_table_name(tables->id));
        }
        fail(tables, buffer_failure(&omitted));
        tables->table = table_free(tables->table);
}

/* Begins the table of the columns that were added. */
static void open_table(SectionTables *tables, SectionId id, const char *heading) {
        const Session *session = tables->session;
        bool bold = session->terminal.colour;

        (void) snprintf(tables->heading, sizeof(tables->heading), "%s", heading);
        (void) printf("\n%s%s%s\n", bold ? "\033[1m" : "", heading, bold ? "\033[0m" : "");
        tables->id = id;
        tables->shown[id] = true;
        fail(tables, table_new(tables->columns, tables->n_columns, &session->terminal,
                               session_legend(session), stdout, &tables->table));
        if (tables->table && options_have(session->options, OPTION_WRAP))
                table_set_wrap(tables->table);
}

static void add_column(SectionTables *tables, TableColumn column) {
        tables->columns[tables->n_columns++] = column;
}

static void add_number_column(SectionTables *tables, const char *header) {
        add_column(tables, (TableColumn){ .header = header, .right = true });
}

static void add_name_column(SectionTables *tables, const char *header) {
        add_column(tables,
                   (TableColumn){ .header = header, .shrink_to = NAME_SHRUNK, .keep_end = true });
}

static void begin_columns(SectionTables *tables, SectionId id) {
        tables->n_columns = 0;
        if (section_kinds[id].item)
                add_name_column(tables, section_kinds[id].item);
}

/* The first cell of a row, in sections that have one. */
static void add_item(SectionTables *tables, SectionId id, const SectionRow *row) {
        Span name = cell_string(row->item);

        if (!section_kinds[id].item)
                return;
        if (section_is_host_part(id) && !row->item)
                buffer_append_text(table_cell(tables->table), "all");
        else if (name.n == 0)
                buffer_append_text(table_cell(tables->table), "\"\"");
        else
                printable_append_name(table_cell(tables->table), name);
}

static void add_cell(SectionTables *tables, json_object *value, SectionUnit unit) {
        append_value(table_cell(tables->table), value, unit, tables->raw);
}

/* The last two cells of a pair, and with them the end of the row. */
static void end_pair(SectionTables *tables, const SectionValue *value) {
        bool large;

        append_number(table_cell(tables->table), cell_member(value->value, "delta"), value->unit,
                      QUANTITY_FORM_DELTA, tables->raw);
        if (section_is_host_part(tables->id)) {
                append_rate(table_cell(tables->table), value->rate, value->unit, tables->id,
                            tables->raw);
                table_end_row(tables->table, 0);
                return;
        }
        large = append_percent(table_cell(tables->table), value->value, value->unit, tables->raw);
        table_end_row(tables->table, large ? UINT32_C(1) << (tables->n_columns - 1) : 0);
}

/* one row per value */

static void open_values(SectionTables *tables, SectionId id) {
        begin_columns(tables, id);
        add_name_column(tables, section_kinds[id].key);
        if (is_pair(tables)) {
                static const char *const sides[] = { "before", "after" };

                for (size_t i = 0; i < ELEMENTSOF(sides); i++)
                        add_column(tables, (TableColumn){ .header = sides[i],
                                                          .right = true,
                                                          .shrink_to = NAME_SHRUNK });
                add_number_column(tables, "delta");
                add_number_column(tables, section_is_host_part(id) ? "rate" : "%");
        } else {
                add_column(tables, (TableColumn){ .header = "value",
                                                  .right = true,
                                                  .shrink_to = 2 * NAME_SHRUNK });
        }
        open_table(tables, id, view_table_name(id));
}

/* False if there is no table to add the value to. */
static bool begin_value(SectionTables *tables, SectionId id, const SectionRow *row, Span name) {
        if (!tables->table || tables->id != id) {
                close_table(tables);
                open_values(tables, id);
        }
        if (!tables->table)
                return false;
        add_item(tables, id, row);
        printable_append_name(table_cell(tables->table), name);
        return true;
}

static void add_value(SectionTables *tables, SectionId id, const SectionRow *row,
                      const SectionValue *value) {
        if (!begin_value(tables, id, row, value->name))
                return;
        if (is_pair(tables)) {
                add_cell(tables, cell_member(value->value, "before"), value->unit);
                add_cell(tables, cell_member(value->value, "after"), value->unit);
                end_pair(tables, value);
        } else {
                add_cell(tables, value->value, value->unit);
                table_end_row(tables->table, 0);
        }
}

/* The kernel writes quota and period as one text, which has no delta. */
static void add_cpu_max(SectionTables *tables, const SectionRow *row) {
        static const char *const sides[] = { "before", "after" };
        json_object *quota = row->values[SECTION_LIMITS_QUOTA].value;
        json_object *period = row->values[SECTION_LIMITS_PERIOD].value;

        if (!begin_value(tables, SECTION_CGROUP_LIMITS, row, SPAN_LITERAL("cpu.max")))
                return;
        for (size_t i = 0; i < ELEMENTSOF(sides); i++)
                append_cpu_max(table_cell(tables->table), cell_member(quota, sides[i]),
                               cell_member(period, sides[i]), tables->raw);
        for (size_t i = 0; i < 2; i++)
                (void) table_cell(tables->table);
        table_end_row(tables->table, 0);
}

/* Rows without a change are counted instead, unless all rows are wanted. */
static bool is_shown(SectionTables *tables, const SectionValue *value) {
        const Options *options = tables->session->options;

        if (!is_pair(tables) ||
            (options_have(options, OPTION_ALL_ROWS) && !options->view.has_threshold))
                return true;
        return section_value_moved(value, &options->view);
}

static void add_values(SectionTables *tables, SectionId id, const SectionRow *row) {
        size_t first = 0;

        if (id == SECTION_CGROUP_LIMITS) {
                if (is_shown(tables, &row->values[SECTION_LIMITS_QUOTA]) ||
                    is_shown(tables, &row->values[SECTION_LIMITS_PERIOD]))
                        add_cpu_max(tables, row);
                else
                        tables->n_hidden++;
                first = SECTION_LIMITS_CPUS;
        }
        for (size_t i = first; i < row->n_values; i++)
                if (is_shown(tables, &row->values[i]))
                        add_value(tables, id, row, &row->values[i]);
                else
                        tables->n_hidden++;
}

/* one row per cgroup */

static void add_stats(SectionTables *tables, const SectionRow *row) {
        if (!tables->table || tables->id != SECTION_CGROUP_STATS) {
                close_table(tables);
                begin_columns(tables, SECTION_CGROUP_STATS);
                for (size_t i = 0; i < row->n_values; i++)
                        add_number_column(tables, row->values[i].name.bytes);
                open_table(tables, SECTION_CGROUP_STATS, view_table_name(SECTION_CGROUP_STATS));
        }
        if (!tables->table)
                return;
        add_item(tables, SECTION_CGROUP_STATS, row);
        for (size_t i = 0; i < row->n_values; i++)
                add_cell(tables, row->values[i].value, row->values[i].unit);
        table_end_row(tables->table, 0);
}

static void keep_row(SectionTables *tables, json_object *row) {
        if (tables->n_kept == tables->n_allocated) {
                size_t n = tables->n_allocated > 0 ? 2 * tables->n_allocated : 64;
                json_object **kept = reallocarray(tables->kept, n, sizeof(*kept));

                if (!kept) {
                        fail(tables, -ENOMEM);
                        return;
                }
                tables->kept = kept;
                tables->n_allocated = n;
        }
        tables->kept[tables->n_kept++] = json_object_get(row);
}

typedef struct LimitTable {
        const char *heading;
        size_t n;
        struct {
                unsigned id;
                const char *header;
        } columns[6];
} LimitTable;

static void print_limit_table(SectionTables *tables, const LimitTable *limits) {
        close_table(tables);
        begin_columns(tables, SECTION_CGROUP_LIMITS);
        for (size_t i = 0; i < limits->n; i++)
                add_number_column(tables, limits->columns[i].header);
        open_table(tables, SECTION_CGROUP_LIMITS, limits->heading);
        for (size_t k = 0; tables->table && k < tables->n_kept; k++) {
                SectionRow row = section_row_read(SECTION_CGROUP_LIMITS, tables->kept[k]);

                add_item(tables, SECTION_CGROUP_LIMITS, &row);
                for (size_t i = 0; i < limits->n; i++) {
                        const SectionValue *value = &row.values[limits->columns[i].id];

                        if (limits->columns[i].id == SECTION_LIMITS_QUOTA)
                                append_cpu_max(table_cell(tables->table), value->value,
                                               row.values[SECTION_LIMITS_PERIOD].value,
                                               tables->raw);
                        else
                                add_cell(tables, value->value, value->unit);
                }
                table_end_row(tables->table, 0);
        }
}

/* Eleven columns do not fit a terminal: the limits are two tables. */
static void print_limits(SectionTables *tables) {
        static const LimitTable cpu = { "cgroup-limits: cpu and pids",
                                        6,
                                        { { SECTION_LIMITS_QUOTA, "cpu.max" },
                                          { SECTION_LIMITS_CPUS, "cpus" },
                                          { SECTION_LIMITS_WEIGHT, "cpu.weight" },
                                          { SECTION_LIMITS_NICE, "nice" },
                                          { SECTION_LIMITS_PIDS, "pids.current" },
                                          { SECTION_LIMITS_PIDS_MAX, "pids.max" } } };
        static const LimitTable memory = { "cgroup-limits: memory",
                                           4,
                                           { { SECTION_LIMITS_MEMORY_MAX, "memory.max" },
                                             { SECTION_LIMITS_MEMORY_HIGH, "memory.high" },
                                             { SECTION_LIMITS_MEMORY_LOW, "memory.low" },
                                             { SECTION_LIMITS_MEMORY_MIN, "memory.min" } } };

        if (tables->n_kept == 0)
                return;
        print_limit_table(tables, &cpu);
        print_limit_table(tables, &memory);
        forget_rows(tables);
}

/* pressure: one table per resource, with a row for "some" and one for "full" */

static void open_pressure(SectionTables *tables, SectionId id, const char *heading) {
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
        open_table(tables, id, heading);
}

/* False if there is no table to add the row to. */
static bool begin_pressure(SectionTables *tables, SectionId id, const SectionRow *row) {
        _cleanup_(buffer_done) Buffer heading = {};
        const char *text;
        int r;

        buffer_append_format(&heading, "%s: ", view_table_name(id));
        cell_append_text(&heading, row->resource);
        r = buffer_terminate(&heading, &text);
        if (r < 0) {
                fail(tables, r);
                return false;
        }
        if (!tables->table || tables->id != id || strcmp(text, tables->heading) != 0) {
                close_table(tables);
                open_pressure(tables, id, text);
        }
        return tables->table;
}

/* "BEFORE→AFTER", or one value if they are equal. */
static void add_change(SectionTables *tables, const SectionValue *value) {
        json_object *before = cell_member(value->value, "before"),
                    *after = cell_member(value->value, "after");
        Buffer *cell = table_cell(tables->table);

        append_value(cell, before, value->unit, tables->raw);
        if (!json_object_equal(before, after)) {
                buffer_append_text(cell, "\u2192");
                append_value(cell, after, value->unit, tables->raw);
        }
}

static void add_pressure(SectionTables *tables, SectionId id, const SectionRow *row) {
        bool shown = false;

        for (size_t i = 0; i < row->n_values; i++)
                shown = shown || is_shown(tables, &row->values[i]);
        if (!shown) {
                tables->n_hidden++;
                return;
        }
        if (!begin_pressure(tables, id, row))
                return;
        add_item(tables, id, row);
        cell_append_text(table_cell(tables->table), row->half);
        for (size_t i = 0; i < row->n_values; i++)
                if (is_pair(tables))
                        add_change(tables, &row->values[i]);
                else
                        add_cell(tables, row->values[i].value, row->values[i].unit);
        if (is_pair(tables))
                end_pair(tables, &row->values[SECTION_PRESSURE_TOTAL]);
        else
                table_end_row(tables->table, 0);
}

static void add_row(SectionTables *tables, SectionId id, json_object *json) {
        SectionRow row = section_row_read(id, json);

        if (id == SECTION_PRESSURE || id == SECTION_HOST_PRESSURE)
                add_pressure(tables, id, &row);
        else if (id == SECTION_CGROUP_STATS && !is_pair(tables))
                add_stats(tables, &row);
        else if (id == SECTION_CGROUP_LIMITS && !is_pair(tables))
                keep_row(tables, json);
        else
                add_values(tables, id, &row);
}

int section_tables_add(SectionTables *tables, json_object *part) {
        json_object_iter member;

        json_object_object_foreachC(part, member) {
                SectionId id = section_find(member.key);

                if (id == _SECTION_MAX)
                        continue;
                tables->came[id] = true;
                if (id != SECTION_CGROUP_LIMITS)
                        print_limits(tables);
                for (size_t i = 0; tables->error == 0 && i < cell_length(member.val); i++)
                        add_row(tables, id, cell_element(member.val, i));
        }
        return tables->error;
}

/* Says why a section that the user named has no table. */
static const char *why_not(const SectionTables *tables, SectionId id) {
        if (tables->came[id] && tables->session->options->view.has_threshold)
                return "nothing moved by more";
        if (tables->came[id])
                return is_pair(tables) ? "nothing changed" : "nothing but zeros";
        /* This section does not come either if both sides are equal. */
        return id == SECTION_SCHED_EXT && is_pair(tables) ? "no data, or nothing changed"
                                                          : "no data";
}

/* The reason that a side has no data of the source. */
static Span find_reason(json_object *sources, const char *name) {
        for (size_t i = 0; i < cell_length(sources); i++) {
                json_object *source = cell_element(sources, i);

                if (span_is(cell_string(cell_member(source, "name")), name))
                        return cell_string(cell_member(source, "reason"));
        }
        return (Span){};
}

/* "host-network: no data: REASON"; two sides mostly have one. */
static int print_nothing(const SectionTables *tables, SectionId id) {
        static const char *const sides[] = { "sources", "sourcesBefore", "sourcesAfter" };
        _cleanup_(buffer_done) Buffer line = {};
        Span told = {};

        buffer_append_format(&line, "\n%s: %s", view_table_name(id), why_not(tables, id));
        for (size_t i = 0; !tables->came[id] && i < ELEMENTSOF(sides); i++) {
                Span reason =
                        find_reason(cell_member(tables->reply, sides[i]), section_kinds[id].source);

                if (reason.n == 0 || span_equal(reason, told))
                        continue;
                buffer_append_text(&line, told.n > 0 ? "; " : ": ");
                printable_append_name(&line, reason);
                told = reason;
        }
        buffer_append_byte(&line, '\n');
        (void) fwrite(line.bytes, 1, line.n, stdout);
        return buffer_failure(&line);
}

int section_tables_end(SectionTables *tables) {
        const View *view = &tables->session->options->view;

        print_limits(tables);
        close_table(tables);
        for (unsigned id = 0; view->has_sections && id < _SECTION_MAX; id++)
                if (view_wants_table(view, (SectionId) id) && !tables->shown[id])
                        fail(tables, print_nothing(tables, (SectionId) id));
        fail(tables, buffer_failure(&tables->omitted));
        return tables->error;
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

Span section_tables_omitted(const SectionTables *tables) {
        return buffer_span(&tables->omitted);
}
