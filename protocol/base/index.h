/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Index
 *
 * Finds the elements of somebody's array by the bytes of their keys. The index holds numbers and
 * hashes; the keys stay with the owner of the array, who hands them out when a hash is equal, so
 * that keys are always compared byte by byte.
 *
 * A hash never stands for the bytes: XXH3 collides for free on inputs that hold its published
 * secret, so whoever finds an equal hash compares the bytes. The seed differs from process to
 * process, so that nobody can prepare names that share their slots.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

#define INDEX_NONE SIZE_MAX

typedef struct IndexSlot {
        uint64_t hash;
        size_t element; /* plus one; 0: the slot is free */
} IndexSlot;

/* Empty when zeroed. */
typedef struct Index {
        IndexSlot *slots; /* owned; open addressing, a power of two of them */
        size_t n_slots;
        size_t n_allocated;
        size_t n;
        uint64_t seed;
} Index;

/* The key of element number @element of @owner; borrowed for the comparison. */
typedef Span (*IndexKey)(const void *owner, size_t element);

void index_done(Index *index);
/* Empties the index and keeps its memory. The cost does not depend on how much it held. */
void index_clear(Index *index);

/* The memory that it takes. */
static inline size_t index_bytes(const Index *index) {
        return index->n_allocated * sizeof(IndexSlot);
}

/* The number of the element whose key is @key, or INDEX_NONE. */
size_t index_find(const Index *index, Span key, IndexKey key_of, const void *owner);
/* Adds @element under @key, which index_find() did not find. 0 or -ENOMEM. */
_must_check_ int index_add(Index *index, Span key, size_t element);

/* From the sixteen random bytes that the kernel gives to every process; no system call is made. */
uint64_t hash_seed(void);
uint64_t hash_bytes(Span bytes, uint64_t seed);

/* The digest of bytes that may have been torn or mixed up, but by nobody's intent. */
#define HASH_DIGEST_BYTES 16
void hash_digest(Span bytes, unsigned char ret_digest[static HASH_DIGEST_BYTES]);
