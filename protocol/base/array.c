/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"

#include <stdlib.h>

#include "base/macro.h"

#define FIRST_ITEMS ((size_t) 8)

void *array_grow(void *items, size_t *n_allocated, size_t n_wanted, size_t item_bytes) {
        size_t n;
        void *grown;

        if (__builtin_mul_overflow(*n_allocated, (size_t) 2, &n))
                n = n_wanted;
        n = MAX_OF(n, n_wanted);
        n = MAX_OF(n, FIRST_ITEMS);
        grown = reallocarray(items, n, item_bytes);
        if (grown)
                *n_allocated = n;
        return grown;
}
