/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/name.h"
#include "call/cancel.h"
#include "render/cell.h"
#include "report/group-view.h"
#include "session/complain.h"
#include "session/output.h"
#include "session/snapshot-call.h"
#include "verb/verb-changes.h"
#include "verb/verb-view.h"
#include "wire/message-object.h"

/* The state of one export. */
typedef struct Changes {
        Session *session;
        OwnCaptures captures;
        const char *path; /* borrowed; NULL: stdout */
        Output *output;
        RowStream stream;
        uint64_t n_intervals, n_gaps;
        json_object *last; /* borrowed: the head of the last snapshot that was read */
} Changes;

static void changes_done(Changes *changes) {
        if (changes->output && changes->stream.out)
                (void) fclose(changes->stream.out);
        changes->output = output_free(changes->output);
        own_captures_done(&changes->captures);
}

static const char *name_of(json_object *head) {
        return json_object_get_string(cell_member(head, "name"));
}

/* the rows */

static int add_gap(Changes *changes, json_object *before, json_object *after, const char *reason) {
        _cleanup_(message_object_freep) json_object *ends = json_object_new_object();
        int r;

        if (!ends || json_object_object_add(ends, "before", json_object_get(before)) < 0 ||
            json_object_object_add(ends, "after", json_object_get(after)) < 0 ||
            json_object_object_add(ends, "sameBoot", json_object_new_boolean(false)) < 0)
                return complain_errno(-ENOMEM, "write a row");
        r = sink_rows_add_gap(changes->session, &changes->stream, ends, span_of(reason));
        changes->n_gaps++;
        return r < 0 ? complain_errno(r, "write a row") : 0;
}

static int add_interval(Changes *changes, json_object *before, json_object *after) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        int r;

        r = group_view_new(&(GroupForm){ .session = changes->session,
                                         .kind = REPORT_INTERVAL,
                                         .stream = &changes->stream },
                           &view);
        if (r == 0)
                r = show_between(changes->session, view, name_of(before), name_of(after));
        changes->n_intervals++;
        return r;
}

/* What lies between a snapshot and the one before it. */
static int add_step(Changes *changes, const OwnCapture *before, const OwnCapture *after) {
        char reason[QUOTE_BYTES + 64], quoted[QUOTE_BYTES];

        if (own_captures_share_boot(before, after))
                return add_interval(changes, before->head, after->head);
        (void) snprintf(reason, sizeof(reason), "the host was booted again after %s",
                        quote(name_of(before->head), quoted));
        return add_gap(changes, before->head, after->head, reason);
}

/* Where the export begins: behind the cursor, or with a gap where that is gone. */
static int find_begin(Changes *changes, size_t *ret) {
        const char *after = changes->session->options->after;
        char reason[QUOTE_BYTES + 64], quoted[QUOTE_BYTES];

        *ret = 0;
        if (!after)
                return 0;
        for (size_t i = 0; i < changes->captures.n; i++)
                if (strcmp(name_of(changes->captures.all[i].head), after) == 0) {
                        *ret = i;
                        return 0;
                }
        if (changes->captures.n == 0)
                return 0;
        (void) snprintf(reason, sizeof(reason), "the snapshot %s is no longer in the spool",
                        quote(after, quoted));
        return add_gap(changes, NULL, changes->captures.all[0].head, reason);
}

static bool is_before(const Options *options, const OwnCapture *capture) {
        return options_have(options, OPTION_SINCE) &&
               capture->end_realtime_ns < options->since_realtime_ns;
}

static bool is_behind(const Options *options, const OwnCapture *capture) {
        return options_have(options, OPTION_UNTIL) &&
               capture->end_realtime_ns > options->until_realtime_ns;
}

