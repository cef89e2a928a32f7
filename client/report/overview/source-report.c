/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/source-report.h"

#include <stdio.h>

#include "render/cell.h"
#include "render/lines.h"
#include "render/printable.h"
#include "render/table.h"

#define LABEL_COLUMNS 16

/* One column per member, in the order of the contract. */
static const struct {
        const char *key;
        TableColumn table;
} source_columns[] = {
        { "name", { .header = "SOURCE" } },
        { "state", { .header = "STATE" } },
        { "ok", { .header = "OK", .right = true } },
        { "denied", { .header = "DENIED", .right = true } },
        { "vanished", { .header = "VANISHED", .right = true } },
        { "unsupported", { .header = "UNSUPPORTED", .right = true } },
        { "malformed", { .header = "MALFORMED", .right = true } },
        { "other", { .header = "OTHER", .right = true } },
};

#define N_COLUMNS ELEMENTSOF(source_columns)

static void add_source(Table *table, json_object *source) {
        for (size_t i = 0; i < N_COLUMNS; i++) {
                json_object *value = cell_member(source, source_columns[i].key);

                if (source_columns[i].table.right)
                        cell_append_number(table_cell(table), value, QUANTITY_LADDER_NONE);
                else
                        cell_append_text(table_cell(table), value);
        }
        table_end_row(table, 0);
}

static int print_reason(const Lines *lines, json_object *source) {
        _cleanup_(buffer_done) Buffer name = {}, reason = {};
        const char *label;
        int r;

        cell_append_text(&name, cell_member(source, "name"));
        r = buffer_terminate(&name, &label);
        if (r < 0)
                return r;
        cell_append_text(&reason, cell_member(source, "reason"));
        return lines_print_buffer(lines, label, &reason);
}

static int print_reasons(const Session *session, json_object *sources) {
        const Lines lines = { .out = stdout,
                              .terminal = &session->terminal,
                              .label_columns = LABEL_COLUMNS };
        bool first = true;
        int r = 0;

        for (size_t i = 0; r == 0 && i < cell_length(sources); i++) {
                json_object *source = cell_element(sources, i);

                if (!cell_member(source, "reason"))
                        continue;
                if (first)
                        (void) putchar('\n');
                first = false;
                r = print_reason(&lines, source);
        }
        return r;
}

int source_report_print(const Session *session, json_object *sources) {
        _cleanup_(table_freep) Table *table = NULL;
        TableColumn columns[N_COLUMNS];
        int r;

        for (size_t i = 0; i < N_COLUMNS; i++)
                columns[i] = source_columns[i].table;
        r = table_new(columns, N_COLUMNS, &session->terminal, session_legend(session), stdout,
                      &table);
        if (r < 0)
                return r;
        for (size_t i = 0; i < cell_length(sources); i++)
                add_source(table, cell_element(sources, i));
        r = table_end(table);
        return r < 0 ? r : print_reasons(session, sources);
}
