/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "interface/interface.h"
#include "metric/metric.h"
#include "render/lines.h"
#include "render/table.h"
#include "session/complain.h"
#include "verb/verb.h"

#define LABEL_COLUMNS 29 /* the longest name */

static const char derived_heading[] = "\nderived from the values of a group\n";

static const TableColumn metric_columns[] = {
        { .header = "NAME" },    { .header = "UNIT" },        { .header = "RULE" },
        { .header = "SECTION" }, { .header = "TYPE" },        { .header = "CLASS" },
        { .header = "GATES" },   { .header = "DESCRIPTION" },
};

/* "Lifetime nanoseconds on a CPU (ns, SumNs, primary; CONFIG_SCHED_INFO)" under the name. */
static void print_metric_lines(const Session *session) {
        const Lines lines = { stdout, &session->terminal, LABEL_COLUMNS };

        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];
                bool any = metric->class == METRIC_CLASS_ANY;

                lines_format(&lines, metric->name, "%s (%s, %s, %s%s%s%s%s)", metric->description,
                             metric_unit_name(metric->unit), metric->rule_name,
                             metric_section_name(metric->section), any ? "" : "; ",
                             any ? "" : metric_class_name(metric->class),
                             metric->gates[0] != '\0' ? "; " : "", metric->gates);
        }
        (void) fputs(derived_heading, stdout);
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                const Derived *derived = &derived_table[id];

                lines_format(&lines, derived->name, "%s (%s, %s)", derived->description,
                             metric_unit_name(derived->unit),
                             metric_section_name(derived->section));
        }
}

static int print_metrics(const Session *session) {
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        r = table_new(metric_columns, ELEMENTSOF(metric_columns), &session->terminal,
                      session_legend(session), stdout, &table);
        if (r < 0)
                return r;
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];
                const char *const cells[ELEMENTSOF(metric_columns)] = {
                        metric->name,      metric_unit_name(metric->unit),
                        metric->rule_name, metric_section_name(metric->section),
                        metric->type_name, metric_class_name(metric->class),
                        metric->gates,     metric->description,
                };

                table_add(table, cells, 0);
        }
        return table_end(table);
}

static const TableColumn derived_columns[] = {
        { .header = "NAME" },   { .header = "UNIT" },        { .header = "SECTION" },
        { .header = "INPUTS" }, { .header = "DESCRIPTION" },
};

static void add_derived(Table *table, const Derived *derived) {
        Buffer *inputs;

        buffer_append_text(table_cell(table), derived->name);
        buffer_append_text(table_cell(table), metric_unit_name(derived->unit));
        buffer_append_text(table_cell(table), metric_section_name(derived->section));
        inputs = table_cell(table);
        for (unsigned i = 0; i < derived->n_inputs; i++)
                buffer_append_format(inputs, "%s%s", i > 0 ? "," : "",
                                     metric_table[derived->inputs[i]].name);
        buffer_append_text(table_cell(table), derived->description);
        table_end_row(table, 0);
}

static int print_derived(const Session *session) {
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        (void) fputs(derived_heading, stdout);
        r = table_new(derived_columns, ELEMENTSOF(derived_columns), &session->terminal,
                      session_legend(session), stdout, &table);
        if (r < 0)
                return r;
        for (unsigned id = 0; id < _DERIVED_MAX; id++)
                add_derived(table, &derived_table[id]);
        return table_end(table);
}

static const TableColumn legend_columns[] = {
        { .header = "NAME" },
        { .header = "MEANING" },
};

/* On a terminal the legend is text, not a table. */
static void print_legend_lines(const Session *session) {
        const Lines lines = { stdout, &session->terminal, LABEL_COLUMNS };

        for (size_t i = 0; i < _LEGEND_MAX; i++) {
                const LegendList *list = &legend_lists[i];

                (void) printf("\n%s\n", list->heading);
                for (size_t j = 0; j < list->n_terms; j++)
                        lines_print(&lines, list->terms[j].name, list->terms[j].meaning);
        }
}

static int print_legend(const Session *session, const LegendList *list) {
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        (void) printf("\n%s\n", list->heading);
        r = table_new(legend_columns, ELEMENTSOF(legend_columns), &session->terminal,
                      session_legend(session), stdout, &table);
        if (r < 0)
                return r;
        for (size_t i = 0; i < list->n_terms; i++) {
                const char *const cells[ELEMENTSOF(legend_columns)] = { list->terms[i].name,
                                                                        list->terms[i].meaning };

                table_add(table, cells, 0);
        }
        return table_end(table);
}

/* The registry is compiled in: the daemon's would describe another version. */
static int print_json(Session *session) {
        _cleanup_(buffer_done) Buffer text = {};
        json_object *object;
        const char *terminated;
        JsonWriter writer;
        int r;

        json_writer_init(&writer, &text);
        metric_list_write_json(&writer);
        r = json_writer_finish(&writer);
        if (r != 0)
                return complain_errno(r, "write the registry as JSON");
        r = buffer_terminate(&text, &terminated);
        if (r != 0)
                return complain_errno(r, "write the registry as JSON");
        object = json_tokener_parse(terminated);
        r = object ? session_print_json(session, object)
                   : complain_errno(-ENOMEM, "read the registry");
        (void) json_object_put(object);
        return r;
}

int verb_metric_list(Session *session) {
        bool has_legend = session_legend(session) == TABLE_LEGEND_SHOWN;
        int r;

        if (session_has_json(session))
                return print_json(session);
        r = session_page(session);
        if (r != 0)
                return r;
        /* Not all columns fit on a terminal: print text there, and a table into a pipe. */
        if (session->terminal.out) {
                print_metric_lines(session);
                if (has_legend)
                        print_legend_lines(session);
                return STATUS_DONE;
        }
        r = print_metrics(session);
        if (r < 0)
                return complain_errno(r, "print the registry");
        r = print_derived(session);
        for (size_t i = 0; r == 0 && has_legend && i < _LEGEND_MAX; i++)
                r = print_legend(session, &legend_lists[i]);
        return r < 0 ? complain_errno(r, "print the registry") : 0;
}
