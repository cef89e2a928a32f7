/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "render/cell.h"
#include "render/lines.h"
#include "render/printable.h"
#include "session/complain.h"
#include "report/overview/missing.h"
#include "report/overview/overview.h"
#include "session/output.h"
#include "session/snapshot-call.h"
#include "stack/stack-text.h"
#include "verb/verb-capture.h"
#include "verb/verb.h"
#include "wire/message-object.h"

int print_capture(Session *session, json_object *reply, FILE *out, const char *path) {
        const Lines lines = { .out = out,
                              .terminal = &session->terminal,
                              .label_columns = OVERVIEW_LABEL_COLUMNS };
        Missing missing = { .sides = { { "", cell_member(reply, "sources") } },
                            .n_sides = 1,
                            .verbose = options_have(session->options, OPTION_VERBOSE) };
        size_t n_rotated = cell_length(cell_member(reply, "rotated"));
        json_object *head = cell_member(reply, "snapshot");
        bool is_recording = head_is_of_recording(head);
        uint64_t start_ns = cell_u64(head, "startBoottimeNs"),
                 end_ns = cell_u64(head, "endBoottimeNs");
        _cleanup_(message_object_freep) json_object *span =
                json_object_new_uint64(end_ns > start_ns ? end_ns - start_ns : 0);
        const struct {
                json_object *value;
                QuantityLadder ladder;
                const char *tail;
        } parts[] = {
                { cell_member(head, "threads"), QUANTITY_LADDER_NONE, " threads of " },
                { cell_member(head, "processes"), QUANTITY_LADDER_NONE,
                  is_recording ? " processes for " : " processes in " },
                { is_recording ? span : cell_member(cell_member(head, "cost"), "wallNs"),
                  QUANTITY_LADDER_NS, ", " },
                { cell_member(head, "sizeBytes"), QUANTITY_LADDER_BYTES, "" },
        };
        _cleanup_(buffer_done) Buffer line = {}, way = {};
        const char *text;
        int r;

        if (!session->is_chatty)
                return 0;
        /* "before written to PATH: 213 threads of 98 processes in 52.301ms, 48.126KiB" */
        cell_append_text(&line, cell_member(head, "name"));
        if (path) {
                buffer_append_text(&line, " written to ");
                printable_append_name(&line, span_of(path));
        }
        buffer_append_text(&line, ": ");
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                cell_append_number(&line, parts[i].value, parts[i].ladder);
                buffer_append_text(&line, parts[i].tail);
        }
        r = buffer_terminate(&line, &text);
        if (r == 0)
                (void) fprintf(out, "%s\n", text);
        /* The reasons of what was not read are in the snapshot too, unless it went into a pipe. */
        if (r == 0 && out != stderr) {
                buffer_append_text(&way, "info ");
                if (path)
                        printable_append_name(&way, span_of(path));
                else
                        cell_append_text(&way, cell_member(head, "name"));
                r = buffer_terminate(&way, &missing.way);
        }
        if (r == 0)
                r = stack_print_gaps(&lines, "recorded", "", reply);
        if (r == 0)
                r = missing_print(&lines, &missing);
        if (r < 0)
                return complain_errno(r, "print the result");
        if (n_rotated > 0)
                (void) fprintf(out, "%zu older untagged snapshot%s went to make room\n", n_rotated,
                               n_rotated == 1 ? "" : "s");
        return 0;
}

int print_capture_json(Session *session, json_object *reply) {
        _cleanup_(json_out_done) JsonOut out;

        json_out_init(&out, stdout, session->json);
        json_out_object(&out);
        json_out_member(&out, "snapshot", cell_member(reply, "snapshot"));
        json_out_member(&out, "sources", cell_member(reply, "sources"));
        if (cell_member(reply, "recording"))
                json_out_member(&out, "recording", cell_member(reply, "recording"));
        if (cell_length(cell_member(reply, "rotated")) > 0)
                json_out_member(&out, "rotated", cell_member(reply, "rotated"));
        if (cell_member(reply, "replaced"))
                json_out_member(&out, "replaced", cell_member(reply, "replaced"));
        json_out_end(&out);
        return session_finish_json(&out);
}

int verb_capture(Session *session) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        _cleanup_(output_freep) Output *output = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        const Options *options = session->options;
        const char *path = options->output_path;
        bool to_stdout = path && strcmp(path, "-") == 0;
        int r = 0;

        if (options_have(options, OPTION_SMAPS) && options_have(options, OPTION_NO_SMAPS))
                return complain(STATUS_USAGE, "--smaps and --no-smaps exclude each other.");
        if (to_stdout && session->json != JSON_STYLE_OFF)
                return complain(STATUS_USAGE,
                                "--output - and --json both want stdout: name a file.");
        if (!path && options_have(options, OPTION_REPLACE) && !options->tag)
                return complain(STATUS_USAGE,
                                "--replace needs the name to replace: give --tag NAME.");
        /* Open the output first: a capture that cannot be written is not worth taking. */
        if (path)
                r = output_open(path, OUTPUT_REPLACE, &output);
        if (r == 0)
                r = take_snapshot(session, options->tag, &reply, path ? &fd : NULL);
        if (r == 0 && path)
                r = output_copy(output, fd);
        if (r == 0 && path)
                r = output_publish(output);
        if (r != 0)
                return r;
        return session->json != JSON_STYLE_OFF
                       ? print_capture_json(session, reply)
                       : print_capture(session, reply, to_stdout ? stderr : stdout,
                                       to_stdout ? "stdout" : path);
}
