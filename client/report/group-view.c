/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group-view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/cell.h"
#include "session/complain.h"
#include "session/snapshot-call.h"
#include "report/group/one-sided.h"
#include "view/view-part.h"

/* The formats of --format. */
static const struct {
        const GroupSinkType *type;
        bool is_machine; /* for a program: no pager, no hints, nothing else on stdout */
        bool is_page;    /* read by people: as many groups as in a table, but all rows */
} forms[_FORMAT_MAX] = {
        [FORMAT_TABLE] = { .type = &sink_text },
        [FORMAT_CSV] = { .type = &sink_rows, .is_machine = true },
        [FORMAT_NDJSON] = { .type = &sink_rows, .is_machine = true },
        [FORMAT_HTML] = { .type = &sink_html, .is_machine = true, .is_page = true },
};

/* An answer comes in stages, of which each list is one: STAGE_LISTS plus its number. */
typedef enum Stage {
        STAGE_OVERVIEW,
        STAGE_LISTS,
        STAGE_SECTIONS = STAGE_LISTS + _GROUP_LIST_MAX,
} Stage;

/* Tells a user who names something that the answer cannot have why it is not there. */
static void warn(const GroupForm *form) {
        const View *view = &form->session->options->view;
        const char *axis = view_axis_names[view->axis];

        for (unsigned id = 0; view->has_sections && id < _SECTION_MAX; id++) {
                const char *name = view_table_names[(SectionId) id];

                if (view->tables[id] && !view_wants_table(view, (SectionId) id))
                        (void) complain(STATUS_DONE,
                                        "The section \"%s\" has no rows with --group-by %s: it "
                                        "needs --group-by cgroup or all.",
                                        name, axis);
                if (view->tables[id] && form->kind == REPORT_INTERVALS &&
                    !view_table_forms[id].is_of_states)
                        (void) complain(STATUS_DONE,
                                        "The section \"%s\" has no rows for two intervals: it "
                                        "counts since the boot.",
                                        name);
        }
        if (view->pairs.n > 0 && view->axis != VIEW_AXIS_CGROUP && view->axis != VIEW_AXIS_ALL)
                (void) complain(STATUS_DONE,
                                "--pair does nothing under --group-by %s: groups by cgroup or all "
                                "have cgroups.",
                                axis);
}

/* Refuses options of a view that have no meaning for sets, or are implied by them. */
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
                                        view_table_names[(SectionId) id]);
        return 0;
}

/* columns */

/* Takes the columns of an interval; says which column of two sides it does not have. */
static int take_interval_columns(const char *list, GroupColumns *ret) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES], other[GROUP_COLUMNS_COMPLAINT_BYTES];
        GroupColumns of_totals;
        const char *sided = NULL;
        char option[64];

        if (group_columns_parse(list, REPORT_INTERVAL, ret, complaint) == 0)
                return 0;
        if (group_columns_parse(list, REPORT_PAIR, &of_totals, other) == 0)
                sided = group_columns_find_sided(&of_totals);
        if (!sided)
                return complain(STATUS_USAGE, "%s", complaint);
        (void) snprintf(option, sizeof(option), "The column \"%s\"", sided);
        return complain(STATUS_USAGE, WIRE_NEEDS_SIDES, option);
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

