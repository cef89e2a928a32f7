/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetGroup
 *
 * One group of threads in two sets of captures: the samples that each capture has added to its
 * rows, which are metrics and derived values. Only rows that are shown, sorted by or weighed have
 * samples.
 *
 * A capture contributes a sample to a row, or none:
 *
 *     sums             work done in the interval before the capture, per second: lifetime
 *                      totals only grow, so two sets of them would always differ
 *     thread_count     the number of threads: a sum, but a level
 *     other metrics    the value; midpoints of ranges; words have no number
 *     quotients        of the work done in the interval, for the same reason
 *     sums of delays   derived in the same way, per second
 *     differences      of lifetime totals: a level, such as the heap in use
 *
 * Some rows have samples that describe but prove nothing. They are not tested: see SetRowKind.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/compare/row.h"
#include "analysis/group/column.h"
#include "analysis/group/group.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "json/json-writer.h"
#include "metric/metric.h"
#include "view/view.h"

/*
 * The samples of one row of one group: at most one number per capture of both sets. Most rows of a
 * host never change, so numbers are stored only once one differs from the first; until then a row
 * costs a few bytes whatever the number of captures.
 */
#define SET_MAX_CAPTURES 64 /* of both sets together: each has a bit */

typedef struct SetSamples {
        double first;
        uint64_t present; /* bit i: capture i has a sample */
        double *values;   /* owned; one per capture; NULL: all equal the first */
} SetSamples;

/* Adds the sample of one capture; each has at most one. 0 or -ENOMEM. */
_must_check_ int set_samples_put(SetSamples *samples, size_t n_captures, size_t capture,
                                 double value);
/* Collects the samples of @captures in order; returns how many. */
size_t set_samples_get(const SetSamples *samples, uint64_t captures,
                       double ret_values[static SET_MAX_CAPTURES]);

/*
 * Five numbers that describe a sample: minimum, maximum, median and quartiles, interpolated between
 * neighbours.
 */
typedef struct Quartiles {
        size_t n;
        double min, q1, median, q3, max; /* when there is any */
} Quartiles;

/* Sorts @values, which are finite. */
Quartiles quartiles_of(double *values, size_t n);
/* Writes them as the member @key of an open object: null without any. */
void quartiles_write_json(JsonWriter *writer, const char *key, const Quartiles *quartiles);

typedef enum SetRowKind {
        SET_ROW_RATE,
        SET_ROW_LEVEL,
        /*
         * A level that only grows, or only falls, while a thread lives: a maximum, a minimum, an
         * age. A later capture of the same thread adds no evidence, and later sets always have more
         * of it.
         */
        SET_ROW_RECORD,
        SET_ROW_LABEL, /* numbers that are only names: the number of a CPU */
        SET_ROW_WORD,  /* no numbers */
} SetRowKind;

SetRowKind set_row_kind(unsigned index);

typedef struct SetRow {
        SetSamples samples;
        uint32_t test; /* after the tests: the number of its test plus 1; 0: not tested */
        /* Bits by side. */
        uint8_t seen;  /* there was a value, but perhaps not enough for a rate */
        uint8_t reset; /* a counter fell in an interval, which then gave no sample */
        /* Why a derived value was absent the last time. */
        uint8_t outcomes[SIDES];
        uint8_t inputs[SIDES];
} SetRow;

#define SET_NO_SLOT UINT8_MAX

/* The rows that have samples. */
typedef struct SetRowList {
        uint8_t slots[ROW_MAX]; /* where a group has the samples of a row; SET_NO_SLOT: nowhere */
        bool wanted[ROW_MAX];   /* shown, not only sorted by or weighed */
        size_t n_slots, n_wanted;
} SetRowList;

_Static_assert(ROW_MAX <= SET_NO_SLOT, "the number of a slot fits");

void set_row_list_init(SetRowList *list, const View *view);

/*
 * One capture and the time before it: a column, which has a begin if there is an interval that ends
 * with this capture. It is the capture's own, or it begins with the previous capture; there is none
 * if that is of the other side, or has an interval of its own.
 */
typedef struct SetCapture {
        unsigned side; /* 0 before, 1 after */
        bool is_interval;
        /*
         * When the previous capture of the same boot was taken, in either set, in the unit of
         * start_ticks. A thread that started earlier existed then.
         */
        bool has_earlier;
        uint64_t earlier_ticks;
        ColumnSetup column;
} SetCapture;

/* The figures of a group that have samples, besides its rows. */
typedef enum SetFigure {
        SET_THREADS, /* the number of threads */
        SET_ALIVE,   /* how long its threads were alive in a second, in ns */
        SET_GROWN,   /* bytes a second that its memory, or its live heap, grew */
        _SET_FIGURE_MAX,
} SetFigure;

typedef struct SetGroup {
        Group *group; /* borrowed; its account is of the capture that is being read */
        SetSamples figures[_SET_FIGURE_MAX];
        /*
         * Captures in whose intervals the group had threads that ended, though none by its names.
         */
        uint64_t renamed;
        /* Some thread is in two captures, of the same set or of both. */
        bool lives_on;
        SetRow rows[]; /* one per slot */
} SetGroup;

_must_check_ int set_group_new(Group *group, const SetRowList *list, SetGroup **ret);
SetGroup *set_group_free(SetGroup *group, const SetRowList *list);

/* The samples of a row; NULL: it has none in any group. */
static inline SetRow *set_group_row(SetGroup *group, const SetRowList *list, unsigned index) {
        return list->slots[index] == SET_NO_SLOT ? NULL : &group->rows[list->slots[index]];
}
/* The captures in which the group is there. */
static inline uint64_t set_group_captures(const SetGroup *group) {
        return group->figures[SET_THREADS].present;
}

/*
 * Takes the samples of the capture, which is the @index-th, from the account of the group, which is
 * settled, and empties that. 0 or -ENOMEM.
 */
_must_check_ int set_group_take(SetGroup *group, const SetRowList *list, const Column *column,
                                unsigned side, size_t n_captures, size_t index);
/*
 * Takes what is known of the intervals in which the group had no thread and none ended, after all
 * captures were read: it did nothing there. @side: the captures of one side; @captures: those whose
 * intervals have a ledger. Nothing is taken of a side that has no thread of the group: it stays one
 * without the group. 0 or -ENOMEM.
 */
_must_check_ int set_group_take_nothing(SetGroup *group, const SetRowList *list, uint64_t side,
                                        uint64_t captures, size_t n_captures);
