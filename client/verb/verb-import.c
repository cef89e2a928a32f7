/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/name.h"
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "session/complain.h"
#include "session/reference.h"
#include "verb/verb.h"
#include "wire/message-object.h"

static int call_import(Session *session, const Reference *file, json_object **ret) {
        const char *tag = session->options->tag;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Import",
                             .more = true,
                             .fds = &file->fd,
                             .n_fds = 1 },
                .subject = file->text,
                .taken_hint = "choose another with --tag, or remove that snapshot first",
        };
        JsonWriter *writer = session_call_begin(&call);

        json_write_member_u64(writer, "fileDescriptor", 0);
        if (tag)
                json_write_member_text(writer, "tag", tag);
        json_write_member_name(writer, "label", snapshot_name_of_path(file->text));
        return session_call_one(session, &call, ret, NULL);
}

/* Without --tag the file's name is the name, and it may not be a valid one. */
static int check_label(const Session *session, const Reference *file) {
        Span label = snapshot_name_of_path(file->text);
        const char *complaint = snapshot_name_new_complaint(label);
        char quoted[QUOTE_BYTES];

        if (session->options->tag || !complaint)
                return 0;
        return complain(STATUS_USAGE, "The file's name %s %s: name the snapshot with --tag NAME.",
                        quote_span(label, quoted), complaint);
}

static void print_import(json_object *head) {
        char name[QUOTE_BYTES];

        (void) printf("imported %s: %llu threads of %llu processes\n",
                      quote_json(cell_member(head, "name"), name),
                      (unsigned long long) json_object_get_uint64(cell_member(head, "threads")),
                      (unsigned long long) json_object_get_uint64(cell_member(head, "processes")));
}

int verb_import(Session *session) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        _cleanup_(reference_done) Reference file = REFERENCE_EMPTY;
        json_object *heads;
        int r;

        r = reference_open_file(session->options->arguments[1], &file);
        if (r != 0)
                return r;
        r = check_label(session, &file);
        if (r != 0)
                return r;
        r = call_import(session, &file, &reply);
        if (r != 0)
                return r;
        if (session_has_json(session))
                return session_print_json(session, reply);
        heads = cell_member(reply, "snapshots");
        for (size_t i = 0; session_is_chatty(session) && i < cell_length(heads); i++)
                print_import(cell_element(heads, i));
        return STATUS_DONE;
}
