/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/spread-names.h"

#include <xxhash.h>

#include "base/buffer.h"

#define FIRST_SLOTS 256 /* a power of two */
#define FREE UINT32_MAX

typedef struct NameEntry {
        uint32_t offset;
        uint32_t n;
} NameEntry;

struct SpreadNames {
        Buffer bytes;
        NameEntry *entries; /* owned */
        uint32_t n_entries;
        uint32_t *slots; /* owned; open addressing: indices of entries, three quarters at most */
        uint32_t n_slots;
        uint32_t last; /* what was added or found last: a thread asks once for each sum */
};

int spread_names_new(SpreadNames **ret) {
        SpreadNames *names = calloc(1, sizeof(*names));

        if (!names)
                return -ENOMEM;
        *ret = names;
        return 0;
}

SpreadNames *spread_names_free(SpreadNames *names) {
        if (!names)
                return NULL;
        buffer_done(&names->bytes);
        free(names->entries);
        free(names->slots);
        free(names);
        return NULL;
}

Span spread_names_get(const SpreadNames *names, uint32_t index) {
        const NameEntry *entry = &names->entries[index];

        /* Before the first that is not empty there are no bytes to point into. */
        return entry->n > 0 ? (Span){ names->bytes.bytes + entry->offset, entry->n }
                            : SPAN_LITERAL("");
}

static uint32_t hash_of(Span name) {
        return (uint32_t) XXH3_64bits(name.n > 0 ? name.bytes : "", name.n);
}

/* The slot of @name, or the free one where it belongs. */
static uint32_t *find_slot(const SpreadNames *names, Span name) {
        uint32_t i = hash_of(name) & (names->n_slots - 1);

        while (names->slots[i] != FREE &&
               !span_equal(spread_names_get(names, names->slots[i]), name))
                i = (i + 1) & (names->n_slots - 1);
        return &names->slots[i];
}

static int make_room(SpreadNames *names) {
        uint32_t n_slots = names->n_slots > 0 ? names->n_slots * 2 : FIRST_SLOTS;
        NameEntry *entries;
        uint32_t *slots;

        if ((uint64_t) (names->n_entries + 1) * 4 <= (uint64_t) names->n_slots * 3)
                return 0;
        if (names->n_slots > UINT32_MAX / 2)
                return -ENOMEM;
        entries = realloc(names->entries, n_slots / 4 * 3 * sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        names->entries = entries;
        slots = malloc(n_slots * sizeof(*slots));
        if (!slots)
                return -ENOMEM;
        memset(slots, 0xff, n_slots * sizeof(*slots)); /* all are free */
        free(names->slots);
        names->slots = slots;
        names->n_slots = n_slots;
        for (uint32_t i = 0; i < names->n_entries; i++)
                *find_slot(names, spread_names_get(names, i)) = i;
        return 0;
}

int spread_names_add(SpreadNames *names, Span name, uint32_t *ret) {
        uint32_t *slot;
        int r;

        name.n = MIN_OF(name.n, (size_t) SPREAD_NAME_BYTES);
        if (names->n_entries > 0 && span_equal(spread_names_get(names, names->last), name)) {
                *ret = names->last;
                return 0;
        }
        r = make_room(names);
        if (r != 0)
                return r;
        slot = find_slot(names, name);
        if (*slot == FREE) {
                NameEntry entry = { .offset = (uint32_t) names->bytes.n, .n = (uint32_t) name.n };

                if (names->bytes.n > UINT32_MAX - SPREAD_NAME_BYTES)
                        return -ENOMEM;
                r = buffer_append(&names->bytes, name.bytes, name.n);
                if (r != 0)
                        return r;
                names->entries[names->n_entries] = entry;
                *slot = names->n_entries++;
        }
        *ret = names->last = *slot;
        return 0;
}
