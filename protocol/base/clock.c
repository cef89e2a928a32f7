/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

uint64_t clock_now_ns(clockid_t clock) {
        struct timespec now = {};

        (void) clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}
