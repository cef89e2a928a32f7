/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* A timer of the event loop runs once each time it is started; a new one was not. */

#include <stdint.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "base/macro.h"

/* @accuracy_us: 0 for that of sd-event. -errno. */
_must_check_ static inline int timer_new(sd_event *event, sd_event_source **ret, const char *name,
                                         uint64_t accuracy_us, sd_event_time_handler_t handler,
                                         void *userdata) {
        int r = sd_event_add_time_relative(event, ret, CLOCK_MONOTONIC, 0, accuracy_us, handler,
                                           userdata);

        if (r < 0)
                return r;
        (void) sd_event_source_set_description(*ret, name);
        (void) sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
        return 0;
}

/* It runs @ns from now, whenever it was to run before. */
static inline void timer_start(sd_event_source *timer, uint64_t ns) {
        (void) sd_event_source_set_time_relative(timer, ns / NSEC_PER_USEC);
        (void) sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}
