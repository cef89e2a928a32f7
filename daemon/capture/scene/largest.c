/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/scene/largest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

#define N_FIRST 64 /* places to begin with */

void largest_done(Largest *largest) {
        free(largest->processes);
        largest->processes = NULL;
        largest->n = largest->n_allocated = 0;
}

/* Two of the same size are ordered by their numbers, so that no two are equal. */
static bool is_less(const LargestProcess *a, const LargestProcess *b) {
        if (a->is_closed != b->is_closed)
                return a->is_closed;
        if (a->resident_bytes != b->resident_bytes)
                return a->resident_bytes < b->resident_bytes;
        return a->tgid < b->tgid;
}

/* Makes room for one more. */
static int grow(Largest *largest) {
        size_t n = MAX_OF(2 * largest->n_allocated, (size_t) N_FIRST);
        LargestProcess *processes;

        if (largest->n < largest->n_allocated)
                return 0;
        processes = reallocarray(largest->processes, n, sizeof(*processes));
        if (!processes)
                return -ENOMEM;
        largest->processes = processes;
        largest->n_allocated = n;
        return 0;
}

/* Adds @process at the end and lets it rise to its place. */
static void rise(Largest *largest, LargestProcess process) {
        LargestProcess *heap = largest->processes;
        size_t at = largest->n++;

        for (; at > 0 && is_less(&process, &heap[(at - 1) / 2]); at = (at - 1) / 2)
                heap[at] = heap[(at - 1) / 2];
        heap[at] = process;
}

/* Puts @process in the place of the least and lets it sink from there. */
static void sink(Largest *largest, LargestProcess process) {
        LargestProcess *heap = largest->processes;
        size_t at = 0, below;

        while ((below = 2 * at + 1) < largest->n) {
                if (below + 1 < largest->n && is_less(&heap[below + 1], &heap[below]))
                        below++;
                if (!is_less(&heap[below], &process))
                        break;
                heap[at] = heap[below];
                at = below;
        }
        heap[at] = process;
}

int largest_offer(Largest *largest, LargestProcess process) {
        int r;

        if (number_add_saturating(process.resident_bytes, process.swap_bytes) > largest->max_bytes)
                return 0;
        if (largest->n < largest->n_max) {
                r = grow(largest);
                if (r == 0)
                        rise(largest, process);
                return r;
        }
        largest->has_refused = true;
        if (largest->n > 0 && is_less(&largest->processes[0], &process))
                sink(largest, process);
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
