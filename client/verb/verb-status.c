/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "interface/error-list.h"
#include "render/cell.h"
#include "render/lines.h"
#include "render/when.h"
#include "session/complain.h"
#include "report/overview/missing.h"
#include "verb/verb.h"
#include "wire/message-object.h"

#define LABEL_COLUMNS 12

/* The capabilities that captures use; root has dozens more, which --json lists. */
static const char *const useful_capabilities[] = { "cap_dac_read_search", "cap_net_admin",
                                                   "cap_sys_ptrace" };

/* "ctprofd 0.1.0, up 3h 12min, uid 0", and the capabilities that are of use to it */
static int print_daemon(const Lines *lines, json_object *daemon) {
        json_object *capabilities = cell_member(daemon, "capabilities");
        size_t n_others = cell_length(capabilities);
        _cleanup_(buffer_done) Buffer line = {}, list = {};
        char uptime[WHEN_CHARS];
        int r;

        when_format_span(cell_u64(daemon, "uptimeNs"), WHEN_EXACT, uptime);
        cell_append_text(&line, cell_member(daemon, "version"));
        buffer_append_format(&line, ", up %s, uid ", uptime);
        cell_append_number(&line, cell_member(daemon, "uid"), QUANTITY_LADDER_NONE);
        r = lines_print_buffer(lines, "ctprofd", &line);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(useful_capabilities); i++) {
                bool has = false;

                for (size_t k = 0; !has && k < cell_length(capabilities); k++)
                        has = span_is(cell_string(cell_element(capabilities, k)),
                                      useful_capabilities[i]);
                if (!has)
                        continue;
                buffer_append_format(&list, "%s%s", list.n > 0 ? ", " : "", useful_capabilities[i]);
                n_others--;
        }
        if (list.n == 0)
                buffer_append_text(&list, "none that captures need");
        if (n_others > 0)
                buffer_append_format(&list, ", and %zu other%s", n_others,
                                     n_others == 1 ? "" : "s");
        return lines_print_buffer(lines, "capabilities", &list);
}

/*
 * "bpf, loaded 2026-11-20 15:35:01 UTC", "procfs (REASON)", or "none (REASON)" where captures fail.
 */
static int print_backend(const Lines *lines, json_object *backend) {
        uint64_t loaded_ns = cell_u64(backend, "loadedRealtimeNs");
        unsigned long long n_outdated = cell_u64(backend, "outdated");
        json_object *name = cell_member(backend, "name"), *reason = cell_member(backend, "reason");
        _cleanup_(buffer_done) Buffer line = {};
        char when[WHEN_CHARS];

        if (!backend)
                return 0; /* an earlier ctprofd */
        if (name)
                cell_append_text(&line, name);
        else
                buffer_append_text(&line, "none");
        if (reason) {
                buffer_append_text(&line, " (");
                cell_append_text(&line, reason);
                buffer_append_text(&line, ")");
        } else if (loaded_ns > 0) {
                when_format(loaded_ns, WHEN_FULL, when);
                buffer_append_format(&line, ", loaded %s", when);
        }
        if (n_outdated > 0)
                buffer_append_format(
                        &line, "; %llu object%s of another version of ctprofd %s closed",
                        n_outdated, n_outdated == 1 ? "" : "s", n_outdated == 1 ? "was" : "were");
        return lines_print_buffer(lines, "backend", &line);
}

/*
 * "waits have been counted by reason for 12min, and are for 48min more; it costs 0.10 % of one CPU,
 * by the host's 3500000 switches since then"
 */
static int print_reasons(const Lines *lines, json_object *reasons) {
        uint64_t for_ns = cell_u64(reasons, "forNs");
        uint64_t cost_ns = cell_u64(reasons, "costNs");
        json_object *left = cell_member(reasons, "leftNs");
        _cleanup_(buffer_done) Buffer line = {};
        char text[WHEN_CHARS];

        if (!reasons)
                return 0; /* of an earlier ctprofd, or without programs that could */
        if (!json_object_get_boolean(cell_member(reasons, "counted"))) {
                buffer_append_text(&line, "not counted now; a capture switches that on, unless it "
                                          "has --reasons=no");
                return lines_print_buffer(lines, "reasons", &line);
        }
        when_format_span(for_ns, WHEN_EXACT, text);
        buffer_append_format(&line, "waits have been counted by reason for %s", text);
        if (left) {
                when_format_span(json_object_get_uint64(left), WHEN_EXACT, text);
                buffer_append_format(&line, ", and are for %s more", text);
        } else
                buffer_append_text(&line, ", and nothing ends that");
        if (for_ns > 0 && cell_member(reasons, "switches")) {
                buffer_append_format(&line, "; it costs %.2f %% of one CPU, by the host's ",
                                     100.0 * (double) cost_ns / (double) for_ns);
                cell_append_number(&line, cell_member(reasons, "switches"), QUANTITY_LADDER_NONE);
                buffer_append_text(&line, " switches since then");
        }
        return lines_print_buffer(lines, "reasons", &line);
}

