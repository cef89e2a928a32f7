/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/pairing/kind-set.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define FIRST_KINDS 16

void kind_set_done(KindSet *set) {
        free(set->kinds);
        *set = (KindSet){ .kinds = NULL };
}

static int by_number(const void *a, const void *b) {
        uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;

        return (left > right) - (left < right);
}

void kind_set_settle(KindSet *set) {
        size_t last = 0;

        if (set->n == 0)
                return;
        qsort(set->kinds, set->n, sizeof(*set->kinds), by_number);
        for (size_t i = 1; i < set->n; i++)
                if (set->kinds[i] != set->kinds[last])
                        set->kinds[++last] = set->kinds[i];
        set->n = last + 1;
}

/* A full set is settled first; it grows only if that did not free half of it. */
int kind_set_add(KindSet *set, uint64_t kind) {
        bool grow = false;

        if (set->n > 0 && set->kinds[set->n - 1] == kind)
                return 0;
        if (set->n == set->n_allocated) {
                kind_set_settle(set);
                grow = set->n * 2 >= set->n_allocated;
        }
        if (grow) {
                size_t n_allocated = set->n_allocated > 0 ? set->n_allocated * 2 : FIRST_KINDS;
                uint64_t *kinds = realloc(set->kinds, n_allocated * sizeof(*kinds));

                if (!kinds)
                        return -ENOMEM;
                set->kinds = kinds;
                set->n_allocated = n_allocated;
        }
        set->kinds[set->n++] = kind;
        return 0;
}

uint64_t kind_set_shared(const KindSet *a, const KindSet *b) {
        uint64_t n = 0;

        for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
                uint64_t left = a->kinds[i], right = b->kinds[j];

                n += left == right;
                i += left <= right;
                j += right <= left;
        }
        return n;
}
