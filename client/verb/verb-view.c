/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/name.h"
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "report/group-view.h"
#include "report/stack-list.h"
#include "report/stack-report.h"
#include "session/complain.h"
#include "session/reference.h"
#include "session/snapshot-call.h"
#include "session/snapshot-set.h"
#include "verb/verb.h"
#include "verb/verb-view.h"
#include "view/view-part.h"
#include "wire/limits.h"
#include "wire/message-object.h"

/* One side of a view is a subject, or the list of them that is a set. */
typedef struct Side {
        const char *parameter;
        const SubjectReference *subjects;
        size_t n;
        bool is_set;
} Side;

/* A call about subjects, with the descriptors of their files. */
typedef struct ViewCall {
        SessionCall call;
        int fds[LIMIT_SNAPSHOTS_PER_CALL];
        size_t n_fds;
} ViewCall;

/* Calls the analysis job alone if all subjects are of files, else the daemon. */
static JsonWriter *begin_call(ViewCall *view_call, const char *method, const Side *sides,
                              size_t n_sides) {
        SessionCall *call = &view_call->call;
        JsonWriter *writer;

        *view_call = (ViewCall){ .call = { .endpoint = ENDPOINT_ANALYSIS,
                                           .request = { .method = method, .more = true } } };
        writer = session_call_begin(call);
        for (const Side *side = sides; side < sides + n_sides; side++) {
                json_write_key(writer, side->parameter);
                if (side->is_set)
                        json_write_array(writer);
                for (size_t i = 0; i < side->n; i++) {
                        const SubjectReference *subject = &side->subjects[i];

                        subject_write_json(writer, subject, view_call->fds, &view_call->n_fds);
                        if (!subject->ends[0].is_file ||
                            (subject->is_interval && !subject->ends[1].is_file))
                                call->endpoint = ENDPOINT_DAEMON;
                }
                if (side->is_set)
                        json_write_end(writer);
        }
        call->request.fds = view_call->fds;
        call->request.n_fds = view_call->n_fds;
        call->is_about_files = view_call->n_fds > 0;
        return writer;
}

static int call_view(Session *session, GroupView *view, const char *method, const Side *sides,
                     size_t n_sides) {
        ViewCall call;
        int r;

        group_view_write_parameters(view, begin_call(&call, method, sides, n_sides));
        r = session_call(session, &call.call, group_view_on_reply, view);
        session_call_done(&call.call);
        return r;
}

int call_show(Session *session, const SubjectReference *subject, const View *view,
              SessionOnReply on_reply, void *userdata) {
        ViewCall call;
        JsonWriter *writer = begin_call(&call, PROFILER_INTERFACE ".Show",
                                        &(Side){ "snapshot", subject, 1, false }, 1);
        int r;

        json_write_key(writer, "view");
        view_write_json(writer, view);
        r = session_call(session, &call.call, on_reply, userdata);
        session_call_done(&call.call);
        return r;
}

/* one subject */

int refuse_sides_of_interval(const Options *options) {
        if (options->view.has_threshold)
                return complain(STATUS_USAGE, WIRE_NEEDS_SIDES, "--threshold");
        if (options->view.sort.order == VIEW_ORDER_PERCENT)
                return complain(STATUS_USAGE, WIRE_NEEDS_SIDES, "--sort-by percent");
        return group_view_refuse_side_columns(options);
}

int show_between(Session *session, GroupView *view, const char *before, const char *after) {
        const SubjectReference interval = {
                .text = after,
                .is_interval = true,
                .ends = { { .text = before, .fd = -EBADF }, { .text = after, .fd = -EBADF } },
        };

        return call_view(session, view, PROFILER_INTERFACE ".Show",
                         &(Side){ "snapshot", &interval, 1, false }, 1);
}

/* Begins a call of Stacks about the recording in the spool, or about that file. */
static JsonWriter *begin_stacks(const Reference *recording, SessionCall *call) {
        JsonWriter *writer;

        *call = (SessionCall){
                .request = { .method = PROFILER_INTERFACE ".Stacks", .more = true },
                .subject = recording->text,
        };
        reference_address_call(recording, call);
        writer = session_call_begin(call);
        json_write_key(writer, "recording");
        reference_write_json(writer, recording);
        return writer;
}

static int call_stacks(Session *session, const Reference *recording, StackReport *report) {
        _cleanup_(session_call_done) SessionCall call = {};

        stack_report_write_parameters(report, begin_stacks(recording, &call));
        return session_call(session, &call, stack_report_on_reply, report);
}

