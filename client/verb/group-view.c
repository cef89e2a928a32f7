/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/group-view.h"

#include <stdlib.h>
#include <string.h>

#include "render/cell.h"
#include "render/lines.h"
#include "verb/complain.h"
#include "verb/group-rows.h"
#include "verb/group-table.h"
#include "verb/group-tree.h"
#include "verb/head-lines.h"
#include "verb/one-sided.h"
#include "verb/section-out.h"

/* The lists of groups, in the order they come and are printed in. */
enum { LIST_GROUPS, LIST_ONLY_BEFORE, LIST_ONLY_AFTER, N_LISTS };

static const char *const list_names[N_LISTS] = {
        [LIST_GROUPS] = "groups",
        [LIST_ONLY_BEFORE] = "onlyBefore",
        [LIST_ONLY_AFTER] = "onlyAfter",
};

struct GroupView {
        Session *session;
        GroupSides sides;
        GroupColumns columns;
        GroupViewLead lead;
        void *lead_userdata;
        bool above; /* rows moved by more than the threshold */
        bool begun; /* the first reply is out */

        JsonOut json;
        size_t list;             /* JSON: the one that is open */
        SectionOut sections;     /* JSON: behind the lists */
        json_object *sources[2]; /* owned; JSON has them after the groups */

        GroupRows *rows;

        GroupTable *table;
        GroupTree tree; /* of axis all */
        OneSided only[2];
};

/* The tables of sections have columns of their own, which rows of metrics cannot take. */
static void warn_tables(const View *view, const char *format) {
        for (unsigned id = 0; view->has_sections && id < _SECTION_MAX; id++)
                if (view->tables[id])
                        (void) complain(STATUS_DONE,
                                        "The section \"%s\" has no rows in --format %s: --json "
                                        "has it.",
                                        view_table_name((SectionId) id), format);
}

/* JSON and tables need no more. */
static int set_form(GroupView *view) {
        Session *session = view->session;
        Format format = options_have(session->options, OPTION_FORMAT) ? session->options->format
                                                                      : FORMAT_TABLE;
        int r;

        if (options_have(session->options, OPTION_FORMAT) && session_has_json(session))
                return complain(STATUS_USAGE,
                                "--format and --json are two forms of one result: give either.");
        if (!session_has_json(session))
                warn_tables(&session->options->view, format_name(format));
        if (format != FORMAT_CSV && format != FORMAT_NDJSON)
                return 0;
        session->rows = true;
        r = group_rows_new(format == FORMAT_CSV ? ROW_STYLE_CSV : ROW_STYLE_NDJSON, view->sides,
                           stdout, &view->rows);
        return r < 0 ? complain_errno(r, "prepare the rows") : 0;
}

int group_view_new(Session *session, GroupSides sides, GroupView **ret) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES];
        _cleanup_(group_view_freep) GroupView *view = NULL;
        GroupColumns columns;
        int r;

        r = group_columns_parse(session->options->columns, sides, &columns, complaint);
        if (r == GROUP_COLUMNS_E_INVALID)
                return complain(STATUS_USAGE, "%s", complaint);
        view = malloc(sizeof(*view));
        if (!view)
                return complain_errno(-ENOMEM, "prepare the output");
        *view = (GroupView){ .session = session, .sides = sides, .columns = columns };
        json_out_init(&view->json, stdout, session->json);
        r = set_form(view);
        if (r == 0)
                *ret = TAKE_PTR(view);
        return r;
}

GroupView *group_view_free(GroupView *view) {
        if (!view)
                return NULL;
        json_out_done(&view->json);
        view->rows = group_rows_free(view->rows);
        view->table = group_table_free(view->table);
        group_tree_done(&view->tree);
        for (size_t i = 0; i < 2; i++) {
                (void) json_object_put(view->sources[i]);
                one_sided_done(&view->only[i]);
        }
        free(view);
        return NULL;
}

void group_view_set_lead(GroupView *view, GroupViewLead lead, void *userdata) {
        view->lead = lead;
        view->lead_userdata = userdata;
}

void group_view_write_parameter(const GroupView *view, JsonWriter *writer) {
        const Options *options = view->session->options;
        bool is_machine = session_is_machine(view->session);
        View parameter = options->view;

        /* A program wants all there is unless its user said otherwise. */
        parameter.changed_only = !is_machine && !options_have(options, OPTION_ALL_ROWS);
        if (is_machine && !options_have(options, OPTION_LIMIT))
                parameter.limit = 0;
        json_write_key(writer, "view");
        view_write_json(writer, &parameter);
}

bool group_view_is_above(const GroupView *view) {
        return view->above;
}

