/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonKeySet
 *
 * The keys of one open object, as 64-bit hashes, each at most once. Small objects are searched from
 * end to end, larger ones through a table. The memory is kept by json_key_set_clear(), whose cost
 * does not depend on what the set held before.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

enum {
        JSON_KEY_SET_OK,
        JSON_KEY_SET_E_DUPLICATE,
};

typedef struct JsonKeySet {
        uint64_t *hashes; /* in the order they came */
        size_t n;
        size_t n_allocated;
        uint64_t *slots; /* open addressing, a power of two of them, 0: free; unused while small */
        size_t n_slots;
        size_t n_slots_allocated;
} JsonKeySet;

void json_key_set_done(JsonKeySet *set);

static inline void json_key_set_clear(JsonKeySet *set) {
        set->n = 0;
        set->n_slots = 0;
}

_must_check_ int json_key_set_add(JsonKeySet *set, uint64_t hash);