static int call_set_stacks(Session *session, const Side sides[static 2], StackReport *report) {
        ViewCall call;
        int r;

        stack_report_write_parameters(
                report, begin_call(&call, PROFILER_INTERFACE ".CompareSets", sides, 2));
        r = session_call(session, &call.call, stack_report_on_reply, report);
        session_call_done(&call.call);
        return r;
}

/* One recording, or two, or two sets of them. */
typedef struct Recordings {
        const Reference *recordings;
        size_t n;
        const Side *sides; /* of sets; NULL: they are none */
} Recordings;

/*
 * Prints their stacks in that form. People see those who have something to do, if anybody has.
 * @view: the first screen of the recordings, which is printed above; may be NULL.
 */
static int show_stacks(Session *session, const Recordings *of, StackForm form, GroupView *view) {
        bool all = options_have(session->options, OPTION_ALL_ROWS) ||
                   (form != STACK_FORM_LIST && form != STACK_FORM_TREES);
        bool again = true;
        int r = 0;

        while (r == 0 && again) {
                _cleanup_(stack_report_done) StackReport report = {
                        .session = session,
                        .form = form,
                        .has_rest = all,
                        .is_pair = of->n > 1,
                        .of_sets = of->sides,
                };

                if (of->sides)
                        r = call_set_stacks(session, of->sides, &report);
                for (; r == 0 && report.side < of->n; report.side++)
                        r = call_stacks(session, &of->recordings[report.side], &report);
                if (view && (r != 0 || report.n_seen > 0 || all)) {
                        int shown;

                        view->form.stacks = r == 0 ? &report.store : NULL;
                        view->form.recorded = report.firsts[0];
                        shown = group_view_end(view);
                        r = r == 0 ? shown : r;
                        view->form.stacks = NULL;
                        view->form.recorded = NULL;
                }
                if (r == 0)
                        r = stack_report_end(&report, &again);
                all = true;
        }
        return r;
}

/*
 * The recording that @head, of an earlier reply, is of: "latest" may be another one by now. @head
 * lends its name; NULL: there was none.
 */
static Reference as_told(const Reference *recording, json_object *head) {
        const char *name = json_object_get_string(cell_member(head, "name"));

        return recording->is_file || !name ? *recording : (Reference){ .text = name, .fd = -EBADF };
}

/* Does the same for all members of a set; @heads are theirs, in the same order. */
static void take_told_names(SnapshotSet *set, json_object *heads) {
        for (size_t i = 0; i < set->n && i < cell_length(heads); i++) {
                Reference *recording = &set->subjects[i].ends[0];

                *recording = as_told(recording, cell_element(heads, i));
        }
}

/* Shows the stacks of the recordings that @of was about, in @view or in place of it (NULL). */
static int show_stacks_of(Session *session, const GroupView *of, const SubjectReference *subjects,
                          size_t n, StackForm form, GroupView *view) {
        Reference recordings[ELEMENTSOF(of->recorded)];

        for (size_t i = 0; i < n; i++)
                recordings[i] = as_told(&subjects[i].ends[0], of->recorded[i]);
        return show_stacks(session, &(Recordings){ recordings, n, NULL }, form, view);
}

/*
 * 0, or an exit status after saying that @subject has no stacks, which @what asks for. *ret is what
 * was told of it, owned by the caller.
 */
static int check_recording(Session *session, const SubjectReference *subject, const char *what,
                           json_object **ret) {
        char quoted[QUOTE_BYTES];
        int r = 0;

        if (!subject->is_interval)
                r = describe_snapshot(session, &subject->ends[0], ret);
        if (r != 0 || head_is_of_recording(cell_member(*ret, "snapshot")))
                return r;
        return complain(
                STATUS_USAGE,
                "%s is %s, and has no stacks: %s is for what \"ctprofctl record\" has made.",
                quote(subject->text, quoted), subject->is_interval ? "an interval" : "a snapshot",
                what);
}

/* "--stacks", or "--format folded": what was given to see stacks alone. */
static void name_stacks(const Options *options, char *ret, size_t n_ret) {
        bool has_stacks = options_have(options, OPTION_STACKS);

        (void) snprintf(ret, n_ret, "--%s%s", has_stacks ? "stacks" : "format ",
                        has_stacks ? "" : format_name(options->format));
}

