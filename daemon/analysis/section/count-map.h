/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reading
 *
 * One number of a cgroup, a process or the host, or why there is none: not readable, or a limit
 * that is not set. The two are never mixed up, and neither is ever a number: a difference exists
 * only between two numbers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/json-scanner.h"
#include "json/json-writer.h"

typedef enum ReadingState {
        READING_ABSENT, /* not readable, not there, not known: null */
        READING_NUMBER,
        READING_MAX, /* the kernel's word for a limit that is not set, or full protection */
} ReadingState;

/* Zeroed: absent. */
typedef struct Reading {
        ReadingState state;
        bool negative; /* never for 0 */
        uint64_t magnitude;
} Reading;

#define READING(number) ((Reading){ .state = READING_NUMBER, .magnitude = (number) })

/* A member of a document may be this besides null. */
typedef enum ReadingKind {
        READING_KIND_COUNT,  /* 0 to 2^64-1 */
        READING_KIND_SIGNED, /* any integer */
        READING_KIND_LIMIT,  /* a count, or "max" */
} ReadingKind;

/* The next value. JSON_E_MALFORMED. */
_must_check_ int reading_scan(Reading *ret, JsonScanner *scanner, ReadingKind kind);

/* Records that land on one key become one by one of these rules. */
typedef enum ReadingMerge {
        READING_MERGE_SUM,      /* of the ones that are there, saturating */
        READING_MERGE_PEAK,     /* the largest of the ones that are there */
        READING_MERGE_LARGEST,  /* "max" if any is, else absent if any is, else the largest */
        READING_MERGE_SMALLEST, /* absent if any is, else the smallest; "max" is past all numbers */
} ReadingMerge;

Reading reading_merge(ReadingMerge rule, Reading a, Reading b);
/* Compares two numbers; negative ones come before positive ones. */
int reading_compare(Reading a, Reading b);
bool reading_equal(Reading a, Reading b);
/* A number other than 0. */
static inline bool reading_is_some(Reading reading) {
        return reading.state == READING_NUMBER && reading.magnitude > 0;
}

/* @after - @before, saturating; absent unless both are numbers. */
Reading reading_delta(Reading before, Reading after);

/* A number, "max" or null. */
void reading_write(JsonWriter *writer, Reading reading);
/* Writes {"before", "after", "delta"}, each value by @write. */
void reading_write_change(JsonWriter *writer, const Reading sides[static 2], Reading delta,
                          void (*write)(JsonWriter *writer, Reading reading));
/*
 * CountMap
 *
 * Numbers under keys that differ between kernels ("anon", "Rss"), in ascending order of keys. The
 * keys are stored once, in a tree that many maps share.
 */

/*
 * A payload of a fixed size for each key, zeroed when the key is new. Nodes do not move before the
 * tree is freed, so others may keep pointers to a key.
 */
typedef struct KeyNode {
        struct KeyNode *next; /* in the order in which they came */
        Span key;             /* stands behind the payload */
        uint64_t payload[];
} KeyNode;

/* Zeroed: empty. */
typedef struct KeyTree {
        void *root; /* of tsearch(3) */
        KeyNode *first, *last;
        size_t n;
} KeyTree;

/* Finds the key of a name; *ret is borrowed until the next call. 0 or a negative errno. */
typedef int (*KeyOfName)(void *userdata, Span name, Span *ret);

typedef int (*KeyNodeCompare)(const void *a, const void *b); /* of two KeyNode *const */

/* @payload_done releases what a payload owns; may be NULL. The tree is empty and usable again. */
void key_tree_done(KeyTree *tree, void (*payload_done)(void *payload));

/*
 * The node of @key, made when there is none, with a payload of @n_payload bytes, which is the same
 * for all nodes of a tree. 0 or -ENOMEM.
 */
_must_check_ int key_tree_put(KeyTree *tree, size_t n_payload, Span key, KeyNode **ret);
/* NULL when there is none. */
KeyNode *key_tree_find(const KeyTree *tree, Span key);
/* All nodes in the order of @compare; *ret is an array to free(), NULL for none. */
_must_check_ int key_tree_list(const KeyTree *tree, KeyNodeCompare compare, KeyNode ***ret);
/* Ascending by key. */
int key_node_compare(const void *a, const void *b);

/*
 * Reads the objects inside a snapshot's records member by member. Any of them may be null.
 */

/* The next value: an object or null. */
_must_check_ int member_scan_value(JsonScanner *scanner, JsonOnMember on_member, void *userdata);

/* Long enough for any complaint of the scanner with its offset. */
#define MEMBER_COMPLAINT_BYTES 192

/*
 * A whole text that is one such value, as the reader of the document took it. JSON_E_MALFORMED:
 * *ret_complaint tells what and where.
 */
_must_check_ int member_scan_text(Span json, JsonOnMember on_member, void *userdata,
                                  char ret_complaint[static MEMBER_COMPLAINT_BYTES]);

typedef struct Count {
        const KeyNode *name;
        uint64_t value;
        bool absent; /* the key is there, but its number is not known; the value is 0 */
} Count;

/* Zeroed: empty. */
typedef struct CountMap {
        Count *counts;
        size_t n;
        size_t n_allocated;
} CountMap;

void count_map_done(CountMap *map);

/* Tells how two numbers under one key become one; NULL: they are added. */
typedef ReadingMerge (*CountRule)(Span key);

/* The count of @name, 0 when it is new. The next call moves it. 0 or -ENOMEM. */
_must_check_ int count_map_put(CountMap *map, const KeyNode *name, Count **ret);
/* Absent also when there is none. */
Reading count_map_get(const CountMap *map, Span key);
/* A key that only one of them has is kept; absent is what is absent in one. 0 or -ENOMEM. */
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
