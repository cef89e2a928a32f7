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

#define OVERVIEW_LABEL_COLUMNS 8

/* What a view is about; a name on the wire for each but for replies that carry none. */
typedef enum ReportKind {
        REPORT_SNAPSHOT,  /* "state": one snapshot */
        REPORT_PAIR,      /* "totals": two snapshots side by side */
        REPORT_SETS,      /* "sets": two sets of snapshots side by side */
        REPORT_INTERVAL,  /* "interval": what was done between two snapshots */
        REPORT_INTERVALS, /* "intervals": two intervals side by side */
        _REPORT_KIND_MAX,
} ReportKind;

/* "state": the name on the wire and in rows. */
const char *report_kind_name(ReportKind kind);
/* The kind that the first reply names; @asked where it names none. */
ReportKind report_kind_of(json_object *reply, ReportKind asked);
/* Whether there is something before and something after: of two snapshots, or of two intervals. */
static inline bool report_kind_has_sides(ReportKind kind) {
        return kind == REPORT_PAIR || kind == REPORT_INTERVAL || kind == REPORT_INTERVALS;
}

/*
 * Everything above the numbers. @reply is the first one of Show, Compare or CompareSets; @verbose:
 * with everything that a line had no room for. 0 or -ENOMEM.
 */
_must_check_ int overview_print(const Lines *lines, ReportKind kind, json_object *reply,
                                bool verbose);
