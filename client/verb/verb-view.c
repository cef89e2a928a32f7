/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "session/complain.h"
#include "report/group-view.h"
#include "session/reference.h"
#include "session/wire-complaint.h"
#include "verb/verb.h"
#include "verb/verb-view.h"

#define MAX_SUBJECTS 2

/* Calls the analysis job alone if all @subjects are of files, else the daemon. */
static int call_view(Session *session, GroupView *view, const char *method,
                     const char *const parameter_names[], const SubjectReference *subjects,
                     size_t n_subjects) {
        _cleanup_(session_call_done) SessionCall call = {
                .endpoint = ENDPOINT_ANALYSIS,
                .request = { .method = method, .more = true },
        };
        JsonWriter *writer = session_call_begin(&call);
        int fds[MAX_SUBJECTS * SUBJECT_MAX_FILES];
        size_t n_fds = 0;

        for (size_t i = 0; i < n_subjects; i++) {
                json_write_key(writer, parameter_names[i]);
                subject_write_json(writer, &subjects[i], fds, &n_fds);
                if (!subject_is_of_files(&subjects[i]))
                        call.endpoint = ENDPOINT_DAEMON;
        }
        group_view_write_parameters(view, writer);
        call.request.fds = fds;
        call.request.n_fds = n_fds;
        call.is_about_files = n_fds > 0;
        return session_call(session, &call, group_view_on_reply, view);
}

int refuse_sides_of_interval(const Options *options) {
        if (options->view.has_threshold)
                return complain(STATUS_USAGE, WIRE_NEEDS_SIDES, "--threshold");
        if (options->view.sort.order == VIEW_ORDER_PERCENT)
                return complain(STATUS_USAGE, WIRE_NEEDS_SIDES, "--sort-by percent");
        return group_view_refuse_side_columns(options);
}

/* Options that only an interval has, or none. */
static int check_show(const Options *options, bool is_interval) {
        static const OptionId of_intervals[] = { OPTION_WINDOW, OPTION_PAIR, OPTION_NO_PAIRING };

        if (is_interval)
                return refuse_sides_of_interval(options);
        for (size_t i = 0; i < ELEMENTSOF(of_intervals); i++)
                if (options_have(options, of_intervals[i]))
                        return complain(STATUS_USAGE,
                                        "--%s is for an interval (A..B): one snapshot has none.",
                                        option_table[of_intervals[i]].name);
        return 0;
}

/* @view is of one subject, which is opened. 0, or an exit status after a sentence. */
static int show_opened(Session *session, GroupView *view, const SubjectReference *subject) {
        static const char *const names[] = { "snapshot" };

        return call_view(session, view, PROFILER_INTERFACE ".Show", names, subject, 1);
}

int show_between(Session *session, GroupView *view, const char *before, const char *after) {
        const SubjectReference interval = {
                .text = after,
                .is_interval = true,
                .ends = { { .text = before, .fd = -EBADF }, { .text = after, .fd = -EBADF } },
        };

        return show_opened(session, view, &interval);
}

static int show_subject(Session *session, const SubjectReference *subject) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        int r;

        r = check_show(session->options, subject->is_interval);
        if (r == 0)
                r = group_view_new(&(GroupForm){ .session = session,
                                                 .kind = subject->is_interval ? REPORT_INTERVAL
                                                                              : REPORT_SNAPSHOT },
                                   &view);
        return r == 0 ? show_opened(session, view, subject) : r;
}

int verb_show(Session *session) {
        _cleanup_(subject_done) SubjectReference subject = SUBJECT_EMPTY;
        int r = subject_open(session->options->arguments[1], &subject);

        return r == 0 ? show_subject(session, &subject) : r;
}

int compare_subjects(Session *session, GroupView *view, const SubjectReference subjects[static 2]) {
        static const char *const names[] = { "before", "after" };

        return call_view(session, view, PROFILER_INTERFACE ".Compare", names, subjects, 2);
}
