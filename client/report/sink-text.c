/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "render/cell.h"
#include "render/lines.h"
#include "report/group/account-table.h"
#include "report/group/group-table.h"
#include "report/group/group-tree.h"
#include "report/group/one-sided.h"
#include "report/group/pairing-table.h"
#include "report/group/set-table.h"
#include "report/hints.h"
#include "report/overview/overview.h"
#include "report/section/section-tables.h"

/* Lines of a first screen that are no groups: blank ones, headers, hints, and the next prompt. */
#define OTHER_LINES 5
#define SCREEN_LINES 24 /* what a first screen has at least, whatever the terminal says */
#define MIN_GROUPS 8

typedef struct SinkText {
        GroupSink sink;
        AccountTable *accounts; /* the overview; NULL: there is none */
        bool accounts_begun;    /* it has a row, be it of a command */
        bool has_overview;      /* it has a group */
        bool accounts_done;     /* it is printed */
        GroupTable *table;      /* rows by metric */
        GroupTree tree;         /* for the axis "all" */
        SetTable *untested;     /* of sets only */
        OneSided only[2];       /* BEFORE, AFTER */
        SectionTables *sections;
        bool groups_done; /* their table is printed */
        /* How many groups the filter lets through; not known without one, or of an older daemon. */
        bool knows_matched;
        uint64_t n_matched;
} SinkText;

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

/* Prints what stands above the tables; *ret_n is the number of lines. */
static int print_head(const GroupForm *form, json_object *reply, size_t *ret_n) {
        const Terminal *terminal = &form->session->terminal;
        _cleanup_(freep) char *text = NULL;
        size_t n_text, n = 0;
        FILE *head = open_memstream(&text, &n_text);
        const Lines lines = { head, terminal, OVERVIEW_LABEL_COLUMNS };
        int r;

        if (!head)
                return -ENOMEM;
        r = group_form_lead(form, head, NULL);
        if (r == 0)
                r = overview_print(&lines, form->kind, reply,
                                   options_have(form->session->options, OPTION_VERBOSE));
        if (fclose(head) != 0)
                return -ENOMEM;
        if (r != 0)
                return r;
        for (size_t i = 0; i < n_text; i++)
                n += text[i] == '\n';
        *ret_n = n;
        return fwrite(text, 1, n_text, stdout) == n_text ? 0 : -errno;
}

/* How many groups a first screen has room for below @n_lines; a pipe and a limit have all. */
static uint64_t count_room(const Session *session, size_t n_lines) {
        size_t screen = MAX_OF(session->terminal.rows, (size_t) SCREEN_LINES);

        if (!session->terminal.out || options_have(session->options, OPTION_LIMIT))
                return UINT64_MAX;
        n_lines += OTHER_LINES;
        return screen > n_lines + MIN_GROUPS ? screen - n_lines : MIN_GROUPS;
}

/* An empty line stands above the overview, and above rows by metric. */
static void begin_table(bool *begun) {
        if (!*begun)
                (void) putchar('\n');
        *begun = true;
}

/* @n_lines: of the head. */
static int begin_overview(SinkText *text, json_object *reply, size_t n_lines) {
        const GroupForm *form = text->sink.form;
        json_object *command = form->command ? form->command(form->lead_userdata) : NULL;
        int r;

        r = account_table_new(form->session, form->kind, reply,
                              count_room(form->session, n_lines + (command != NULL)),
                              &text->accounts);
        if (r == 0 && command) {
                begin_table(&text->accounts_begun);
                account_table_add_command(text->accounts, command);
        }
        (void) json_object_put(command);
        return r;
}

static int begin(GroupSink *sink, json_object *reply) {
        const GroupForm *form = sink->form;
        SinkText *text = (SinkText *) sink;
        json_object *matched = cell_member(reply, "matchedGroups");
        size_t n_lines;
        int r;

        text->knows_matched = matched;
        text->n_matched = json_object_get_uint64(matched);
        r = session_page(form->session);
        if (r != 0)
                return r;
        r = print_head(form, reply, &n_lines);
        if (r == 0 && form->overview)
                r = begin_overview(text, reply, n_lines);
        if (r == 0)
                r = group_table_new(form->session, &form->columns, form->kind, &text->table);
        if (r == 0 && form->kind == REPORT_SETS)
                r = set_table_new(form->session, reply, &text->untested);
        return r != 0 ? r : section_tables_new(form->session, form->kind, &text->sections);
}

static int add_accounts(GroupSink *sink, json_object *rows) {
        SinkText *text = (SinkText *) sink;

        for (size_t i = 0; text->accounts && i < cell_length(rows); i++) {
                begin_table(&text->accounts_begun);
                text->has_overview = true;
                account_table_add(text->accounts, cell_element(rows, i));
        }
        return 0;
}

