/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/key-census.h"

#include <stdint.h>
#include <stdlib.h>
#include <xxhash.h>

#define FIRST_ENTRIES 256 /* a power of two */

typedef struct Entry {
        uint64_t skeleton; /* 0: free */
        uint64_t name;     /* of the first name that had it; SHARED_NAMES once there was a second */
} Entry;

#define SHARED_NAMES UINT64_C(0)

struct KeyCensus {
        Entry *entries;
        size_t n_entries;
        size_t n_used;
};

/* Never 0, which has its own meaning in both members. */
static uint64_t hash_of(Span text) {
        uint64_t hash = XXH3_64bits(text.bytes ? text.bytes : "", text.n);

        return hash != 0 ? hash : 1;
}

static Entry *find_entry(Entry *entries, size_t n_entries, uint64_t skeleton) {
        size_t i = skeleton & (n_entries - 1);

        while (entries[i].skeleton != 0 && entries[i].skeleton != skeleton)
                i = (i + 1) & (n_entries - 1);
        return &entries[i];
}

static int grow(KeyCensus *census) {
        size_t n_entries = census->n_entries > 0 ? census->n_entries * 2 : FIRST_ENTRIES;
        Entry *entries = calloc(n_entries, sizeof(*entries));

        if (!entries)
                return -ENOMEM;
        for (size_t i = 0; i < census->n_entries; i++)
                if (census->entries[i].skeleton != 0)
                        *find_entry(entries, n_entries, census->entries[i].skeleton) =
                                census->entries[i];
        free(census->entries);
        census->entries = entries;
        census->n_entries = n_entries;
        return 0;
}

int key_census_new(KeyCensus **ret) {
        _cleanup_(key_census_freep) KeyCensus *census = calloc(1, sizeof(*census));
        int r;

        if (!census)
                return -ENOMEM;
        r = grow(census);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(census);
        return 0;
}

KeyCensus *key_census_free(KeyCensus *census) {
        if (census)
                free(census->entries);
        free(census);
        return NULL;
}

int key_census_add(KeyCensus *census, Span skeleton, Span name) {
        uint64_t hash = hash_of(skeleton), name_hash = hash_of(name);
        Entry *entry = find_entry(census->entries, census->n_entries, hash);
        int r;

        if (entry->skeleton != 0) {
                if (entry->name != name_hash)
                        entry->name = SHARED_NAMES;
                return 0;
        }
        if ((census->n_used + 1) * 4 > census->n_entries * 3) {
                r = grow(census);
                if (r != 0)
                        return r;
                entry = find_entry(census->entries, census->n_entries, hash);
        }
        *entry = (Entry){ .skeleton = hash, .name = name_hash };
        census->n_used++;
        return 0;
}

bool key_census_is_shared(const KeyCensus *census, Span skeleton) {
        const Entry *entry = find_entry(census->entries, census->n_entries, hash_of(skeleton));

        return entry->skeleton != 0 && entry->name == SHARED_NAMES;
}
