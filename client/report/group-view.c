/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group-view.h"

#include <stdio.h>
#include <stdlib.h>

#include "render/cell.h"
#include "session/complain.h"
#include "session/wire-complaint.h"
#include "report/group/one-sided.h"
#include "view/view-json.h"

/* The formats of --format. */
static const struct {
        GroupSinkNew *new;
        bool is_machine; /* for a program: no pager, no hints, nothing else on stdout */
        bool is_page;    /* read by people: as many groups as in a table, but all rows */
} forms[_FORMAT_MAX] = {
        [FORMAT_TABLE] = { .new = sink_text_new },
        [FORMAT_CSV] = { .new = sink_rows_new, .is_machine = true },
        [FORMAT_NDJSON] = { .new = sink_rows_new, .is_machine = true },
        [FORMAT_HTML] = { .new = sink_html_new, .is_machine = true, .is_page = true },
};

/* How far the answer has come; each list is a stage: STAGE_LISTS plus its number. */
typedef enum Stage {
        STAGE_OVERVIEW,
        STAGE_LISTS,
        STAGE_SECTIONS = STAGE_LISTS + _GROUP_LIST_MAX,
} Stage;

struct GroupView {
        GroupForm form;
        ReportKind asked; /* what the verb is about; the reply says what became of it */
        GroupSink *sink;
        unsigned stage;
        bool wants_spread; /* a column shows how sums are spread over threads */
        bool begun;        /* the first reply was passed on */
        bool above;        /* some rows moved by more than the threshold */
};

/* A user who names a section of cgroups and gets nothing should know why. */
static void warn_axis(const View *view) {
        for (unsigned id = 0; view->has_sections && id < _SECTION_MAX; id++)
                if (view->tables[id] && !view_wants_table(view, (SectionId) id))
                        (void) complain(STATUS_DONE,
                                        "The section \"%s\" has no rows with --group-by %s: it "
                                        "needs --group-by cgroup or all.",
                                        view_table_name((SectionId) id),
                                        view_axis_name(view->axis));
}

/* The same of what two intervals do not have. */
static void warn_states(const View *view) {
        for (unsigned id = 0; view->has_sections && id < _SECTION_MAX; id++)
                if (view->tables[id] && !view_table_is_of_states((SectionId) id))
                        (void) complain(STATUS_DONE,
                                        "The section \"%s\" has no rows for two intervals: it "
                                        "counts since the boot.",
                                        view_table_name((SectionId) id));
}

static Format format_of(const Options *options) {
        return options_have(options, OPTION_FORMAT) ? options->format : FORMAT_TABLE;
}

/* The daemon ignores pairs on axes without cgroups; the user should know. */
static void warn_pairs(const View *view) {
        if (view->pairs.n > 0 && view->axis != VIEW_AXIS_CGROUP && view->axis != VIEW_AXIS_ALL)
                (void) complain(STATUS_DONE,
                                "--pair does nothing under --group-by %s: groups by cgroup or all "
                                "have cgroups.",
                                view_axis_name(view->axis));
}

