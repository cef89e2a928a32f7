/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json-scanner.h"
#include "json/json-writer.h"
#include "wire/limits.h"
#include "wire/message-object.h"

#define MAX_FLAGS 3

/* Calls and replies are alike: a text, an object and some flags, which go into their members. */
typedef struct Envelope {
        const char *text_name;
        char **text;
        json_object **parameters;
        size_t max_values; /* in the parameters, which count it down */
        struct {
                const char *name;
                bool *value;
        } flags[MAX_FLAGS + 1]; /* to the first without a name */
} Envelope;

static int fail_member(JsonScanner *scanner, const char *name, const char *what) {
        char complaint[MESSAGE_COMPLAINT_BYTES];

        (void) snprintf(complaint, sizeof(complaint), "member \"%s\" %s", name, what);
        return json_scanner_fail(scanner, complaint);
}

/* The caller releases what was read, also on failure. */
static int envelope_decode(Envelope *envelope, Span frame, bool need_text, char *ret_complaint) {
        const JsonLimits limits = {
                .max_depth = LIMIT_JSON_DEPTH,
                .max_token_bytes = frame.n, /* the frame has its own bound */
        };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        JsonToken token;
        Span key;
        int r;

        *ret_complaint = '\0';
        r = json_scanner_new_text(frame, &limits, &scanner);
        if (r != 0)
                return r;
        r = json_scanner_expect(scanner, JSON_TOKEN_OBJECT);
        while (r == 0) {
                bool is_text, is_parameters;
                size_t flag = 0;

                r = json_scanner_member(scanner, &key);
                if (r != 0 || !key.bytes)
                        break;
                is_text = span_is(key, envelope->text_name);
                is_parameters = span_is(key, "parameters");
                while (envelope->flags[flag].name && !span_is(key, envelope->flags[flag].name))
                        flag++;
                if (!is_text && !is_parameters && !envelope->flags[flag].name) {
                        r = json_scanner_skip(scanner);
                        continue;
                }
                r = json_scanner_next(scanner, &token);
                if (r != 0 || token == JSON_TOKEN_NULL)
                        continue;
                if (is_text && token != JSON_TOKEN_STRING)
                        r = fail_member(scanner, envelope->text_name, "must be a string");
                else if (is_text && scanner->string.n == 0)
                        r = fail_member(scanner, envelope->text_name, "is empty");
                else if (is_text) {
                        *envelope->text = strndup(scanner->string.bytes, scanner->string.n);
                        r = *envelope->text ? 0 : -ENOMEM;
                } else if (is_parameters && token != JSON_TOKEN_OBJECT)
                        r = fail_member(scanner, "parameters", "must be an object");
                else if (is_parameters)
                        r = message_object_read(scanner, token, &envelope->max_values,
                                                envelope->parameters);
                else if (token != JSON_TOKEN_TRUE && token != JSON_TOKEN_FALSE)
                        r = fail_member(scanner, envelope->flags[flag].name,
                                        "must be true or false");
                else
                        *envelope->flags[flag].value = token == JSON_TOKEN_TRUE;
        }
        if (r == 0)
                r = json_scanner_expect(scanner, JSON_TOKEN_END);
        if (r == 0 && need_text && !*envelope->text)
                r = fail_member(scanner, envelope->text_name, "is missing");
        if (r == 0 && !*envelope->parameters) {
                *envelope->parameters = json_object_new_object();
                if (!*envelope->parameters)
                        r = -ENOMEM;
        }
        if (r != JSON_E_MALFORMED)
                return r;
        (void) snprintf(ret_complaint, MESSAGE_COMPLAINT_BYTES, "%.200s at byte %" PRIu64,
                        scanner->complaint, scanner->offset);
        return MESSAGE_E_MALFORMED;
}

void call_done(Call *call) {
        free(call->method);
        (void) json_object_put(call->parameters);
        *call = (Call){};
}

void reply_done(Reply *reply) {
        free(reply->error);
        (void) json_object_put(reply->parameters);
        *reply = (Reply){};
}

int call_decode(Span frame, Call *ret, char ret_complaint[static MESSAGE_COMPLAINT_BYTES]) {
        _cleanup_(call_done) Call call = {};
        Envelope envelope = {
                .text_name = "method",
                .text = &call.method,
                .parameters = &call.parameters,
                .max_values = LIMIT_CALL_VALUES,
                .flags = { { "more", &call.more },
                           { "oneway", &call.oneway },
                           { "upgrade", &call.upgrade } },
        };
        int r;

        r = envelope_decode(&envelope, frame, true, ret_complaint);
        if (r == 0)
                *ret = TAKE(call, (Call){});
        return r;
}

int reply_decode(Span frame, Reply *ret, char ret_complaint[static MESSAGE_COMPLAINT_BYTES]) {
        _cleanup_(reply_done) Reply reply = {};
        Envelope envelope = {
                .text_name = "error",
                .text = &reply.error,
                .parameters = &reply.parameters,
                .max_values = LIMIT_REPLY_BYTES,
                .flags = { { "continues", &reply.continues } },
        };
        int r;

        r = envelope_decode(&envelope, frame, false, ret_complaint);
        if (r != 0)
                return r;
        /* An error ends a call; code that waits for replies relies on that. */
        if (reply.error && reply.continues) {
                (void) snprintf(
                        ret_complaint, MESSAGE_COMPLAINT_BYTES,
                        "an error must be the last reply, but this one says that more follow");
                return MESSAGE_E_MALFORMED;
        }
        *ret = TAKE(reply, (Reply){});
        return 0;
}

/*
 * @text_name and @flag_name are left out when they are NULL. Parameters are always written, because
 * simple clients expect them.
 */
static int encode(Buffer *buffer, const char *text_name, const char *text, Span parameters,
                  const char *flag_name) {
        size_t start = buffer->n;
        JsonWriter writer;
        int r;

        json_writer_init(&writer, buffer);
        json_write_object(&writer);
        if (text_name)
                json_write_member_text(&writer, text_name, text);
        json_write_key(&writer, "parameters");
        json_write_raw(&writer, parameters.n > 0 ? parameters : SPAN_LITERAL("{}"));
        if (flag_name)
                json_write_member_bool(&writer, flag_name, true);
        json_write_end(&writer);
        r = json_writer_finish(&writer);
        if (r < 0)
                buffer_truncate(buffer, start);
        return r;
}

int call_encode(Buffer *buffer, const char *method, Span parameters, bool more) {
        return encode(buffer, "method", method, parameters, more ? "more" : NULL);
}

int reply_encode(Buffer *buffer, Span parameters, bool continues) {
        return encode(buffer, NULL, NULL, parameters, continues ? "continues" : NULL);
}

int error_encode(Buffer *buffer, const char *error, Span parameters) {
        return encode(buffer, "error", error, parameters, NULL);
}
