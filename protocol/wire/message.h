/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Message
 *
 * A frame as a varlink call or reply. Decoding goes through the strict scanner; json-c holds the
 * objects and never sees the text, so integers are exact. Members that are not known are ignored,
 * and null counts as absent.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

enum {
        MESSAGE_OK,
        MESSAGE_E_MALFORMED, /* the complaint says what is wrong */
};

#define MESSAGE_COMPLAINT_BYTES 256

typedef struct Call {
        char *method;            /* owned */
        json_object *parameters; /* owned, an object; empty when the call had none */
        bool more, oneway, upgrade;
} Call;

typedef struct Reply {
        char *error;             /* owned, NULL for success */
        json_object *parameters; /* owned, an object */
        bool continues;
} Reply;

void call_done(Call *call);
void reply_done(Reply *reply);

/*
 * A call holds at most LIMIT_CALL_VALUES values, because objects cost many times their bytes. An
 * error reply that says that more replies follow is malformed.
 */
_must_check_ int call_decode(Span frame, Call *ret,
                             char ret_complaint[static MESSAGE_COMPLAINT_BYTES]);
_must_check_ int reply_decode(Span frame, Reply *ret,
                              char ret_complaint[static MESSAGE_COMPLAINT_BYTES]);

/*
 * Appends the frame without terminator to @buffer. @parameters: a complete JSON object, or empty.
 */
_must_check_ int call_encode(Buffer *buffer, const char *method, Span parameters, bool more);
_must_check_ int reply_encode(Buffer *buffer, Span parameters, bool continues);
_must_check_ int error_encode(Buffer *buffer, const char *error, Span parameters);
