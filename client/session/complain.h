/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Complain
 *
 * A failure prints one sentence on stderr. Text from outside is quoted, made printable and cut. An
 * error reply becomes one sentence, too, that names the object and the way out.
 */

#include <json-c/json.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "wire/message.h"

/* Exit statuses of the program. */
enum {
        STATUS_DONE = 0,
        STATUS_FAILED = 1, /* from the state of the host, spool or daemon */
        STATUS_USAGE = 2,  /* the command line is wrong */
        STATUS_ABOVE = 3,  /* done, and rows above the threshold were found */
        /* Within the program: a call was left, because another one answers it. */
        STATUS_DONE_OTHERWISE = 256,
};

/* This takes a first snapshot, as a part of sentences. */
#define COMPLAIN_BEGIN "\"ctprofctl capture --tag before\""

/* Prints the sentence and returns @status, so that a verb can return the result. */
int complain(int status, const char *format, ...) _printf_(2, 3);
/*
 * For a negative errno that has no better sentence: "Cannot WHAT: reason." Returns STATUS_FAILED.
 */
int complain_errno(int error, const char *what);

#define QUOTE_BYTES 512
/* "text" in double quotes, cut with an ellipsis if it is long. Returns @ret_quoted. */
const char *quote(const char *text, char ret_quoted[static QUOTE_BYTES]);
const char *quote_span(Span text, char ret_quoted[static QUOTE_BYTES]);
/* The same for a string of a reply; "?" if @value is not a string. */
const char *quote_json(json_object *value, char ret_quoted[static QUOTE_BYTES]);
/* A sentence or fragment of a reply: printable and bounded, no quotes, no full stop at its end. */
const char *fragment_json(json_object *value, char ret_fragment[static QUOTE_BYTES]);

/* An interval alone does not take the option that is the argument. */
#define WIRE_NEEDS_SIDES                                                                    \
        "%s needs two sides, and one interval has only one: give --totals, or compare two " \
        "intervals (A..B C..D)."

typedef struct WireTopic {
        const char *subject;        /* what the user typed; NULL: unknown */
        const char *taken_hint;     /* what to do about SnapshotExists; NULL: none */
        const char *daemon_version; /* printable; NULL or "": not known */
        bool is_elsewhere;          /* users of that host are not those of this one */
} WireTopic;

/* Appends the sentence about the error reply to @sentence; *ret_status is the exit status. */
_must_check_ int wire_complaint_format(const Reply *reply, const WireTopic *topic, Buffer *sentence,
                                       int *ret_status);