/* The stacks in place of a view; refuses what has none. */
static int show_stacks_alone(Session *session, const SubjectReference *subjects, size_t n,
                             StackForm form) {
        const Options *options = session->options;
        Reference recordings[2] = { REFERENCE_EMPTY, REFERENCE_EMPTY };
        json_object *told[ELEMENTSOF(recordings)] = {};
        char what[64];
        int r = 0;

        name_stacks(options, what, sizeof(what));
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = check_recording(session, &subjects[i], what, &told[i]);
                recordings[i] = as_told(&subjects[i].ends[0], cell_member(told[i], "snapshot"));
        }
        if (r == 0)
                r = show_stacks(session, &(Recordings){ recordings, n, NULL }, form, NULL);
        for (size_t i = 0; i < n; i++)
                message_object_free(told[i]);
        return r;
}

/* Returns true if places where threads have nothing to do are asked for, too: programs get all. */
static bool asks_for_rest(const Session *session) {
        const Options *options = session->options;

        return session->json != JSON_STYLE_OFF || options_have(options, OPTION_ALL_ROWS) ||
               (options_have(options, OPTION_FORMAT) && options->format != FORMAT_TABLE);
}

static const struct {
        OptionId option;
        const StackListKind *kind;
} lists[] = {
        { OPTION_COURSE, &course_list },
        { OPTION_HISTOGRAM, &histogram_list },
        { OPTION_WAKERS, &waker_list },
};

/* @option is the one that asks for the list in place of stacks. */
static int show_list(Session *session, const SubjectReference *subject, const StackListKind *kind,
                     OptionId option) {
        char what[64];
        _cleanup_(message_object_freep) json_object *told = NULL;
        _cleanup_(session_call_done) SessionCall call = {};
        Reference recording;
        _cleanup_(stack_list_done) StackList list = {
                .kind = kind,
                .session = session,
                .name = subject->text,
                .has_rest = asks_for_rest(session),
        };
        int r;

        (void) snprintf(what, sizeof(what), "--%s", option_table[option].name);
        r = check_recording(session, subject, what, &told);
        if (r != 0)
                return r;
        recording = as_told(&subject->ends[0], cell_member(told, "snapshot"));
        stack_list_write_parameters(&list, begin_stacks(&recording, &call));
        return session_call(session, &call, stack_list_on_reply, &list);
}

/*
 * 0, or an exit status after a sentence, where an option is given that chooses or lays out groups
 * of threads, which @what shows none of.
 */
static int refuse_options_of_groups(const Options *options, const char *what) {
        static const OptionId of_groups[] = {
                OPTION_GROUP_BY, OPTION_NO_THREAD_NORMALIZE, OPTION_FILTER,  OPTION_CGROUP_FLATTEN,
                OPTION_SORT_BY,  OPTION_NO_CG_NORMALIZE,     OPTION_METRICS, OPTION_SECTIONS,
                OPTION_COLUMNS,  OPTION_THRESHOLD,           OPTION_SELF,    OPTION_PAIR,
                OPTION_ROWS,     OPTION_NO_PAIRING,          OPTION_WINDOW,  OPTION_TOTALS,
        };

        for (size_t i = 0; i < ELEMENTSOF(of_groups); i++)
                if (options_have(options, of_groups[i]))
                        return complain(
                                STATUS_USAGE,
                                "--%s is for groups of threads, of which %s shows none: leave "
                                "it out.",
                                option_table[of_groups[i]].name, what);
        return 0;
}

/* The page of a recording, or of two, has stacks in place of groups. */
static int show_page_of_stacks(Session *session, const GroupView *of,
                               const SubjectReference *subjects, size_t n) {
        int r = refuse_options_of_groups(session->options, "the page of a recording");

        return r == 0 ? show_stacks_of(session, of, subjects, n, STACK_FORM_HTML, NULL) : r;
}

/*
 * 0, or an exit status after a sentence, where @view of a recording, which has no other beside it,
 * is asked for and something else.
 */
