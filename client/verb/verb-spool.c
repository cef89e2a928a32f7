/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "session/complain.h"
#include "session/reference.h"
#include "session/snapshot-call.h"
#include "verb/verb.h"
#include "wire/limits.h"
#include "wire/message-object.h"

typedef struct Name {
        char text[SNAPSHOT_NAME_MAX_CHARS + 1];
} Name;

/*
 * Finds the name that @word stands for: itself, or of the snapshot that many places before the
 * newest in @heads, which are newest first. Imported ones do not count: they have only their names.
 */
static int resolve(const char *word, json_object *heads, Name *ret) {
        json_object *found = NULL;
        char quoted[QUOTE_BYTES];
        const char *name = word;
        uint64_t back;
        size_t n = 0;

        if (snapshot_name_is_relative(span_of(word), &back)) {
                for (size_t i = 0; i < cell_length(heads); i++) {
                        json_object *head = cell_element(heads, i);

                        if (cell_member(head, "importedFrom"))
                                continue;
                        if (n == back)
                                found = cell_member(head, "name");
                        n++;
                }
                if (!json_object_is_type(found, json_type_string))
                        return complain(STATUS_FAILED,
                                        "There is no snapshot %s: the spool has %zu%s.",
                                        quote(word, quoted), n,
                                        n < cell_length(heads) ? " beside imported ones" : "");
                name = json_object_get_string(found);
        }
        if (strlen(name) > SNAPSHOT_NAME_MAX_CHARS)
                return complain(STATUS_FAILED, "ctprofd sent a name that is too long.");
        (void) snprintf(ret->text, sizeof(ret->text), "%s", name);
        return 0;
}

/* The daemon changes snapshots only by their exact names: resolve "latest" here, once. */
static int resolve_all(Session *session, char *const *words, size_t n_words, Name *ret) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        const char *verb = session->options->arguments[0];
        char quoted[QUOTE_BYTES];
        uint64_t back;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n_words; i++)
                r = snapshot_name_is_file(words[i])
                            ? complain(STATUS_USAGE,
                                       "%s is a file, and %s is for snapshots of the spool.",
                                       quote(words[i], quoted), verb)
                            : reference_check(words[i], words[i]);
        for (size_t i = 0; r == 0 && !reply && i < n_words; i++)
                if (snapshot_name_is_relative(span_of(words[i]), &back))
                        r = list_snapshots(session, false, &reply);
        for (size_t i = 0; r == 0 && i < n_words; i++)
                r = resolve(words[i], cell_member(reply, "snapshots"), &ret[i]);
        return r;
}

int verb_remove(Session *session) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        char *const *words = session->options->arguments + 1;
        size_t n_words = session->options->n_arguments - 1;
        _cleanup_(freep) Name *names = NULL;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Remove", .more = true },
        };
        JsonWriter *writer;
        int r;

        if (n_words > LIMIT_NAMES_PER_LIST)
                return complain(STATUS_USAGE, "At most %u snapshots can be removed at once.",
                                LIMIT_NAMES_PER_LIST);
        names = calloc(n_words, sizeof(*names));
        if (!names)
                return complain_errno(-ENOMEM, "remember the names");
        r = resolve_all(session, words, n_words, names);
        if (r != 0)
                return r;
        call.subject = n_words == 1 ? names[0].text : NULL;
        writer = session_call_begin(&call);
        json_write_key(writer, "names");
        json_write_array(writer);
        for (size_t i = 0; i < n_words; i++)
                json_write_text(writer, names[i].text);
        json_write_end(writer);
        r = session_call_one(session, &call, &reply, NULL);
        if (r != 0)
                return r;
        if (session->json != JSON_STYLE_OFF)
                return session_print_json(session, reply);
        for (size_t i = 0; session->is_chatty && i < n_words; i++)
                (void) printf("removed %s\n", names[i].text);
        return STATUS_DONE;
}

int verb_rename(Session *session) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        char *const *words = session->options->arguments + 1;
        const char *complaint = snapshot_name_new_complaint(span_of(words[1]));
        char quoted[QUOTE_BYTES];
        Name name;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Rename", .more = true },
                .subject = name.text,
                .taken_hint = "choose another, or remove that snapshot first",
        };
        JsonWriter *writer;
        int r;

        if (complaint)
                return complain(STATUS_USAGE, "The new name %s %s.", quote(words[1], quoted),
                                complaint);
        r = resolve_all(session, words, 1, &name);
        if (r != 0)
                return r;
        writer = session_call_begin(&call);
        json_write_member_text(writer, "name", name.text);
        json_write_member_text(writer, "newName", words[1]);
        r = session_call_one(session, &call, &reply, NULL);
        if (r != 0)
                return r;
        if (session->json != JSON_STYLE_OFF)
                return session_print_json(session, reply);
        if (session->is_chatty)
                (void) printf("renamed %s to %s\n", name.text, words[1]);
        return STATUS_DONE;
}

int verb_import(Session *session) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        _cleanup_(reference_done) Reference file = REFERENCE_EMPTY;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Import",
                             .more = true,
                             .fds = &file.fd,
                             .n_fds = 1 },
                .taken_hint = "choose another with --tag, or remove that snapshot first",
        };
        const char *tag = session->options->tag, *complaint;
        char quoted[QUOTE_BYTES];
        json_object *heads;
        JsonWriter *writer;
        Span label;
        int r;

        r = reference_open_file(session->options->arguments[1], &file);
        if (r != 0)
                return r;
        /* Without --tag the file's name is the name, and it may not be a valid one. */
        label = snapshot_name_of_path(file.text);
        complaint = tag ? NULL : snapshot_name_new_complaint(label);
        if (complaint)
                return complain(STATUS_USAGE,
                                "The file's name %s %s: name the snapshot with --tag NAME.",
                                quote_span(label, quoted), complaint);
        call.subject = file.text;
        writer = session_call_begin(&call);
        json_write_member_u64(writer, "fileDescriptor", 0);
        if (tag)
                json_write_member_text(writer, "tag", tag);
        json_write_member_name(writer, "label", label);
        r = session_call_one(session, &call, &reply, NULL);
        if (r != 0)
                return r;
        if (session->json != JSON_STYLE_OFF)
                return session_print_json(session, reply);
        heads = cell_member(reply, "snapshots");
        for (size_t i = 0; session->is_chatty && i < cell_length(heads); i++) {
                json_object *head = cell_element(heads, i);

                (void) printf("imported %s: %llu threads of %llu processes\n",
                              quote_json(cell_member(head, "name"), quoted),
                              (unsigned long long) cell_u64(head, "threads"),
                              (unsigned long long) cell_u64(head, "processes"));
        }
        return STATUS_DONE;
}
