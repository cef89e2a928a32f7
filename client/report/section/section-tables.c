/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "render/cell.h"
#include "render/printable.h"
#include "render/table.h"
#include "report/overview/missing.h"
#include "report/section/section-row.h"

#define NAME_SHRUNK 12
#define LARGE_PERCENT 50

void section_tables_done(SectionTables *tables) {
        for (size_t i = 0; i < tables->n_kept; i++)
                (void) json_object_put(tables->kept[i]);
        free(tables->kept);
        tables->table = table_free(tables->table);
        buffer_done(&tables->omitted);
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

/* Appends a number, or a word as it is, as "max" for a limit that is not set. */
static void append_value(Buffer *cell, json_object *value, SectionUnit unit, bool raw) {
        if (json_object_is_type(value, json_type_string))
                cell_append_text(cell, value);
        else
                append_number(cell, value, unit, QUANTITY_FORM_VALUE, raw);
}

/* Appends "-" where there is none. Returns whether the value changed by half or more. */
static bool append_percent(Buffer *cell, json_object *value, bool raw) {
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
                /* A limit in CPUs has a fraction, and so may any number that a daemon sends. */
                if (cell_quantity(cell_member(value, "before"), &before) && before.fraction == 0 &&
                    before.whole > 0 && cell_quantity(cell_member(value, "delta"), &delta) &&
                    delta.fraction == 0)
                        n = quantity_format_percent_of(delta, before, text);
                else
                        n = quantity_format_percent(quantity_of_double(percent), text);
                buffer_append(cell, text, n);
        }
        return percent >= LARGE_PERCENT || percent <= -LARGE_PERCENT;
}

/* Appends a time as "100ms", without ".000", which most have, so that two of them fit a line. */
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

/* Appends cpu.max of one side: "50ms/100ms", "max/100ms". */
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
                                     omitted.bytes, view_table_names[tables->id]);
        }
        fail(tables, buffer_failure(&omitted));
        tables->table = table_free(tables->table);
}

/*
 * Makes sure that the table with this heading is open, which has a first column in sections whose
 * rows are about something. False if there is none.
 */
static bool open_table(SectionTables *tables, SectionId id, const char *heading,
                       const TableColumn columns[], size_t n_columns) {
        const Session *session = tables->session;
        bool bold = session->terminal.colour;

        if (tables->table && tables->id == id && strcmp(heading, tables->heading) == 0)
                return true;
        close_table(tables);
        tables->n_columns = 0;
        if (view_table_forms[id].item)
                tables->columns[tables->n_columns++] =
                        (TableColumn){ .header = view_table_forms[id].item,
                                       .shrink_to = NAME_SHRUNK,
                                       .keep_end = true };
        memcpy(&tables->columns[tables->n_columns], columns, n_columns * sizeof(*columns));
        tables->n_columns += n_columns;
        (void) snprintf(tables->heading, sizeof(tables->heading), "%s", heading);
        (void) printf("\n%s%s%s\n", bold ? "\033[1m" : "", heading, bold ? "\033[0m" : "");
        tables->id = id;
        tables->shown[id] = true;
        fail(tables, table_new(tables->columns, tables->n_columns, &session->terminal,
                               session->legend, stdout, &tables->table));
        if (tables->table && options_have(session->options, OPTION_WRAP))
                table_set_wrap(tables->table);
        return tables->table;
}

/* Adds the first cell of a row, in sections that have one. */
static void add_item(SectionTables *tables, SectionId id, const SectionRow *row) {
        Span name = cell_string(row->item);

        if (!view_table_forms[id].item)
                return;
        if (view_table_abouts[id] == SECTION_ABOUT_HOST_PART && !row->item)
                buffer_append_text(table_cell(tables->table), "all");
        else if (name.n == 0)
                buffer_append_text(table_cell(tables->table), "\"\"");
        else
                printable_append_name(table_cell(tables->table), name);
}

static void add_cell(SectionTables *tables, json_object *value, SectionUnit unit) {
        append_value(table_cell(tables->table), value, unit, tables->raw);
}

