/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "session/complain.h"
#include "report/group-view.h"
#include "session/snapshot-set.h"
#include "verb/verb.h"
#include "verb/verb-view.h"

/* Two snapshots, or two intervals; the daemon knows whether two snapshots have one between them. */
static int check_pair(const Session *session, const SubjectReference subjects[static 2]) {
        char interval[QUOTE_BYTES], snapshot[QUOTE_BYTES];
        unsigned which = subjects[0].is_interval ? 0 : 1;

        if (subjects[0].is_interval != subjects[1].is_interval)
                return complain(STATUS_USAGE,
                                "%s is an interval and %s a snapshot: \"compare\" takes two of one "
                                "kind.",
                                quote(subjects[which].text, interval),
                                quote(subjects[1 - which].text, snapshot));
        if (subjects[0].is_interval && options_have(session->options, OPTION_TOTALS))
                return complain(STATUS_USAGE,
                                "--totals is for two snapshots: an interval has work, and no "
                                "totals of lives.");
        if (options_have(session->options, OPTION_WINDOW) && !subjects[0].is_interval)
                return refuse_sides_of_interval(session->options);
        return 0;
}

static int compare_opened(Session *session, const SubjectReference subjects[static 2]) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        int r;

        r = check_pair(session, subjects);
        if (r == 0)
                r = group_view_new(&(GroupForm){ .session = session,
                                                 .kind = subjects[0].is_interval ? REPORT_INTERVALS
                                                                                 : REPORT_PAIR },
                                   &view);
        if (r == 0)
                r = compare_subjects(session, view, subjects);
        return r == 0 && group_view_is_above(view) ? STATUS_ABOVE : r;
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

/* One argument is half of a comparison. */
static int complain_one(const char *text) {
        char quoted[QUOTE_BYTES];

        (void) quote(text, quoted);
        if (subject_find_dots(text))
                return complain(STATUS_USAGE,
                                "\"compare\" needs another interval beside %s, as in \"ctprofctl "
                                "compare A..B C..D\": \"show\" shows one.",
                                quoted);
        return complain(STATUS_USAGE,
                        "\"compare\" needs another snapshot beside %s, as in \"ctprofctl compare "
                        "BEFORE AFTER\".",
                        quoted);
}

/* Where names stand that are globs, or more than two, as of a glob that the shell saw: sets. */
static int check_names(const Options *options) {
        size_t n = options->n_arguments - 1;
        char quoted[QUOTE_BYTES];

        for (size_t i = 1; i <= n; i++)
                if (snapshot_is_glob(options->arguments[i]))
                        return complain(STATUS_USAGE,
                                        "%s is a glob, and \"compare\" takes two names: sets are "
                                        "compared by --before 'GLOB' --after 'GLOB'.",
                                        quote(options->arguments[i], quoted));
        if (n > 2)
                return complain(STATUS_USAGE,
                                "\"compare\" takes two names, and these are %zu: sets are compared "
                                "by --before A,B,... --after C,D,..., with globs in quotes.",
                                n);
        return n == 1 ? complain_one(options->arguments[1]) : 0;
}

/* sets */

static int call_sets(Session *session, GroupView *view, const SnapshotSet *before,
                     const SnapshotSet *after) {
        _cleanup_(session_call_done) SessionCall call = {
                .endpoint = snapshot_set_is_files(before) && snapshot_set_is_files(after)
                                    ? ENDPOINT_ANALYSIS
                                    : ENDPOINT_DAEMON,
                .request = { .method = PROFILER_INTERFACE ".CompareSets", .more = true },
        };
        int fds[LIMIT_SNAPSHOTS_PER_CALL];
        JsonWriter *writer = session_call_begin(&call);
        size_t n_fds = 0;

        json_write_key(writer, "before");
        snapshot_set_write_json(writer, before, fds, &n_fds);
        json_write_key(writer, "after");
        snapshot_set_write_json(writer, after, fds, &n_fds);
        group_view_write_parameters(view, writer);
        call.request.fds = fds;
        call.request.n_fds = n_fds;
        call.is_about_files = n_fds > 0;
        return session_call(session, &call, group_view_on_reply, view);
}

static int compare_sets(Session *session, const SnapshotSet *before, const SnapshotSet *after) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        int r;

        r = snapshot_set_check_pair(before, after);
        if (r != 0)
                return r;
        /* One snapshot on each side has no variance: compare it as two snapshots. */
        if (before->n == 1 && after->n == 1)
                return compare_pair(session, before->texts[0], after->texts[0]);
        r = group_view_new(&(GroupForm){ .session = session, .kind = REPORT_SETS }, &view);
        if (r != 0)
                return r;
        r = call_sets(session, view, before, after);
        return r == 0 && group_view_is_above(view) ? STATUS_ABOVE : r;
}

static int run_sets(Session *session) {
        _cleanup_(snapshot_names_done) SnapshotNames names = { .session = session };
        _cleanup_(snapshot_set_done) SnapshotSet before = SNAPSHOT_SET_EMPTY,
                                                 after = SNAPSHOT_SET_EMPTY;
        int r;

        r = snapshot_set_parse(&names, "--before", session->options->before, &before);
        if (r != 0)
                return r;
        r = snapshot_set_parse(&names, "--after", session->options->after, &after);
        if (r != 0)
                return r;
        return compare_sets(session, &before, &after);
}

int verb_compare(Session *session) {
        const Options *options = session->options;
        size_t n = options->n_arguments - 1;
        bool has_before = options_have(options, OPTION_BEFORE);
        bool has_after = options_have(options, OPTION_AFTER);
        char quoted[QUOTE_BYTES];
        int r;

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
                return run_sets(session);
        if (n == 0)
                return complain(STATUS_USAGE,
                                "\"compare\" needs two snapshots, as in \"ctprofctl compare BEFORE "
                                "AFTER\", two intervals, or sets of them (--before, "
                                "--after); " COMPLAIN_BEGIN " takes a first one.");
        r = check_names(options);
        if (r != 0)
                return r;
        if (options_have(options, OPTION_ALPHA))
                return complain(STATUS_USAGE,
                                "--alpha is for sets of snapshots, which --before and --after "
                                "name: two snapshots are not tested.");
        return compare_pair(session, options->arguments[1], options->arguments[2]);
}