static int check_alone(const Session *session, OptionId view) {
        static const OptionId others[] = { OPTION_STACKS, OPTION_WAKERS, OPTION_COURSE,
                                           OPTION_HISTOGRAM };
        const Options *options = session->options;
        const char *name = option_table[view].name;
        char what[64];
        bool has_format = options_have(options, OPTION_FORMAT) && options->format != FORMAT_TABLE;
        bool is_rows = options->format == FORMAT_CSV || options->format == FORMAT_NDJSON;

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (others[i] != view && options_have(options, others[i]))
                        return complain(STATUS_USAGE,
                                        "--%s is a view of its own: give it without --%s.", name,
                                        option_table[others[i]].name);
        if (has_format && !is_rows)
                return complain(STATUS_USAGE,
                                "--%s is text, JSON, csv or ndjson: give --format %s alone.", name,
                                format_name(options->format));
        if (has_format && session->json != JSON_STYLE_OFF)
                return complain(STATUS_USAGE,
                                "--format and --json are two forms of one result: give either.");
        (void) snprintf(what, sizeof(what), "--%s", name);
        return refuse_options_of_groups(options, what);
}

/*
 * Finds out whether the options ask for stacks alone, and in which form; @has_rows: there are csv
 * and ndjson of them. 0, or an exit status after a sentence.
 */
static int find_stack_form(const Session *session, bool has_rows, bool *ret_alone, StackForm *ret) {
        const Options *options = session->options;
        bool has_stacks = options_have(options, OPTION_STACKS),
             has_format = options_have(options, OPTION_FORMAT),
             is_json = session->json != JSON_STYLE_OFF;
        char what[64];
        bool is_table;

        *ret_alone = true;
        *ret = is_json ? STACK_FORM_JSON : STACK_FORM_TREES;
        switch (has_format ? options->format : FORMAT_TABLE) {
        case FORMAT_FOLDED:
                *ret = STACK_FORM_FOLDED;
                break;
        case FORMAT_SPEEDSCOPE:
                *ret = STACK_FORM_SPEEDSCOPE;
                break;
        case FORMAT_PPROF:
                *ret = STACK_FORM_PPROF;
                break;
        case FORMAT_CSV:
        case FORMAT_NDJSON:
                *ret_alone = has_stacks;
                *ret = STACK_FORM_ROWS;
                break;
        case FORMAT_TABLE:
                *ret_alone = has_stacks;
                break;
        case FORMAT_HTML:
        case FORMAT_CTPROF:
        case FORMAT_DENET:
        case FORMAT_KTSTR:
        case _FORMAT_MAX:
                *ret_alone = false;
                break;
        }
        is_table = *ret == STACK_FORM_TREES || *ret == STACK_FORM_JSON ||
                   (*ret == STACK_FORM_ROWS && has_rows);
        if (has_stacks && !(*ret_alone && is_table))
                return complain(STATUS_USAGE, "--stacks is a table%s: give --format %s alone.",
                                has_rows ? ", JSON, csv or ndjson" : " or JSON",
                                format_name(options->format));
        if (options_have(options, OPTION_STANDARD_ERRORS) && *ret != STACK_FORM_FOLDED)
                return complain(STATUS_USAGE, "--standard-errors is for --format folded.");
        if (is_json && has_format && *ret_alone)
                return complain(STATUS_USAGE,
                                "--format and --json are two forms of one result: give either.");
        if (*ret == STACK_FORM_PPROF && session->terminal.out)
                return complain(STATUS_USAGE,
                                "A profile is not for a terminal to show: redirect stdout to a "
                                "file (> profile.pb.gz).");
        if (!*ret_alone)
                return 0;
        name_stacks(options, what, sizeof(what));
        return refuse_options_of_groups(options, what);
}

int verb_show(Session *session) {
        static const OptionId of_intervals[] = { OPTION_WINDOW, OPTION_PAIR, OPTION_NO_PAIRING };
        _cleanup_(subject_done) SubjectReference subject = SUBJECT_EMPTY;
        _cleanup_(group_view_freep) GroupView *view = NULL;
        const Options *options = session->options;
        bool alone;
        StackForm form;
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(lists); i++)
                if (options_have(options, lists[i].option))
                        r = check_alone(session, lists[i].option);
        if (r != 0)
                return r;
        r = find_stack_form(session, true, &alone, &form);
        if (r == 0 && options_have(options, OPTION_LINES) &&
            !(options_have(options, OPTION_STACKS) && form <= STACK_FORM_JSON))
                r = complain(STATUS_USAGE, "--lines is for --stacks, as a table or JSON.");
        if (r == 0)
                r = subject_open(options->arguments[1], &subject);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(lists); i++)
                if (options_have(options, lists[i].option))
                        return show_list(session, &subject, lists[i].kind, lists[i].option);
        if (r == 0 && alone)
                return show_stacks_alone(session, &subject, 1, form);
        if (r == 0 && subject.is_interval)
                r = refuse_sides_of_interval(session->options);
        for (size_t i = 0; r == 0 && !subject.is_interval && i < ELEMENTSOF(of_intervals); i++)
                if (options_have(session->options, of_intervals[i]))
                        r = complain(STATUS_USAGE,
                                     "--%s is for an interval (A..B): one snapshot has none.",
                                     option_table[of_intervals[i]].name);
        if (r == 0)
                r = group_view_new(&(GroupForm){ .session = session,
                                                 .kind = subject.is_interval ? REPORT_INTERVAL
                                                                             : REPORT_SNAPSHOT },
                                   &view);
        if (r != 0)
                return r;
        r = call_view(session, view, PROFILER_INTERFACE ".Show",
                      &(Side){ "snapshot", &subject, 1, false }, 1);
        if (r == STATUS_DONE_OTHERWISE)
                return show_page_of_stacks(session, view, &subject, 1);
        /* A first screen ends with the stacks; one who asks for rows wants these alone. */
        if (r == 0 && group_view_waits(view))
                r = show_stacks_of(session, view, &subject, 1, STACK_FORM_LIST, view);
        return r;
}