/* Adds the last two cells of a pair, and ends the row. */
static void end_pair(SectionTables *tables, const SectionValue *value) {
        json_object *rate = value->rate;
        Quantity quantity;
        Buffer *cell;
        bool large;

        append_number(table_cell(tables->table), cell_member(value->value, "delta"), value->unit,
                      QUANTITY_FORM_DELTA, tables->raw);
        cell = table_cell(tables->table);
        if (view_table_abouts[tables->id] != SECTION_ABOUT_HOST_PART) {
                large = append_percent(cell, value->value, tables->raw);
                table_end_row(tables->table, large ? UINT32_C(1) << (tables->n_columns - 1) : 0);
                return;
        }
        /* Times of CPUs are so many CPUs. */
        if (!tables->raw && tables->id == SECTION_HOST_CPU && value->unit == SECTION_UNIT_NS &&
            cell_quantity(rate, &quantity)) {
                cell_append_per_second(cell, rate, &(const CellStyle){ .unit = METRIC_UNIT_NS });
        } else {
                append_number(cell, rate, value->unit, QUANTITY_FORM_VALUE, tables->raw);
                if (!tables->raw && cell_quantity(rate, &quantity))
                        buffer_append_text(cell, "/s");
        }
        table_end_row(tables->table, 0);
}

/* one row per value */

/* Begins the row of a value, if need be in a new table; false if there is none. */
static bool begin_value(SectionTables *tables, SectionId id, const SectionRow *row, Span name) {
        bool is_part = view_table_abouts[id] == SECTION_ABOUT_HOST_PART;
        const TableColumn key = { .header = view_table_forms[id].key,
                                  .shrink_to = NAME_SHRUNK,
                                  .keep_end = true };
        const TableColumn pair[] = {
                key,
                { .header = "before", .right = true, .shrink_to = NAME_SHRUNK },
                { .header = "after", .right = true, .shrink_to = NAME_SHRUNK },
                { .header = "delta", .right = true },
                { .header = is_part ? "rate" : "%", .right = true },
        };
        const TableColumn one[] = {
                key,
                { .header = "value", .right = true, .shrink_to = 2 * NAME_SHRUNK },
        };

        if (!open_table(tables, id, view_table_names[id], tables->is_pair ? pair : one,
                        tables->is_pair ? ELEMENTSOF(pair) : ELEMENTSOF(one)))
                return false;
        add_item(tables, id, row);
        printable_append_name(table_cell(tables->table), name);
        return true;
}

/* False for rows without a change, which are counted instead, unless all rows are wanted. */
static bool is_shown(SectionTables *tables, const SectionValue *value) {
        const Options *options = tables->session->options;

        if (!tables->is_pair ||
            (options_have(options, OPTION_ALL_ROWS) && !options->view.has_threshold))
                return true;
        return section_value_moved(value, &options->view);
}

static void add_values(SectionTables *tables, SectionId id, const SectionRow *row) {
        static const char *const sides[] = { "before", "after" };
        const SectionValue *quota = &row->values[SECTION_LIMITS_QUOTA],
                           *period = &row->values[SECTION_LIMITS_PERIOD];
        size_t first = 0;

        /* The kernel writes quota and period as one text, which has no delta. */
        if (id == SECTION_CGROUP_LIMITS) {
                first = SECTION_LIMITS_CPUS;
                if (!is_shown(tables, quota) && !is_shown(tables, period)) {
                        tables->n_hidden++;
                } else if (begin_value(tables, id, row, SPAN_LITERAL("cpu.max"))) {
                        for (size_t i = 0; i < ELEMENTSOF(sides); i++)
                                append_cpu_max(table_cell(tables->table),
                                               cell_member(quota->value, sides[i]),
                                               cell_member(period->value, sides[i]), tables->raw);
                        for (size_t i = 0; i < 2; i++)
                                (void) table_cell(tables->table);
                        table_end_row(tables->table, 0);
                }
        }
        for (size_t i = first; i < row->n_values; i++) {
                const SectionValue *value = &row->values[i];

                if (!is_shown(tables, value)) {
                        tables->n_hidden++;
                } else if (!begin_value(tables, id, row, value->name)) {
                        continue;
                } else if (tables->is_pair) {
                        for (size_t k = 0; k < ELEMENTSOF(sides); k++)
                                add_cell(tables, cell_member(value->value, sides[k]), value->unit);
                        end_pair(tables, value);
                } else {
                        add_cell(tables, value->value, value->unit);
                        table_end_row(tables->table, 0);
                }
        }
}

