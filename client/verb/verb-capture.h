/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * VerbCapture
 *
 * Prints what became of a capture or a recording.
 */

#include <json-c/json.h>
#include <stdio.h>
#include "session/session.h"

/* Functions that return int return 0, or an exit status after a sentence. */

/* @out is stdout unless the snapshot itself was written there; @path: NULL for the spool. */
int print_capture(Session *session, json_object *reply, FILE *out, const char *path);
/* Prints the documented members, and the snapshots that were removed or replaced, if any. */
int print_capture_json(Session *session, json_object *reply);
