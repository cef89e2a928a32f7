/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch/largest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

/* Two of the same size are ordered by their numbers, so that no two are equal. */
static bool is_less(const LargestProcess *a, const LargestProcess *b) {
        if (a->is_closed != b->is_closed)
                return a->is_closed;
        if (a->resident_bytes != b->resident_bytes)
                return a->resident_bytes < b->resident_bytes;
        return a->tgid < b->tgid;
}

int largest_offer(Largest *largest, LargestProcess process) {
        LargestProcess *heap;
        size_t at = 0, below;
        int r;

        if (number_add_saturating(process.resident_bytes, process.swap_bytes) > largest->max_bytes)
                return 0;
        if (largest->n < largest->n_max) {
                r = ARRAY_RESERVE(largest->processes, largest->n_allocated, largest->n + 1);
                if (r < 0)
                        return r;
                /* It rises from the end to its place. */
                heap = largest->processes;
                at = largest->n++;
                for (; at > 0 && is_less(&process, &heap[(at - 1) / 2]); at = (at - 1) / 2)
                        heap[at] = heap[(at - 1) / 2];
                heap[at] = process;
                return 0;
        }
        largest->has_refused = true;
        heap = largest->processes;
        if (largest->n == 0 || !is_less(&heap[0], &process))
                return 0;
        /* It takes the place of the least and sinks from there. */
        while ((below = 2 * at + 1) < largest->n) {
                if (below + 1 < largest->n && is_less(&heap[below + 1], &heap[below]))
                        below++;
                if (!is_less(&heap[below], &process))
                        break;
                heap[at] = heap[below];
                at = below;
        }
        heap[at] = process;
        return 0;
}

static int compare_tgids(const void *a, const void *b) {
        const LargestProcess *x = a, *y = b;

        return (x->tgid > y->tgid) - (x->tgid < y->tgid);
}

void largest_settle(Largest *largest) {
        if (largest->n > 0)
                qsort(largest->processes, largest->n, sizeof(*largest->processes), compare_tgids);
}

bool largest_has(const Largest *largest, pid_t tgid) {
        const LargestProcess key = { .tgid = tgid };

        if (!largest->has_refused)
                return true;
        return largest->n > 0 &&
               bsearch(&key, largest->processes, largest->n, sizeof(key), compare_tgids) != NULL;
}
