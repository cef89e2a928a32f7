/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "interface/error-list.h"
#include "render/cell.h"
#include "render/lines.h"
#include "render/when.h"
#include "verb/complain.h"
#include "verb/source-report.h"
#include "verb/verb.h"
#include "wire/message-object.h"

#define LABEL_COLUMNS 12

/* "ctprofd 0.1.0, up 3h 12min, uid 0" */
static int print_daemon(const Lines *lines, json_object *daemon) {
        json_object *capabilities = cell_member(daemon, "capabilities");
        _cleanup_(buffer_done) Buffer line = {}, list = {};
        char uptime[WHEN_CHARS];
        int r;

        when_format_span(json_object_get_uint64(cell_member(daemon, "uptimeNs")), uptime);
        r = cell_append_text(&line, cell_member(daemon, "version"));
        if (r == 0)
                r = buffer_append_format(&line, ", up %s, uid ", uptime);
        if (r == 0)
                r = cell_append_number(&line, cell_member(daemon, "uid"), QUANTITY_LADDER_NONE);
        if (r == 0)
                r = lines_print_buffer(lines, "ctprofd", &line);
        for (size_t i = 0; r == 0 && i < cell_length(capabilities); i++) {
                r = buffer_append_text(&list, i > 0 ? ", " : "");
                if (r == 0)
                        r = cell_append_text(&list, json_object_array_get_idx(capabilities, i));
        }
        if (r == 0 && list.n == 0)
                r = buffer_append_text(&list, "none");
        return r < 0 ? r : lines_print_buffer(lines, "capabilities", &list);
}

/* A budget of 0 is none. */
static int append_bytes(Buffer *line, json_object *bytes, const char *none) {
        if (json_object_get_uint64(bytes) == 0 && none)
                return buffer_append_text(line, none);
        return cell_append_number(line, bytes, QUANTITY_LADDER_BYTES);
}

static int print_spool(const Lines *lines, json_object *spool) {
        uint64_t n_snapshots = json_object_get_uint64(cell_member(spool, "snapshots"));
        json_object *max_bytes = cell_member(spool, "maxBytes");
        json_object *keep_free_bytes = cell_member(spool, "keepFreeBytes");
        _cleanup_(buffer_done) Buffer path = {}, use = {};
        int r;

        r = cell_append_text(&path, cell_member(spool, "path"));
        if (r == 0)
                r = lines_print_buffer(lines, "spool", &path);
        if (r == 0)
                r = buffer_append_format(&use, "%llu snapshot%s, ",
                                         (unsigned long long) n_snapshots,
                                         n_snapshots == 1 ? "" : "s");
        if (r == 0)
                r = append_bytes(&use, cell_member(spool, "bytes"), NULL);
        if (r == 0)
                r = buffer_append_text(&use, " of ");
        if (r == 0)
                r = append_bytes(&use, max_bytes, "any number");
        if (r == 0)
                r = buffer_append_text(&use, " used; ");
        if (r == 0)
                r = append_bytes(&use, keep_free_bytes, "nothing");
        if (r == 0)
                r = buffer_append_text(&use, " of the file system is kept free");
        return r < 0 ? r : lines_print_buffer(lines, "", &use);
}

static int print_status(Session *session, json_object *reply) {
        const Lines lines = { stdout, &session->terminal, LABEL_COLUMNS };
        json_object *jobs = cell_member(reply, "jobs");
        int r;

        r = session_page(session);
        if (r != 0)
                return r;
        r = print_daemon(&lines, cell_member(reply, "daemon"));
        if (r == 0)
                r = print_spool(&lines, cell_member(reply, "spool"));
        if (r < 0)
                return complain_errno(r, "print the result");
        lines_format(&lines, "jobs", "%llu running, %llu waiting",
                     (unsigned long long) json_object_get_uint64(cell_member(jobs, "running")),
                     (unsigned long long) json_object_get_uint64(cell_member(jobs, "waiting")));
        (void) putchar('\n');
        r = source_report_print(session, cell_member(reply, "sources"));
        return r < 0 ? complain_errno(r, "print the result") : 0;
}

static int run_status(Session *session) {
        const SessionCall call = { .request = { .method = PROFILER_INTERFACE ".Status" } };
        _cleanup_(message_object_freep) json_object *reply = NULL;
        int r;

        r = session_call_one(session, &call, &reply, NULL);
        if (r != 0)
                return r;
        return session_has_json(session) ? session_print_json(session, reply)
                                         : print_status(session, reply);
}

const Verb verb_status = {
        .name = "status",
        .synopsis = "",
        .summary = "Show how the daemon is and what it can read",
        .run = run_status,
};
