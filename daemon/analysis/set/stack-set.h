/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * StackSet
 *
 * The stacks of two sets of recordings: recordings go in one after the other, and of each only how
 * many threads were in each stack on average is kept. Stacks come out with the medians of both sets
 * and how certain their difference is, as the rows of a SetComparison do.
 *
 * A stack is that of another recording if its process has the same name, its thread was in the same
 * place, and all of its functions have the same names, or the same places in files of the same
 * names. A recording that took samples in a place and has none with a stack says that no thread was
 * there, as far as it can tell: 0 is its sample. One that took none there has no sample.
 *
 * The family of tests consists of the stacks in which some recording had a hundredth of a thread at
 * least, that have at least two samples on both sides which are not all equal. That depends on the
 * pooled samples alone, so leaving out all others is unbiased. Time without a sample is no stack,
 * and told beside them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/set/rank-test.h"
#include "analysis/set/set-group.h"
#include "analysis/stack/stack-view.h"
#include "base/index.h"
#include "base/macro.h"
#include "base/name-set.h"
#include "json/json-writer.h"

/*
 * Past these, what is new counts for a row of its place that says so. With 64 recordings they come
 * to some 350 MB.
 */
#define STACK_SET_MAX_ROWS 262144u
#define STACK_SET_MAX_NUMBERS ((size_t) 1 << 24)
#define STACK_SET_MAX_NAME_BYTES ((size_t) 64 * 1024 * 1024)

typedef struct StackSetRow {
        size_t key; /* where in the numbers: process, place, functions */
        uint32_t n_key;
        uint32_t test;      /* the number of its test plus 1; 0: not tested */
        bool is_word;       /* it stands for stacks that nobody knows */
        SetSamples samples; /* threads on average */
        double now_ns;      /* of the recording that is being taken */
        double change;      /* between the medians, after the end */
} StackSetRow;

/* Empty when zeroed, but for what is set from outside. */
typedef struct StackSet {
        size_t n_captures; /* set: of both sides, at most SET_MAX_CAPTURES */
        double alpha;      /* set */
        size_t n_taken;
        uint64_t sides[SIDES];               /* the recordings of each side, a bit each */
        uint64_t sampled[_RECORD_PLACE_MAX]; /* those that took samples there */
        NameSet names;                       /* of processes and functions */
        uint32_t *numbers;                   /* owned */
        size_t n_numbers, n_numbers_allocated;
        StackSetRow *rows; /* owned; after the end in their order */
        size_t n_rows, n_rows_allocated;
        Index by_key;
        SetSamples unsampled; /* threads on average of which there is no sample */
        uint64_t n_overflow;  /* stacks of one recording for which there was no room */
        SetTest *tests;       /* owned */
        size_t n_tests, n_tests_allocated;
        SetFamily family;
} StackSet;

void stack_set_done(StackSet *set);
/*
 * Takes the rows of the next recording in these places (a bit for each; 0: all), each side's in the
 * order of time. It was recorded for some time. 0 or -ENOMEM.
 */
_must_check_ int stack_set_take(StackSet *set, unsigned side, const StackView *view,
                                const RecordingDocument *recording, uint64_t places);
/*
 * Tests the stacks and orders them: those that differ by more than chance first, and the heaviest
 * difference first. 0 or -ENOMEM.
 */
_must_check_ int stack_set_finish(StackSet *set);
/* Writes "unsampled", a member of an open object. */
void stack_set_write_unsampled(const StackSet *set, JsonWriter *writer);
/* Writes the @index-th stack as one object, in nanoseconds a second; after the end. */
void stack_set_write(const StackSet *set, size_t index, JsonWriter *writer);
