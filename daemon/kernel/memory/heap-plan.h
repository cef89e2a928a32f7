/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapPlan
 *
 * A plan leads from a thread pointer to the counters of one module in one process. It is made of
 * what the file says (HeapLayout) and what the process adds: where it has mapped the module, and
 * what its dynamic linker has put into the word that leads to the module's thread-local block.
 * Words of the process are held against bounds, as they may be from before the linker was done.
 * Everything here is pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernel/memory/heap-layout.h"

typedef enum HeapPlanKind {
        HEAP_PLAN_STATIC, /* the block is at a distance from the thread pointer */
        HEAP_PLAN_VECTOR, /* its address stands in the thread's vector of blocks */
        _HEAP_PLAN_MAX,
} HeapPlanKind;

/* Plain data: lies in the cache of captures. */
typedef struct HeapPlan {
        uint32_t kind; /* HeapPlanKind */
        uint32_t unused;
        int64_t distance;                /* STATIC: from the thread pointer to the block */
        uint64_t module;                 /* VECTOR: number of the module, from 1 */
        uint64_t allocated, deallocated; /* from the start of the block */
} HeapPlan;

/* Far more than any program has modules with jemalloc. */
#define HEAP_MODULES_MAX 8

/*
 * Within the bounds that one who adds it to addresses counts on: the counters are aligned, and
 * close enough to be read in one piece of HEAP_PLAN_WORDS.
 */
#define HEAP_PLAN_WORDS 3
bool heap_plan_is_valid(const HeapPlan *plan);

/* The plan for the program itself, whose block has a fixed place. False: the layout cannot be. */
bool heap_plan_of_program(const HeapLayout *layout, HeapPlan *ret);

/*
 * The plan for a library is made of the words at @layout's slot_vaddr. For HEAP_SLOT_TLSDESC they
 * can lead to two further words, which then have to be read at *ret_further.
 */
size_t heap_plan_n_words(const HeapLayout *layout);

typedef enum HeapPlanResult {
        HEAP_PLAN_MADE,
        HEAP_PLAN_FURTHER,     /* read two words at *ret_further: heap_plan_of_descriptor() */
        HEAP_PLAN_UNSUPPORTED, /* the layout has no slot */
        HEAP_PLAN_IMPOSSIBLE,  /* no linker puts that there; it may not have come so far */
} HeapPlanResult;

HeapPlanResult heap_plan_of_library(const HeapLayout *layout, const uint64_t *words, HeapPlan *ret,
                                    uint64_t *ret_further);
HeapPlanResult heap_plan_of_descriptor(const HeapLayout *layout, const uint64_t words[static 2],
                                       HeapPlan *ret);
