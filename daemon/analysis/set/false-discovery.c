/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/false-discovery.h"

#include <errno.h>
#include <stdlib.h>

typedef struct Ranked {
        double p;
        size_t index;
} Ranked;

static int by_p(const void *a, const void *b) {
        const Ranked *left = a, *right = b;

        if (left->p < right->p)
                return -1;
        if (left->p > right->p)
                return 1;
        return left->index < right->index ? -1 : left->index > right->index;
}

int false_discovery_adjust(double *p, size_t n) {
        Ranked *ranked;
        double least = 1;

        if (n == 0)
                return 0;
        ranked = calloc(n, sizeof(*ranked));
        if (!ranked)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                ranked[i] = (Ranked){ p[i], i };
        qsort(ranked, n, sizeof(*ranked), by_p);
        for (size_t rank = n; rank > 0; rank--) {
                double scaled = ranked[rank - 1].p * (double) n / (double) rank;

                least = MIN_OF(least, scaled);
                p[ranked[rank - 1].index] = least;
        }
        free(ranked);
        return 0;
}
