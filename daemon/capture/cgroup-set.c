/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cgroup-set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/cgroupfs/cgroupfs.h"

void cgroup_set_done(CgroupSet *set) {
        for (size_t i = 0; i < set->n_entries; i++)
                free(set->entries[i]);
        free(set->entries);
        index_done(&set->index);
        cgroup_set_init(set);
}

static Span path_of(const void *owner, size_t element) {
        return ((const CgroupSet *) owner)->entries[element]->path;
}

int cgroup_set_add(CgroupSet *set, Span path, CgroupEntry **ret) {
        size_t found = index_find(&set->index, path, path_of, set);
        CgroupEntry *entry;
        char *bytes;
        int r;

        if (found != INDEX_NONE) {
                *ret = set->entries[found];
                return 0;
        }
        r = ARRAY_RESERVE(set->entries, set->n_allocated, set->n_entries + 1);
        if (r < 0)
                return r;
        entry = malloc(sizeof(*entry) + path.n); /* the path follows its entry */
        if (!entry)
                return -ENOMEM;
        bytes = (char *) (entry + 1);
        memcpy(bytes, path.bytes, path.n);
        *entry = (CgroupEntry){ .path = { bytes, path.n } };
        r = index_add(&set->index, path, set->n_entries);
        if (r < 0) {
                free(entry);
                return r;
        }
        set->entries[set->n_entries++] = entry;
        *ret = entry;
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
        for (size_t i = 0; i < other->n_entries; i++) {
                int r = other->entries[i]->inhabited
                                ? add_with_ancestors(set, other->entries[i]->path)
                                : 0;

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

        if (!entries)
                return -ENOMEM;
        if (set->n_entries > 0)
                memcpy(entries, set->entries, set->n_entries * sizeof(*entries));
        qsort(entries, set->n_entries, sizeof(*entries), compare_entries);
        *ret = entries;
        *ret_n = set->n_entries;
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