/* two of them */

int compare_subjects(Session *session, GroupView *view, const SubjectReference subjects[static 2]) {
        const Side sides[] = { { "before", &subjects[0], 1, false },
                               { "after", &subjects[1], 1, false } };

        return call_view(session, view, PROFILER_INTERFACE ".Compare", sides, ELEMENTSOF(sides));
}

/*
 * Prints the stacks below the view of two intervals of which at least one is a recording, or why
 * there are no stacks.
 */
static int compare_stacks(Session *session, GroupView *view,
                          const SubjectReference subjects[static 2]) {
        char with[QUOTE_BYTES], without[QUOTE_BYTES];
        bool first = view->is_recording[0];

        if (group_view_has_stacks(view))
                return show_stacks_of(session, view, subjects, 2, STACK_FORM_LIST, view);
        if (session->is_chatty)
                (void) printf("\nno stacks: %s has some, and %s was not recorded\n",
                              quote(subjects[first ? 0 : 1].text, with),
                              quote(subjects[first ? 1 : 0].text, without));
        return 0;
}

static int compare_opened(Session *session, const SubjectReference subjects[static 2]) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        const Options *options = session->options;
        /*
         * Both are snapshots or intervals; the daemon knows if two snapshots have one between, and
         * what is a recording, which is an interval.
         */
        bool is_interval = subjects[0].is_interval || subjects[1].is_interval, alone;
        StackForm form;
        int r = find_stack_form(session, false, &alone, &form);

        if (r != 0)
                return r;
        if (alone)
                return show_stacks_alone(session, subjects, 2, form);
        if (is_interval && options_have(options, OPTION_TOTALS))
                return complain(STATUS_USAGE,
                                "--totals is for two snapshots: an interval has work, and no "
                                "totals of lives.");
        if (!is_interval && options_have(options, OPTION_WINDOW))
                r = refuse_sides_of_interval(options);
        if (r == 0)
                r = group_view_new(
                        &(GroupForm){ .session = session,
                                      .kind = is_interval ? REPORT_INTERVALS : REPORT_PAIR },
                        &view);
        if (r != 0)
                return r;
        r = compare_subjects(session, view, subjects);
        if (r == STATUS_DONE_OTHERWISE)
                return show_page_of_stacks(session, view, subjects, 2);
        if (r == 0 && (view->is_recording[0] || view->is_recording[1]) && view->form.overview &&
            !view->form.rows)
                r = compare_stacks(session, view, subjects);
        return r == 0 && view->above ? STATUS_ABOVE : r;
}

static int compare_pair(Session *session, const char *before, const char *after) {
        SubjectReference subjects[2] = { SUBJECT_EMPTY, SUBJECT_EMPTY };
        int r;

        r = subject_open_anywhere(session, before, &subjects[0]);
        if (r == 0)
                r = subject_open_anywhere(session, after, &subjects[1]);
        if (r == 0)
                r = compare_opened(session, subjects);
        subject_done(&subjects[0]);
        subject_done(&subjects[1]);
        return r;
}

/* sets */

