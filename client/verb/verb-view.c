/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "session/complain.h"
#include "report/group-view.h"
#include "session/reference.h"
#include "session/snapshot-set.h"
#include "verb/verb.h"
#include "verb/verb-view.h"
#include "wire/limits.h"

/* One side of a view is a subject, or the list of them that is a set. */
typedef struct Side {
        const char *parameter;
        const SubjectReference *subjects;
        size_t n;
        bool is_set;
} Side;

/* Calls the analysis job alone if all subjects are of files, else the daemon. */
static int call_view(Session *session, GroupView *view, const char *method, const Side *sides,
                     size_t n_sides) {
        _cleanup_(session_call_done) SessionCall call = {
                .endpoint = ENDPOINT_ANALYSIS,
                .request = { .method = method, .more = true },
        };
        JsonWriter *writer = session_call_begin(&call);
        int fds[LIMIT_SNAPSHOTS_PER_CALL];
        size_t n_fds = 0;

        for (const Side *side = sides; side < sides + n_sides; side++) {
                json_write_key(writer, side->parameter);
                if (side->is_set)
                        json_write_array(writer);
                for (size_t i = 0; i < side->n; i++) {
                        subject_write_json(writer, &side->subjects[i], fds, &n_fds);
                        if (!subject_is_of_files(&side->subjects[i]))
                                call.endpoint = ENDPOINT_DAEMON;
                }
                if (side->is_set)
                        json_write_end(writer);
        }
        group_view_write_parameters(view, writer);
        call.request.fds = fds;
        call.request.n_fds = n_fds;
        call.is_about_files = n_fds > 0;
        return session_call(session, &call, group_view_on_reply, view);
}

/* one subject */

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

static int show_opened(Session *session, GroupView *view, const SubjectReference *subject) {
        return call_view(session, view, PROFILER_INTERFACE ".Show",
                         &(Side){ "snapshot", subject, 1, false }, 1);
}

int show_between(Session *session, GroupView *view, const char *before, const char *after) {
        const SubjectReference interval = {
                .text = after,
                .is_interval = true,
                .ends = { { .text = before, .fd = -EBADF }, { .text = after, .fd = -EBADF } },
        };

        return show_opened(session, view, &interval);
}

int verb_show(Session *session) {
        _cleanup_(subject_done) SubjectReference subject = SUBJECT_EMPTY;
        _cleanup_(group_view_freep) GroupView *view = NULL;
        int r;

        r = subject_open(session->options->arguments[1], &subject);
        if (r == 0)
                r = check_show(session->options, subject.is_interval);
        if (r == 0)
                r = group_view_new(&(GroupForm){ .session = session,
                                                 .kind = subject.is_interval ? REPORT_INTERVAL
                                                                             : REPORT_SNAPSHOT },
                                   &view);
        return r == 0 ? show_opened(session, view, &subject) : r;
}

/* two of them */

int compare_subjects(Session *session, GroupView *view, const SubjectReference subjects[static 2]) {
        const Side sides[] = { { "before", &subjects[0], 1, false },
                               { "after", &subjects[1], 1, false } };

        return call_view(session, view, PROFILER_INTERFACE ".Compare", sides, ELEMENTSOF(sides));
}

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

/* Globs in place of names, or more than two names, as a shell makes them of a glob, are sets. */
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

static int compare_sets(Session *session, const SnapshotSet *before, const SnapshotSet *after) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        const Side sides[] = { { "before", before->subjects, before->n, true },
                               { "after", after->subjects, after->n, true } };
        int r;

        r = snapshot_set_check_pair(before, after);
        if (r != 0)
                return r;
        /* One snapshot on each side has no variance: compare it as two snapshots. */
        if (before->n == 1 && after->n == 1)
                return compare_pair(session, before->texts[0], after->texts[0]);
        r = group_view_new(&(GroupForm){ .session = session, .kind = REPORT_SETS }, &view);
        if (r == 0)
                r = call_view(session, view, PROFILER_INTERFACE ".CompareSets", sides,
                              ELEMENTSOF(sides));
        return r == 0 && group_view_is_above(view) ? STATUS_ABOVE : r;
}

static int run_sets(Session *session) {
        _cleanup_(snapshot_names_done) SnapshotNames names = { .session = session };
        _cleanup_(snapshot_set_done) SnapshotSet before = SNAPSHOT_SET_EMPTY,
                                                 after = SNAPSHOT_SET_EMPTY;
        int r;

        r = snapshot_set_parse(&names, "--before", session->options->before, &before);
        if (r == 0)
                r = snapshot_set_parse(&names, "--after", session->options->after, &after);
        return r == 0 ? compare_sets(session, &before, &after) : r;
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
