/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Queue
 *
 * Decides which request gets the next job. A bounded number of entries run, others wait; both
 * numbers are bounded in total and for each user. The next turn goes to the user whose last turn is
 * longest ago, and within one user to the entry that came first, so nobody can fill the queue in
 * front of others. An entry that runs but waits for its own caller to read rests, and its place
 * goes to another; as many may rest as may run. Entries are members of their owners.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/macro.h"

typedef struct Queue Queue;

enum {
        QUEUE_OK,
        QUEUE_E_FULL,          /* too many wait */
        QUEUE_E_FULL_FOR_USER, /* too many of this user wait */
};

typedef struct QueueLimits {
        unsigned max_running;
        unsigned max_running_per_uid;
        unsigned max_waiting;
        unsigned max_waiting_per_uid;
} QueueLimits;

typedef enum QueuePlace {
        QUEUE_OUTSIDE,
        QUEUE_WAITING,
        QUEUE_RUNNING,
        QUEUE_RESTING, /* runs, but gave up its place; counts for its user */
} QueuePlace;

typedef struct QueueEntry {
        QueuePlace place;
        uid_t uid;
        struct QueueEntry *next; /* the next waiting entry */
} QueueEntry;

_must_check_ int queue_new(const QueueLimits *limits, Queue **ret);
Queue *queue_free(Queue *queue);
DEFINE_CLEANUP(Queue *, queue_free);

/* Changes the limits. Entries that wait or run stay. -ENOMEM, and then the old limits hold. */
_must_check_ int queue_set_limits(Queue *queue, const QueueLimits *limits);

/*
 * Whether an entry of @uid may run now, apart from the limits. Who opens the gate has to ask for
 * the next entry again.
 */
typedef bool (*QueueGate)(uid_t uid, void *userdata);
void queue_set_gate(Queue *queue, QueueGate gate, void *userdata);

/* Adds @entry, which is in no queue, to the entries that wait. */
_must_check_ int queue_add(Queue *queue, QueueEntry *entry, uid_t uid);
/* Takes the entry whose turn it is; it runs from now on. NULL when none may run. */
QueueEntry *queue_next(Queue *queue);
/* Gives the place of a running entry to others, unless too many rest already. */
void queue_rest(Queue *queue, QueueEntry *entry);
/* The entry runs again, even if its place is taken: for a moment one more runs than max_running. */
void queue_wake(Queue *queue, QueueEntry *entry);
/* Removes an entry that waits, runs or rests; does nothing when it is outside. */
void queue_remove(Queue *queue, QueueEntry *entry);

/* As many run as may: an entry that is added now waits. */
bool queue_is_busy(const Queue *queue);
/* Includes entries that rest. */
unsigned queue_n_running(const Queue *queue);
unsigned queue_n_waiting(const Queue *queue);
