/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Macro
 *
 * Things that the language lacks: attributes with a readable spelling, and constant expressions
 * that refuse to compile.
 */

#include <stddef.h>

#define _must_check_ __attribute__((__warn_unused_result__))
#define _printf_(format, first) __attribute__((__format__(__printf__, format, first)))
#define _unused_ __attribute__((__unused__))
#define _noreturn_ __attribute__((__noreturn__))

#define ELEMENTSOF(array) (sizeof(array) / sizeof((array)[0]))

/* 0, or no program at all: usable inside an initialiser. */
#define REQUIRE(cond)                         \
        (0 * sizeof(struct {                  \
                 int unused;                  \
                 _Static_assert(cond, #cond); \
         }))

#define MIN_OF(a, b)                    \
        __extension__({                 \
                __typeof__(a) a_ = (a); \
                __typeof__(b) b_ = (b); \
                a_ < b_ ? a_ : b_;      \
        })
#define MAX_OF(a, b)                    \
        __extension__({                 \
                __typeof__(a) a_ = (a); \
                __typeof__(b) b_ = (b); \
                a_ > b_ ? a_ : b_;      \
        })

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_USEC UINT64_C(1000)
#define USEC_PER_SEC UINT64_C(1000000)
