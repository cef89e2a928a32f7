/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Leaf
 *
 * Looking into JSON that was just written: whether it is a text that our scanner takes, and what
 * stands at a place in it.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

typedef enum LeafKind { LEAF_MISSING, LEAF_NULL, LEAF_NUMBER, LEAF_TEXT, LEAF_OTHER } LeafKind;

typedef struct Leaf {
        LeafKind kind;
        bool negative;
        uint64_t number; /* without its sign */
        char text[256];  /* of LEAF_TEXT, as far as it fits */
} Leaf;

/* Fails the input unless @json is one valid value. */
void leaf_expect_json(Span json);
/* What is at @path, keys with '/' between them: "cpu/usage_usec". */
Leaf leaf_at(Span json, const char *path);
/* The members of the object at @path, in their order. */
void leaf_each(Span json, const char *path, void (*on_leaf)(Span key, const Leaf *leaf, void *data),
               void *data);

/* Fails the input unless the number is there exactly when @has, with its value. */
void leaf_expect_number(Span json, const char *path, bool has, uint64_t number);
