/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KeyTree
 *
 * A payload of a fixed size for each key, zeroed when the key is new. Nodes do not move before the
 * tree is freed, so others may keep pointers to a key.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

typedef struct KeyNode {
        struct KeyNode *next; /* in the order in which they came */
        Span key;             /* stands behind the payload */
        uint64_t payload[];
} KeyNode;

typedef struct KeyTree {
        void *root; /* of tsearch(3) */
        KeyNode *first, *last;
        size_t n;
        size_t n_payload; /* bytes */
} KeyTree;

/* Which key a name belongs to; *ret is borrowed until the next call. 0 or a negative errno. */
typedef int (*KeyOfName)(void *userdata, Span name, Span *ret);

typedef int (*KeyNodeCompare)(const void *a, const void *b); /* of two KeyNode *const */

static inline void key_tree_init(KeyTree *tree, size_t n_payload) {
        *tree = (KeyTree){ .n_payload = n_payload };
}
/* @payload_done releases what a payload owns; may be NULL. The tree is empty and usable again. */
void key_tree_done(KeyTree *tree, void (*payload_done)(void *payload));

/* The node of @key, made when there is none. 0 or -ENOMEM. */
_must_check_ int key_tree_put(KeyTree *tree, Span key, KeyNode **ret);
/* NULL when there is none. */
KeyNode *key_tree_find(const KeyTree *tree, Span key);
/* All nodes in the order of @compare; *ret is an array to free(), NULL for none. */
_must_check_ int key_tree_list(const KeyTree *tree, KeyNodeCompare compare, KeyNode ***ret);
/* Ascending by key. */
int key_node_compare(const void *a, const void *b);
