/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "metric/metric.h"
#include "render/cell.h"
#include "render/lines.h"
#include "render/table.h"
#include "report/group/group-table.h"
#include "report/group/group-tree.h"
#include "report/group/pairing-table.h"
#include "report/overview/overview.h"
#include "report/section/section-row.h"
#include "report/section/section-tables.h"

/*
 * Groups that only one of two snapshots has: their number, and the main figures of the ten that ran
 * most. Only ten are kept in memory.
 */

#define ONE_SIDED_SHOWN 10

typedef struct OneSided {
        json_object *groups[ONE_SIDED_SHOWN]; /* owned; in falling order of run time */
        Quantity run_times[ONE_SIDED_SHOWN];
        size_t n_kept;
        uint64_t n_groups;
} OneSided;

/* They tell at a glance how much a group matters. */
static const MetricId main_figures[] = {
        METRIC_run_time_ns,
        METRIC_wait_time_ns,
        METRIC_voluntary_csw,
        METRIC_hiwater_rss_bytes,
};

#define MAX_FIGURES ELEMENTSOF(main_figures)

/* The columns of the list: the reply has only the metrics that were asked for. */
typedef struct Figures {
        MetricId ids[MAX_FIGURES];
        size_t n;
} Figures;

static Figures choose_figures(const View *view) {
        Figures figures = { .n = 0 };

        for (size_t i = 0; i < MAX_FIGURES; i++)
                if (view_wants_metric(view, main_figures[i]))
                        figures.ids[figures.n++] = main_figures[i];
        if (figures.n > 0)
                return figures;
        for (unsigned id = 0; figures.n < MAX_FIGURES && id < _METRIC_MAX; id++)
                if (view_wants_metric(view, (MetricId) id))
                        figures.ids[figures.n++] = (MetricId) id;
        return figures;
}

static json_object *figure_of(json_object *group, MetricId id) {
        return cell_member(cell_member(cell_member(group, "metrics"), metric_table[id].name),
                           "value");
}

static void one_sided_add(OneSided *list, json_object *group) {
        Quantity run_time = {};
        size_t at;

        list->n_groups++;
        (void) cell_quantity(figure_of(group, METRIC_run_time_ns), &run_time);
        at = list->n_kept;
        while (at > 0 && quantity_compare_magnitude(run_time, list->run_times[at - 1]) > 0)
                at--;
        if (at == ONE_SIDED_SHOWN)
                return;

        if (list->n_kept == ONE_SIDED_SHOWN)
                (void) json_object_put(list->groups[ONE_SIDED_SHOWN - 1]);
        else
                list->n_kept++;
        memmove(&list->groups[at + 1], &list->groups[at],
                (list->n_kept - at - 1) * sizeof(list->groups[0]));
        memmove(&list->run_times[at + 1], &list->run_times[at],
                (list->n_kept - at - 1) * sizeof(list->run_times[0]));
        list->groups[at] = json_object_get(group);
        list->run_times[at] = run_time;
}

static void one_sided_done(OneSided *list) {
        for (size_t i = 0; i < list->n_kept; i++)
                (void) json_object_put(list->groups[i]);
        *list = (OneSided){};
}

static void add_group(Table *table, json_object *group, const Figures *figures, bool raw) {
        group_label_append(table_cell(table), group);
        cell_append_number(table_cell(table), cell_member(group, "threads"), QUANTITY_LADDER_NONE);
        for (size_t i = 0; i < figures->n; i++) {
                const CellStyle style = { .unit = metric_table[figures->ids[i]].unit, .raw = raw };

                cell_append_value(table_cell(table), figure_of(group, figures->ids[i]), &style);
        }
        table_end_row(table, 0);
}

/*
 * Prints "only in BEFORE (12 groups)" and the table; nothing if there are none. @n_hidden: how many
 * more groups were not sent.
 */
static int one_sided_print(const OneSided *list, const Session *session, const char *side,
                           uint64_t n_hidden) {
        _cleanup_(table_freep) Table *table = NULL;
        bool raw = options_have(session->options, OPTION_RAW);
        uint64_t n_groups = number_add_saturating(list->n_groups, n_hidden);
        const Figures figures = choose_figures(&session->options->view);
        TableColumn columns[2 + MAX_FIGURES] = {
                { .header = view_axis_header(session->options->view.axis),
                  .shrink_to = 12,
                  .keep_end = session->options->view.axis == VIEW_AXIS_CGROUP },
                { .header = "threads", .right = true },
        };
        int r;

        if (n_groups == 0)
                return 0;
        (void) printf("\nonly in %s (%llu group%s)\n", side, (unsigned long long) n_groups,
                      n_groups == 1 ? "" : "s");
        for (size_t i = 0; i < figures.n; i++)
                columns[2 + i] =
                        (TableColumn){ .header = metric_table[figures.ids[i]].name, .right = true };
        r = table_new(columns, 2 + figures.n, &session->terminal, session_legend(session), stdout,
                      &table);
        if (r < 0)
                return r;
        if (options_have(session->options, OPTION_WRAP))
                table_set_wrap(table);
        for (size_t i = 0; i < list->n_kept; i++)
                add_group(table, list->groups[i], &figures, raw);
        r = table_end(table);
        if (r == 0 && n_groups > list->n_kept)
                (void) printf("and %llu more that ran less\n",
                              (unsigned long long) (n_groups - list->n_kept));
        return r;
}