/* one row per cgroup */

static void add_stats(SectionTables *tables, const SectionRow *row) {
        TableColumn columns[ELEMENTSOF(((SectionRow *) 0)->values)];

        for (size_t i = 0; i < row->n_values; i++)
                columns[i] = (TableColumn){ .header = row->values[i].name.bytes, .right = true };
        if (!open_table(tables, SECTION_CGROUP_STATS, view_table_names[SECTION_CGROUP_STATS],
                        columns, row->n_values))
                return;
        add_item(tables, SECTION_CGROUP_STATS, row);
        for (size_t i = 0; i < row->n_values; i++)
                add_cell(tables, row->values[i].value, row->values[i].unit);
        table_end_row(tables->table, 0);
}

/* Prints the limits as two tables, because eleven columns do not fit a terminal. */
static void print_limits(SectionTables *tables) {
        static const struct {
                const char *heading;
                size_t n;
                unsigned ids[6];
                TableColumn columns[6];
        } limits[] = {
                { "cgroup-limits: cpu and pids",
                  6,
                  { SECTION_LIMITS_QUOTA, SECTION_LIMITS_CPUS, SECTION_LIMITS_WEIGHT,
                    SECTION_LIMITS_NICE, SECTION_LIMITS_PIDS, SECTION_LIMITS_PIDS_MAX },
                  { { .header = "cpu.max", .right = true },
                    { .header = "cpus", .right = true },
                    { .header = "cpu.weight", .right = true },
                    { .header = "nice", .right = true },
                    { .header = "pids.current", .right = true },
                    { .header = "pids.max", .right = true } } },
                { "cgroup-limits: memory",
                  4,
                  { SECTION_LIMITS_MEMORY_MAX, SECTION_LIMITS_MEMORY_HIGH,
                    SECTION_LIMITS_MEMORY_LOW, SECTION_LIMITS_MEMORY_MIN },
                  { { .header = "memory.max", .right = true },
                    { .header = "memory.high", .right = true },
                    { .header = "memory.low", .right = true },
                    { .header = "memory.min", .right = true } } },
        };

        for (size_t t = 0; tables->n_kept > 0 && t < ELEMENTSOF(limits); t++) {
                bool is_open = open_table(tables, SECTION_CGROUP_LIMITS, limits[t].heading,
                                          limits[t].columns, limits[t].n);

                for (size_t k = 0; is_open && k < tables->n_kept; k++) {
                        SectionRow row = section_row_read(SECTION_CGROUP_LIMITS, tables->kept[k]);
                        json_object *period = row.values[SECTION_LIMITS_PERIOD].value;

                        add_item(tables, SECTION_CGROUP_LIMITS, &row);
                        for (size_t i = 0; i < limits[t].n; i++) {
                                const SectionValue *value = &row.values[limits[t].ids[i]];

                                if (limits[t].ids[i] == SECTION_LIMITS_QUOTA)
                                        append_cpu_max(table_cell(tables->table), value->value,
                                                       period, tables->raw);
                                else
                                        add_cell(tables, value->value, value->unit);
                        }
                        table_end_row(tables->table, 0);
                }
        }
        for (size_t i = 0; i < tables->n_kept; i++)
                (void) json_object_put(tables->kept[i]);
        tables->n_kept = 0;
}

/* pressure: one table per resource, with a row for "some" and one for "full" */

