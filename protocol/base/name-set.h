/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * NameSet
 *
 * Names, each kept once, in the order they came; a number stands for each. Names may hold any byte.
 * Only the last ones can be taken out.
 */

#include <stddef.h>
#include "base/buffer.h"
#include "base/index.h"
#include "base/macro.h"
#include "base/span.h"

/* Empty when zeroed. */
typedef struct NameSet {
        Buffer text;
        size_t *ends; /* owned; where each name ends in the text */
        size_t n;
        size_t n_allocated;
        Index index;
} NameSet;

void name_set_done(NameSet *set);
/*
 * Keeps the first @n names, of as many or more, and the memory. 0 or -ENOMEM, which leaves a set
 * that can only be cut to none; that never fails. The cost grows with @n.
 */
_must_check_ int name_set_truncate(NameSet *set, size_t n);

/* Borrowed until the next name is added. */
static inline Span name_set_get(const NameSet *set, size_t number) {
        size_t begin = number > 0 ? set->ends[number - 1] : 0, end = set->ends[number];

        /* As long as all names are empty there are no bytes to point into. */
        return end > begin ? (Span){ set->text.bytes + begin, end - begin } : SPAN_LITERAL("");
}
/* The number of @name, or INDEX_NONE. */
size_t name_set_find(const NameSet *set, Span name);
/*
 * The number of @name, which is added when it is new: *ret is then the n that the set had before. 0
 * or -ENOMEM.
 */
_must_check_ int name_set_add(NameSet *set, Span name, size_t *ret);
