/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Queue
 *
 * Whose turn it is. So many entries run at a time, the others wait; both are bounded, also for one
 * user. The next turn goes to the user whose last turn is longest ago, and within one user to who
 * came first, so nobody can fill the line in front of others. Who runs but only waits for its own
 * caller rests, and its place goes to another user; as many may rest as may run. The entries are
 * members of their owners.
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
        QUEUE_RESTING, /* of those that run; still one of its user's */
} QueuePlace;

typedef struct QueueEntry {
        QueuePlace place;
        uid_t uid;
        struct QueueEntry *next; /* behind it in the line */
} QueueEntry;

_must_check_ int queue_new(const QueueLimits *limits, Queue **ret);
Queue *queue_free(Queue *queue);
DEFINE_CLEANUP(Queue *, queue_free);

/*
 * Other limits from now on. Who is in the line or runs by then stays. -ENOMEM, and then the earlier
 * ones hold.
 */
_must_check_ int queue_set_limits(Queue *queue, const QueueLimits *limits);

/* @entry, which is outside, waits from now on. */
_must_check_ int queue_add(Queue *queue, QueueEntry *entry, uid_t uid);
/* Whose turn it is now: it runs from here on. NULL when nobody may run. */
QueueEntry *queue_next(Queue *queue);
/* Gives up its place for others for a while, if it runs and not too many do so already. */
void queue_rest(Queue *queue, QueueEntry *entry);
/* It goes on, also when its place is taken: for a moment one more runs than may. */
void queue_wake(Queue *queue, QueueEntry *entry);
/* Out of the line, or done; nothing when it is outside. */
void queue_remove(Queue *queue, QueueEntry *entry);

/* As many run as may at a time: who comes now waits. */
bool queue_is_busy(const Queue *queue);
/* Those that rest included. */
unsigned queue_n_running(const Queue *queue);
unsigned queue_n_waiting(const Queue *queue);
