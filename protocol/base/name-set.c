/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/name-set.h"

#include <stdlib.h>

#include "base/array.h"

void name_set_done(NameSet *set) {
        buffer_done(&set->text);
        free(set->ends);
        index_done(&set->index);
        *set = (NameSet){ .ends = NULL };
}

int name_set_truncate(NameSet *set, size_t n) {
        int r = 0;

        buffer_truncate(&set->text, n > 0 ? set->ends[n - 1] : 0);
        set->n = n;
        index_clear(&set->index);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = index_add(&set->index, name_set_get(set, i), i);
        return r;
}

static Span key_of(const void *owner, size_t element) {
        return name_set_get(owner, element);
}

size_t name_set_find(const NameSet *set, Span name) {
        return index_find(&set->index, name, key_of, set);
}

int name_set_add(NameSet *set, Span name, size_t *ret) {
        size_t number = name_set_find(set, name);
        int r;

        if (number == INDEX_NONE) {
                number = set->n;
                r = ARRAY_RESERVE(set->ends, set->n_allocated, number + 1);
                if (r != 0)
                        return r;
                r = index_add(&set->index, name, number);
                if (r != 0)
                        return r;
                r = buffer_append(&set->text, name.bytes, name.n);
                /* The index knows the number already: an empty name keeps it in bounds. */
                set->ends[set->n++] = set->text.n;
                if (r != 0)
                        return r;
        }
        *ret = number;
        return 0;
}