/* What is too old is done with, and what is too new is left to the next export. */
static int add_all(Changes *changes) {
        const Options *options = changes->session->options;
        const OwnCapture *captures = changes->captures.all;
        size_t begin;
        int r;

        r = find_begin(changes, &begin);
        if (r == 0 && begin < changes->captures.n)
                changes->last = captures[begin].head;
        for (size_t i = begin + 1; r == 0 && i < changes->captures.n; i++) {
                if (is_behind(options, &captures[i]))
                        continue;
                if (!is_before(options, &captures[i]))
                        r = add_step(changes, &captures[i - 1], &captures[i]);
                changes->last = captures[i].head;
        }
        return r;
}

/* where they go */

static int open_stream(Changes *changes) {
        const Options *options = changes->session->options;
        int r;

        changes->stream = (RowStream){ .out = stdout,
                                       .is_csv = options->format == FORMAT_CSV,
                                       .present = options_have(options, OPTION_PRESENT) };
        if (options->n_arguments > 1 && strcmp(options->arguments[1], "-") != 0)
                changes->path = options->arguments[1];
        if (!changes->path)
                return session_has_json(changes->session)
                               ? complain(STATUS_USAGE,
                                          "The rows and --json both want stdout: name a file.")
                               : 0;
        r = output_open(changes->path, OUTPUT_EXCLUSIVE, &changes->output);
        if (r != 0)
                return r;
        changes->stream.out = fdopen(dup(output_fd(changes->output)), "w");
        return changes->stream.out ? 0 : complain_errno(-errno, "open the output");
}

/* All rows are in the file before it gets its name. */
static int publish(Changes *changes) {
        if (!changes->path)
                return 0;
        if (fflush(changes->stream.out) != 0)
                return complain_errno(-errno, "write the rows");
        return output_publish(changes->output);
}

static int print_json(const Changes *changes) {
        _cleanup_(json_out_done) JsonOut out;

        json_out_init(&out, stdout, changes->session->json);
        json_out_object(&out);
        json_out_key(&out, "intervals");
        json_out_u64(&out, changes->n_intervals);
        json_out_key(&out, "gaps");
        json_out_u64(&out, changes->n_gaps);
        json_out_member(&out, "last", cell_member(changes->last, "name"));
        json_out_end(&out);
        return session_finish_json(&out);
}

static void print_summary(const Changes *changes) {
        char path[QUOTE_BYTES], last[QUOTE_BYTES];

        (void) printf("exported %" PRIu64 " interval%s to %s", changes->n_intervals,
                      changes->n_intervals == 1 ? "" : "s", quote(changes->path, path));
        if (changes->last)
                (void) printf("; the next export is --after %s",
                              quote(name_of(changes->last), last));
        (void) putchar('\n');
}

/* Refuses what only the other export has. */
static int check(const Options *options) {
        char quoted[QUOTE_BYTES];

        if (options->n_arguments > 2)
                return complain(STATUS_USAGE,
                                "\"export --changes\" is about all snapshots of this host: %s is "
                                "one argument too many.",
                                quote(options->arguments[2], quoted));
        if (options_have(options, OPTION_FORMAT) && options->format != FORMAT_CSV &&
            options->format != FORMAT_NDJSON)
                return complain(STATUS_USAGE,
                                "\"export --changes\" has no --format %s: there are csv, ndjson.",
                                format_name(options->format));
        if (options_have(options, OPTION_SINCE) && options_have(options, OPTION_UNTIL) &&
            options->since_realtime_ns > options->until_realtime_ns)
                return complain(STATUS_USAGE,
                                "--since is later than --until: no interval can end between them.");
        return 0;
}

int export_changes(Session *session) {
        _cleanup_(changes_done) Changes changes = { .session = session };
        bool is_chatty = session_is_chatty(session); /* which rows for a program are not */
        int r;

        r = check(session->options);
        if (r == 0)
                r = open_stream(&changes);
        if (r == 0)
                r = own_captures_list(session, &changes.captures);
        if (r == 0)
                r = add_all(&changes);
        if (r == 0)
                r = publish(&changes);
        if (r != 0 || !changes.path)
                return r;
        if (session_has_json(session))
                return print_json(&changes);
        if (is_chatty)
                print_summary(&changes);
        return 0;
}
