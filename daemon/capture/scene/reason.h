/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reason
 *
 * The state of a source with the sentence that users read, and the sentences that several sources
 * share. A sentence says why something is absent and what would turn it on; ctprof never turns
 * anything on itself.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/macro.h"
#include "snapshot/source.h"

#define REASON_RUN_PRIVILEGED "run ctprofd as root or as ctprofd.service"
#define REASON_IN_USER_NAMESPACE                                                  \
        "capabilities of a user namespace do not reach the processes outside of " \
        "it: " REASON_RUN_PRIVILEGED
#define REASON_ONLY_PROCESSES                                                                      \
        "/proc is mounted with subset=pid and shows nothing of the host but its processes: mount " \
        "it without"

_printf_(3, 4) static inline void source_set(Source *source, SourceState state, const char *format,
                                             ...) {
        va_list arguments;

        source->state = state;
        va_start(arguments, format);
        (void) vsnprintf(source->reason, sizeof(source->reason), format, arguments);
        va_end(arguments);
}

static inline bool source_was_tried(const Source *source) {
        for (unsigned i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                if (source->counts[i] != 0)
                        return true;
        return false;
}
