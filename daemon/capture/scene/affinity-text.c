/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/scene/affinity-text.h"

#include <string.h>

/* The text of @mask; a mask equal to the last one is not formatted again. */
static int format(AffinityText *affinity, const unsigned long *mask, size_t n_words, Span *ret,
                  size_t *ret_n_cpus) {
        size_t n_bytes = n_words * sizeof(*mask), n_chars;
        int r;

        if (n_words == affinity->n_last_words && memcmp(mask, affinity->last_mask, n_bytes) == 0) {
                *ret = (Span){ affinity->last_text, affinity->n_last_text };
                *ret_n_cpus = affinity->n_last_cpus;
                return 0;
        }
        r = cpu_list_format(mask, n_words, affinity->long_text, sizeof(affinity->long_text),
                            &n_chars, ret_n_cpus);
        if (r != 0)
                return r;
        *ret = (Span){ affinity->long_text, n_chars };
        if (n_chars <= sizeof(affinity->last_text)) {
                memcpy(affinity->last_mask, mask, n_bytes);
                memcpy(affinity->last_text, affinity->long_text, n_chars);
                affinity->n_last_words = n_words;
                affinity->n_last_text = n_chars;
                affinity->n_last_cpus = *ret_n_cpus;
        }
        return 0;
}

void affinity_text_put(AffinityText *affinity, Scene *scene, ThreadSlot *slot,
                       const unsigned long *mask, size_t n_words) {
        size_t n_cpus = 0;
        Span text;

        /* A mask without CPUs belongs to a thread that is being moved, or to none. */
        if (format(affinity, mask, n_words, &text, &n_cpus) != 0 || n_cpus == 0) {
                thread_slot_note(slot, SOURCE_AFFINITY, SOURCE_OUTCOME_malformed);
                return;
        }
        thread_slot_note(slot, SOURCE_AFFINITY, SOURCE_OUTCOME_ok);
        thread_sample_put(&slot->sample, METRIC_cpu_affinity, n_cpus);
        slot->cpus = scene_add_text(scene, text);
}
