/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/set-view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/cell.h"
#include "render/lines.h"
#include "session/complain.h"
#include "report/overview/overview.h"
#include "report/overview/set-overview.h"
#include "report/row/set-rows.h"
#include "report/group/set-table.h"
#include "view/view-json.h"

struct SetView {
        Session *session;
        JsonOut out;             /* of JSON */
        SetRows *rows;           /* owned; of CSV and NDJSON */
        SetTable *table;         /* owned; else */
        json_object *sources[2]; /* owned; JSON has them behind the groups */
        bool begun;
        bool above;
};

/* What of a view has no meaning for sets, or is implied by them. */
static int check_options(const Session *session) {
        static const struct {
                OptionId id;
                const char *why;
        } refused[] = {
                { OPTION_WINDOW,
                  "--window is implied: rates of sets are of the work in the windows "
                  "between captures." },
                { OPTION_PAIR, "--pair is for two snapshots: cgroups are not paired in sets." },
                { OPTION_COLUMNS,
                  "--columns is for two snapshots: sets have columns of their own." },
        };
        const Options *options = session->options;

        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                if (options_have(options, refused[i].id))
                        return complain(STATUS_USAGE, "%s", refused[i].why);
        if (options->view.axis == VIEW_AXIS_THREAD)
                return complain(STATUS_USAGE,
                                "Sets are not compared by thread: a thread of one set need not be "
                                "in the other. --group-by comm-exact has their names.");
        if (options_have(options, OPTION_FORMAT) && options->format == FORMAT_HTML)
                return complain(STATUS_USAGE, "Sets have no --format html: they come as a table, "
                                              "csv, ndjson or --json.");
        if (options_have(options, OPTION_FORMAT) && session_has_json(session))
                return complain(STATUS_USAGE,
                                "--format and --json are two forms of one result: give either.");
        for (unsigned id = 0; options->view.has_sections && id < _SECTION_MAX; id++)
                if (options->view.tables[id])
                        return complain(STATUS_USAGE,
                                        "The section \"%s\" is of two snapshots: sets have rows of "
                                        "metrics only.",
                                        view_table_name((SectionId) id));
        return 0;
}

static int open_rows(SetView *view) {
        const Options *options = view->session->options;

        if (!options_have(options, OPTION_FORMAT) || options->format == FORMAT_TABLE)
                return 0;
        view->session->rows = true;
        return set_rows_new(options->format == FORMAT_CSV ? ROW_STYLE_CSV : ROW_STYLE_NDJSON,
                            stdout, &view->rows);
}

int set_view_new(Session *session, SetView **ret) {
        SetView *view;
        int r;

        r = check_options(session);
        if (r != 0)
                return r;
        view = calloc(1, sizeof(*view));
        if (!view)
                return complain_errno(-ENOMEM, "prepare the output");
        view->session = session;
        json_out_init(&view->out, stdout, session->json);
        r = open_rows(view);
        if (r < 0) {
                (void) set_view_free(view);
                return complain_errno(r, "prepare the output");
        }
        *ret = view;
        return 0;
}

SetView *set_view_free(SetView *view) {
        if (!view)
                return NULL;
        json_out_done(&view->out);
        for (size_t i = 0; i < ELEMENTSOF(view->sources); i++)
                (void) json_object_put(view->sources[i]);
        view->rows = set_rows_free(view->rows);
        view->table = set_table_free(view->table);
        free(view);
        return NULL;
}

void set_view_write_parameters(const SetView *view, JsonWriter *writer) {
        const Options *options = view->session->options;
        bool is_machine = session_is_machine(view->session);
        View parameter = options->view;

        /* A program wants all there is unless its user said otherwise. */
        parameter.changed_only = !is_machine && !options_have(options, OPTION_ALL_ROWS);
        if (is_machine && !options_have(options, OPTION_LIMIT))
                parameter.limit = 0;
        json_write_key(writer, "view");
        view_write_json(writer, &parameter);
        if (options_have(options, OPTION_ALPHA)) {
                json_write_key(writer, "alpha");
                json_write_double(writer, options->alpha);
        }
}

bool set_view_is_above(const SetView *view) {
        return view->above;
}

/* JSON */

static void begin_json(SetView *view, json_object *reply) {
        static const char *const names[] = { "before",      "after",  "alpha",        "tested",
                                             "significant", "leastP", "samplesNeeded" };

        json_out_object(&view->out);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                json_out_member(&view->out, names[i], cell_member(reply, names[i]));
        view->sources[0] = json_object_get(cell_member(reply, "sourcesBefore"));
        view->sources[1] = json_object_get(cell_member(reply, "sourcesAfter"));
        json_out_key(&view->out, "groups");
        json_out_array(&view->out);
}