/* Options of a view that have no meaning for sets, or are implied by them. */
static int check_set_options(const Session *session) {
        static const struct {
                OptionId id;
                const char *why;
        } refused[] = {
                { OPTION_WINDOW,
                  "--window is implied: rates of sets are of the work in the windows "
                  "between captures." },
                { OPTION_TOTALS,
                  "--totals is for two snapshots: sets are compared by rates and levels." },
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
        for (unsigned id = 0; options->view.has_sections && id < _SECTION_MAX; id++)
                if (options->view.tables[id])
                        return complain(STATUS_USAGE,
                                        "The section \"%s\" is of two snapshots: sets have rows of "
                                        "metrics only.",
                                        view_table_name((SectionId) id));
        return 0;
}

static int open_sink(GroupView *view) {
        Session *session = view->form.session;
        Format format = format_of(session->options);
        int r;

        r = view->form.kind == REPORT_SETS ? check_set_options(session) : 0;
        if (r != 0)
                return r;
        if (options_have(session->options, OPTION_FORMAT) && session_has_json(session) &&
            !view->form.stream)
                return complain(STATUS_USAGE,
                                "--format and --json are two forms of one result: give either.");
        if (options_have(session->options, OPTION_FORMULAS) && format != FORMAT_CSV &&
            format != FORMAT_NDJSON)
                return complain(STATUS_USAGE, "--formulas is for --format csv and ndjson.");
        if (forms[format].is_page && session->terminal.out)
                return complain(STATUS_USAGE,
                                "A page is not for a terminal to show: redirect stdout to a file "
                                "(> report.html).");
        warn_axis(&session->options->view);
        if (view->form.stream || view->form.metrics) {
                session->rows = true;
                r = view->form.stream ? sink_rows_new(&view->form, &view->sink)
                                      : sink_metrics_new(&view->form, &view->sink);
                return r < 0 ? complain_errno(r, "prepare the output") : 0;
        }
        if (view->form.kind == REPORT_INTERVALS)
                warn_states(&session->options->view);
        if (session_has_json(session)) {
                r = sink_json_new(&view->form, &view->sink);
        } else {
                session->rows = forms[format].is_machine;
                r = forms[format].new(&view->form, &view->sink);
        }
        return r < 0 ? complain_errno(r, "prepare the output") : 0;
}

/* columns */

static int complain_column(const char *name) {
        char option[64];

        (void) snprintf(option, sizeof(option), "The column \"%s\"", name);
        return complain(STATUS_USAGE, WIRE_NEEDS_SIDES, option);
}

/* Takes the columns of an interval; says which column of two sides it does not have. */
static int take_interval_columns(const char *list, GroupColumns *ret) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES], other[GROUP_COLUMNS_COMPLAINT_BYTES];
        GroupColumns of_totals;
        const char *sided;

        if (group_columns_parse(list, REPORT_INTERVAL, ret, complaint) == 0)
                return 0;
        if (group_columns_parse(list, REPORT_PAIR, &of_totals, other) == 0) {
                sided = group_columns_find_sided(&of_totals);
                if (sided)
                        return complain_column(sided);
        }
        return complain(STATUS_USAGE, "%s", complaint);
}

int group_view_refuse_side_columns(const Options *options) {
        char complaint[ACCOUNT_COLUMNS_COMPLAINT_BYTES];
        AccountColumns accounts;
        GroupColumns columns;

        if (options->columns &&
            account_columns_parse(options->columns, &accounts, complaint) == ACCOUNT_COLUMNS_OK)
                return 0;
        return take_interval_columns(options->columns, &columns);
}

/* What the answer to a call can be about. */
static const unsigned possible_kinds[_REPORT_KIND_MAX] = {
        [REPORT_SNAPSHOT] = 1 << REPORT_SNAPSHOT,
        [REPORT_INTERVAL] = 1 << REPORT_INTERVAL,
        [REPORT_INTERVALS] = 1 << REPORT_INTERVALS,
        [REPORT_PAIR] = 1 << REPORT_PAIR | 1 << REPORT_INTERVAL,
        [REPORT_SETS] = 1 << REPORT_SETS,
};

/* Before the call: a list that no answer could have is refused. */
static int check_columns(const char *list, ReportKind asked, bool *ret_spread) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES], first[GROUP_COLUMNS_COMPLAINT_BYTES] = "";
        GroupColumns columns;
        bool possible = false;

        *ret_spread = false;
        for (unsigned kind = 0; kind < _REPORT_KIND_MAX; kind++) {
                if ((possible_kinds[asked] >> kind & 1) == 0)
                        continue;
                if (group_columns_parse(list, (ReportKind) kind, &columns, complaint) == 0) {
                        possible = true;
                        *ret_spread = *ret_spread || group_columns_want_spread(&columns);
                } else if (first[0] == '\0') {
                        (void) snprintf(first, sizeof(first), "%s", complaint);
                }
        }
        return possible ? 0 : complain(STATUS_USAGE, "%s", first);
}

/* Once the kind is known. */
static int choose_columns(GroupView *view) {
        const Options *options = view->form.session->options;
        const char *list = view->form.kind == REPORT_SETS || view->form.accounts.n > 0
                                   ? NULL
                                   : options->columns;
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES];

        if (view->form.kind == REPORT_INTERVAL)
                return take_interval_columns(list, &view->form.columns);
        if (group_columns_parse(list, view->form.kind, &view->form.columns, complaint) == 0)
                return 0;
        return complain(STATUS_USAGE, "%s", complaint);
}

