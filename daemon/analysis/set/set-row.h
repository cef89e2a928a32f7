/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetRow
 *
 * What one capture of a set has to say about one metric or derived value of a group: a sample, or
 * that there is none.
 *
 *     sums             work done in the window since the capture before it, per second: lifetime
 *                      totals only grow, so two sets of them would always differ
 *     thread_count     the number of threads: a sum, but a level
 *     other metrics    the value; midpoints of ranges; words have no number
 *     quotients        of the work done in the window, for the same reason
 *     sums of delays   derived as they are, per second
 *     differences      of lifetime totals: a level, as the heap that is in use
 *
 * Some rows have samples that describe but prove nothing, and are not tested: see SetRowKind.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/aggregate.h"
#include "analysis/compare/derived-value.h"
#include "analysis/compare/row.h"
#include "analysis/set/set-samples.h"
#include "metric/metric.h"

/* A row's place among all: metrics first, then derived values. */
#define SET_ROW_OF_DERIVED(id) (_METRIC_MAX + (unsigned) (id))

typedef enum SetRowKind {
        SET_ROW_RATE,
        SET_ROW_LEVEL,
        /*
         * A level that only grows, or only falls, while a thread lives: a maximum, a minimum, an
         * age. What a later capture has of the same thread then says nothing new, and later sets
         * always have more.
         */
        SET_ROW_RECORD,
        SET_ROW_LABEL, /* numbers that only tell one from another: that of a CPU */
        SET_ROW_WORD,  /* no numbers */
} SetRowKind;

SetRowKind set_row_kind(unsigned index);

typedef struct SetRow {
        SetSamples samples;
        uint32_t test; /* of the finished comparison: its number and 1; 0: not tested */
        /* Bits by side. */
        uint8_t seen;  /* there was a value, if only one that makes no rate yet */
        uint8_t reset; /* a counter fell in a window, which gave no sample */
        /* Of a derived value, the last time that there was none. */
        uint8_t outcomes[SIDES];
        uint8_t inputs[SIDES];
} SetRow;

/* One capture of one group, while samples are taken of it. */
typedef struct SetSight {
        const Aggregate *window; /* of sums the work in the window, of all else the values */
        const Aggregate *totals; /* of the inputs of differences; NULL: no thread has them */
        const uint64_t *held;    /* sums that threads have, whether or not there is a window */
        const uint64_t *fallen;  /* sums that fell in some thread */
        uint64_t elapsed_ns;     /* of the window; 0: there is none */
        unsigned side;
        size_t n_captures, capture;
} SetSight;

#define SET_METRIC_WORDS ((_METRIC_MAX + 63) / 64)

/* Takes the sample of row @index, when there is one. 0 or -ENOMEM. */
_must_check_ int set_row_take(SetRow *row, unsigned index, const SetSight *sight);