/* AFTER that was taken first is nearly always a slip. */
static void warn_backwards(json_object *reply) {
        json_object *elapsed = cell_member(reply, "elapsedNs");
        char quoted_before[QUOTE_BYTES], quoted_after[QUOTE_BYTES];

        if (!elapsed || json_object_get_int64(elapsed) >= 0)
                return;
        (void) complain(
                STATUS_DONE,
                "AFTER (%s) is older than BEFORE (%s): the other way round they "
                "show what happened.",
                quote_json(cell_member(cell_member(reply, "after"), "name"), quoted_after),
                quote_json(cell_member(cell_member(reply, "before"), "name"), quoted_before));
}

static uint64_t count_of(json_object *reply, const char *key) {
        return json_object_get_uint64(cell_member(reply, key));
}

/* JSON */

static void begin_json(GroupView *view, json_object *reply) {
        static const char *const pair_names[] = { "before", "after", "sameBoot", "elapsedNs",
                                                  "hostChanges" };

        json_out_object(&view->json);
        if (view->lead && view->lead(view->lead_userdata, &view->json) != 0)
                return;
        if (view->sides == GROUP_SIDES_ONE) {
                json_out_member(&view->json, "snapshot", cell_member(reply, "snapshot"));
                view->sources[0] = json_object_get(cell_member(reply, "sources"));
        } else {
                for (size_t i = 0; i < ELEMENTSOF(pair_names); i++)
                        json_out_member(&view->json, pair_names[i],
                                        cell_member(reply, pair_names[i]));
                view->sources[0] = json_object_get(cell_member(reply, "sourcesBefore"));
                view->sources[1] = json_object_get(cell_member(reply, "sourcesAfter"));
        }
        json_out_key(&view->json, list_names[LIST_GROUPS]);
        json_out_array(&view->json);
}

static size_t n_lists(const GroupView *view) {
        return view->sides == GROUP_SIDES_ONE ? 1 : (size_t) N_LISTS;
}

/* Closes lists until @list is the open one; lists never come back. */
static int open_list(GroupView *view, size_t list) {
        if (list < view->list || view->sections.begun)
                return complain(STATUS_FAILED, "ctprofd sent its groups out of order.");
        while (view->list < list) {
                json_out_end(&view->json);
                json_out_key(&view->json, list_names[++view->list]);
                json_out_array(&view->json);
        }
        return 0;
}

/* The lists end where the sections begin. */
static int close_lists(GroupView *view) {
        int r;

        if (view->sections.begun)
                return 0;
        r = open_list(view, n_lists(view) - 1);
        if (r == 0)
                json_out_end(&view->json);
        return r;
}

static int add_json(GroupView *view, json_object *reply) {
        json_object *sections = cell_member(reply, "sections");

        for (size_t list = 0; list < n_lists(view); list++) {
                json_object *groups = cell_member(reply, list_names[list]);
                size_t n = cell_length(groups);
                int r = n > 0 ? open_list(view, list) : 0;

                if (r != 0)
                        return r;
                for (size_t i = 0; i < n; i++)
                        json_out_value(&view->json, json_object_array_get_idx(groups, i));
        }
        if (sections) {
                int r = close_lists(view);

                if (r != 0)
                        return r;
                section_out_add(&view->sections, &view->json, sections);
        }
        return 0;
}

static int end_json(GroupView *view, json_object *reply) {
        static const char *const counts[] = { "hiddenRows", "hiddenGroups", "hiddenOnlyBefore",
                                              "hiddenOnlyAfter", "rowsAboveThreshold" };
        static const char *const source_names[][2] = {
                [GROUP_SIDES_ONE] = { "sources", NULL },
                [GROUP_SIDES_TWO] = { "sourcesBefore", "sourcesAfter" },
        };
        int r;

        r = close_lists(view);
        if (r != 0)
                return r;
        section_out_end(&view->sections, &view->json);
        for (size_t i = 0; i < 2 && source_names[view->sides][i]; i++)
                json_out_member(&view->json, source_names[view->sides][i], view->sources[i]);
        for (size_t i = 0; i < ELEMENTSOF(counts); i++)
                if (cell_member(reply, counts[i]))
                        json_out_member(&view->json, counts[i], cell_member(reply, counts[i]));
        json_out_end(&view->json);
        return session_finish_json(&view->json);
}

/* rows */

static int begin_rows(GroupView *view, json_object *reply) {
        int r = view->lead ? view->lead(view->lead_userdata, NULL) : 0;

        if (r == 0)
                r = group_rows_begin(view->rows, reply);
        if (r == 0 && view->session->options->format == FORMAT_CSV &&
            session_legend(view->session) == TABLE_LEGEND_SHOWN)
                r = group_rows_add_names(view->rows);
        return r;
}