int group_view_new(const GroupForm *form, GroupView **ret) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        char complaint[ACCOUNT_COLUMNS_COMPLAINT_BYTES];
        char unknown[GROUP_COLUMNS_COMPLAINT_BYTES], other[GROUP_COLUMNS_COMPLAINT_BYTES];
        /* Two snapshots may turn out to be the ends of an interval, and one to be a recording. */
        const ReportKind kinds[] = { form->kind, REPORT_INTERVAL };
        size_t n_kinds = form->kind == REPORT_PAIR || form->kind == REPORT_SNAPSHOT ? 2 : 1;
        bool is_possible = false;
        Session *session = form->session;
        const Options *options = session->options;
        const View *wanted = &options->view;
        const GroupSinkType *type;
        int r = 0;

        view = malloc(sizeof(*view));
        if (!view)
                return complain_errno(-ENOMEM, "prepare the output");
        *view = (GroupView){ .form = *form, .asked = form->kind };
        view->format = options_have(options, OPTION_FORMAT) ? options->format : FORMAT_TABLE;
        if (form->kind == REPORT_SETS)
                r = check_set_options(session);
        if (r != 0)
                return r;
        if (options_have(options, OPTION_WINDOW) && options_have(options, OPTION_TOTALS))
                return complain(STATUS_USAGE, "--window and --totals are two views: give either.");
        if (options_have(options, OPTION_FORMAT) && session->json != JSON_STYLE_OFF &&
            !form->stream)
                return complain(STATUS_USAGE,
                                "--format and --json are two forms of one result: give either.");
        if (options_have(options, OPTION_FORMULAS) && view->format != FORMAT_CSV &&
            view->format != FORMAT_NDJSON)
                return complain(STATUS_USAGE, "--formulas is for --format csv and ndjson.");
        if (forms[view->format].is_page && session->terminal.out)
                return complain(STATUS_USAGE,
                                "A page is not for a terminal to show: redirect stdout to a file "
                                "(> report.html).");
        /* A list of columns of the overview is taken; any other one is for tables of rows. */
        if (options->columns && account_columns_parse(options->columns, &view->form.accounts,
                                                      complaint) == ACCOUNT_COLUMNS_E_INVALID)
                return complain(STATUS_USAGE, "%s", complaint);
        /* A list that no answer could have is refused before the call is made. */
        for (size_t i = 0; view->form.accounts.n == 0 && i < n_kinds; i++) {
                GroupColumns columns;

                if (group_columns_parse(options->columns, kinds[i], &columns,
                                        i == 0 ? unknown : other) != 0)
                        continue;
                is_possible = true;
                view->wants_spread = view->wants_spread || columns.want_spread;
        }
        if (view->form.accounts.n == 0 && !is_possible)
                return complain(STATUS_USAGE, "%s", unknown);
        type = form->stream                      ? &sink_rows
               : form->metrics                   ? &sink_metrics
               : session->json != JSON_STYLE_OFF ? &sink_json
                                                 : forms[view->format].type;
        if (form->stream || form->metrics)
                session->is_machine = true;
        else if (session->json == JSON_STYLE_OFF)
                session->is_machine = forms[view->format].is_machine;
        session->is_chatty = session->is_chatty && !session->is_machine;
        view->sink = calloc(1, type->size);
        if (!view->sink)
                return complain_errno(-ENOMEM, "prepare the output");
        *view->sink = (GroupSink){ type, &view->form };
        /*
         * People who ask for nothing in particular get one line a group. Rows say which differences
         * of sets are more than chance.
         */
        view->form.overview = !session->is_machine;
        view->wants_rows = options_have(options, OPTION_ROWS) ||
                           options_have(options, OPTION_ALL_ROWS) ||
                           (options_have(options, OPTION_COLUMNS) && view->form.accounts.n == 0) ||
                           wanted->n_filter > 0 || wanted->has_metrics || wanted->has_sections ||
                           wanted->has_threshold;
        view->form.rows = !view->form.overview || form->kind == REPORT_SETS || view->wants_rows;
        warn(form);
        *ret = TAKE_PTR(view);
        return 0;
}

GroupView *group_view_free(GroupView *view) {
        if (!view)
                return NULL;
        if (view->sink && view->sink->type->done)
                view->sink->type->done(view->sink);
        free(view->sink);
        for (size_t i = 0; i < ELEMENTSOF(view->recorded); i++)
                (void) json_object_put(view->recorded[i]);
        (void) json_object_put(view->last);
        (void) json_object_put(view->replies);
        free(view);
        return NULL;
}

