/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json-key-set.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 16u /* keys that are searched from end to end */

void json_key_set_done(JsonKeySet *set) {
        free(set->hashes);
        free(set->slots);
        *set = (JsonKeySet){};
}

/* False when it is there already. A slot is always free: the table is at most half full. */
static bool put(JsonKeySet *set, uint64_t hash) {
        size_t mask = set->n_slots - 1;

        for (size_t i = (size_t) hash & mask;; i = (i + 1) & mask) {
                if (set->slots[i] == hash)
                        return false;
                if (set->slots[i] == 0) {
                        set->slots[i] = hash;
                        return true;
                }
        }
}

/* Only as many slots as this object needs are cleared, however large the table once was. */
static int grow_slots(JsonKeySet *set) {
        size_t n_slots = set->n_slots > 0 ? 2 * set->n_slots : SMALL * 4;
        uint64_t *slots;

        if (n_slots > set->n_slots_allocated) {
                slots = calloc(n_slots, sizeof(*slots));
                if (!slots)
                        return -ENOMEM;
                free(set->slots);
                set->slots = slots;
                set->n_slots_allocated = n_slots;
        } else
                memset(set->slots, 0, n_slots * sizeof(*set->slots));

        set->n_slots = n_slots;
        for (size_t i = 0; i < set->n; i++)
                (void) put(set, set->hashes[i]);
        return 0;
}

static int grow_hashes(JsonKeySet *set) {
        size_t n = set->n_allocated > 0 ? 2 * set->n_allocated : SMALL;
        uint64_t *hashes = reallocarray(set->hashes, n, sizeof(*hashes));

        if (!hashes)
                return -ENOMEM;
        set->hashes = hashes;
        set->n_allocated = n;
        return 0;
}

int json_key_set_add(JsonKeySet *set, uint64_t hash) {
        int r;

        if (hash == 0)
                hash = 1; /* 0 marks a free slot */
        if (set->n == set->n_allocated) {
                r = grow_hashes(set);
                if (r < 0)
                        return r;
        }
        if (set->n >= SMALL) {
                if (2 * (set->n + 1) > set->n_slots) {
                        r = grow_slots(set);
                        if (r < 0)
                                return r;
                }
                if (!put(set, hash))
                        return JSON_KEY_SET_E_DUPLICATE;
        } else
                for (size_t i = 0; i < set->n; i++)
                        if (set->hashes[i] == hash)
                                return JSON_KEY_SET_E_DUPLICATE;
        set->hashes[set->n++] = hash;
        return 0;
}
