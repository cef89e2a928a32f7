/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SourceReport
 *
 * A table of all sources of readings with their states and counts, and their reasons below it,
 * because those are sentences.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "session/session.h"

/* @sources: the array of SOURCE objects. */
_must_check_ int source_report_print(const Session *session, json_object *sources);
