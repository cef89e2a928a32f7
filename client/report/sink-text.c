/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "render/cell.h"
#include "render/lines.h"
#include "report/group/group-table.h"
#include "report/group/group-tree.h"
#include "report/overview/overview.h"
#include "report/group/one-sided.h"
#include "report/group/pairing-table.h"
#include "report/section/section-row.h"
#include "report/section/section-tables.h"

typedef struct SinkText {
        GroupSink sink;
        GroupTable *table;
        GroupTree tree;   /* of axis all */
        OneSided only[2]; /* BEFORE, AFTER */
        SectionTables *sections;
        bool groups_done; /* their table is out */
} SinkText;

static uint64_t count_of(json_object *reply, const char *key) {
        return json_object_get_uint64(cell_member(reply, key));
}

/* Who names nothing but sections of their own wants no table of metrics, were it empty. */
static bool wants_groups(const View *view) {
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (view_wants_metric(view, (MetricId) id))
                        return true;
        for (unsigned id = 0; id < _DERIVED_MAX; id++)
                if (view_wants_derived(view, (DerivedId) id))
                        return true;
        return false;
}

/* Everything above the first table: heads, what differs, what could not be read. */
static int print_head(const GroupForm *form, json_object *reply) {
        const Lines lines = { stdout, &form->session->terminal, OVERVIEW_LABEL_COLUMNS };
        int r;

        if (form->kind == REPORT_SNAPSHOT) {
                r = head_lines_print(&lines, "snapshot", cell_member(reply, "snapshot"));
                if (r == 0)
                        r = source_lines_print(&lines, cell_member(reply, "sources"));
        } else {
                r = head_lines_print(&lines, "before", cell_member(reply, "before"));
                if (r == 0)
                        r = head_lines_print(&lines, "after", cell_member(reply, "after"));
                if (r == 0)
                        r = change_lines_print(&lines, reply);
                if (r == 0)
                        r = source_lines_print_pair(&lines, cell_member(reply, "sourcesBefore"),
                                                    cell_member(reply, "sourcesAfter"));
        }
        if (wants_groups(
                    &form->session->options->view)) /* sections have one before their heading */
                (void) putchar('\n');
        return r;
}

static int begin(GroupSink *sink, json_object *reply) {
        SinkText *text = (SinkText *) sink;
        int r;

        r = session_page(sink->form->session);
        if (r == 0)
                r = group_form_lead(sink->form, NULL);
        if (r == 0)
                r = print_head(sink->form, reply);
        if (r == 0)
                r = group_table_new(sink->form->session, &sink->form->columns, &text->table);
        return r != 0 ? r
                      : section_tables_new(sink->form->session, sink->form->kind, &text->sections);
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        bool is_tree = sink->form->session->options->view.axis == VIEW_AXIS_ALL;
        SinkText *text = (SinkText *) sink;
        size_t n = cell_length(groups);
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *group = cell_element(groups, i);

                if (list != GROUP_LIST_GROUPS)
                        one_sided_add(&text->only[list - GROUP_LIST_ONLY_BEFORE], group);
                else if (is_tree)
                        r = group_tree_add(&text->tree, group);
                else
                        r = group_table_add(text->table, group);
        }
        return r;
}

