/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Queue
 *
 * Decides which request gets the next job. A bounded number of entries run, others wait; both
 * numbers are bounded in total and for each user, see user.h. The next turn goes to the user whose
 * last turn is longest ago, and within one user to the entry that came first, so no user can fill
 * the queue in front of others. An entry that runs but waits for its own caller to read its replies
 * rests, and its place goes to another; as many may rest as may run. An entry of QUEUE_READING also
 * waits while too many jobs of its user may hang. Entries are members of their owners.
 */

#include <stdbool.h>
#include <sys/types.h>
#include "base/macro.h"
#include "user/user.h"

typedef enum QueuePlace {
        QUEUE_OUTSIDE,
        QUEUE_WAITING,
        QUEUE_RUNNING,
        QUEUE_RESTING, /* runs, but gave up its place; counts for its user */
} QueuePlace;

typedef struct QueueEntry {
        QueuePlace place;
        uid_t uid;
        Charge charge, rest;
        struct QueueEntry *next; /* the next waiting entry */
} QueueEntry;

typedef struct Queue {
        Users *users; /* borrowed */
        QueueKind kind;
        QueueEntry *first; /* waiting entries in order of arrival */
} Queue;

/* Adds @entry, which is in no queue, to those that wait. USER_OK, USER_E_*, -ENOMEM. */
_must_check_ int queue_add(Queue *queue, QueueEntry *entry, uid_t uid);
/* The same for one that had a place in a queue before, and is not refused. USER_OK, -ENOMEM. */
_must_check_ int queue_add_again(Queue *queue, QueueEntry *entry, uid_t uid);
/* Takes the entry whose turn it is; it runs from now on. NULL when none may run. */
QueueEntry *queue_next(Queue *queue);
/* Gives the place of a running entry to others, unless too many rest already. */
void queue_rest(Queue *queue, QueueEntry *entry);
/* The entry runs again, even if its place is taken: for a moment one more runs than may. */
void queue_wake(QueueEntry *entry);
/* Removes an entry that waits, runs or rests; does nothing when it is outside. */
void queue_remove(Queue *queue, QueueEntry *entry);
/* Counts the requests of all queues. */
void queue_count(const Users *users, unsigned *ret_running, unsigned *ret_waiting);