static int compare_sets(Session *session) {
        _cleanup_(snapshot_names_done) SnapshotNames names = { .session = session };
        _cleanup_(snapshot_set_done) SnapshotSet before = SNAPSHOT_SET_EMPTY,
                                                 after = SNAPSHOT_SET_EMPTY;
        _cleanup_(group_view_freep) GroupView *view = NULL;
        Side sides[2];
        StackForm form;
        bool alone;
        int r;

        r = snapshot_set_parse(&names, "--before", session->options->before, &before);
        if (r == 0)
                r = snapshot_set_parse(&names, "--after", session->options->after, &after);
        if (r == 0)
                r = snapshot_set_check_pair(&before, &after);
        if (r != 0)
                return r;
        /* One snapshot on each side has no variance: compare it as two snapshots. */
        if (before.n == 1 && after.n == 1)
                return compare_pair(session, before.texts[0], after.texts[0]);
        r = find_stack_form(session, true, &alone, &form);
        if (r == 0 && form == STACK_FORM_FOLDED)
                r = complain(STATUS_USAGE,
                             "--format folded is for one recording or two: stacks of sets are a "
                             "table, JSON, csv or ndjson (--stacks).");
        if (r != 0)
                return r;
        sides[0] = (Side){ "before", before.subjects, before.n, true };
        sides[1] = (Side){ "after", after.subjects, after.n, true };
        if (alone)
                return show_stacks(session, &(Recordings){ .sides = sides }, form, NULL);
        r = group_view_new(&(GroupForm){ .session = session, .kind = REPORT_SETS }, &view);
        if (r == 0)
                r = call_view(session, view, PROFILER_INTERFACE ".CompareSets", sides,
                              ELEMENTSOF(sides));
        if (r == 0 && group_view_waits(view)) {
                take_told_names(&before, view->recorded[0]);
                take_told_names(&after, view->recorded[1]);
                r = show_stacks(session, &(Recordings){ .sides = sides }, STACK_FORM_LIST, view);
        } else if (r == 0 && view->has_recording && view->other[0] != '\0' && view->form.overview &&
                   !view->wants_rows && session->is_chatty)
                (void) printf("\nno stacks: %s was not recorded\n", view->other);
        return r == 0 && view->above ? STATUS_ABOVE : r;
}

int verb_compare(Session *session) {
        const Options *options = session->options;
        size_t n = options->n_arguments - 1;
        bool has_before = options_have(options, OPTION_BEFORE);
        bool has_after = options_have(options, OPTION_AFTER);
        char quoted[QUOTE_BYTES];

        if (has_before != has_after)
                return complain(STATUS_USAGE, "%s needs %s: sets have two sides.",
                                has_before ? "--before" : "--after",
                                has_before ? "--after" : "--before");
        if (has_before && n > 0)
                return complain(STATUS_USAGE,
                                "%s is on neither side: with --before and --after all snapshots "
                                "are in their lists.",
                                quote(options->arguments[1], quoted));
        if (has_before)
                return compare_sets(session);
        if (n == 0)
                return complain(STATUS_USAGE,
                                "\"compare\" needs two snapshots, as in \"ctprofctl compare BEFORE "
                                "AFTER\", two intervals, or sets of them (--before, "
                                "--after); " COMPLAIN_BEGIN " takes a first one.");
        /* A shell makes more than two names of a glob that is not quoted. */
        for (size_t i = 1; i <= n; i++)
                if (!snapshot_name_is_file(options->arguments[i]) &&
                    strpbrk(options->arguments[i], "*?["))
                        return complain(STATUS_USAGE,
                                        "%s is a glob, and \"compare\" takes two names: sets are "
                                        "compared by --before 'GLOB' --after 'GLOB'.",
                                        quote(options->arguments[i], quoted));
        if (n > 2)
                return complain(STATUS_USAGE,
                                "\"compare\" takes two names, and these are %zu: sets are compared "
                                "by --before A,B,... --after C,D,..., with globs in quotes.",
                                n);
        if (n == 1 && subject_find_dots(options->arguments[1]))
                return complain(STATUS_USAGE,
                                "\"compare\" needs another interval beside %s, as in \"ctprofctl "
                                "compare A..B C..D\": \"show\" shows one.",
                                quote(options->arguments[1], quoted));
        if (n == 1)
                return complain(STATUS_USAGE,
                                "\"compare\" needs another snapshot beside %s, as in \"ctprofctl "
                                "compare BEFORE AFTER\".",
                                quote(options->arguments[1], quoted));
        if (options_have(options, OPTION_ALPHA))
                return complain(STATUS_USAGE,
                                "--alpha is for sets of snapshots, which --before and --after "
                                "name: two snapshots are not tested.");
        return compare_pair(session, options->arguments[1], options->arguments[2]);
}
