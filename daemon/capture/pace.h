/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pace
 *
 * Between a capture and whoever asked for it: lets progress out at most ten times a second, and
 * asks whether to go on.
 */

#include <stdint.h>
#include "base/macro.h"
#include "capture/capture.h"

#define PACE_INTERVAL_NS (NSEC_PER_SEC / 10)

typedef struct Pace {
        const CaptureOptions *options; /* borrowed */
        uint64_t next_ns;              /* CLOCK_MONOTONIC; nothing is told before */
} Pace;

/* 0, CAPTURE_E_CANCELLED. */
_must_check_ static inline int pace_step(Pace *pace, const char *phase, uint64_t done,
                                         uint64_t total) {
        const CaptureOptions *options = pace->options;
        uint64_t now_ns;

        if (options->cancelled && options->cancelled(options->userdata))
                return CAPTURE_E_CANCELLED;
        if (!options->progress)
                return 0;
        now_ns = options->system->now_ns(options->system->userdata);
        if (now_ns >= pace->next_ns) {
                pace->next_ns = now_ns + PACE_INTERVAL_NS;
                options->progress(options->userdata, phase, done, total);
        }
        return 0;
}