typedef struct SinkText {
        GroupSink sink;
        GroupTable *table;
        GroupTree tree;   /* for the axis "all" */
        OneSided only[2]; /* BEFORE, AFTER */
        SectionTables *sections;
        bool groups_done; /* their table is printed */
} SinkText;

static uint64_t count_of(json_object *reply, const char *key) {
        return json_object_get_uint64(cell_member(reply, key));
}

/* Whether any metric is wanted: a user who names only other sections gets no empty table. */
static bool wants_groups(const View *view) {
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (view_wants_metric(view, (MetricId) id))
                        return true;
        for (unsigned id = 0; id < _DERIVED_MAX; id++)
                if (view_wants_derived(view, (DerivedId) id))
                        return true;
        return false;
}

static int begin(GroupSink *sink, json_object *reply) {
        const GroupForm *form = sink->form;
        const Lines lines = { stdout, &form->session->terminal, OVERVIEW_LABEL_COLUMNS };
        SinkText *text = (SinkText *) sink;
        int r;

        r = session_page(form->session);
        if (r != 0)
                return r;
        r = group_form_lead(form, NULL);
        if (r != 0)
                return r;
        r = overview_print(&lines, form->kind, reply,
                           options_have(form->session->options, OPTION_VERBOSE));
        if (r != 0)
                return r;
        /* Sections print an empty line themselves, above their headings. */
        if (wants_groups(&form->session->options->view))
                (void) putchar('\n');
        r = group_table_new(form->session, &form->columns, &text->table);
        return r < 0 ? r : section_tables_new(form->session, form->kind, &text->sections);
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        bool is_tree = sink->form->session->options->view.axis == VIEW_AXIS_ALL &&
                       sink->form->kind != REPORT_SETS;
        SinkText *text = (SinkText *) sink;

        for (size_t i = 0; i < cell_length(groups); i++) {
                json_object *group = cell_element(groups, i);

                if (list != GROUP_LIST_GROUPS)
                        one_sided_add(&text->only[list - GROUP_LIST_ONLY_BEFORE], group);
                else if (!is_tree)
                        group_table_add(text->table, group);
                else if (group_tree_add(&text->tree, group) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Headers alone would leave open whether something went wrong. */
static void print_nothing(const SinkText *text) {
        const Session *session = text->sink.form->session;
        const View *view = &session->options->view;

        if (!session_is_chatty(session))
                return;
        if (text->sink.form->kind == REPORT_SETS)
                (void) puts("no difference is significant");
        else if (text->sink.form->kind == REPORT_SNAPSHOT)
                (void) puts(view->n_filter > 0 ? "no group matches the filter" : "no values");
        else if (view->has_threshold)
                (void) puts("no row of a group moved by more than the threshold");
        else if (text->only[0].n_groups > 0 || text->only[1].n_groups > 0)
                (void) puts("nothing changed in the groups that both have");
        else
                (void) puts(view->n_filter > 0 ? "nothing changed in groups that match the filter"
                                               : "nothing changed");
}

static int end_groups(SinkText *text) {
        int r;

        if (text->groups_done)
                return 0;
        text->groups_done = true;
        if (!wants_groups(&text->sink.form->session->options->view))
                return 0;
        r = group_tree_print(&text->tree, text->table);
        if (r < 0)
                return r;
        if (!group_table_is_empty(text->table))
                return group_table_end(text->table);
        print_nothing(text);
        return 0;
}

static int add_sections(GroupSink *sink, json_object *part) {
        SinkText *text = (SinkText *) sink;
        int r;

        r = end_groups(text);
        return r < 0 ? r : section_tables_add(text->sections, part);
}

/* hints: what is not shown, and how to see it */

/* "3 more cgroups in memory-stat, 12 in pressure, 1 more process in smaps-rollup (--limit 0)" */
static int print_cuts(const Lines *lines, json_object *cuts) {
        _cleanup_(buffer_done) Buffer line = {};
        const char *noun = NULL;
        json_object_iter member;

        json_object_object_foreachC(cuts, member) {
                SectionId id = section_find(member.key);
                uint64_t n = json_object_get_uint64(member.val);
                const char *last_noun = noun;

                if (id == _SECTION_MAX)
                        continue;
                noun = section_item_noun(id, n);
                buffer_append_format(&line, "%s%llu", line.n > 0 ? ", " : "",
                                     (unsigned long long) n);
                if (noun != last_noun)
                        buffer_append_format(&line, " more %s", noun);
                buffer_append_format(&line, " in %s", view_table_name(id));
        }
        if (line.n == 0)
                return buffer_failure(&line);
        buffer_append_text(&line, " (--limit 0)");
        return lines_print_buffer(lines, "", &line);
}

static void print_omitted(const Lines *lines, Span names, const char *way_out) {
        if (names.n > 0)
                lines_format(lines, "", "no room for %.*s: %s", (int) names.n, names.bytes,
                             way_out);
}

static void print_hidden_rows(const SinkText *text, uint64_t n) {
        bool has_threshold = text->sink.form->session->options->view.has_threshold;
        const char *rows = n == 1 ? "row" : "rows";

        if (text->sink.form->kind == REPORT_SETS)
                (void) printf("%llu %s hidden that %s\n", (unsigned long long) n, rows,
                              has_threshold
                                      ? "did not move by more, or are not significant (--threshold)"
                                      : "are not significant (--all-rows)");
        else if (has_threshold)
                (void) printf("%llu %s hidden that did not move by more (--threshold)\n",
                              (unsigned long long) n, rows);
        else
                (void) printf("%llu %s %s hidden (--all-rows)\n", (unsigned long long) n,
                              report_kind_has_sides(text->sink.form->kind) ? "unchanged"
                              : section_tables_any(text->sections)         ? "empty or zero"
                                                                           : "empty",
                              rows);
}

/* Of sets, groups that only one side has are counted but not sent. */
static void print_untested(uint64_t n_before, uint64_t n_after) {
        if (n_before > 0)
                (void) printf("%llu group%s only in BEFORE%s", (unsigned long long) n_before,
                              n_before == 1 ? "" : "s", n_after > 0 ? ", " : "");
        if (n_after > 0)
                (void) printf("%llu group%s only in AFTER", (unsigned long long) n_after,
                              n_after == 1 ? "" : "s");
        if (n_before > 0 || n_after > 0)
                (void) printf(": not tested\n");
}

static int print_hints(const SinkText *text, json_object *reply) {
        uint64_t n_rows = number_add_saturating(count_of(reply, "hiddenRows"),
                                                section_tables_hidden(text->sections));
        uint64_t n_groups = count_of(reply, "hiddenGroups");
        uint64_t n_before = count_of(reply, "groupsOnlyBefore");
        uint64_t n_after = count_of(reply, "groupsOnlyAfter");
        Span sections = section_tables_omitted(text->sections);
        const Session *session = text->sink.form->session;
        const Lines lines = { stdout, &session->terminal, 0 };
        json_object *cuts = cell_member(reply, "hiddenSections");
        bool has_cuts =
                json_object_is_type(cuts, json_type_object) && json_object_object_length(cuts) > 0;
        _cleanup_(buffer_done) Buffer columns = {};
        int r = 0;

        if (!session_is_chatty(session) || options_have(session->options, OPTION_NO_LEGEND))
                return 0;
        group_table_omitted(text->table, &columns);
        if (n_rows > 0 || n_groups > 0 || n_before > 0 || n_after > 0 || columns.n > 0 ||
            sections.n > 0 || has_cuts)
                (void) putchar('\n');
        if (n_rows > 0)
                print_hidden_rows(text, n_rows);
        if (n_groups > 0)
                (void) printf("%llu more group%s (--limit 0)\n", (unsigned long long) n_groups,
                              n_groups == 1 ? "" : "s");
        print_untested(n_before, n_after);
        if (has_cuts)
                r = print_cuts(&lines, cuts);
        print_omitted(&lines, buffer_span(&columns),
                      text->sink.form->kind == REPORT_SETS
                              ? "a wider terminal or a pipe has it"
                              : "a wider terminal, a pipe or --columns has it");
        print_omitted(&lines, sections, "a wider terminal or a pipe has it");
        return r < 0 ? r : buffer_failure(&columns);
}

static int end(GroupSink *sink, json_object *reply) {
        static const char *const sides[] = { "BEFORE", "AFTER" };
        static const char *const hidden[] = { "hiddenOnlyBefore", "hiddenOnlyAfter" };
        SinkText *text = (SinkText *) sink;
        int r;

        r = end_groups(text);
        /* Sets have no sections, so that none of them has to be explained. */
        if (r == 0 && sink->form->kind != REPORT_SETS)
                r = section_tables_end(text->sections);
        if (r == 0)
                r = pairing_table_print(sink->form->session, reply);
        for (size_t i = 0; r == 0 && i < 2; i++)
                r = one_sided_print(&text->only[i], sink->form->session, sides[i],
                                    count_of(reply, hidden[i]));
        return r < 0 ? r : print_hints(text, reply);
}

static void free_sink(GroupSink *sink) {
        SinkText *text = (SinkText *) sink;

        text->table = group_table_free(text->table);
        group_tree_done(&text->tree);
        text->sections = section_tables_free(text->sections);
        for (size_t i = 0; i < 2; i++)
                one_sided_done(&text->only[i]);
        free(text);
}

int sink_text_new(const GroupForm *form, GroupSink **ret) {
        static const GroupSinkType type = { .begin = begin,
                                            .groups = add_groups,
                                            .sections = add_sections,
                                            .end = end,
                                            .free = free_sink };
        SinkText *text = malloc(sizeof(*text));

        if (!text)
                return -ENOMEM;
        *text = (SinkText){ .sink = { &type, form } };
        *ret = &text->sink;
        return 0;
}