/* "uid 1000 records slow since ..., until ... at the latest: 1234 samples, 0 lost" */
static int print_recording(const Lines *lines, json_object *recording) {
        json_object *tag = cell_member(recording, "tag"),
                    *samples = cell_member(recording, "samples");
        _cleanup_(buffer_done) Buffer line = {};
        char since[WHEN_CHARS], until[WHEN_CHARS];

        if (!recording)
                return 0; /* of an earlier ctprofd, or nobody records */
        when_format(cell_u64(recording, "sinceRealtimeNs"), WHEN_FULL, since);
        when_format(cell_u64(recording, "untilRealtimeNs"), WHEN_FULL, until);
        buffer_append_format(&line, "uid %llu records",
                             (unsigned long long) cell_u64(recording, "uid"));
        if (tag) {
                buffer_append_byte(&line, ' ');
                cell_append_text(&line, tag);
        }
        buffer_append_format(&line, " since %s, until %s at the latest: ", since, until);
        if (samples)
                buffer_append_format(&line, "%llu samples, %llu lost",
                                     (unsigned long long) json_object_get_uint64(samples),
                                     (unsigned long long) cell_u64(recording, "lost"));
        else
                buffer_append_text(&line, "one of its ends is being captured");
        return lines_print_buffer(lines, "recording", &line);
}

/* A budget of 0 means no limit. */
static void append_budget(Buffer *line, json_object *bytes, const char *none) {
        if (json_object_get_uint64(bytes) == 0)
                buffer_append_text(line, none);
        else
                cell_append_number(line, bytes, QUANTITY_LADDER_BYTES);
}

/* The contents of an unusable spool are unknown, not empty: print the reason. */
static int print_spool(const Lines *lines, json_object *spool) {
        json_object *snapshots = cell_member(spool, "snapshots");
        uint64_t n_snapshots = json_object_get_uint64(snapshots);
        json_object *free_files = cell_member(spool, "freeFiles");
        _cleanup_(buffer_done) Buffer path = {}, use = {}, space = {};
        int r;

        cell_append_text(&path, cell_member(spool, "path"));
        r = lines_print_buffer(lines, "spool", &path);
        if (r < 0)
                return r;
        if (snapshots) {
                buffer_append_format(&use, "%llu snapshot%s, ", (unsigned long long) n_snapshots,
                                     n_snapshots == 1 ? "" : "s");
                cell_append_number(&use, cell_member(spool, "bytes"), QUANTITY_LADDER_BYTES);
                buffer_append_text(&use, " of ");
                append_budget(&use, cell_member(spool, "maxBytes"), "any number");
                buffer_append_text(&use, " used; ");
                append_budget(&use, cell_member(spool, "keepFreeBytes"), "nothing");
                buffer_append_text(&use, " of the file system is kept free");
        } else {
                cell_append_text(&use, cell_member(spool, "reason"));
        }
        r = lines_print_buffer(lines, "", &use);
        if (r < 0 || !cell_member(spool, "freeBytes"))
                return r;
        cell_append_number(&space, cell_member(spool, "freeBytes"), QUANTITY_LADDER_BYTES);
        if (free_files) {
                buffer_append_text(&space, " and ");
                cell_append_number(&space, free_files, QUANTITY_LADDER_NONE);
                buffer_append_text(&space, " inodes are free there; ");
                cell_append_number(&space, cell_member(spool, "keepFreeFiles"),
                                   QUANTITY_LADDER_NONE);
                buffer_append_text(&space, " inodes are kept free");
        } else {
                buffer_append_text(&space, " are free there; it does not count inodes");
        }
        return lines_print_buffer(lines, "", &space);
}

