/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/key-census.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/name-set.h"

struct KeyCensus {
        NameSet skeletons;
        NameSet names;  /* the first one of each skeleton */
        size_t *firsts; /* by skeleton: the number of its first name, or SHARED */
        size_t n_allocated;
};

#define SHARED SIZE_MAX /* the skeleton has a second name */

int key_census_new(KeyCensus **ret) {
        KeyCensus *census = calloc(1, sizeof(*census));

        if (!census)
                return -ENOMEM;
        *ret = census;
        return 0;
}

KeyCensus *key_census_free(KeyCensus *census) {
        if (!census)
                return NULL;
        name_set_done(&census->skeletons);
        name_set_done(&census->names);
        free(census->firsts);
        free(census);
        return NULL;
}

int key_census_add(KeyCensus *census, Span skeleton, Span name) {
        size_t n_before = census->skeletons.n, number, first;
        int r;

        r = ARRAY_RESERVE(census->firsts, census->n_allocated, n_before + 1);
        if (r != 0)
                return r;
        r = name_set_add(&census->skeletons, skeleton, &number);
        if (r != 0)
                return r;
        if (number == n_before) {
                census->firsts[number] = SHARED;
                return name_set_add(&census->names, name, &census->firsts[number]);
        }
        first = census->firsts[number];
        if (first != SHARED && !span_equal(name_set_get(&census->names, first), name))
                census->firsts[number] = SHARED;
        return 0;
}

bool key_census_is_shared(const KeyCensus *census, Span skeleton) {
        size_t number = name_set_find(&census->skeletons, skeleton);

        return number != INDEX_NONE && census->firsts[number] == SHARED;
}
