/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Complain
 *
 * A failure prints one sentence on stderr. Text from outside is quoted, made printable and cut.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "base/span.h"

/* Exit statuses of the program. */
enum {
        STATUS_DONE = 0,
        STATUS_FAILED = 1, /* from the state of the host, spool or daemon */
        STATUS_USAGE = 2,  /* the command line is wrong */
        STATUS_ABOVE = 3,  /* done, and rows above the threshold were found */
};

/* How a user comes to a first snapshot, as a part of sentences. */
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