static void add_pressure(SectionTables *tables, SectionId id, const SectionRow *row) {
        const TableColumn columns[] = {
                { .header = "row" },
                { .header = "avg10", .right = true },
                { .header = "avg60", .right = true },
                { .header = "avg300", .right = true },
                { .header = "total", .right = true, .omit = tables->is_pair },
                { .header = "delta", .right = true }, /* of a pair, as the last one */
                { .header = "%", .right = true },
        };
        _cleanup_(buffer_done) Buffer heading = {};
        bool shown = false;
        const char *text;
        int r;

        for (size_t i = 0; i < row->n_values; i++)
                shown = shown || is_shown(tables, &row->values[i]);
        if (!shown) {
                tables->n_hidden++;
                return;
        }
        buffer_append_format(&heading, "%s: ", view_table_names[id]);
        cell_append_text(&heading, row->resource);
        r = buffer_terminate(&heading, &text);
        fail(tables, r);
        if (r < 0 || !open_table(tables, id, text, columns,
                                 tables->is_pair ? ELEMENTSOF(columns) : ELEMENTSOF(columns) - 2))
                return;
        add_item(tables, id, row);
        cell_append_text(table_cell(tables->table), row->half);
        for (size_t i = 0; i < row->n_values; i++) {
                const SectionValue *value = &row->values[i];
                json_object *before = cell_member(value->value, "before"),
                            *after = cell_member(value->value, "after");
                Buffer *cell = table_cell(tables->table);

                /* The cell is "BEFORE→AFTER", or one value if they are equal. */
                append_value(cell, tables->is_pair ? before : value->value, value->unit,
                             tables->raw);
                if (tables->is_pair && !json_object_equal(before, after)) {
                        buffer_append_text(cell, "\u2192");
                        append_value(cell, after, value->unit, tables->raw);
                }
        }
        if (tables->is_pair)
                end_pair(tables, &row->values[SECTION_PRESSURE_TOTAL]);
        else
                table_end_row(tables->table, 0);
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
                for (size_t i = 0; tables->error == 0 && i < cell_length(member.val); i++) {
                        json_object *json = cell_element(member.val, i);
                        SectionRow row = section_row_read(id, json);

                        if (id == SECTION_PRESSURE || id == SECTION_HOST_PRESSURE)
                                add_pressure(tables, id, &row);
                        else if (id == SECTION_CGROUP_STATS && !tables->is_pair)
                                add_stats(tables, &row);
                        else if (id == SECTION_CGROUP_LIMITS && !tables->is_pair) {
                                fail(tables, ARRAY_RESERVE(tables->kept, tables->n_allocated,
                                                           tables->n_kept + 1));
                                if (tables->error == 0)
                                        tables->kept[tables->n_kept++] = json_object_get(json);
                        } else
                                add_values(tables, id, &row);
                }
        }
        return tables->error;
}

/* Says why a section that the user named has no table: "host-network: no data: REASON". */
static int print_nothing(const SectionTables *tables, SectionId id) {
        MissingSide sides[MISSING_MAX_SIDES];
        size_t n_sides = missing_sides(tables->reply, sides);
        _cleanup_(buffer_done) Buffer line = {};
        const char *why = "no data";
        Span told = {};

        if (tables->came[id] && tables->session->options->view.has_threshold)
                why = "nothing moved by more";
        else if (tables->came[id])
                why = tables->is_pair ? "nothing changed" : "nothing but zeros";
        else if (id == SECTION_SCHED_EXT && tables->is_pair) /* equal ones do not come */
                why = "no data, or nothing changed";
        buffer_append_format(&line, "\n%s: %s", view_table_names[id], why);
        /* Each side may have no data for a reason of its own; all mostly have one. */
        for (size_t i = 0; !tables->came[id] && i < n_sides; i++) {
                Span reason = {};

                for (size_t k = 0; k < cell_length(sides[i].sources); k++) {
                        json_object *source = cell_element(sides[i].sources, k);

                        if (!span_is(cell_string(cell_member(source, "name")),
                                     metric_source_names[view_table_forms[id].source]))
                                continue;
                        reason = cell_string(cell_member(source, "reason"));
                        break;
                }
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

uint64_t section_tables_hidden(const SectionTables *tables, bool *ret_any) {
        *ret_any = false;
        for (unsigned id = 0; id < _SECTION_MAX; id++)
                *ret_any = *ret_any || tables->came[id];
        return tables->n_hidden;
}
