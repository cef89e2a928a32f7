/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KindSet
 *
 * A set of hashes that stand for kinds of threads. Numbers may be added repeatedly; settle the set
 * before any other use.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

/* Empty when zeroed. */
typedef struct KindSet {
        uint64_t *kinds; /* owned; once settled, ascending and distinct */
        size_t n;
        size_t n_allocated;
} KindSet;

void kind_set_done(KindSet *set);
/* 0 or -ENOMEM. */
_must_check_ int kind_set_add(KindSet *set, uint64_t kind);
void kind_set_settle(KindSet *set);
/* How many numbers both sets have; both must be settled. */
uint64_t kind_set_shared(const KindSet *a, const KindSet *b);