static int end_json(SetView *view, json_object *reply) {
        static const char *const names[] = { "hiddenRows", "hiddenGroups", "groupsOnlyBefore",
                                             "groupsOnlyAfter", "rowsAboveThreshold" };

        json_out_end(&view->out);
        json_out_member(&view->out, "sourcesBefore", view->sources[0]);
        json_out_member(&view->out, "sourcesAfter", view->sources[1]);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (cell_member(reply, names[i]))
                        json_out_member(&view->out, names[i], cell_member(reply, names[i]));
        json_out_end(&view->out);
        return session_finish_json(&view->out);
}

/* text */

static int begin_text(SetView *view, json_object *reply) {
        const Lines lines = { stdout, &view->session->terminal, OVERVIEW_LABEL_COLUMNS };
        int r;

        r = session_page(view->session);
        if (r == 0)
                r = set_head_print(&lines, reply);
        if (r != 0)
                return r;
        (void) putchar('\n');
        return set_table_new(view->session, &view->table);
}

static void print_only(unsigned long long n_before, unsigned long long n_after) {
        if (n_before > 0)
                (void) printf("%llu group%s only in BEFORE%s", n_before, n_before == 1 ? "" : "s",
                              n_after > 0 ? ", " : "");
        if (n_after > 0)
                (void) printf("%llu group%s only in AFTER", n_after, n_after == 1 ? "" : "s");
        if (n_before > 0 || n_after > 0)
                (void) printf(": not tested\n");
}

/* What is not there, and how to see it. */
static int print_hints(const SetView *view, json_object *reply) {
        uint64_t n_rows = json_object_get_uint64(cell_member(reply, "hiddenRows"));
        uint64_t n_groups = json_object_get_uint64(cell_member(reply, "hiddenGroups"));
        uint64_t n_before = json_object_get_uint64(cell_member(reply, "groupsOnlyBefore"));
        uint64_t n_after = json_object_get_uint64(cell_member(reply, "groupsOnlyAfter"));
        const Lines lines = { stdout, &view->session->terminal, 0 };
        _cleanup_(buffer_done) Buffer omitted = {};
        const char *names;
        int r;

        set_table_omitted(view->table, &omitted);
        r = buffer_terminate(&omitted, &names);
        if (r != 0)
                return r;
        if (!session_is_chatty(view->session) ||
            options_have(view->session->options, OPTION_NO_LEGEND))
                return 0;
        if (n_rows > 0 || n_groups > 0 || n_before > 0 || n_after > 0 || omitted.n > 0)
                (void) putchar('\n');
        if (n_rows > 0)
                (void) printf("%llu row%s hidden that %s (%s)\n", (unsigned long long) n_rows,
                              n_rows == 1 ? "" : "s",
                              view->session->options->view.has_threshold
                                      ? "did not move by more, or are not significant"
                                      : "are not significant",
                              view->session->options->view.has_threshold ? "--threshold"
                                                                         : "--all-rows");
        if (n_groups > 0)
                (void) printf("%llu more group%s (--limit 0)\n", (unsigned long long) n_groups,
                              n_groups == 1 ? "" : "s");
        print_only(n_before, n_after);
        if (omitted.n > 0)
                lines_format(&lines, "", "no room for %s: a wider terminal or a pipe has it",
                             names);
        return 0;
}

static int end_text(SetView *view, json_object *reply) {
        int r = 0;

        if (!set_table_is_empty(view->table))
                r = set_table_end(view->table);
        else if (session_is_chatty(view->session))
                (void) puts("no difference is significant");
        return r < 0 ? r : print_hints(view, reply);
}

/* replies */

static int begin_rows(SetView *view, json_object *reply) {
        int r = set_rows_begin(view->rows, reply);

        if (r < 0 || view->session->options->format != FORMAT_CSV ||
            session_legend(view->session) != TABLE_LEGEND_SHOWN)
                return r;
        return set_rows_add_names(view->rows);
}

static int begin(SetView *view, json_object *reply) {
        view->begun = true;
        if (view->rows)
                return begin_rows(view, reply);
        if (!session_has_json(view->session))
                return begin_text(view, reply);
        begin_json(view, reply);
        return 0;
}

static int add_groups(SetView *view, json_object *groups) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < cell_length(groups); i++) {
                json_object *group = cell_element(groups, i);

                if (view->table)
                        r = set_table_add(view->table, group);
                else if (view->rows)
                        r = set_rows_add(view->rows, group);
                else
                        json_out_value(&view->out, group);
        }
        return r;
}

static int end(SetView *view, json_object *reply) {
        view->above = json_object_get_uint64(cell_member(reply, "rowsAboveThreshold")) > 0;
        if (view->rows)
                return 0;
        return view->table ? end_text(view, reply) : end_json(view, reply);
}

int set_view_on_reply(void *userdata, Connection *connection, json_object *parameters, bool last) {
        SetView *view = userdata;
        int r;

        r = view->begun ? 0 : begin(view, parameters);
        if (r == 0)
                r = add_groups(view, cell_member(parameters, "groups"));
        if (r == 0 && last)
                r = end(view, parameters);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}
