/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpreadBucket
 *
 * A scale of 64 equal steps to every power of two, on which any 64-bit number has a place of
 * sixteen bits. Numbers below 128 are places of their own. Of all others the middle of the place is
 * off by at most 1/128 of the number. Larger numbers never have smaller places.
 */

#include <stdint.h>

#define SPREAD_OCTAVE 64u /* steps */
#define SPREAD_OCTAVES 59u
#define SPREAD_BUCKETS (SPREAD_OCTAVES * SPREAD_OCTAVE)

static inline unsigned spread_bucket_of(uint64_t value) {
        unsigned shift;

        if (value < 2 * SPREAD_OCTAVE)
                return (unsigned) value;
        /* So far that SPREAD_OCTAVE to 2 * SPREAD_OCTAVE - 1 is left. */
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