static int add_rows(GroupView *view, json_object *reply) {
        static const RowSide sides[N_LISTS] = {
                [LIST_GROUPS] = ROW_SIDE_BOTH,
                [LIST_ONLY_BEFORE] = ROW_SIDE_BEFORE,
                [LIST_ONLY_AFTER] = ROW_SIDE_AFTER,
        };
        int r = 0;

        for (size_t list = 0; list < n_lists(view); list++) {
                json_object *groups = cell_member(reply, list_names[list]);
                size_t n = cell_length(groups);

                for (size_t i = 0; r == 0 && i < n; i++)
                        r = group_rows_add(view->rows, json_object_array_get_idx(groups, i),
                                           sides[list]);
        }
        return r;
}

static int on_rows(GroupView *view, json_object *reply, bool first) {
        int r = first ? begin_rows(view, reply) : 0;

        if (r == 0)
                r = add_rows(view, reply);
        return r < 0 ? complain_errno(r, "write the rows to stdout") : r;
}

/* text */

static int print_lead(GroupView *view, json_object *reply) {
        const Lines lines = { stdout, &view->session->terminal, HEAD_LABEL_COLUMNS };
        int r;

        if (view->sides == GROUP_SIDES_ONE) {
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
        (void) putchar('\n');
        return r;
}

static int begin_text(GroupView *view, json_object *reply) {
        int r;

        r = session_page(view->session);
        if (r == 0 && view->lead)
                r = view->lead(view->lead_userdata, NULL);
        if (r != 0)
                return r;
        r = print_lead(view, reply);
        return r < 0 ? r : group_table_new(view->session, &view->columns, &view->table);
}

static int add_text(GroupView *view, json_object *reply) {
        json_object *groups = cell_member(reply, list_names[LIST_GROUPS]);
        size_t n = cell_length(groups);
        bool is_tree = view->session->options->view.axis == VIEW_AXIS_ALL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *group = json_object_array_get_idx(groups, i);

                r = is_tree ? group_tree_add(&view->tree, group)
                            : group_table_add(view->table, group);
        }
        for (size_t side = 0; side < 2; side++) {
                groups = cell_member(reply, list_names[LIST_ONLY_BEFORE + side]);
                n = cell_length(groups);
                for (size_t i = 0; i < n; i++)
                        one_sided_add(&view->only[side], json_object_array_get_idx(groups, i));
        }
        return r;
}

/* What is not there, and how to see it. */
static int print_hints(const GroupView *view, json_object *reply) {
        uint64_t n_rows = count_of(reply, "hiddenRows"), n_groups = count_of(reply, "hiddenGroups");
        _cleanup_(buffer_done) Buffer omitted = {};
        const char *names;
        int r;

        r = group_table_omitted(view->table, &omitted);
        if (r == 0)
                r = buffer_terminate(&omitted, &names);
        if (r < 0 || !session_is_chatty(view->session) ||
            options_have(view->session->options, OPTION_NO_LEGEND))
                return r;
        if (n_rows > 0 || n_groups > 0 || omitted.n > 0)
                (void) putchar('\n');
        if (n_rows > 0 && view->session->options->view.has_threshold)
                (void) printf("%llu row%s hidden that did not move by more (--threshold)\n",
                              (unsigned long long) n_rows, n_rows == 1 ? "" : "s");
        else if (n_rows > 0)
                (void) printf("%llu %s row%s hidden (--all-rows)\n", (unsigned long long) n_rows,
                              view->sides == GROUP_SIDES_ONE ? "empty" : "unchanged",
                              n_rows == 1 ? "" : "s");
        if (n_groups > 0)
                (void) printf("%llu more group%s (--limit 0)\n", (unsigned long long) n_groups,
                              n_groups == 1 ? "" : "s");
        if (omitted.n > 0)
                (void) printf("no room for %s (--columns, or a wider terminal)\n", names);
        return 0;
}

static int end_text(GroupView *view, json_object *reply) {
        int r;

        r = group_tree_print(&view->tree, view->table);
        if (r == 0)
                r = group_table_end(view->table);
        if (r == 0)
                r = one_sided_print(&view->only[0], view->session, "BEFORE",
                                    count_of(reply, "hiddenOnlyBefore"));
        if (r == 0)
                r = one_sided_print(&view->only[1], view->session, "AFTER",
                                    count_of(reply, "hiddenOnlyAfter"));
        return r < 0 ? r : print_hints(view, reply);
}

int group_view_on_reply(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        GroupView *view = userdata;
        bool is_json = session_has_json(view->session);
        bool first = !view->begun;
        int r = 0;

        view->begun = true;
        if (last)
                view->above = count_of(parameters, "rowsAboveThreshold") > 0;
        if (first && view->sides == GROUP_SIDES_TWO)
                warn_backwards(parameters);
        if (view->rows)
                return on_rows(view, parameters, first);
        if (first) {
                if (is_json)
                        begin_json(view, parameters);
                else
                        r = begin_text(view, parameters);
                if (r != 0)
                        return r;
        }
        r = is_json ? add_json(view, parameters) : add_text(view, parameters);
        if (r != 0 || !last)
                return r;
        return is_json ? end_json(view, parameters) : end_text(view, parameters);
}
