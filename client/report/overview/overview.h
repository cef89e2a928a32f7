/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Overview
 *
 * The lines above the numbers: what the view is about, what the host did, what held it back, what
 * changed in its settings, and which readings are missing.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "render/lines.h"
#include "report/overview/kind.h"

#define OVERVIEW_LABEL_COLUMNS 8

/*
 * Prints everything above the numbers. @reply is the first one of Show, Compare or CompareSets;
 * with @verbose, lines have everything that they had no room for. 0 or -ENOMEM.
 */
_must_check_ int overview_print(const Lines *lines, ReportKind kind, json_object *reply,
                                bool verbose);

/* Returns whether the captures of @reply, the first of CompareSets, are too few for any test. */
bool set_reply_is_untested(json_object *reply);