/* Sections print an empty line themselves, above their headings. */
static int end_overview(SinkText *text) {
        const GroupForm *form = text->sink.form;
        int r = 0;

        if (text->accounts_done)
                return 0;
        text->accounts_done = true;
        if (text->accounts_begun)
                r = account_table_end(text->accounts);
        if ((form->rows || !text->has_overview) && wants_groups(&form->session->options->view))
                (void) putchar('\n');
        return r;
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        bool is_tree = sink->form->session->options->view.axis == VIEW_AXIS_ALL &&
                       sink->form->kind != REPORT_SETS;
        SinkText *text = (SinkText *) sink;
        int r;

        r = end_overview(text);
        for (size_t i = 0; r == 0 && i < cell_length(groups); i++) {
                json_object *group = cell_element(groups, i);

                if (text->untested)
                        r = set_table_add(text->untested, group);
                if (r != 0)
                        break;
                if (list != GROUP_LIST_GROUPS)
                        one_sided_add(&text->only[list - GROUP_LIST_ONLY_BEFORE], group);
                else if (!is_tree)
                        group_table_add(text->table, group);
                else
                        r = group_tree_add(&text->tree, group);
        }
        return r;
}

static bool none_matches(const SinkText *text) {
        return text->knows_matched && text->n_matched == 0;
}

static const char *nothing_in_snapshot(const SinkText *text) {
        if (text->sink.form->session->options->view.n_filter == 0)
                return "no values";
        return text->knows_matched ? "no values in groups that match the filter"
                                   : "no group matches the filter";
}

/* Headers alone would leave open whether something went wrong. */
static void print_nothing(const SinkText *text) {
        const Session *session = text->sink.form->session;
        const View *view = &session->options->view;

        if (!session_is_chatty(session))
                return;
        if (none_matches(text))
                (void) puts("no group matches the filter");
        else if (text->sink.form->kind == REPORT_SETS)
                (void) puts("no difference is significant");
        else if (text->sink.form->kind == REPORT_SNAPSHOT)
                (void) puts(nothing_in_snapshot(text));
        else if (view->has_threshold)
                (void) puts("no row of a group moved by more than the threshold");
        else if (text->only[0].n_groups > 0 || text->only[1].n_groups > 0)
                (void) puts("nothing changed in the groups that both have");
        else
                (void) puts(view->n_filter > 0 ? "nothing changed in groups that match the filter"
                                               : "nothing changed");
}

/* Of sets: what no test says anything of. */
static int print_untested(SinkText *text) {
        if (!text->untested || set_table_is_empty(text->untested))
                return 0;
        if (!group_table_is_empty(text->table) || !set_table_is_untested(text->untested))
                (void) putchar('\n');
        return set_table_print(text->untested);
}

static int end_groups(SinkText *text) {
        const GroupForm *form = text->sink.form;
        int r;

        if (text->groups_done)
                return 0;
        text->groups_done = true;
        r = end_overview(text);
        if (r < 0)
                return r;
        /* A daemon that knows of no overview sends the rows of all groups. */
        if (!form->rows && text->has_overview)
                return 0;
        if (!wants_groups(&form->session->options->view))
                return 0;
        r = group_tree_print(&text->tree, text->table);
        if (r < 0)
                return r;
        if (!group_table_is_empty(text->table))
                r = group_table_end(text->table);
        else if (none_matches(text) || !text->untested || !set_table_is_untested(text->untested))
                print_nothing(text);
        return r < 0 ? r : print_untested(text);
}

static int add_sections(GroupSink *sink, json_object *part) {
        SinkText *text = (SinkText *) sink;
        int r;

        r = end_groups(text);
        return r < 0 ? r : section_tables_add(text->sections, part);
}

/* What belongs to rows by metric. */
static int end_rows(SinkText *text, json_object *reply) {
        static const struct {
                const char *name, *hidden;
        } sides[][2] = {
                { { "BEFORE", "hiddenOnlyBefore" }, { "AFTER", "hiddenOnlyAfter" } },
                { { "A", "hiddenOnlyA" }, { "B", "hiddenOnlyB" } },
        };
        const GroupForm *form = text->sink.form;
        unsigned of_intervals = form->kind == REPORT_INTERVALS;
        int r = 0;

        /* Sets have no sections, so that none of them has to be explained. */
        if (form->kind != REPORT_SETS)
                r = section_tables_end(text->sections);
        if (r == 0)
                r = pairing_table_print(form->session, reply);
        for (size_t i = 0; r == 0 && i < 2; i++)
                r = one_sided_print(
                        &text->only[i], form->session, sides[of_intervals][i].name,
                        json_object_get_uint64(cell_member(reply, sides[of_intervals][i].hidden)));
        return r;
}

static int end(GroupSink *sink, json_object *reply) {
        SinkText *text = (SinkText *) sink;
        const Hints hints = {
                .form = sink->form,
                .accounts = text->accounts,
                .rows = sink->form->rows ? text->table : NULL,
                .untested = text->untested,
                .sections = text->sections,
                .reply = reply,
        };
        int r;

        r = end_groups(text);
        if (r == 0 && sink->form->rows)
                r = end_rows(text, reply);
        return r < 0 ? r : hints_print(&hints);
}

static void free_sink(GroupSink *sink) {
        SinkText *text = (SinkText *) sink;

        text->accounts = account_table_free(text->accounts);
        text->table = group_table_free(text->table);
        group_tree_done(&text->tree);
        text->untested = set_table_free(text->untested);
        text->sections = section_tables_free(text->sections);
        for (size_t i = 0; i < 2; i++)
                one_sided_done(&text->only[i]);
        free(text);
}

int sink_text_new(const GroupForm *form, GroupSink **ret) {
        static const GroupSinkType type = { .begin = begin,
                                            .overview = add_accounts,
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
