/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackStore
 *
 * The stacks of a recording as they come in replies, for whatever needs all of them before it can
 * write: a tree, a profile, a page. Names are kept once, and stacks are numbers of them, so that a
 * hundred thousand stacks take some ten megabytes.
 *
 * A store may have two recordings. stack_store_match() puts what both have in common into one row:
 * a stack is that of another recording if all of its functions have the same names, or the same
 * places in files of the same names.
 *
 * Or it has the stacks of two sets of recordings, whose amounts are medians of a second; these come
 * matched and in their order.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name-set.h"

/* The time of a stack in one recording. */
typedef struct StackAmount {
        uint64_t ns, max_ns, n_samples;
        double variance; /* of ns */
        bool is_there;
        bool is_exact; /* nothing of it is estimated */
} StackAmount;

/* An object, such as a file, that the threads of a row waited on, and how long they did. */
typedef struct StoredObject {
        uint32_t name; /* number of an object */
        uint64_t ns;
        size_t next; /* of the same row, plus 1; 0: that was the last one */
} StoredObject;

typedef struct StoredStack {
        uint32_t process, thread; /* numbers of names */
        uint32_t place;           /* number of a place */
        uint32_t n_frames;
        size_t first;      /* of the frames: the outermost */
        StackAmount of[2]; /* of a single recording the first */
        /*
         * For waits for a lock in a single recording: the waker that ended most of their time, and
         * how much of their time it ended.
         */
        json_object *woken_by; /* owned; NULL: it is not told */
        uint64_t woken_ns;
        /*
         * For a single recording: the index, plus 1, of the first and of the last object that the
         * threads of the row waited on; 0: no object is told.
         */
        size_t first_object, last_object;
} StoredStack;

/* For two sets of recordings: how certain it is that they differ in the stack of a row. */
typedef struct StackTest {
        double p; /* adjusted; NAN: it is not told */
        bool is_significant;
        double least[2], most[2]; /* threads on average, where the amount is there */
} StackTest;

/* Empty when zeroed. */
typedef struct StackStore {
        NameSet names;  /* of processes and threads, as they are in replies */
        NameSet places; /* where threads were: "running", "lock" */
        NameSet functions;
        StoredStack *rows;
        size_t n, n_allocated;
        StackTest *tests; /* of each row of sets; NULL: they are none */
        size_t n_tests_allocated;
        uint32_t *frames; /* numbers of functions */
        size_t n_frames, n_frames_allocated;
        NameSet object_names;
        uint64_t *object_ns; /* of each name; 0 but while they are added up */
        size_t n_object_ns;
        StoredObject *objects;
        size_t n_objects, n_objects_allocated;
        Buffer text;            /* room for the name of a function with its line */
        uint64_t elapsed_ns[2]; /* of each recording; 0: there is none, or it is not known */
        /* The time that stack_store_drop_unsampled() has taken out of each recording. */
        uint64_t outside_ns[2], unsampled_ns[2];
} StackStore;

void stack_store_done(StackStore *store);
/*
 * Takes what a reply says of one stack. @side: 0, or 1 of the second recording. -ENOMEM; -EMSGSIZE
 * for more than any recording has.
 */
_must_check_ int stack_store_add(StackStore *store, unsigned side, json_object *stack);
/* The same of two sets, whose elapsed_ns are a second each. */
_must_check_ int stack_store_add_of_sets(StackStore *store, json_object *stack);
static inline const uint32_t *stack_store_frames(const StackStore *store, const StoredStack *row) {
        return store->frames + row->first;
}
static inline bool stack_store_is_pair(const StackStore *store) {
        return store->elapsed_ns[1] > 0;
}
/*
 * Finds the object that the threads of the rows from @begin to @end waited on for the longest time,
 * as far as their objects are told. Returns false if no object is told.
 */
bool stack_store_find_object(const StackStore *store, const StoredStack *begin,
                             const StoredStack *end, Span *ret_name, uint64_t *ret_ns);
/* Adds up what is the same; of a row that is not there nothing is added. */
void stack_amount_add(StackAmount *sum, const StackAmount *amount);
/* Takes out what has a word in place of functions as there is no sample of it. */
void stack_store_drop_unsampled(StackStore *store);
/* Takes out all rows but the first @n, if there are more. */
void stack_store_cut(StackStore *store, size_t n);
/* How many threads were there on average, and the standard error of that. */
double stack_store_threads(const StackStore *store, const StackAmount *amount, unsigned side);
double stack_store_change(const StackStore *store, const StackAmount of[static 2]);
double stack_store_change_error(const StackStore *store, const StackAmount of[static 2]);
/* How heavy a row is: its time or, of two recordings, how much it changed. */
double stack_store_weight(const StackStore *store, const StoredStack *row);

/*
 * Puts those of one process together, the heaviest process first, and in it stacks by their frames
 * from the outermost on, so that what begins alike is in one run. -ENOMEM.
 */
_must_check_ int stack_store_sort(StackStore *store);
/*
 * Makes one row of those of one process that differ in recording or thread alone, and puts the
 * heaviest first. Threads of several names are called as their process is. -ENOMEM.
 */
_must_check_ int stack_store_match(StackStore *store);

/* True for places where threads are that have nothing to do. */
bool stack_place_is_rest(Span place);
