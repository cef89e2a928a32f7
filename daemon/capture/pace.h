/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pace
 *
 * A capture talks to its caller while it runs: it reports progress at most ten times a second, and
 * asks often whether to go on.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "capture/batch/capture-system.h"

enum {
        CAPTURE_OK,
        CAPTURE_E_CANCELLED,
};

#define PACE_INTERVAL_NS (NSEC_PER_SEC / 10)

typedef struct Pace {
        /*
         * The calling thread calls both, and both may be NULL. Progress is in processes during the
         * phase "threads", in cgroups during "cgroups".
         */
        void (*progress)(void *userdata, const char *phase, uint64_t done, uint64_t total);
        bool (*cancelled)(void *userdata);
        void *userdata;
        uint64_t next_ns; /* CLOCK_MONOTONIC; progress is not reported before */
} Pace;

/* 0, CAPTURE_E_CANCELLED. */
_must_check_ static inline int pace_step(Pace *pace, const CaptureSystem *system, const char *phase,
                                         uint64_t done, uint64_t total) {
        uint64_t now_ns;

        if (pace->cancelled && pace->cancelled(pace->userdata))
                return CAPTURE_E_CANCELLED;
        if (!pace->progress)
                return 0;
        now_ns = system->now_ns(system->userdata);
        if (now_ns >= pace->next_ns) {
                pace->next_ns = now_ns + PACE_INTERVAL_NS;
                pace->progress(pace->userdata, phase, done, total);
        }
        return 0;
}
