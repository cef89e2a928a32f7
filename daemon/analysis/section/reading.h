/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reading
 *
 * One number of a cgroup, a process or the host, or why there is none: not readable, or a limit
 * that is not set. The two are never mixed up, and neither is ever a number: a difference exists
 * only between two numbers.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "json/json-scanner.h"
#include "json/json-writer.h"

typedef enum ReadingState {
        READING_ABSENT, /* not readable, not there, not known: null */
        READING_NUMBER,
        READING_MAX, /* the kernel's word for a limit that is not set, or full protection */
} ReadingState;

/* Zeroed: absent. */
typedef struct Reading {
        ReadingState state;
        bool negative; /* never for 0 */
        uint64_t magnitude;
} Reading;

#define READING(number) ((Reading){ .state = READING_NUMBER, .magnitude = (number) })

/* What a member of a document may be besides null. */
typedef enum ReadingKind {
        READING_KIND_COUNT,  /* 0 to 2^64-1 */
        READING_KIND_SIGNED, /* any integer */
        READING_KIND_LIMIT,  /* a count, or "max" */
} ReadingKind;

/* The next value. JSON_E_MALFORMED. */
_must_check_ int reading_scan(Reading *ret, JsonScanner *scanner, ReadingKind kind);

/* How records that land on one key become one. */
typedef enum ReadingMerge {
        READING_MERGE_SUM,      /* of the ones that are there, saturating */
        READING_MERGE_PEAK,     /* the largest of the ones that are there */
        READING_MERGE_LARGEST,  /* "max" if any is, else absent if any is, else the largest */
        READING_MERGE_SMALLEST, /* absent if any is, else the smallest; "max" is past all numbers */
} ReadingMerge;

Reading reading_merge(ReadingMerge rule, Reading a, Reading b);
/* Of numbers; negative before positive. */
int reading_compare(Reading a, Reading b);
bool reading_equal(Reading a, Reading b);
/* A number other than 0. */
static inline bool reading_is_some(Reading reading) {
        return reading.state == READING_NUMBER && reading.magnitude > 0;
}

/* @after - @before, saturating; absent unless both are numbers. */
Reading reading_delta(Reading before, Reading after);

/* A number, "max" or null. */
void reading_write(JsonWriter *writer, Reading reading);
/*
 * Of one side (@n_sides 1) that value; of two {"before", "after", "delta"}, with a delta of null
 * where there is none.
 */
void reading_write_sides(JsonWriter *writer, unsigned n_sides, const Reading *sides);
