/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * AffinityText
 *
 * Puts CPU masks into samples, as a number of CPUs and as text. Nearly all threads of a host have
 * the same mask, so the last one is remembered and not formatted again.
 */

#include <stddef.h>
#include "capture/scene/scene.h"
#include "kernel/text/cpu-list.h"

#define AFFINITY_TEXT_BYTES 1024 /* a longer CPU list is formatted anew each time */

typedef struct AffinityText {
        unsigned long last_mask[CPU_LIST_MAX_WORDS];
        size_t n_last_words, n_last_text, n_last_cpus;
        char last_text[AFFINITY_TEXT_BYTES];
        char long_text[8 * CPU_LIST_MAX_CPUS / 2];
} AffinityText;

static inline void affinity_text_init(AffinityText *affinity) {
        affinity->n_last_words = 0;
}

/* Puts the mask, of at most CPU_LIST_MAX_WORDS words, and notes how the source ended. */
void affinity_text_put(AffinityText *affinity, Scene *scene, ThreadSlot *slot,
                       const unsigned long *mask, size_t n_words);
