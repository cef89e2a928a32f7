/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitedList
 *
 * Lists the rows of the ledger of a snapshot, and finds where those of an earlier one stand in a
 * later one.
 *
 * To make room, the ledger puts rows together: a row that the later snapshot lacks, or that was
 * made anew since, is part of another one there. If nothing was added since to any row of its owner
 * that was put together, the row did nothing in between, and neither did those, however much larger
 * they are now. Otherwise its sums are taken out of the row that has them.
 *
 * Rows of the same names that differ in whose children ended may be put together as well. That
 * changes no sum of a group, only what is known of the parents.
 *
 * A MovedList has the threads of which a snapshot says that they ended under other names than a
 * capture had seen them with (snapshot/moved-row.h), found by their lives.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/index.h"
#include "base/macro.h"
#include "snapshot/exited-row.h"

typedef struct ListedRow ListedRow;

/* Empty when zeroed. */
typedef struct ExitedList {
        ListedRow *rows; /* owned */
        size_t n, n_allocated;
        Buffer keys;        /* of all of them */
        Index index, names; /* the first one of some names, too */
        bool tells_parents; /* of some row the ledger says whose child it was */
        /* Owned: owners of rows that were put together, in order, and when these last grew. */
        struct OwnerGrowth *owners;
        size_t n_owners;
        uint64_t others_grew_ns; /* the same of rows of no one owner */
} ExitedList;

void exited_list_done(ExitedList *list);
/* 0 or -ENOMEM. */
_must_check_ int exited_list_add(ExitedList *list, const ExitedRow *row);

/* The ledgers at both ends of an interval. */
typedef struct ExitedSpan {
        const ExitedList *before;
        ExitedList *after;
        bool is_known;     /* both say what was put together, and when something was added to it */
        uint64_t begin_ns; /* CLOCK_BOOTTIME */
        uint64_t grew_ns;  /* when something was last added to a row of the later one */
        uint64_t n_lost;   /* rows and threads of the earlier one that are part of others now */
} ExitedSpan;

/* Begins anew. 0 or -ENOMEM. */
_must_check_ int exited_span_begin(ExitedSpan *span);
/*
 * True when a row of the ledger at that @end counts in the interval. If the row is part of another
 * row in the later snapshot, *row gets the names of that row, which are borrowed from the list. A
 * row that has nothing of the interval in it loses its parent.
 */
bool exited_span_place(ExitedSpan *span, unsigned end, ExitedRow *row);
/* The same of a thread that ended in the interval, with the names that it ended with. */
void exited_span_place_vanished(ExitedSpan *span, ThreadSample *vanished);

typedef struct MovedThread MovedThread;

/* Empty when zeroed. */
typedef struct MovedList {
        MovedThread *threads; /* owned */
        size_t n, n_allocated;
        Buffer names; /* of all of them */
        Index index;
} MovedList;

void moved_list_done(MovedList *list);
/* The first of two rows of one thread counts. 0 or -ENOMEM. */
_must_check_ int moved_list_add(MovedList *list, const ThreadSample *ended);
/*
 * Calls @vanished, a thread that ended, by the names that it ended with, which are borrowed from
 * the list. One that is not in the list keeps those it has.
 */
void moved_list_rename(const MovedList *list, ThreadSample *vanished);
