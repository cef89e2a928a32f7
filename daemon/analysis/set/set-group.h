/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetGroup
 *
 * One group of threads in two sets of captures: the capture that is being read, and the samples of
 * all captures before it. Only rows that are shown, sorted by or weighed have samples.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "analysis/group/group.h"
#include "analysis/set/set-row.h"
#include "view/view.h"

#define SET_NO_SLOT SIZE_MAX

/* Which rows have samples. */
typedef struct SetRowList {
        size_t n_slots;
        uint8_t indexes[ROW_MAX]; /* of each slot, ascending */
        bool wanted[ROW_MAX];     /* of each slot: shown, not only sorted by or weighed */
        size_t n_wanted;
} SetRowList;

_Static_assert(ROW_MAX <= UINT8_MAX, "the index of a row fits");

void set_row_list_init(SetRowList *list, const View *view);
/* SET_NO_SLOT when the row has no samples. */
size_t set_row_list_find(const SetRowList *list, unsigned index);

/*
 * One capture and the time before it: a column, which has a begin if there is a window that ends
 * with this capture. There is none if the previous capture is of the other side, or of an interval.
 * The window begins with that capture, or where the interval does that this one ends.
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

typedef struct SetGroup {
        Group *group;       /* borrowed; its account is of the capture that is being read */
        SetRow *rows;       /* owned; one per slot */
        SetSamples threads; /* the number of threads */
        SetSamples alive;   /* how long its threads were alive in a second, in ns */
        SetSamples grown;   /* bytes a second that its memory, or its live heap, grew */
        /* Captures in whose windows the group had threads that ended, though none by its names. */
        uint64_t renamed;
        /* Some thread is in two captures, of the same set or of both. */
        bool lives_on;
} SetGroup;

_must_check_ int set_group_new(Group *group, const SetRowList *list, SetGroup **ret);
SetGroup *set_group_free(SetGroup *group, const SetRowList *list);

/*
 * Takes the samples of the capture, which is the @index-th, from the account of the group, which is
 * settled, and empties that. 0 or -ENOMEM.
 */
_must_check_ int set_group_take(SetGroup *group, const SetRowList *list, const Column *column,
                                unsigned side, size_t n_captures, size_t index);
/*
 * Takes what is known of the windows in which the group had no thread and none ended, after all
 * captures were read: it did nothing there. @side: the captures of one side; @captures: those whose
 * windows have a ledger. Of a side that has no thread of the group there is nothing to take: it
 * stays one without the group. 0 or -ENOMEM.
 */
_must_check_ int set_group_take_nothing(SetGroup *group, const SetRowList *list, uint64_t side,
                                        uint64_t captures, size_t n_captures);
