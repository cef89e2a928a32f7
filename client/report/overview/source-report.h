/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SourceReport
 *
 * Every source of readings with its state and what became of the attempts; the reasons below,
 * because they are sentences.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "session/session.h"

/* @sources: the array of SOURCE objects. */
_must_check_ int source_report_print(const Session *session, json_object *sources);
