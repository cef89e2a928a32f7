/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Clock
 *
 * Moments are nanoseconds in 64 bits; the name of the variable says of which clock.
 */

#include <stdint.h>
#include <time.h>
#include "base/macro.h"

uint64_t clock_now_ns(clockid_t clock);

/* As system calls want a moment or a length of time. */
static inline struct timespec clock_timespec(uint64_t ns) {
        return (struct timespec){ .tv_sec = (time_t) (ns / NSEC_PER_SEC),
                                  .tv_nsec = (long) (ns % NSEC_PER_SEC) };
}
