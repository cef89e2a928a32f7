/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_SLOTS 32 /* a power of two */

uint64_t hash_seed(void) {
        const void *random = (const void *) (uintptr_t) getauxval(AT_RANDOM);

        return random ? XXH3_64bits(random, 16) : 0;
}

uint64_t hash_bytes(Span bytes, uint64_t seed) {
        return XXH3_64bits_withSeed(bytes.n > 0 ? bytes.bytes : "", bytes.n, seed);
}

void hash_digest(Span bytes, unsigned char ret_digest[static HASH_DIGEST_BYTES]) {
        XXH128_canonical_t canonical;

        XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.n > 0 ? bytes.bytes : "", bytes.n));
        memcpy(ret_digest, canonical.digest, HASH_DIGEST_BYTES);
}

void index_done(Index *index) {
        free(index->slots);
        *index = (Index){ .slots = NULL };
}

void index_clear(Index *index) {
        index->n_slots = 0;
        index->n = 0;
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
        size_t n_old = index->n_slots, first = n_old, n_slots = n_old > 0 ? n_old * 2 : FIRST_SLOTS;
        IndexSlot *old = index->slots, *slots, added = { .element = element + 1 };

        if (n_old == 0)
                index->seed = hash_seed();
        /*
         * The slots in use double. Memory that index_clear() kept is cleared only as far as it is
         * used again, so that a large table costs nothing to the small ones that follow it.
         */
        if (n_old == 0 && n_slots <= index->n_allocated) {
                memset(old, 0, n_slots * sizeof(*old));
                index->n_slots = n_slots;
        } else if ((index->n + 1) * 4 > n_old * 3) {
                slots = calloc(n_slots, sizeof(*slots));
                if (!slots)
                        return -ENOMEM;
                index->slots = slots;
                index->n_slots = index->n_allocated = n_slots;
                first = 0;
        }
        /* The old elements, where they have to move, and behind them the new one. */
        added.hash = hash_bytes(key, index->seed);
        for (size_t i = first; i <= n_old; i++) {
                IndexSlot slot = i < n_old ? old[i] : added;
                size_t at = slot.hash & (index->n_slots - 1);

                if (slot.element == 0)
                        continue;
                while (index->slots[at].element != 0)
                        at = (at + 1) & (index->n_slots - 1);
                index->slots[at] = slot;
        }
        if (old != index->slots)
                free(old);
        index->n++;
        return 0;
}