void group_view_write_parameters(const GroupView *view, JsonWriter *writer) {
        const Options *options = view->form.session->options;
        bool is_machine = view->form.session->is_machine;
        View parameter = options->view;
        bool no_tables, no_host;

        /* A program gets everything, unless its user said otherwise. */
        parameter.changed_only = !is_machine && !options_have(options, OPTION_ALL_ROWS);
        if (is_machine && !forms[view->format].is_page && !options_have(options, OPTION_LIMIT) &&
            !options_have(options, OPTION_TOP))
                parameter.limit = 0;
        if (view->form.kind != REPORT_SETS) {
                parameter.spread = is_machine || view->wants_spread;
                parameter.overview = view->form.overview;
                parameter.rows = view->form.rows;
        }
        /*
         * A user who names metrics wants no tables of sections below them, nor does one who wants
         * no rows; only JSON keeps these. One who asks for some groups wants no tables of the whole
         * host.
         */
        no_tables = view->form.kind != REPORT_SETS &&
                    (!view->form.rows || (view->form.session->json == JSON_STYLE_OFF &&
                                          parameter.has_metrics && !parameter.has_sections));
        no_host = view->form.kind != REPORT_SETS && !no_tables && !is_machine &&
                  parameter.n_filter > 0 && !parameter.has_sections;
        /* The metrics stay the same, because all sections of metrics are wanted. */
        for (unsigned section = 0; no_tables && section < _METRIC_SECTION_MAX; section++)
                parameter.sections[section] = true;
        for (unsigned id = 0; id < _SECTION_MAX; id++) {
                SectionAbout about = view_table_abouts[(SectionId) id];

                if (no_tables ||
                    (no_host && (about == SECTION_ABOUT_HOST || about == SECTION_ABOUT_HOST_PART)))
                        parameter.tables[id] = false;
        }
        parameter.has_sections = parameter.has_sections || no_tables || no_host;
        json_write_key(writer, "view");
        view_write_json(writer, &parameter);
        if (view->form.kind == REPORT_SETS && options_have(options, OPTION_ALPHA)) {
                json_write_key(writer, "alpha");
                json_write_double(writer, options->alpha);
        }
}

/* Finds the sets that consist of recordings alone, and the first member that is not a recording. */
static void find_recordings(GroupView *view, json_object *reply) {
        const ReportSetting *setting = &report_settings[REPORT_SETS];

        for (size_t side = 0; side < setting->n_columns; side++) {
                json_object *heads = cell_member(reply, setting->sides[side]);

                view->is_recording[side] = cell_length(heads) > 0;
                view->recorded[side] = json_object_get(heads);
                for (size_t i = 0; i < cell_length(heads); i++) {
                        json_object *head = cell_element(heads, i);

                        if (head_is_of_recording(head)) {
                                view->has_recording = true;
                                continue;
                        }
                        if (view->other[0] == '\0')
                                (void) quote_json(cell_member(head, "name"), view->other);
                        view->is_recording[side] = false;
                }
        }
}

