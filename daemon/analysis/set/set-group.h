/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetGroup
 *
 * One group of threads in two sets of captures: what the capture that is being read has of it so
 * far, and the samples of all captures before. Only rows that somebody wants to see, or to sort by,
 * have samples.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "analysis/group/aggregate.h"
#include "analysis/group/group.h"
#include "analysis/set/set-row.h"
#include "analysis/set/set-samples.h"
#include "view/view.h"
#include "snapshot/thread-sample.h"

#define SET_NO_SLOT SIZE_MAX

/* Which rows have samples. */
typedef struct SetRowList {
        size_t n_slots;
        uint8_t indexes[ROW_MAX]; /* of slots, ascending */
        bool wanted[ROW_MAX];     /* of slots: to be seen, not only to sort by */
        size_t n_wanted;
} SetRowList;

_Static_assert(ROW_MAX <= UINT8_MAX, "the index of a row fits");

void set_row_list_init(SetRowList *list, const View *view);
/* SET_NO_SLOT when the row has no samples. */
size_t set_row_list_find(const SetRowList *list, unsigned index);

/* One capture, and what is known of the time before it. */
typedef struct SetCapture {
        unsigned side; /* 0 before, 1 after */
        /*
         * When the capture before it was taken, in the same boot and whichever set that is of, in
         * the unit of start_ticks: a thread that is older was there then.
         */
        bool has_earlier;
        uint64_t earlier_ticks;
        /* The window since then; 0: there is none, as that capture is of the other side. */
        uint64_t elapsed_ns;
} SetCapture;

typedef struct SetGroup {
        Group *group;       /* borrowed: its key and members */
        SetRow *rows;       /* owned; of the slots */
        SetSamples threads; /* how many there were */
        /* A thread of it is in two captures, of whichever sets. */
        bool lives_on;

        /* The capture that is being read; no aggregate: it has no thread of this group yet. */
        Aggregate *window, *totals; /* owned; as in SetSight */
        uint64_t held[SET_METRIC_WORDS], fallen[SET_METRIC_WORDS];
} SetGroup;

_must_check_ int set_group_new(Group *group, const SetRowList *list, SetGroup **ret);
SetGroup *set_group_free(SetGroup *group, const SetRowList *list);

/* One life, as set_comparison_fold() has it; @after is there. 0 or -ENOMEM. */
_must_check_ int set_group_fold(SetGroup *group, const SetCapture *capture,
                                const ThreadSample *before, const ThreadSample *after);
/* The capture is read, the @index-th of @n_captures: takes its samples. 0 or -ENOMEM. */
_must_check_ int set_group_take(SetGroup *group, const SetRowList *list, const SetCapture *capture,
                                size_t n_captures, size_t index);
