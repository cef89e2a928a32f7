/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Span
 *
 * Borrowed bytes with a length. Names of threads and cgroups are spans: they may hold any byte but
 * NUL and are not C strings. A span never owns.
 */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct Span {
        const char *bytes;
        size_t n;
} Span;

#define SPAN_LITERAL(text) ((Span){ (text), sizeof(text) - 1 })

static inline Span span_of(const char *text) {
        return (Span){ text, text ? strlen(text) : 0 };
}

static inline bool span_equal(Span a, Span b) {
        return a.n == b.n && (a.n == 0 || memcmp(a.bytes, b.bytes, a.n) == 0);
}

static inline bool span_is(Span a, const char *text) {
        return span_equal(a, span_of(text));
}

/* Bytewise order, a prefix before what it begins. */
static inline int span_compare(Span a, Span b) {
        size_t n = a.n < b.n ? a.n : b.n;
        int r = n > 0 ? memcmp(a.bytes, b.bytes, n) : 0;

        if (r != 0)
                return r;
        return (a.n > b.n) - (a.n < b.n);
}
