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
        if (r == 0)
                r = group_form_lead(form, NULL);
        if (r == 0)
                r = overview_print(&lines, form->kind, reply);
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
                noun = id == SECTION_SMAPS_ROLLUP ? n == 1 ? "process" : "processes"
                       : n == 1                   ? "cgroup"
                                                  : "cgroups";
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
                              text->sink.form->kind == REPORT_PAIR ? "unchanged"
                              : section_tables_any(text->sections) ? "empty or zero"
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
