/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * One JSON text through the strict scanner, as objects, as a call and as a reply. Where it is cut
 * makes no difference. What we accept json-c accepts, with equal content; written again it has the
 * same tokens, every number exact, and writing is a fixed point. What is refused is refused with a
 * complaint that may go to a terminal.
 *
 * Aims at: protocol/json/json-scanner.c, protocol/json/json-input.c,
 *          protocol/base/name-set.c, protocol/wire/message.c,
 *          protocol/wire/message-object.c, protocol/json/json-writer.c
 */

#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "fuzz-cuts.h"
#include "fuzz.h"
#include "json-tokens.h"
#include "plain.h"
#include "wire/limits.h"
#include "wire/message-object.h"
#include "wire/message.h"

#define MAX_VALUES 4096

/* text */

static void check_cuts(FuzzPieces pieces, const JsonLimits *limits, int r, const Buffer *tokens,
                       uint64_t offset) {
        JsonScanner *scanner;
        uint64_t cut_offset;
        Buffer cut;

        buffer_init(&cut, 0);
        fuzz_expect(json_scanner_new_stream(fuzz_pieces_refill, &pieces, limits, &scanner) == 0,
                    "memory");
        fuzz_expect(json_tokens(scanner, &cut, &cut_offset) == r, "cutting changes no outcome");
        fuzz_expect(span_equal(buffer_span(&cut), buffer_span(tokens)), "cutting changes no token");
        fuzz_expect(cut_offset == offset, "cutting does not move the place of a fault");
        buffer_done(&cut);
}

/* objects */

static bool is_equal_number(json_object *ours, json_object *theirs) {
        double a = json_object_get_double(ours), b = json_object_get_double(theirs);

        if (json_object_is_type(ours, json_type_int))
                return json_object_is_type(theirs, json_type_int) &&
                       json_object_get_int64(ours) == json_object_get_int64(theirs) &&
                       json_object_get_uint64(ours) == json_object_get_uint64(theirs);
        /* An integer past 64 bits: json-c clamps it, and only we know better. */
        if (json_object_is_type(theirs, json_type_int))
                return fabs(a) >= 9.2233720368547758e18;
        return a == b || (isnan(a) && isnan(b));
}

static bool is_equal_value(json_object *ours, json_object *theirs) {
        json_object *other;

        switch (json_object_get_type(ours)) {
        case json_type_int:
        case json_type_double:
                return is_equal_number(ours, theirs);
        case json_type_array:
                if (!json_object_is_type(theirs, json_type_array) ||
                    json_object_array_length(ours) != json_object_array_length(theirs))
                        return false;
                for (size_t i = 0; i < json_object_array_length(ours); i++)
                        if (!is_equal_value(json_object_array_get_idx(ours, i),
                                            json_object_array_get_idx(theirs, i)))
                                return false;
                return true;
        case json_type_object:
                if (!json_object_is_type(theirs, json_type_object) ||
                    json_object_object_length(ours) != json_object_object_length(theirs))
                        return false;
                json_object_object_foreach(ours, name, value) {
                        if (!json_object_object_get_ex(theirs, name, &other) ||
                            !is_equal_value(value, other))
                                return false;
                }
                return true;
        case json_type_null:
        case json_type_boolean:
        case json_type_string:
                break;
        }
        return json_object_equal(ours, theirs) != 0;
}

static void check_json_c(Span text, json_object *ours) {
        struct json_tokener *tokener = json_tokener_new_ex(LIMIT_JSON_DEPTH + 2);
        json_object *theirs;

        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
        theirs = json_tokener_parse_ex(tokener, text.bytes, (int) text.n);
        /* A number at the end may go on: only what follows tells. */
        if (json_tokener_get_error(tokener) == json_tokener_continue)
                theirs = json_tokener_parse_ex(tokener, "", 1);
        fuzz_expect(json_tokener_get_error(tokener) == json_tokener_success,
                    "what we accept json-c accepts");
        fuzz_expect(is_equal_value(ours, theirs), "json-c reads the same");
        (void) json_object_put(theirs);
        json_tokener_free(tokener);
}

static int read_object(Span text, const JsonLimits *limits, json_object **ret) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        JsonToken token;
        int r;

        fuzz_expect(json_scanner_new_text(text, limits, &scanner) == 0, "memory");
        r = json_scanner_next(scanner, &token);
        if (r == 0)
                r = message_object_read(scanner, token, &(size_t){ MAX_VALUES }, ret);
        if (r == 0)
                r = json_scanner_expect(scanner, JSON_TOKEN_END);
        return r;
}

