/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "render/printable.h"
#include "session/complain.h"
#include "session/reference.h"
#include "verb/verb.h"

/* Collects results from one or several calls. */
typedef struct Verification {
        Session *session;
        JsonOut json;
        bool begun; /* JSON: the list is open */
        uint64_t n_checked, n_damaged;
        bool is_incomplete; /* some could not be opened; stderr says why */
} Verification;

static void begin_json(Verification *verification) {
        if (verification->begun)
                return;
        verification->begun = true;
        json_out_object(&verification->json);
        json_out_key(&verification->json, "results");
        json_out_array(&verification->json);
}

static int on_results(void *userdata, Connection *connection, json_object *parameters, bool last) {
        Verification *verification = userdata;
        json_object *results = cell_member(parameters, "results");

        for (size_t i = 0; i < cell_length(results); i++) {
                json_object *result = cell_element(results, i);
                json_object *error = cell_member(result, "error");
                json_object *offset = cell_member(result, "offset");
                bool ok = json_object_get_boolean(cell_member(result, "ok"));
                _cleanup_(buffer_done) Buffer line = {};
                const char *text;
                int r;

                verification->n_checked++;
                verification->n_damaged += !ok;
                if (verification->session->json != JSON_STYLE_OFF) {
                        begin_json(verification);
                        json_out_value(&verification->json, result);
                        continue;
                }
                if (ok && !verification->session->is_chatty)
                        continue;
                /* "NAME: ok", "NAME: damaged at byte 512: REASON" */
                cell_append_text(&line, cell_member(result, "name"));
                buffer_append_text(&line, error ? ": damaged" : ": ok");
                if (error && offset)
                        buffer_append_format(&line, " at byte %llu",
                                             (unsigned long long) json_object_get_uint64(offset));
                if (error) {
                        buffer_append_text(&line, ": ");
                        cell_append_text(&line, error);
                }
                r = buffer_terminate(&line, &text);
                if (r < 0)
                        return r;
                (void) puts(text);
        }
        return 0;
}

/* @reference NULL: all snapshots of the spool. */
static int call_verify(Verification *verification, const Reference *reference) {
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Verify", .more = true },
        };
        JsonWriter *writer = session_call_begin(&call);

        json_write_key(writer, "snapshots");
        json_write_array(writer);
        if (reference) {
                reference_address_call(reference, &call);
                reference_write_json(writer, reference);
        }
        json_write_end(writer);
        return session_call(verification->session, &call, on_results, verification);
}

static int verify_word(Verification *verification, const char *word) {
        _cleanup_(reference_done) Reference reference = REFERENCE_EMPTY;
        Session *session = verification->session;
        int r;

        session->is_refused = true; /* opening a file makes no call */
        r = reference_open(word, &reference);
        if (r == 0)
                r = call_verify(verification, &reference);
        if (r != STATUS_FAILED || !session->is_refused)
                return r;
        /* In JSON it has a result as well; stderr has the sentence. */
        verification->is_incomplete = true;
        if (session->json == JSON_STYLE_OFF)
                return 0;
        begin_json(verification);
        json_out_object(&verification->json);
        json_out_key(&verification->json, "name");
        json_out_name(&verification->json, span_of(word));
        json_out_key(&verification->json, "ok");
        json_out_raw(&verification->json, SPAN_LITERAL("false"));
        json_out_key(&verification->json, "error");
        json_out_text(&verification->json, "it cannot be opened");
        json_out_end(&verification->json);
        return 0;
}

int verb_verify(Session *session) {
        char *const *words = session->options->arguments + 1;
        size_t n_words = session->options->n_arguments - 1;
        bool all = options_have(session->options, OPTION_ALL);
        Verification verification = { .session = session };
        int r = 0;

        if (all == (n_words > 0))
                return complain(STATUS_USAGE, "\"verify\" needs either snapshots or --all.");
        json_out_init(&verification.json, stdout, session->json);
        if (all)
                r = call_verify(&verification, NULL);
        /* All names are checked before the first call. */
        for (size_t i = 0; r == 0 && i < n_words; i++)
                r = reference_check(words[i], words[i]);
        /* A call for each, so that a snapshot that does not exist does not stop the others. */
        for (size_t i = 0; r == 0 && i < n_words; i++)
                r = verify_word(&verification, words[i]);
        if (r == 0 && session->json != JSON_STYLE_OFF)
                begin_json(&verification);
        if (verification.begun) {
                json_out_end(&verification.json);
                json_out_end(&verification.json);
                if (r == 0)
                        r = session_finish_json(&verification.json);
        }
        json_out_done(&verification.json);
        if (r != 0)
                return r;
        if (verification.n_damaged > 0)
                return complain(STATUS_FAILED, "%llu of %llu snapshot%s %s damaged.",
                                (unsigned long long) verification.n_damaged,
                                (unsigned long long) verification.n_checked,
                                verification.n_checked == 1 ? "" : "s",
                                verification.n_damaged == 1 ? "is" : "are");
        return verification.is_incomplete ? STATUS_FAILED : STATUS_DONE;
}
