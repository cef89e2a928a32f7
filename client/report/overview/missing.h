/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Missing
 *
 * Lines tell what could not be read. One line says how much of each source is missing that could
 * have been read, and how to turn it on, "missing  io: 13 of 122 threads refused (run ctprofd as
 * root)", and at its end how many sources this kernel does not have, "5 unsupported"; when verbose,
 * each source has a line with its reason and the way out. Snapshots that a view has side by side
 * share what is the same for all of them.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/macro.h"
#include "render/lines.h"
#include "session/session.h"

#define MISSING_MAX_SIDES 4

typedef struct MissingSide {
        const char *label;    /* "before"; printed only where the sides differ, or when verbose */
        json_object *sources; /* the array of SOURCE objects; NULL: there is nothing to say */
} MissingSide;

typedef struct Missing {
        MissingSide sides[MISSING_MAX_SIDES];
        size_t n_sides;
        bool verbose;
        bool is_brief;   /* no remedies are told, as where there is no room for any entry */
        const char *way; /* what shows the reasons, "--verbose"; printable; NULL: not told */
} Missing;

/*
 * Prints nothing if everything was read. Sources that are partial or unavailable are told,
 * except jemalloc of a version that never read it, and values that were read but not believed. On a
 * terminal that has no room for all of them in one line, the others are counted. 0 or -ENOMEM.
 */
_must_check_ int missing_print(const Lines *lines, const Missing *missing);

/*
 * Sets @ret to the snapshots that a view has side by side, and returns how many these are. @reply
 * is as for missing_print_reply(), and owns the arrays.
 */
size_t missing_sides(json_object *reply, MissingSide ret[static MISSING_MAX_SIDES]);

/*
 * Prints the same for a view. @reply is the first one of Show, Compare or CompareSets, of any kind,
 * whose snapshots are the sides.
 */
_must_check_ int missing_print_reply(const Lines *lines, json_object *reply, bool verbose);

/*
 * Prints a table of all sources, an array of SOURCE objects, with their states and counts, and
 * their reasons below it, because those are sentences.
 */
_must_check_ int source_report_print(const Session *session, json_object *sources);
