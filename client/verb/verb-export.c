/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "session/complain.h"
#include "session/output.h"
#include "session/reference.h"
#include "verb/verb-changes.h"
#include "verb/verb.h"
#include "wire/message-object.h"

#define CONVERT_METHOD "io.ctprof.Job.Convert"

static const char *const suffixes[_FORMAT_MAX] = {
        [FORMAT_CTPROF] = ".ctprof.zst",
        [FORMAT_KTSTR] = ".ktstr.zst",
        [FORMAT_NDJSON] = ".ndjson",
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

/* The daemon's name becomes part of a path: accept only a valid name. */
static int open_output_for_head(Export *export) {
        json_object *name = cell_member(export->head, "name");
        const char *text =
                json_object_is_type(name, json_type_string) ? json_object_get_string(name) : "";

        if (!export->output && export->session->options->n_arguments <= 2 &&
            snapshot_name_complaint(span_of(text)))
                return complain(STATUS_FAILED,
                                "The snapshot has no name for a file: name the file.");
        return open_output(export, span_of(text));
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

/* The caller may add members. */
static JsonWriter *begin_order(const Export *export, SessionCall *call) {
        JsonWriter *writer = session_call_begin(call);

        json_write_key(writer, "snapshot");
        reference_write_json(writer, &export->source, 0);
        json_write_member_text(writer, "format", format_name(export->format));
        return writer;
}

/* of a snapshot in the spool: the daemon sends a descriptor, of the file or of a conversion */

static int export_from_spool(Export *export) {
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Export", .more = true },
                .subject = export->source.text,
        };
        _cleanup_(fd_closep) int fd = -EBADF;
        int r;

        /* Open the output first: a snapshot that cannot be written need not be requested. */
        r = export->session->options->n_arguments > 2 ? open_output(export, (Span){}) : 0;
        if (r != 0)
                return r;
        (void) begin_order(export, &call);
        r = call_for_head(export, &call, &fd);
        if (r != 0)
                return r;
        r = open_output_for_head(export);
        return r == 0 ? output_copy(export->output, fd) : r;
}

/* of a file: copied, or converted by the analysis job into the file we opened */

static int copy_file(Export *export) {
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Info", .more = true },
        };
        int r;

        /* Info fails unless the file is a snapshot. */
        reference_prepare_call(&export->source, &call);
        r = call_for_head(export, &call, NULL);
        return r == 0 ? output_copy(export->output, export->source.fd) : r;
}

static int convert_file(Export *export) {
        const int fds[] = { export->source.fd, output_fd(export->output) };
        _cleanup_(session_call_done) SessionCall call = {
                .endpoint = ENDPOINT_ANALYSIS,
                .request = { .method = CONVERT_METHOD, .fds = fds, .n_fds = ELEMENTSOF(fds) },
                .is_about_files = true,
                .subject = export->source.text,
        };

        json_write_member_u64(begin_order(export, &call), "output", 1); /* of fds */
        return call_for_head(export, &call, NULL);
}

static int export_file(Export *export) {
        int r;

        r = open_output(export, snapshot_name_of_path(export->source.text));
        if (r != 0)
                return r;
        return export->format == FORMAT_CTPROF ? copy_file(export) : convert_file(export);
}

static int print_export(const Export *export) {
        _cleanup_(json_out_done) JsonOut out;
        char name[QUOTE_BYTES], path[QUOTE_BYTES];

        assert(export->path);
        json_out_init(&out, stdout, export->session->json);
        if (!session_has_json(export->session)) {
                if (session_is_chatty(export->session) && strcmp(export->path, "-") != 0)
                        (void) printf("exported %s to %s\n",
                                      quote_json(cell_member(export->head, "name"), name),
                                      quote(export->path, path));
                return 0;
        }
        json_out_object(&out);
        json_out_key(&out, "snapshots");
        json_out_array(&out);
        json_out_value(&out, export->head);
        json_out_end(&out);
        json_out_end(&out);
        return session_finish_json(&out);
}

/* Refuses what only --changes has. */
static int check_snapshot(const Options *options) {
        for (unsigned id = 0; id < _OPTION_MAX; id++)
                if ((VERB_CHANGES_BITS & options->given) >> id & 1)
                        return complain(STATUS_USAGE,
                                        "--%s is for \"export --changes\", which exports "
                                        "intervals: a snapshot is exported as it is.",
                                        option_table[id].name);
        if (options_have(options, OPTION_FORMAT) && options->format == FORMAT_CSV)
                return complain(STATUS_USAGE,
                                "A snapshot is exported as ctprof, ktstr or ndjson: --format csv "
                                "is for \"export --changes\".");
        if (options->n_arguments < 2)
                return complain(STATUS_USAGE,
                                "\"export\" needs a snapshot, as in \"ctprofctl export SNAPSHOT "
                                "[FILE|-]\", or --changes.");
        return 0;
}

int verb_export(Session *session) {
        const Options *options = session->options;
        _cleanup_(export_done) Export export = {
                .session = session,
                .source = REFERENCE_EMPTY,
                .format = options_have(options, OPTION_FORMAT) ? options->format : FORMAT_CTPROF,
        };
        int r;

        if (options_have(options, OPTION_CHANGES))
                return export_changes(session);
        r = check_snapshot(options);
        if (r != 0)
                return r;
        if (options->n_arguments > 2 && strcmp(options->arguments[2], "-") == 0 &&
            session_has_json(session))
                return complain(STATUS_USAGE, "\"-\" and --json both want stdout: name a file.");
        r = reference_open(options->arguments[1], &export.source);
        if (r != 0)
                return r;
        r = export.source.is_file ? export_file(&export) : export_from_spool(&export);
        if (r != 0)
                return r;
        r = output_publish(export.output);
        return r == 0 ? print_export(&export) : r;
}
