/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Clock
 *
 * Moments are nanoseconds in 64 bits; the name of the variable says of which clock.
 */

#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include "base/macro.h"

uint64_t clock_now_ns(clockid_t clock);

static inline uint64_t clock_timeval_ns(struct timeval time) {
        return (uint64_t) time.tv_sec * NSEC_PER_SEC + (uint64_t) time.tv_usec * NSEC_PER_USEC;
}

/* As system calls want a moment or a length of time. */
static inline struct timespec clock_timespec(uint64_t ns) {
        return (struct timespec){ .tv_sec = (time_t) (ns / NSEC_PER_SEC),
                                  .tv_nsec = (long) (ns % NSEC_PER_SEC) };
}
