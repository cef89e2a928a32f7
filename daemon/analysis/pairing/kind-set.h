/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KindSet
 *
 * Numbers that stand for kinds of something, each once. They may be added any number of times;
 * before anything is asked of a set it is settled.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"

/* Empty when zeroed. */
typedef struct KindSet {
        uint64_t *kinds; /* owned; ascending and distinct once settled */
        size_t n;
        size_t n_allocated;
} KindSet;

void kind_set_done(KindSet *set);
/* 0 or -ENOMEM. */
_must_check_ int kind_set_add(KindSet *set, uint64_t kind);
void kind_set_settle(KindSet *set);
/* How many are in both, which are settled. */
uint64_t kind_set_shared(const KindSet *a, const KindSet *b);
