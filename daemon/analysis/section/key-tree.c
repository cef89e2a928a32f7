/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/key-tree.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

/* tsearch(3) compares pointers to keys: the key of a node, and the key that is searched. */
static int compare_keys(const void *a, const void *b) {
        const Span *left = a, *right = b;

        return span_compare(*left, *right);
}

static void keep(void *key _unused_) {
}

void key_tree_done(KeyTree *tree, void (*payload_done)(void *payload)) {
        KeyNode *node = tree->first;

        tdestroy(tree->root, keep);
        while (node) {
                KeyNode *next = node->next;

                if (payload_done)
                        payload_done(node->payload);
                free(node);
                node = next;
        }
        key_tree_init(tree, tree->n_payload);
}

static KeyNode *node_of_key(Span *key) {
        return (KeyNode *) (void *) ((char *) key - offsetof(KeyNode, key));
}

static KeyNode *key_node_new(size_t n_payload, Span key) {
        KeyNode *node = calloc(1, sizeof(*node) + n_payload + key.n + 1);
        char *bytes;

        if (!node)
                return NULL;
        bytes = (char *) node->payload + n_payload;
        if (key.n > 0)
                memcpy(bytes, key.bytes, key.n);
        node->key = (Span){ bytes, key.n };
        return node;
}

KeyNode *key_tree_find(const KeyTree *tree, Span key) {
        void *const *found = tfind(&key, &tree->root, compare_keys);

        return found ? node_of_key(*found) : NULL;
}

int key_tree_put(KeyTree *tree, Span key, KeyNode **ret) {
        void *const *found = tfind(&key, &tree->root, compare_keys);
        KeyNode *node;

        if (found) {
                *ret = node_of_key(*found);
                return 0;
        }
        node = key_node_new(tree->n_payload, key);
        if (!node)
                return -ENOMEM;
        if (!tsearch(&node->key, &tree->root, compare_keys)) {
                free(node);
                return -ENOMEM;
        }
        if (tree->last)
                tree->last->next = node;
        else
                tree->first = node;
        tree->last = node;
        tree->n++;
        *ret = node;
        return 0;
}

int key_node_compare(const void *a, const void *b) {
        const KeyNode *const *left = a, *const *right = b;

        return span_compare((*left)->key, (*right)->key);
}

int key_tree_list(const KeyTree *tree, KeyNodeCompare compare, KeyNode ***ret) {
        KeyNode **list = NULL;
        size_t n = 0;

        if (tree->n > 0) {
                list = calloc(tree->n, sizeof(*list));
                if (!list)
                        return -ENOMEM;
                for (KeyNode *node = tree->first; node; node = node->next)
                        list[n++] = node;
                qsort(list, n, sizeof(*list), compare);
        }
        *ret = list;
        return 0;
}
