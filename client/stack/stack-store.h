/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackStore
 *
 * The stacks of a recording as they come in replies, for whatever needs all of them before it can
 * write: a tree, a profile, a page. Names are kept once, and stacks are numbers of them, so that a
 * hundred thousand stacks take some ten megabytes.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name-set.h"

typedef struct StackRow {
        uint32_t process, thread; /* numbers of names */
        uint32_t place;           /* number of a place */
        uint32_t n_frames;
        size_t first; /* of the frames: the outermost */
        uint64_t ns, n_samples, error_ns;
        bool is_exact; /* nothing of it is estimated */
} StackRow;

/* Empty when zeroed. */
typedef struct StackStore {
        NameSet names;  /* of processes and threads, as they are in replies */
        NameSet places; /* where threads were: "running", "lock" */
        NameSet functions;
        StackRow *rows;
        size_t n, n_allocated;
        uint32_t *frames; /* numbers of functions */
        size_t n_frames, n_frames_allocated;
} StackStore;

void stack_store_done(StackStore *store);
/* Takes what a reply says of one stack. -ENOMEM; -EMSGSIZE for more than any recording has. */
_must_check_ int stack_store_add(StackStore *store, json_object *stack);
static inline const uint32_t *stack_store_frames(const StackStore *store, const StackRow *row) {
        return store->frames + row->first;
}
/*
 * Puts those of one process together, the heaviest process first, and in it stacks by their frames
 * from the outermost on, so that what begins alike is in one run. -ENOMEM.
 */
_must_check_ int stack_store_sort(StackStore *store);

/* True for places where threads are that have nothing to do. */
bool stack_place_is_rest(Span place);
