/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cgroup-set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/cgroupfs/cgroupfs.h"

#define FIRST_SLOTS 64

void cgroup_set_done(CgroupSet *set) {
        for (size_t i = 0; i < set->n_slots; i++)
                free(set->slots[i]);
        free(set->slots);
        cgroup_set_init(set);
}

/* FNV-1a. Whoever names cgroups so that they collide costs us a comparison of hashes for each. */
static uint64_t hash_path(Span path) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < path.n; i++)
                hash = (hash ^ (unsigned char) path.bytes[i]) * UINT64_C(0x100000001b3);
        return hash;
}

/* The slot that holds @path, or the free one where it belongs. */
static CgroupEntry **find_slot(CgroupEntry **slots, size_t n_slots, Span path, uint64_t hash) {
        size_t i = hash & (n_slots - 1);

        while (slots[i] && !(slots[i]->hash == hash && span_equal(slots[i]->path, path)))
                i = (i + 1) & (n_slots - 1);
        return &slots[i];
}

static int grow(CgroupSet *set) {
        size_t n_slots = set->n_slots == 0 ? FIRST_SLOTS : 2 * set->n_slots;
        CgroupEntry **slots = calloc(n_slots, sizeof(*slots));

        if (!slots)
                return -ENOMEM;
        for (size_t i = 0; i < set->n_slots; i++)
                if (set->slots[i])
                        *find_slot(slots, n_slots, set->slots[i]->path, set->slots[i]->hash) =
                                set->slots[i];
        free(set->slots);
        set->slots = slots;
        set->n_slots = n_slots;
        return 0;
}

int cgroup_set_add(CgroupSet *set, Span path, CgroupEntry **ret) {
        uint64_t hash = hash_path(path);
        CgroupEntry **slot, *entry;
        int r;

        if (4 * (set->n_entries + 1) > 3 * set->n_slots) {
                r = grow(set);
                if (r < 0)
                        return r;
        }
        slot = find_slot(set->slots, set->n_slots, path, hash);
        if (!*slot) {
                char *bytes;

                entry = malloc(sizeof(*entry) + path.n); /* the path lies behind its entry */
                if (!entry)
                        return -ENOMEM;
                bytes = (char *) (entry + 1);
                memcpy(bytes, path.bytes, path.n);
                *entry = (CgroupEntry){ .path = { bytes, path.n }, .hash = hash };
                *slot = entry;
                set->n_entries++;
        }
        *ret = *slot;
        return 0;
}

static int add_with_ancestors(CgroupSet *set, Span path) {
        bool outside = cgroup_path_is_outside(path);

        do {
                CgroupEntry *entry;
                int r = cgroup_set_add(set, path, &entry);

                if (r < 0)
                        return r;
                if (entry->inhabited)
                        return 0; /* and so are all above it */
                entry->inhabited = true;
        } while (!outside && cgroup_path_parent(path, &path));
        return 0;
}

int cgroup_set_merge(CgroupSet *set, const CgroupSet *other) {
        for (size_t i = 0; i < other->n_slots; i++) {
                int r;

                if (!other->slots[i] || !other->slots[i]->inhabited)
                        continue;
                r = add_with_ancestors(set, other->slots[i]->path);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        const CgroupEntry *const *x = a, *const *y = b;

        return span_compare((*x)->path, (*y)->path);
}

int cgroup_set_sort(const CgroupSet *set, CgroupEntry ***ret, size_t *ret_n) {
        CgroupEntry **entries = calloc(set->n_entries + 1, sizeof(*entries));
        size_t n = 0;

        if (!entries)
                return -ENOMEM;
        for (size_t i = 0; i < set->n_slots; i++)
                if (set->slots[i])
                        entries[n++] = set->slots[i];
        qsort(entries, n, sizeof(*entries), compare_entries);
        *ret = entries;
        *ret_n = n;
        return 0;
}

bool cgroup_path_is_outside(Span path) {
        size_t begin = 0;

        for (size_t i = 0; i <= path.n; i++)
                if (i == path.n || path.bytes[i] == '/') {
                        if (span_is((Span){ path.bytes + begin, i - begin }, ".."))
                                return true;
                        begin = i + 1;
                }
        return false;
}
