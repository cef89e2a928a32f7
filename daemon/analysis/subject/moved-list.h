/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MovedList
 *
 * The threads of which a snapshot says that they ended under other names than a capture had seen
 * them with (snapshot/moved-row.h), found by their lives.
 */

#include <stddef.h>
#include "base/buffer.h"
#include "base/index.h"
#include "base/macro.h"
#include "snapshot/thread-sample.h"

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