static int begin(GroupView *view, json_object *reply) {
        const char *list = view->form.accounts.n > 0 ? NULL : view->form.session->options->columns;
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES];
        char quoted_before[QUOTE_BYTES], quoted_after[QUOTE_BYTES];
        Span name = cell_string(cell_member(reply, "kind"));
        const ReportSetting *setting;
        int r = 0;

        view->begun = true;
        view->form.kind = view->asked;
        for (unsigned kind = 0; kind < _REPORT_KIND_MAX; kind++)
                if (span_is(name, report_settings[kind].name))
                        view->form.kind = (ReportKind) kind;
        setting = &report_settings[view->form.kind];
        if (view->asked == REPORT_SNAPSHOT && view->form.kind == REPORT_INTERVAL) {
                view->is_recording[0] = true;
                view->recorded[0] = json_object_get(cell_member(reply, "before"));
        }
        for (size_t i = 0; view->form.kind == REPORT_INTERVALS && i < setting->n_columns; i++) {
                json_object *head = cell_member(cell_member(reply, setting->sides[i]), "before");

                view->is_recording[i] = head_is_of_recording(head);
                view->recorded[i] = json_object_get(head);
        }
        if (view->form.kind == REPORT_SETS)
                find_recordings(view, reply);
        /* The page of recordings is another one, of which the caller takes care. */
        if (view->form.kind != REPORT_SETS && group_view_has_stacks(view) &&
            forms[view->format].is_page)
                return STATUS_DONE_OTHERWISE;
        if (view->form.kind == REPORT_INTERVAL)
                r = take_interval_columns(list, &view->form.columns);
        else if (group_columns_parse(list, view->form.kind, &view->form.columns, complaint) != 0)
                r = complain(STATUS_USAGE, "%s", complaint);
        if (r != 0)
                return r;
        if (report_settings[view->form.kind].n_lists > 1 &&
            json_object_get_boolean(cell_member(reply, "swapped")))
                (void) complain(
                        STATUS_DONE,
                        "%s is older than %s: the sides were swapped, so that it is BEFORE.",
                        quote_json(cell_member(cell_member(reply, "before"), "name"),
                                   quoted_before),
                        quote_json(cell_member(cell_member(reply, "after"), "name"), quoted_after));
        view->form.waits_for_stacks =
                group_view_has_stacks(view) && view->form.overview && !view->wants_rows;
        if (!view->form.waits_for_stacks || view->form.kind != REPORT_SETS)
                return 0;
        view->replies = json_object_new_array();
        return view->replies ? 0 : -ENOMEM;
}

/* Passes a reply on to the sink; the last one ends it, unless that waits for stacks. */
static int pass(GroupView *view, json_object *parameters, bool first, bool last) {
        const ReportSetting *setting = &report_settings[view->form.kind];
        const GroupSinkType *type = view->sink->type;
        int r = first ? type->begin(view->sink, parameters) : 0;

        for (unsigned stage = 0; r == 0 && stage <= STAGE_SECTIONS; stage++) {
                unsigned list = stage - STAGE_LISTS;
                json_object *part = NULL;

                if (stage == STAGE_OVERVIEW && type->overview)
                        part = cell_member(parameters, "overview");
                else if (stage == STAGE_SECTIONS && setting->has_sections && type->sections)
                        part = cell_member(parameters, "sections");
                else if (list < setting->n_lists)
                        part = cell_member(parameters, setting->lists[list]);
                if (stage == STAGE_SECTIONS ? !json_object_is_type(part, json_type_object)
                                            : cell_length(part) == 0)
                        continue;
                if (stage < view->stage)
                        return complain(STATUS_FAILED, "ctprofd sent its answer out of order.");
                view->stage = stage;
                r = stage == STAGE_OVERVIEW   ? type->overview(view->sink, part)
                    : stage == STAGE_SECTIONS ? type->sections(view->sink, part)
                                              : type->groups(view->sink, (GroupList) list, part);
        }
        return r == 0 && last && type->end ? type->end(view->sink, parameters) : r;
}

int group_view_on_reply(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        GroupView *view = userdata;
        bool first = !view->begun;
        int r;

        if (last) {
                view->above = cell_u64(parameters, "rowsAboveThreshold") > 0;
                pairing_warn_unmatched(&view->form.session->options->view, parameters);
        }
        r = first ? begin(view, parameters) : 0;
        if (r == 0 && view->replies)
                r = json_object_array_add(view->replies, json_object_get(parameters)) == 0
                            ? 0
                            : -ENOMEM;
        else if (r == 0)
                r = pass(view, parameters, first, last && !view->form.waits_for_stacks);
        if (r == 0 && last && view->form.waits_for_stacks)
                view->last = json_object_get(parameters);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}

int group_view_end(GroupView *view) {
        size_t n = cell_length(view->replies);
        int r = view->replies ? 0 : view->sink->type->end(view->sink, view->last);

        for (size_t i = 0; r == 0 && i < n; i++)
                r = pass(view, cell_element(view->replies, i), i == 0, i + 1 == n);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}