/* Written, read and written again. */
static void check_fixed_point(json_object *object, const JsonLimits *limits, const Buffer *tokens) {
        _cleanup_(message_object_freep) json_object *again = NULL;
        Buffer once, twice, once_tokens;
        JsonLimits wider = *limits;

        buffer_init(&once, 0);
        buffer_init(&twice, 0);
        buffer_init(&once_tokens, 0);
        fuzz_expect(message_append_object(&once, object) == 0, "what was read can be written");
        wider.max_token_bytes = once.n; /* an escape may be longer than what it was written as */
        fuzz_expect(json_tokens_of(buffer_span(&once), &wider, &once_tokens) == 0,
                    "what is written is strict JSON");
        fuzz_expect(span_equal(buffer_span(&once_tokens), buffer_span(tokens)),
                    "writing keeps every token");
        fuzz_expect(read_object(buffer_span(&once), &wider, &again) == 0, "it can be read again");
        fuzz_expect(message_append_object(&twice, again) == 0, "and written again");
        fuzz_expect(span_equal(buffer_span(&once), buffer_span(&twice)),
                    "writing is a fixed point");
        buffer_done(&once);
        buffer_done(&twice);
        buffer_done(&once_tokens);
}

/* messages */

static void check_call(Span text) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Buffer frame, parameters;
        Call call = {}, again = {};
        int r;

        r = call_decode(text, &call, complaint);
        if (r != 0) {
                fuzz_expect(r == MESSAGE_E_MALFORMED, "a call is refused as malformed");
                expect_complaint(complaint);
                return;
        }
        buffer_init(&frame, 0);
        buffer_init(&parameters, 0);
        fuzz_expect(message_append_object(&parameters, call.parameters) == 0, "written");
        fuzz_expect(call_encode(&frame, call.method, buffer_span(&parameters), call.more) == 0,
                    "a call can be written");
        fuzz_expect(call_decode(buffer_span(&frame), &again, complaint) == 0, "and read again");
        fuzz_expect(strcmp(call.method, again.method) == 0 && call.more == again.more &&
                            is_equal_value(call.parameters, again.parameters),
                    "it is the same call");
        buffer_done(&frame);
        buffer_done(&parameters);
        call_done(&call);
        call_done(&again);
}

static void check_reply(Span text) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Buffer frame, parameters;
        Reply reply = {}, again = {};
        int r;

        r = reply_decode(text, &reply, complaint);
        if (r != 0) {
                fuzz_expect(r == MESSAGE_E_MALFORMED, "a reply is refused as malformed");
                expect_complaint(complaint);
                return;
        }
        buffer_init(&frame, 0);
        buffer_init(&parameters, 0);
        fuzz_expect(message_append_object(&parameters, reply.parameters) == 0, "written");
        r = reply.error ? error_encode(&frame, reply.error, buffer_span(&parameters))
                        : reply_encode(&frame, buffer_span(&parameters), reply.continues);
        fuzz_expect(r == 0, "a reply can be written");
        fuzz_expect(reply_decode(buffer_span(&frame), &again, complaint) == 0, "and read again");
        fuzz_expect(reply.continues == again.continues && !reply.error == !again.error &&
                            (!reply.error || strcmp(reply.error, again.error) == 0) &&
                            is_equal_value(reply.parameters, again.parameters),
                    "it is the same reply");
        buffer_done(&frame);
        buffer_done(&parameters);
        reply_done(&reply);
        reply_done(&again);
}

static void check_text(Span text, FuzzCuts cuts) {
        const JsonLimits limits = { .max_depth = LIMIT_JSON_DEPTH,
                                    .max_token_bytes = MAX_OF(text.n / 2, (size_t) 16) };
        _cleanup_(message_object_freep) json_object *object = NULL;
        JsonScanner *scanner;
        uint64_t offset;
        Buffer tokens;
        int r;

        buffer_init(&tokens, 0);
        fuzz_expect(json_scanner_new_text(text, &limits, &scanner) == 0, "memory");
        r = json_tokens(scanner, &tokens, &offset);
        fuzz_expect(offset <= text.n, "a fault lies within the text");
        fuzz_expect(json_check(text, &limits) == r, "to check is to scan");
        check_cuts((FuzzPieces){ cuts, text }, &limits, r, &tokens, offset);
        if (r == 0 && read_object(text, &limits, &object) == 0) {
                check_json_c(text, object);
                check_fixed_point(object, &limits, &tokens);
        }
        buffer_done(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzCuts cuts;
        Span text = fuzz_cuts_begin(&cuts, data, size);

        check_text(text, cuts);
        check_call(text);
        check_reply(text);
        return 0;
}