/* Jobs that nothing can stop, and the users whose processes are left alone because of them. */
static int print_jobs(const Lines *lines, json_object *jobs) {
        json_object *hanging = cell_member(jobs, "hanging"),
                    *owners = cell_member(jobs, "barredOwners");
        _cleanup_(buffer_done) Buffer text = {};
        int r;

        lines_format(lines, "jobs", "%llu running, %llu waiting",
                     (unsigned long long) cell_u64(jobs, "running"),
                     (unsigned long long) cell_u64(jobs, "waiting"));
        for (size_t i = 0; i < cell_length(hanging); i++) {
                json_object *job = cell_element(hanging, i);
                json_object *processes = cell_member(job, "processes");
                _cleanup_(buffer_done) Buffer line = {};
                char when[WHEN_CHARS];

                when_format(cell_u64(job, "sinceRealtimeNs"), WHEN_FULL, when);
                cell_append_text(&line, cell_member(job, "kind"));
                buffer_append_format(&line, " job %llu hangs since %s",
                                     (unsigned long long) cell_u64(job, "pid"), when);
                for (size_t k = 0; k < cell_length(processes); k++) {
                        json_object *process = cell_element(processes, k);

                        buffer_append_format(&line, "%s %llu of user %llu",
                                             k == 0 ? ", in the memory of process" : ", and of",
                                             (unsigned long long) cell_u64(process, "pid"),
                                             (unsigned long long) cell_u64(process, "owner"));
                }
                r = lines_print_buffer(lines, "", &line);
                if (r < 0)
                        return r;
        }
        if (cell_length(owners) == 0)
                return 0;
        buffer_append_text(&text, "no memory is read of processes of ");
        for (size_t i = 0; i < cell_length(owners); i++)
                buffer_append_format(
                        &text, "%suser %llu", i > 0 ? ", " : "",
                        (unsigned long long) json_object_get_uint64(cell_element(owners, i)));
        buffer_append_text(&text, ": jobs hung in two of them");
        return lines_print_buffer(lines, "", &text);
}

#define MOST_OWNERS 8u

/* It is enough to know that there are more: --json has them. */
static void print_ended(const Lines *lines, json_object *ended) {
        json_object *owners = cell_member(ended, "owners");
        size_t n = cell_length(owners);

        for (size_t i = 0; i < n; i++) {
                json_object *loss = cell_element(owners, i), *owner = cell_member(loss, "owner");
                const char *label = i == 0 ? "names lost" : "";
                char user[32] = "others";

                if (i == MOST_OWNERS && n > MOST_OWNERS + 1) {
                        lines_format(lines, label, "and %zu more", n - i);
                        return;
                }
                if (owner)
                        (void) snprintf(user, sizeof(user), "uid %" PRIu64,
                                        json_object_get_uint64(owner));
                lines_format(lines, label,
                             "%s: %" PRIu64 " rows of ended threads were put together, %" PRIu64
                             " threads found none of their own",
                             user, cell_u64(loss, "folded_rows"), cell_u64(loss, "overflow_exits"));
        }
}

/* "as the last capture found them, before (2026-11-20 15:35:01 UTC)", or a sample that was tried */
static int print_origin(const Lines *lines, json_object *capture, json_object *sample) {
        uint64_t start_ns = cell_u64(capture, "startRealtimeNs");
        unsigned long long n_threads = cell_u64(sample, "threads");
        unsigned long long n_processes = cell_u64(sample, "processes");
        _cleanup_(buffer_done) Buffer line = {};
        char when[WHEN_CHARS];
        int r = 0;

        if (capture) {
                buffer_append_text(&line, "as the last capture found them, ");
                cell_append_text(&line, cell_member(capture, "name"));
                if (start_ns > 0) {
                        when_format(start_ns, WHEN_FULL, when);
                        buffer_append_format(&line, " (%s)", when);
                }
                r = lines_print_buffer(lines, "sources", &line);
        }
        /* A sample cannot tell what is refused elsewhere, so it is said that it is one. */
        if (r == 0 && sample)
                lines_format(lines, "sources",
                             "tried on a sample, %llu thread%s of %llu process%s (ctprofd itself "
                             "and process 1); a capture tries every thread",
                             n_threads, n_threads == 1 ? "" : "s", n_processes,
                             n_processes == 1 ? "" : "es");
        return r;
}

int verb_status(Session *session) {
        const Lines lines = { .out = stdout,
                              .terminal = &session->terminal,
                              .label_columns = LABEL_COLUMNS };
        SessionCall call = { .request = { .method = PROFILER_INTERFACE ".Status" } };
        _cleanup_(message_object_freep) json_object *reply = NULL;
        int r;

        r = session_call_one(session, &call, &reply, NULL);
        if (r != 0)
                return r;
        if (session->json != JSON_STYLE_OFF)
                return session_print_json(session, reply);
        r = session_page(session);
        if (r != 0)
                return r;
        r = print_daemon(&lines, cell_member(reply, "daemon"));
        if (r == 0)
                r = print_backend(&lines, cell_member(reply, "backend"));
        if (r == 0)
                r = print_reasons(&lines, cell_member(reply, "reasons"));
        if (r == 0)
                r = print_recording(&lines, cell_member(reply, "recording"));
        if (r == 0)
                r = print_spool(&lines, cell_member(reply, "spool"));
        if (r == 0)
                r = print_jobs(&lines, cell_member(reply, "jobs"));
        if (r == 0) {
                print_ended(&lines, cell_member(reply, "ended"));
                r = print_origin(&lines, cell_member(reply, "capture"),
                                 cell_member(reply, "sample"));
        }
        if (r == 0) {
                (void) putchar('\n');
                r = source_report_print(session, cell_member(reply, "sources"));
        }
        return r < 0 ? complain_errno(r, "print the result") : 0;
}