/* What people get who ask for nothing in particular is one line a group. */
static bool wants_rows(const GroupForm *form) {
        static const OptionId asking[] = { OPTION_ROWS, OPTION_ALL_ROWS };
        const Options *options = form->session->options;
        const View *view = &options->view;

        for (size_t i = 0; i < ELEMENTSOF(asking); i++)
                if (options_have(options, asking[i]))
                        return true;
        if (options_have(options, OPTION_COLUMNS) && form->accounts.n == 0)
                return true;
        return view->n_filter > 0 || view->has_metrics || view->has_sections || view->has_threshold;
}

/* Takes a list of columns of the overview; any other one is for tables of rows. */
static int take_account_columns(GroupForm *form) {
        char complaint[ACCOUNT_COLUMNS_COMPLAINT_BYTES];
        const char *list = form->session->options->columns;
        int r;

        if (!list || form->kind == REPORT_SETS)
                return 0;
        r = account_columns_parse(list, &form->accounts, complaint);
        return r == ACCOUNT_COLUMNS_E_INVALID ? complain(STATUS_USAGE, "%s", complaint) : 0;
}

/* @form: of whom it is for, and where it goes. */
static int new_view(const GroupForm *form, GroupView **ret) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        Session *session = form->session;
        ReportKind kind = form->kind;
        int r;

        if (options_have(session->options, OPTION_WINDOW) &&
            options_have(session->options, OPTION_TOTALS))
                return complain(STATUS_USAGE, "--window and --totals are two views: give either.");
        view = malloc(sizeof(*view));
        if (!view)
                return complain_errno(-ENOMEM, "prepare the output");
        *view = (GroupView){ .form = *form, .asked = kind };
        r = take_account_columns(&view->form);
        if (r == 0 && view->form.accounts.n == 0)
                r = check_columns(kind != REPORT_SETS ? session->options->columns : NULL, kind,
                                  &view->wants_spread);
        if (r == 0)
                r = open_sink(view);
        if (r != 0)
                return r;
        view->form.overview = kind != REPORT_SETS && !session_is_machine(session);
        view->form.rows = !view->form.overview || wants_rows(&view->form);
        warn_pairs(&session->options->view);
        *ret = TAKE_PTR(view);
        return 0;
}

int group_view_new(Session *session, ReportKind kind, GroupView **ret) {
        return new_view(&(GroupForm){ .session = session, .kind = kind }, ret);
}

int group_view_new_stream(Session *session, RowStream *stream, GroupView **ret) {
        return new_view(
                &(GroupForm){ .session = session, .kind = REPORT_INTERVAL, .stream = stream }, ret);
}

int group_view_new_metrics(Session *session, MetricsPage *metrics, GroupView **ret) {
        return new_view(
                &(GroupForm){ .session = session, .kind = REPORT_INTERVAL, .metrics = metrics },
                ret);
}

GroupView *group_view_free(GroupView *view) {
        if (!view)
                return NULL;
        view->sink = group_sink_free(view->sink);
        free(view);
        return NULL;
}

void group_view_set_lead(GroupView *view, GroupLead lead, GroupCommand command, void *userdata) {
        view->form.lead = lead;
        view->form.command = command;
        view->form.lead_userdata = userdata;
}

/*
 * A user who names metrics wants no tables of sections below them, nor does one who wants no rows;
 * only JSON keeps these. The metrics stay the same, because all sections of metrics are wanted.
 */
static void leave_out_tables(View *view) {
        view->has_sections = true;
        for (unsigned section = 0; section < _METRIC_SECTION_MAX; section++)
                view->sections[section] = true;
        for (unsigned id = 0; id < _SECTION_MAX; id++)
                view->tables[id] = false;
}

/* A user who asks for some groups wants no tables of the whole host below them. */
static void leave_out_host(View *view) {
        view->has_sections = true;
        for (unsigned i = 0; i < _SECTION_MAX; i++) {
                SectionAbout about = view_table_about((SectionId) i);

                if (about == SECTION_ABOUT_HOST || about == SECTION_ABOUT_HOST_PART)
                        view->tables[i] = false;
        }
}

