/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpreadBucket
 *
 * A logarithmic scale with 64 equal steps per power of two, on which every 64-bit number has a
 * bucket that fits 16 bits. Numbers below 128 have a bucket each. For all others the middle of the
 * bucket differs from the number by at most 1/128 of it. Buckets are monotonic: a larger number
 * never has a smaller bucket.
 */

#include <stdint.h>

#define SPREAD_OCTAVE 64u /* steps */
#define SPREAD_OCTAVES 59u
#define SPREAD_BUCKETS (SPREAD_OCTAVES * SPREAD_OCTAVE)

static inline unsigned spread_bucket_of(uint64_t value) {
        unsigned shift;

        if (value < 2 * SPREAD_OCTAVE)
                return (unsigned) value;
        /* Shift until a number from SPREAD_OCTAVE to 2 * SPREAD_OCTAVE - 1 is left. */
        shift = 63 - 6 - (unsigned) __builtin_clzll(value);
        return shift * SPREAD_OCTAVE + (unsigned) (value >> shift);
}

static inline uint64_t spread_bucket_middle(unsigned bucket) {
        unsigned shift;

        if (bucket < 2 * SPREAD_OCTAVE)
                return bucket;
        shift = bucket / SPREAD_OCTAVE - 1;
        return ((uint64_t) (bucket - shift * SPREAD_OCTAVE) << shift) +
               (UINT64_C(1) << (shift - 1));
}