/* Headers above nothing leave open whether something went wrong. */
static void print_nothing(const SinkText *text) {
        const Session *session = text->sink.form->session;
        const View *view = &session->options->view;

        if (!session_is_chatty(session))
                return;
        if (text->sink.form->kind == REPORT_SNAPSHOT)
                (void) puts(view->n_filter > 0 ? "no group matches the filter" : "no values");
        else if (view->has_threshold)
                (void) puts("nothing moved by more than the threshold");
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

/* "3 more cgroups in memory-stat, 12 in pressure, 1 more process in smaps-rollup (--limit 0)" */
static int print_cuts(const Lines *lines, json_object *cuts) {
        _cleanup_(buffer_done) Buffer line = {};
        const char *noun = NULL;
        json_object_iter member;
        int r = 0;

        json_object_object_foreachC(cuts, member) {
                SectionId id = section_find(member.key);
                uint64_t n = json_object_get_uint64(member.val);
                const char *last_noun = noun;

                if (r < 0 || id == _SECTION_MAX)
                        continue;
                noun = id == SECTION_SMAPS_ROLLUP ? n == 1 ? "process" : "processes"
                       : n == 1                   ? "cgroup"
                                                  : "cgroups";
                r = buffer_append_format(&line, "%s%llu", line.n > 0 ? ", " : "",
                                         (unsigned long long) n);
                if (r == 0 && noun != last_noun)
                        r = buffer_append_format(&line, " more %s", noun);
                if (r == 0)
                        r = buffer_append_format(&line, " in %s", view_table_name(id));
        }
        if (r < 0 || line.n == 0)
                return r;
        r = buffer_append_text(&line, " (--limit 0)");
        return r < 0 ? r : lines_print_buffer(lines, "", &line);
}

/* Sections leave zeros out, too; that is not to be called empty. */
static const char *hidden_word(const SinkText *text) {
        if (text->sink.form->kind == REPORT_PAIR)
                return "unchanged";
        return section_tables_any(text->sections) ? "empty or zero" : "empty";
}

/* Columns that a narrow terminal has no room for. */
typedef struct Omitted {
        Buffer groups, sections;
} Omitted;

static void omitted_done(Omitted *omitted) {
        buffer_done(&omitted->groups);
        buffer_done(&omitted->sections);
}

static int print_omitted(const Lines *lines, Buffer *names, const char *way_out) {
        const char *text;
        int r;

        if (names->n == 0)
                return 0;
        r = buffer_terminate(names, &text);
        if (r == 0)
                lines_format(lines, "", "no room for %s: %s", text, way_out);
        return r;
}

static void print_counts(const SinkText *text, uint64_t n_rows, uint64_t n_groups) {
        if (n_rows > 0 && text->sink.form->session->options->view.has_threshold)
                (void) printf("%llu row%s hidden that did not move by more (--threshold)\n",
                              (unsigned long long) n_rows, n_rows == 1 ? "" : "s");
        else if (n_rows > 0)
                (void) printf("%llu %s row%s hidden (--all-rows)\n", (unsigned long long) n_rows,
                              hidden_word(text), n_rows == 1 ? "" : "s");
        if (n_groups > 0)
                (void) printf("%llu more group%s (--limit 0)\n", (unsigned long long) n_groups,
                              n_groups == 1 ? "" : "s");
}

/* What is not there, and how to see it. */
static int print_hints(const SinkText *text, json_object *reply) {
        uint64_t n_rows = number_add_saturating(count_of(reply, "hiddenRows"),
                                                section_tables_hidden(text->sections));
        uint64_t n_groups = count_of(reply, "hiddenGroups");
        const Session *session = text->sink.form->session;
        const Lines lines = { stdout, &session->terminal, 0 };
        json_object *cuts = cell_member(reply, "hiddenSections");
        _cleanup_(omitted_done) Omitted omitted = {};
        bool has_cuts;
        int r;

        has_cuts =
                json_object_is_type(cuts, json_type_object) && json_object_object_length(cuts) > 0;
        group_table_omitted(text->table, &omitted.groups);
        r = section_tables_omitted(text->sections, &omitted.sections);
        if (r < 0 || !session_is_chatty(session) ||
            options_have(session->options, OPTION_NO_LEGEND))
                return r;
        if (n_rows > 0 || n_groups > 0 || omitted.groups.n > 0 || omitted.sections.n > 0 ||
            has_cuts)
                (void) putchar('\n');
        print_counts(text, n_rows, n_groups);
        if (has_cuts)
                r = print_cuts(&lines, cuts);
        if (r == 0)
                r = print_omitted(&lines, &omitted.groups,
                                  "a wider terminal, a pipe or --columns has it");
        return r < 0 ? r
                     : print_omitted(&lines, &omitted.sections,
                                     "a wider terminal or a pipe has it");
}

static int end(GroupSink *sink, json_object *reply) {
        static const char *const sides[] = { "BEFORE", "AFTER" };
        static const char *const hidden[] = { "hiddenOnlyBefore", "hiddenOnlyAfter" };
        SinkText *text = (SinkText *) sink;
        int r;

        r = end_groups(text);
        if (r == 0)
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
