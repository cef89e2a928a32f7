/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_SLOTS 32 /* a power of two */

void index_done(Index *index) {
        free(index->slots);
        *index = (Index){ .slots = NULL };
}

void index_clear(Index *index) {
        index->n_slots = 0;
        index->n = 0;
}

static void put(Index *index, IndexSlot slot) {
        size_t i = slot.hash & (index->n_slots - 1);

        while (index->slots[i].element != 0)
                i = (i + 1) & (index->n_slots - 1);
        index->slots[i] = slot;
}

/*
 * Doubles the slots in use. Memory that index_clear() kept is cleared only as far as it is used
 * again, so that a large table costs nothing to the small ones that follow it.
 */
static int grow(Index *index) {
        size_t n_old = index->n_slots, n_slots = n_old > 0 ? n_old * 2 : FIRST_SLOTS;
        IndexSlot *old = NULL, *slots;

        if (n_old == 0) {
                index->seed = hash_seed();
                if (n_slots <= index->n_allocated) {
                        memset(index->slots, 0, n_slots * sizeof(*index->slots));
                        index->n_slots = n_slots;
                        return 0;
                }
        }
        slots = calloc(n_slots, sizeof(*slots));
        if (!slots)
                return -ENOMEM;
        old = index->slots;
        index->slots = slots;
        index->n_slots = index->n_allocated = n_slots;
        for (size_t i = 0; i < n_old; i++)
                if (old[i].element != 0)
                        put(index, old[i]);
        free(old);
        return 0;
}

size_t index_find(const Index *index, Span key, IndexKey key_of, const void *owner) {
        uint64_t hash;

        if (index->n_slots == 0)
                return INDEX_NONE;
        hash = hash_bytes(key, index->seed);
        for (size_t i = hash & (index->n_slots - 1);; i = (i + 1) & (index->n_slots - 1)) {
                const IndexSlot *slot = &index->slots[i];

                if (slot->element == 0)
                        return INDEX_NONE;
                if (slot->hash == hash && span_equal(key_of(owner, slot->element - 1), key))
                        return slot->element - 1;
        }
}

int index_add(Index *index, Span key, size_t element) {
        int r;

        if ((index->n + 1) * 4 > index->n_slots * 3) {
                r = grow(index);
                if (r != 0)
                        return r;
        }
        put(index, (IndexSlot){ hash_bytes(key, index->seed), element + 1 });
        index->n++;
        return 0;
}
