/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Progress
 *
 * One line on stderr that is redrawn in place, at most ten times a second, and removed when the
 * work is done. Nothing is drawn if stderr is no terminal, or if the work is done at once, which
 * would only flicker.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "render/terminal.h"

typedef struct Progress {
        bool enabled; /* else nothing is drawn */
        bool begun, drawn;
        size_t columns;
        uint64_t begun_mono_ns, drawn_mono_ns;
} Progress;

/* @object: a Progress of the interface; anything else is ignored. */
void progress_update(Progress *progress, json_object *object, uint64_t now_mono_ns);
/* Removes the line; call it before anything else is written to the terminal. */
void progress_clear(Progress *progress);

#define PROGRESS_LINE_BYTES 256
/*
 * The line for a terminal of @columns, at least 20, without control characters; @more of fewer than
 * PROGRESS_MORE_BYTES stands at its end.
 */
#define PROGRESS_MORE_BYTES 96
void progress_format(const char *phase, uint64_t done, bool has_total, uint64_t total,
                     const char *more, size_t columns, char ret_line[static PROGRESS_LINE_BYTES]);
