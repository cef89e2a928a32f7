/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "report/group-view.h"
#include "session/complain.h"
#include "session/output.h"
#include "session/reference.h"
#include "session/snapshot-call.h"
#include "verb/verb-view.h"
#include "verb/denet-export.h"
#include "verb/verb.h"
#include "wire/message-object.h"

#define CONVERT_METHOD "io.ctprof.Job.Convert"

static const char *const suffixes[_FORMAT_MAX] = {
        [FORMAT_CTPROF] = ".ctprof.zst",
        [FORMAT_KTSTR] = ".ktstr.zst",
        [FORMAT_NDJSON] = ".ndjson",
        [FORMAT_DENET] = ".denet.json",
};

/* The state of one export. */
typedef struct Export {
        Session *session;
        Reference source;
        Format format;
        char *path; /* owned */
        Output *output;
        json_object *head; /* owned */
} Export;

static void export_done(Export *export) {
        reference_done(&export->source);
        export->output = output_free(export->output);
        free(export->path);
        (void) json_object_put(export->head);
}

/*
 * Opens the file the user named, or "./NAME" with the suffix of the format; of many hosts each has
 * its own in front.
 */
static int open_output(Export *export, Span name) {
        const Session *session = export->session;
        const Options *options = session->options;
        bool is_of_many = session->is_of_many;
        int n;

        if (export->output)
                return 0;
        if (options->n_arguments > 2)
                n = asprintf(&export->path, "%s", options->arguments[2]);
        else
                n = asprintf(&export->path, "./%s%s%.*s%s", is_of_many ? session->host : "",
                             is_of_many ? "-" : "", (int) name.n, name.bytes,
                             suffixes[export->format]);
        if (n < 0) {
                export->path = NULL;
                return complain_errno(-ENOMEM, "name the file");
        }
        return output_open(export->path, OUTPUT_EXCLUSIVE, &export->output);
}

/* The same with the name in the head, which becomes part of a path: it must be a valid name. */
static int open_output_of_head(Export *export) {
        Span name = cell_string(cell_member(export->head, "name"));

        if (!export->output && snapshot_name_complaint(name))
                return complain(STATUS_FAILED,
                                "The snapshot has no name for a file: name the file.");
        return open_output(export, name);
}

/* Makes a call, and keeps the head of the snapshot from its reply. */
static int call_for_head(Export *export, SessionCall *call, int *ret_fd) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        int r;

        r = session_call_one(export->session, call, &reply, ret_fd);
        if (r != 0)
                return r;
        export->head = json_object_get(cell_member(reply, "snapshot"));
        return 0;
}

/* of a snapshot in the spool: the daemon sends a descriptor, of the file or of a conversion */

static int export_from_spool(Export *export) {
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Export", .more = true },
                .subject = export->source.text,
        };
        _cleanup_(fd_closep) int fd = -EBADF;
        JsonWriter *writer;
        int r;

        /* Open the output first: a snapshot that cannot be written need not be requested. */
        r = export->session->options->n_arguments > 2 ? open_output(export, (Span){}) : 0;
        if (r != 0)
                return r;
        writer = session_call_begin(&call);
        json_write_key(writer, "snapshot");
        reference_write_json(writer, &export->source);
        json_write_member_text(writer, "format", format_name(export->format));
        r = call_for_head(export, &call, &fd);
        if (r != 0)
                return r;
        r = open_output_of_head(export);
        return r == 0 ? output_copy(export->output, fd) : r;
}

/* A file is copied, or converted by the analysis job into the file that we opened. */
static int export_file(Export *export) {
        _cleanup_(session_call_done) SessionCall info = {
                .request = { .method = PROFILER_INTERFACE ".Info", .more = true },
        };
        _cleanup_(session_call_done) SessionCall convert = {
                .endpoint = ENDPOINT_ANALYSIS,
                .request = { .method = CONVERT_METHOD },
                .is_about_files = true,
                .subject = export->source.text,
        };
        JsonWriter *writer;
        int fds[2], r;

        r = open_output(export, snapshot_name_of_path(export->source.text));
        if (r != 0)
                return r;
        if (export->format == FORMAT_CTPROF) {
                /* Info fails unless the file is a snapshot. */
                reference_prepare_call(&export->source, &info);
                r = call_for_head(export, &info, NULL);
                return r == 0 ? output_copy(export->output, export->source.fd) : r;
        }
        fds[0] = export->source.fd;
        fds[1] = output_fd(export->output);
        convert.request.fds = fds;
        convert.request.n_fds = ELEMENTSOF(fds);
        writer = session_call_begin(&convert);
        json_write_key(writer, "snapshot");
        reference_write_json(writer, &export->source);
        json_write_member_text(writer, "format", format_name(export->format));
        json_write_member_u64(writer, "output", 1); /* of fds */
        return call_for_head(export, &convert, NULL);
}

