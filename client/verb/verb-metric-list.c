/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>

#include "base/macro.h"
#include "interface/interface.h"
#include "metric/metric.h"
#include "render/cell.h"
#include "render/lines.h"
#include "render/table.h"
#include "session/complain.h"
#include "verb/verb.h"
#include "view/glob.h"
#include "wire/message-object.h"

#define LABEL_COLUMNS 29 /* the longest name */

/* Metrics are followed by derived values. */
#define N_NAMES ((unsigned) _METRIC_MAX + _DERIVED_MAX)

static const char *name_of(unsigned id) {
        return id < _METRIC_MAX ? metric_table[id].name : derived_table[id - _METRIC_MAX].name;
}

/* True if @name is asked for: all are when there are no globs. */
static bool is_wanted(const Session *session, const char *name) {
        const Options *options = session->options;

        for (size_t i = 1; i < options->n_arguments; i++)
                if (glob_matches_text(span_of(options->arguments[i]), span_of(name)))
                        return true;
        return options->n_arguments == 1;
}

static bool wants_any(const Session *session, unsigned first, unsigned end) {
        for (unsigned id = first; id < end; id++)
                if (is_wanted(session, name_of(id)))
                        return true;
        return false;
}

/* Each glob must be one and match something; else it is a typing error. */
static int check_globs(const Options *options) {
        char quoted[QUOTE_BYTES];

        for (size_t i = 1; i < options->n_arguments; i++) {
                Span glob = span_of(options->arguments[i]);
                int r = glob_check_text(glob);
                bool matches = false;

                (void) quote_span(glob, quoted);
                if (r != GLOB_OK)
                        return complain(STATUS_USAGE, "%s is not a glob: %s.", quoted,
                                        glob_fault(r));
                for (unsigned id = 0; !matches && id < N_NAMES; id++)
                        matches = glob_matches_text(glob, span_of(name_of(id)));
                if (!matches)
                        return complain(STATUS_USAGE,
                                        "No metric and no derived value has a name that matches "
                                        "%s: \"ctprofctl metric-list\" lists all.",
                                        quoted);
        }
        return 0;
}

static const TableColumn metric_columns[] = {
        { .header = "NAME" },    { .header = "UNIT" },        { .header = "RULE" },
        { .header = "SECTION" }, { .header = "TYPE" },        { .header = "CLASS" },
        { .header = "GATES" },   { .header = "DESCRIPTION" },
};

/* Stands between the metrics and the derived values. */
#define DERIVED_HEADING "derived from the values of a group"

/*
 * "Lifetime nanoseconds on a CPU (ns, SumNs, primary; CONFIG_SCHED_INFO)" under the name. On a
 * terminal the legend is text, too, not a table.
 */
static void print_metric_lines(const Session *session, bool has_legend) {
        const Lines lines = { .out = stdout,
                              .terminal = &session->terminal,
                              .label_columns = LABEL_COLUMNS };

        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];
                bool any = metric->class == METRIC_CLASS_ANY;

                if (!is_wanted(session, metric->name))
                        continue;
                lines_format(&lines, metric->name, "%s (%s, %s, %s%s%s%s%s)", metric->description,
                             metric_unit_names[metric->unit], metric->rule_name,
                             metric_section_names[metric->section], any ? "" : "; ",
                             any ? "" : metric_class_names[metric->class],
                             metric->gates[0] != '\0' ? "; " : "", metric->gates);
        }
        if (wants_any(session, _METRIC_MAX, N_NAMES))
                (void) printf("%s" DERIVED_HEADING "\n",
                              wants_any(session, 0, _METRIC_MAX) ? "\n" : "");
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                const Derived *derived = &derived_table[id];

                if (!is_wanted(session, derived->name))
                        continue;
                lines_format(&lines, derived->name, "%s (%s, %s)", derived->description,
                             metric_unit_names[derived->unit],
                             metric_section_names[derived->section]);
        }
        for (size_t i = 0; has_legend && i < _LEGEND_MAX; i++) {
                const LegendList *list = &legend_lists[i];

                (void) printf("\n%s\n", list->heading);
                for (size_t k = 0; k < list->n_terms; k++)
                        lines_print(&lines, list->terms[k].name, list->terms[k].meaning);
        }
}

