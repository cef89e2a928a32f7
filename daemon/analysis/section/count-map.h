/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CountMap
 *
 * Numbers under keys that differ between kernels ("anon", "Rss"), in ascending order of keys. The
 * keys are stored once, in a tree that many maps share.
 */

#include <stdint.h>
#include "json/json-scanner.h"
#include "analysis/section/key-tree.h"
#include "analysis/section/member-scan.h"
#include "analysis/section/reading.h"

typedef struct Count {
        const KeyNode *name;
        uint64_t value;
} Count;

/* Zeroed: empty. */
typedef struct CountMap {
        Count *counts;
        size_t n;
        size_t n_allocated;
} CountMap;

void count_map_done(CountMap *map);
static inline void count_map_clear(CountMap *map) {
        map->n = 0;
}

/* How two numbers under one key become one. */
typedef ReadingMerge (*CountRule)(Span key);

/* The count of @name, 0 when it is new. The next call moves it. 0 or -ENOMEM. */
_must_check_ int count_map_put(CountMap *map, const KeyNode *name, Count **ret);
/* Absent when there is none. */
Reading count_map_get(const CountMap *map, Span key);
/* A key that only one of them has is kept. 0 or -ENOMEM. */
_must_check_ int count_map_merge(CountMap *map, const CountMap *from, CountRule rule);

/*
 * Adds the members of the next value, an object of unsigned numbers or null. Each number is
 * multiplied by @unit, saturating. JSON_E_MALFORMED.
 */
_must_check_ int count_map_scan(CountMap *map, JsonScanner *scanner, KeyTree *names, uint64_t unit);

/* The same of a whole text. */
_must_check_ int count_map_scan_text(CountMap *map, Span json, KeyTree *names, uint64_t unit,
                                     char ret_complaint[static MEMBER_COMPLAINT_BYTES]);

/* A walk over the union of one or two maps, ascending. Zeroed: at the start. */
typedef struct CountWalk {
        size_t at[2];
} CountWalk;

/* False at the end; sides[i] is absent where maps[i] (NULL: empty) has no such key. */
bool count_walk_next(CountWalk *walk, const CountMap *const maps[static 2], Span *ret_key,
                     Reading ret_sides[static 2]);
