/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Bits
 *
 * Sets of small numbers, one bit each, in an array of words that is zeroed to begin with.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words of a set of numbers below @n. */
#define BITS_WORDS(n) (((n) + 63) / 64)

static inline bool bits_has(const uint64_t *words, size_t bit) {
        return words[bit / 64] >> bit % 64 & 1;
}
static inline void bits_set(uint64_t *words, size_t bit) {
        words[bit / 64] |= UINT64_C(1) << bit % 64;
}
static inline void bits_clear(uint64_t *words, size_t bit) {
        words[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}