void group_view_write_parameters(const GroupView *view, JsonWriter *writer) {
        const Options *options = view->form.session->options;
        bool is_machine = session_is_machine(view->form.session);
        View parameter = options->view;

        /* A program gets everything, unless its user said otherwise. */
        parameter.changed_only = !is_machine && !options_have(options, OPTION_ALL_ROWS);
        if (is_machine && !forms[format_of(options)].is_page &&
            !options_have(options, OPTION_LIMIT) && !options_have(options, OPTION_TOP))
                parameter.limit = 0;
        if (view->form.kind != REPORT_SETS) {
                parameter.spread = is_machine || view->wants_spread;
                parameter.overview = view->form.overview;
                parameter.rows = view->form.rows;
                if (!view->form.rows || (!session_has_json(view->form.session) &&
                                         parameter.has_metrics && !parameter.has_sections))
                        leave_out_tables(&parameter);
                else if (!is_machine && parameter.n_filter > 0 && !parameter.has_sections)
                        leave_out_host(&parameter);
        }
        json_write_key(writer, "view");
        view_write_json(writer, &parameter);
        if (view->form.kind == REPORT_SETS && options_have(options, OPTION_ALPHA)) {
                json_write_key(writer, "alpha");
                json_write_double(writer, options->alpha);
        }
}

bool group_view_is_above(const GroupView *view) {
        return view->above;
}

/* The snapshots were named in the wrong order, and the daemon compared them in the right one. */
static void tell_swap(json_object *reply) {
        char quoted_before[QUOTE_BYTES], quoted_after[QUOTE_BYTES];

        if (!json_object_get_boolean(cell_member(reply, "swapped")))
                return;
        (void) complain(
                STATUS_DONE, "%s is older than %s: the sides were swapped, so that it is BEFORE.",
                quote_json(cell_member(cell_member(reply, "before"), "name"), quoted_before),
                quote_json(cell_member(cell_member(reply, "after"), "name"), quoted_after));
}

static int begin(GroupView *view, json_object *reply) {
        int r;

        view->begun = true;
        view->form.kind = report_kind_of(reply, view->asked);
        r = choose_columns(view);
        if (r != 0)
                return r;
        if (report_kind_has_sides(view->form.kind))
                tell_swap(reply);
        return view->sink->type->begin(view->sink, reply);
}

static int enter_stage(GroupView *view, unsigned stage) {
        if (stage < view->stage)
                return complain(STATUS_FAILED, "ctprofd sent its answer out of order.");
        view->stage = stage;
        return 0;
}

static int forward_parts(GroupView *view, json_object *reply) {
        const ReportSetting *setting = &report_settings[view->form.kind];
        json_object *sections = setting->has_sections ? cell_member(reply, "sections") : NULL;
        json_object *overview = cell_member(reply, "overview");
        GroupSink *sink = view->sink;
        int r = 0;

        if (cell_length(overview) > 0 && sink->type->overview) {
                r = enter_stage(view, STAGE_OVERVIEW);
                if (r == 0)
                        r = sink->type->overview(sink, overview);
        }
        for (unsigned list = 0; r == 0 && list < setting->n_lists; list++) {
                json_object *groups = cell_member(reply, setting->lists[list]);

                if (cell_length(groups) == 0)
                        continue;
                r = enter_stage(view, STAGE_LISTS + list);
                if (r != 0)
                        return r;
                r = sink->type->groups(sink, (GroupList) list, groups);
        }
        if (r != 0 || !json_object_is_type(sections, json_type_object))
                return r;
        r = enter_stage(view, STAGE_SECTIONS);
        return r != 0 ? r : sink->type->sections(sink, sections);
}

int group_view_on_reply(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        GroupView *view = userdata;
        int r;

        if (last) {
                view->above =
                        json_object_get_uint64(cell_member(parameters, "rowsAboveThreshold")) > 0;
                pairing_warn_unmatched(&view->form.session->options->view, parameters);
        }
        r = view->begun ? 0 : begin(view, parameters);
        if (r == 0)
                r = forward_parts(view, parameters);
        if (r == 0 && last)
                r = view->sink->type->end(view->sink, parameters);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}