/* of an interval: the client adds it up from a view by thread */

static int export_denet(Export *export) {
        _cleanup_(subject_done) SubjectReference subject = SUBJECT_EMPTY;
        _cleanup_(denet_export_done) DenetExport denet = {};
        _cleanup_(json_out_done) JsonOut out = {};
        Session *session = export->session;
        const Reference *last;
        FILE *file;
        int r;

        r = subject_open(session->options->arguments[1], &subject);
        if (r == 0)
                r = denet_export_read(session, &subject, &denet);
        if (r != 0)
                return r;
        export->head = json_object_get(denet.head);
        last = &subject.ends[subject.is_interval];
        r = last->is_file ? open_output(export, snapshot_name_of_path(last->text))
                          : open_output_of_head(export);
        if (r == 0)
                r = output_stream(export->output, "write the threads", &file);
        if (r != 0)
                return r;
        json_out_init(&out, file, JSON_STYLE_SHORT);
        r = denet_export_write(&denet, &out);
        return r < 0 ? complain_errno(r, "write the threads") : r;
}

/* of all that changed */

/*
 * "export --changes": what was done between each two snapshots of this host that follow each other,
 * as one stream of rows that a database loads; ctprof-rows(5) is their contract. The caller keeps
 * the name of the last snapshot, from which the next export goes on.
 */

/* The state of one export of changes. */
typedef struct Changes {
        Session *session;
        OwnCaptures captures;
        const char *path; /* borrowed; NULL: stdout */
        Output *output;
        RowStream stream;
        uint64_t n_intervals, n_gaps;
        const OwnCapture *last; /* of them, that was read; NULL: none */
} Changes;

