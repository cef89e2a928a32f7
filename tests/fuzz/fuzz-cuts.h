/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FuzzCuts
 *
 * How an input is cut into pieces, said by the input itself: its first byte tells in its lowest
 * three bits how many bytes of sizes follow, and they are used in turn, for ever. "2ab{}" is "{}"
 * in pieces of 34 and 35 bytes at most; "0{}" is "{}" in one. So a corpus stays readable text.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/span.h"

typedef struct FuzzCuts {
        const uint8_t *sizes;
        size_t n_sizes;
        size_t next;
} FuzzCuts;

/* The input behind what says how to cut it. */
static inline Span fuzz_cuts_begin(FuzzCuts *cuts, const uint8_t *data, size_t size) {
        size_t n_sizes = size > 0 ? MIN_OF((size_t) data[0] & 7, size - 1) : 0;
        size_t n_said = size > 0 ? 1 + n_sizes : 0;

        *cuts = (FuzzCuts){ .sizes = data + MIN_OF(size, (size_t) 1), .n_sizes = n_sizes };
        return (Span){ (const char *) data + n_said, size - n_said };
}

/* The size of the next piece of what is left, at least 1 unless nothing is. */
static inline size_t fuzz_cuts_next(FuzzCuts *cuts, size_t n_left) {
        size_t n;

        if (cuts->n_sizes == 0)
                return n_left;
        n = 1 + (size_t) (uint8_t) (cuts->sizes[cuts->next] - '@');
        cuts->next = (cuts->next + 1) % cuts->n_sizes;
        return MIN_OF(n, n_left);
}

/* A stream of the pieces, as a JsonRefill. */
typedef struct FuzzPieces {
        FuzzCuts cuts;
        Span left;
} FuzzPieces;

static inline int fuzz_pieces_refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        FuzzPieces *pieces = userdata;
        size_t n = MIN_OF(fuzz_cuts_next(&pieces->cuts, pieces->left.n), n_space);

        if (n > 0)
                memcpy(space, pieces->left.bytes, n);
        pieces->left = (Span){ pieces->left.bytes + n, pieces->left.n - n };
        *ret_n = n;
        return 0;
}