static int print_metrics(const Session *session) {
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        if (!wants_any(session, 0, _METRIC_MAX))
                return 0;
        r = table_new(metric_columns, ELEMENTSOF(metric_columns), &session->terminal,
                      session->legend, stdout, &table);
        if (r < 0)
                return r;
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];
                const char *const cells[ELEMENTSOF(metric_columns)] = {
                        metric->name,      metric_unit_names[metric->unit],
                        metric->rule_name, metric_section_names[metric->section],
                        metric->type_name, metric_class_names[metric->class],
                        metric->gates,     metric->description,
                };

                if (is_wanted(session, metric->name))
                        table_add(table, cells, 0);
        }
        return table_end(table);
}

static const TableColumn derived_columns[] = {
        { .header = "NAME" },   { .header = "UNIT" },        { .header = "SECTION" },
        { .header = "INPUTS" }, { .header = "DESCRIPTION" },
};

static int print_derived(const Session *session) {
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        if (!wants_any(session, _METRIC_MAX, N_NAMES))
                return 0;
        (void) printf("%s" DERIVED_HEADING "\n", wants_any(session, 0, _METRIC_MAX) ? "\n" : "");
        r = table_new(derived_columns, ELEMENTSOF(derived_columns), &session->terminal,
                      session->legend, stdout, &table);
        if (r < 0)
                return r;
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                const Derived *derived = &derived_table[id];
                Buffer *inputs;

                if (!is_wanted(session, derived->name))
                        continue;
                buffer_append_text(table_cell(table), derived->name);
                buffer_append_text(table_cell(table), metric_unit_names[derived->unit]);
                buffer_append_text(table_cell(table), metric_section_names[derived->section]);
                inputs = table_cell(table);
                for (unsigned i = 0; i < derived->n_inputs; i++)
                        buffer_append_format(inputs, "%s%s", i > 0 ? "," : "",
                                             metric_table[derived->inputs[i]].name);
                buffer_append_text(table_cell(table), derived->description);
                table_end_row(table, 0);
        }
        return table_end(table);
}

static const TableColumn legend_columns[] = {
        { .header = "NAME" },
        { .header = "MEANING" },
};

static int print_legend(const Session *session, const LegendList *list) {
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        (void) printf("\n%s\n", list->heading);
        r = table_new(legend_columns, ELEMENTSOF(legend_columns), &session->terminal,
                      session->legend, stdout, &table);
        if (r < 0)
                return r;
        for (size_t i = 0; i < list->n_terms; i++) {
                const char *const cells[ELEMENTSOF(legend_columns)] = { list->terms[i].name,
                                                                        list->terms[i].meaning };

                table_add(table, cells, 0);
        }
        return table_end(table);
}

/* Leaves in the lists of @object what is asked for. */
static int keep_wanted(const Session *session, json_object *object) {
        static const char *const lists[] = { "metrics", "derived" };

        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                _cleanup_(message_object_freep) json_object *kept = json_object_new_array();
                json_object *all = cell_member(object, lists[i]);

                for (size_t k = 0; kept && k < cell_length(all); k++) {
                        json_object *row = cell_element(all, k);
                        const char *name = json_object_get_string(cell_member(row, "name"));

                        if (is_wanted(session, name) &&
                            json_object_array_add(kept, json_object_get(row)) < 0)
                                return -ENOMEM;
                }
                if (!kept || json_object_object_add(object, lists[i], kept) < 0)
                        return -ENOMEM;
                TAKE_PTR(kept);
        }
        return 0;
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
        r = object ? keep_wanted(session, object) : -ENOMEM;
        r = r == 0 ? session_print_json(session, object) : complain_errno(r, "read the registry");
        (void) json_object_put(object);
        return r;
}

int verb_metric_list(Session *session) {
        const Options *options = session->options;
        /* A user who asks for a few knows what their attributes mean. */
        bool has_legend = session->legend == TABLE_LEGEND_SHOWN && options->n_arguments == 1;
        int r;

        r = check_globs(options);
        if (r != 0)
                return r;
        if (session->json != JSON_STYLE_OFF)
                return print_json(session);
        r = session_page(session);
        if (r != 0)
                return r;
        /* Not all columns fit on a terminal: print text there, and a table into a pipe. */
        if (session->terminal.out) {
                print_metric_lines(session, has_legend);
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