static void changes_done(Changes *changes) {
        changes->output = output_free(changes->output);
        own_captures_done(&changes->captures);
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

/*
 * The export begins behind the cursor, or with a gap where that snapshot was removed. An interval
 * that is too old is done with, and one that is too new is left to the next export.
 */
static int add_all(Changes *changes) {
        const Options *options = changes->session->options;
        const OwnCapture *captures = changes->captures.all;
        char reason[QUOTE_BYTES + 64], quoted[QUOTE_BYTES];
        size_t n = changes->captures.n, begin = 0;
        int r = 0;

        if (n == 0)
                return 0;
        while (options->after && begin < n && strcmp(captures[begin].name, options->after) != 0)
                begin++;
        if (begin == n) {
                begin = 0;
                (void) snprintf(reason, sizeof(reason), "the snapshot %s is no longer in the spool",
                                quote(options->after, quoted));
                r = add_gap(changes, NULL, captures[0].head, reason);
        }
        if (r == 0)
                changes->last = &captures[begin];
        for (size_t i = begin + 1; r == 0 && i < n; i++) {
                const OwnCapture *before = &captures[i - 1], *after = &captures[i];
                _cleanup_(group_view_freep) GroupView *view = NULL;

                if (options_have(options, OPTION_UNTIL) &&
                    after->end_realtime_ns > options->until_realtime_ns)
                        continue;
                changes->last = after;
                if (options_have(options, OPTION_SINCE) &&
                    after->end_realtime_ns < options->since_realtime_ns)
                        continue;
                if (own_captures_share_boot(before, after)) {
                        r = group_view_new(&(GroupForm){ .session = changes->session,
                                                         .kind = REPORT_INTERVAL,
                                                         .stream = &changes->stream },
                                           &view);
                        if (r == 0)
                                r = show_between(changes->session, view, before->name, after->name);
                        changes->n_intervals++;
                        continue;
                }
                (void) snprintf(reason, sizeof(reason), "the host was booted again after %s",
                                quote(before->name, quoted));
                r = add_gap(changes, before->head, after->head, reason);
        }
        return r;
}

static int export_changes(Session *session) {
        _cleanup_(changes_done) Changes changes = { .session = session };
        _cleanup_(json_out_done) JsonOut out = {};
        const Options *options = session->options;
        bool is_chatty = session->is_chatty; /* which rows for a program are not */
        char quoted[QUOTE_BYTES];
        int r;

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
        r = options_refuse_times(options, "no interval can end");
        if (r != 0)
                return r;
        changes.stream = (RowStream){ .out = stdout,
                                      .is_csv = options->format == FORMAT_CSV,
                                      .present = options_have(options, OPTION_PRESENT) };
        if (options->n_arguments > 1 && strcmp(options->arguments[1], "-") != 0)
                changes.path = options->arguments[1];
        else if (session->json != JSON_STYLE_OFF)
                return complain(STATUS_USAGE, "The rows and --json both want stdout: name a file.");
        if (changes.path) {
                r = output_open(changes.path, OUTPUT_EXCLUSIVE, &changes.output);
                if (r == 0)
                        r = output_stream(changes.output, "write the rows", &changes.stream.out);
        }
        if (r == 0)
                r = own_captures_list(session, &changes.captures);
        if (r == 0)
                r = add_all(&changes);
        if (r != 0 || !changes.path)
                return r;
        r = output_publish(changes.output);
        if (r != 0)
                return r;
        if (session->json != JSON_STYLE_OFF) {
                json_out_init(&out, stdout, session->json);
                json_out_object(&out);
                json_out_member_u64(&out, "intervals", changes.n_intervals);
                json_out_member_u64(&out, "gaps", changes.n_gaps);
                json_out_member(&out, "last",
                                changes.last ? cell_member(changes.last->head, "name") : NULL);
                json_out_end(&out);
                return session_finish_json(&out);
        }
        if (!is_chatty)
                return 0;
        (void) printf("exported %" PRIu64 " interval%s to %s", changes.n_intervals,
                      changes.n_intervals == 1 ? "" : "s", quote(changes.path, quoted));
        if (changes.last)
                (void) printf("; the next export is --after %s", quote(changes.last->name, quoted));
        (void) putchar('\n');
        return 0;
}

/* the verb */

int verb_export(Session *session) {
        const Options *options = session->options;
        _cleanup_(export_done) Export export = {
                .session = session,
                .source = REFERENCE_EMPTY,
                .format = options_have(options, OPTION_FORMAT) ? options->format : FORMAT_CTPROF,
        };
        _cleanup_(json_out_done) JsonOut out = {};
        char name[QUOTE_BYTES], path[QUOTE_BYTES];
        int r;

        if (options_have(options, OPTION_CHANGES))
                return export_changes(session);
        for (unsigned id = 0; id < _OPTION_MAX; id++)
                if ((VERB_CHANGES_BITS & options->given) >> id & 1)
                        return complain(STATUS_USAGE,
                                        "--%s is for \"export --changes\", which exports "
                                        "intervals: a snapshot is exported as it is.",
                                        option_table[id].name);
        if (options_have(options, OPTION_FORMAT) && options->format == FORMAT_CSV)
                return complain(
                        STATUS_USAGE,
                        "A snapshot is exported as ctprof, ktstr, ndjson or denet: --format csv "
                        "is for \"export --changes\".");
        if (options->n_arguments < 2)
                return complain(STATUS_USAGE,
                                "\"export\" needs a snapshot, as in \"ctprofctl export SNAPSHOT "
                                "[FILE|-]\", or --changes.");
        if (options->n_arguments > 2 && strcmp(options->arguments[2], "-") == 0 &&
            session->json != JSON_STYLE_OFF)
                return complain(STATUS_USAGE, "\"-\" and --json both want stdout: name a file.");
        if (export.format == FORMAT_DENET) {
                r = export_denet(&export);
        } else {
                r = reference_open(options->arguments[1], &export.source);
                if (r != 0)
                        return r;
                r = export.source.is_file ? export_file(&export) : export_from_spool(&export);
        }
        if (r == 0)
                r = output_publish(export.output);
        if (r != 0)
                return r;
        assert(export.path);
        if (session->json == JSON_STYLE_OFF) {
                if (session->is_chatty && strcmp(export.path, "-") != 0)
                        (void) printf("exported %s to %s\n",
                                      quote_json(cell_member(export.head, "name"), name),
                                      quote(export.path, path));
                return 0;
        }
        json_out_init(&out, stdout, session->json);
        json_out_object(&out);
        json_out_key(&out, "snapshots");
        json_out_array(&out);
        json_out_value(&out, export.head);
        json_out_end(&out);
        json_out_end(&out);
        return session_finish_json(&out);
}
