/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Array
 *
 * Growing arrays: room doubles, so that appending costs the same however long the array is. The
 * owner keeps three members, the items, how many there are and how many there is room for.
 */

#include <errno.h>
#include <stddef.h>

/*
 * Makes room for @n_wanted items in all, at least. 0 or -ENOMEM, which leaves the array as it was.
 *
 *         r = ARRAY_RESERVE(list->items, list->n_allocated, list->n + 1);
 *         if (r != 0)
 *                 return r;
 *         list->items[list->n++] = item;
 */
#define ARRAY_RESERVE(items, n_allocated, n_wanted)                                                \
        __extension__({                                                                            \
                int r_ = 0;                                                                        \
                                                                                                   \
                if ((n_wanted) > (n_allocated)) {                                                  \
                        void *grown_ =                                                             \
                                array_grow((items), &(n_allocated), (n_wanted), sizeof(*(items))); \
                                                                                                   \
                        if (grown_)                                                                \
                                (items) = grown_;                                                  \
                        else                                                                       \
                                r_ = -ENOMEM;                                                      \
                }                                                                                  \
                r_;                                                                                \
        })

/*
 * The number of the first of @n elements for which @condition holds, which names it by @at; @n
 * where there is none. Elements are sorted by it: it holds for all behind that one, too.
 *
 *         low = ARRAY_FIRST(n, i, numbers[i] >= wanted);
 */
#define ARRAY_FIRST(n, at, condition)                          \
        __extension__({                                        \
                size_t low_ = 0, high_ = (n);                  \
                                                               \
                while (low_ < high_) {                         \
                        size_t at = low_ + (high_ - low_) / 2; \
                                                               \
                        if (condition)                         \
                                high_ = at;                    \
                        else                                   \
                                low_ = at + 1;                 \
                }                                              \
                low_;                                          \
        })

/* The memory of ARRAY_RESERVE(); NULL when there is none, and then @items is still the caller's. */
void *array_grow(void *items, size_t *n_allocated, size_t n_wanted, size_t item_bytes);
