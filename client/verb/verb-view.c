/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "session/complain.h"
#include "report/group-view.h"
#include "session/reference.h"
#include "verb/verb.h"
#include "verb/verb-view.h"

/* Calls the analysis job alone if all @references are files, else the daemon. */
static int call_view(Session *session, GroupView *view, const char *method,
                     const char *const parameter_names[], const Reference *references,
                     size_t n_references) {
        _cleanup_(session_call_done) SessionCall call = {
                .endpoint = ENDPOINT_ANALYSIS,
                .request = { .method = method, .more = true },
        };
        JsonWriter *writer = session_call_begin(&call);
        size_t n_fds = 0;
        int fds[2];

        for (size_t i = 0; i < n_references; i++) {
                json_write_key(writer, parameter_names[i]);
                reference_write_json(writer, &references[i], n_fds);
                if (references[i].is_file)
                        fds[n_fds++] = references[i].fd;
                else
                        call.endpoint = ENDPOINT_DAEMON;
        }
        group_view_write_parameters(view, writer);
        call.request.fds = fds;
        call.request.n_fds = n_fds;
        call.is_about_files = n_fds > 0;
        return session_call(session, &call, group_view_on_reply, view);
}

int verb_show(Session *session) {
        static const char *const names[] = { "snapshot" };
        _cleanup_(reference_done) Reference snapshot = REFERENCE_EMPTY;
        _cleanup_(group_view_freep) GroupView *view = NULL;
        int r;

        r = group_view_new(session, REPORT_SNAPSHOT, &view);
        if (r != 0)
                return r;
        r = reference_open(session->options->arguments[1], &snapshot);
        if (r != 0)
                return r;
        return call_view(session, view, PROFILER_INTERFACE ".Show", names, &snapshot, 1);
}

int compare_snapshots(Session *session, GroupView *view, const char *before, const char *after) {
        static const char *const names[] = { "before", "after" };
        Reference references[] = { REFERENCE_EMPTY, REFERENCE_EMPTY };
        int r;

        r = reference_open(before, &references[0]);
        if (r == 0)
                r = reference_open(after, &references[1]);
        if (r == 0)
                r = call_view(session, view, PROFILER_INTERFACE ".Compare", names, references, 2);
        reference_done(&references[0]);
        reference_done(&references[1]);
        return r;
}
