/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/desk/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "wire/limits.h"

typedef struct QueueUser {
        uid_t uid;
        unsigned n_running, n_waiting;
        uint64_t last_turn; /* 0: none yet */
} QueueUser;

struct Queue {
        QueueLimits limits;
        QueueGate gate; /* NULL: always open */
        void *userdata;
        QueueEntry *first; /* waiting entries in order of arrival */
        unsigned n_running, n_resting, n_waiting;
        uint64_t n_turns;
        QueueUser *users;
        unsigned n_users, max_users;
};

static unsigned n_places(const QueueLimits *limits) {
        return 2 * limits->max_running + limits->max_waiting;
}

/*
 * Allocates room for every user: those who are in the queue may still be there when the new limits
 * are reached, and going back to the old limits must not need memory.
 */
int queue_set_limits(Queue *queue, const QueueLimits *limits) {
        unsigned n_here = queue->n_running + queue->n_resting + queue->n_waiting;
        unsigned n = n_here + MAX_OF(n_places(limits), n_places(&queue->limits)) +
                     LIMIT_REMEMBERED_USERS;
        QueueUser *users;

        if (n > queue->max_users) {
                users = realloc(queue->users, n * sizeof(*users));
                if (!users)
                        return -ENOMEM;
                queue->users = users;
                queue->max_users = n;
        }
        queue->limits = *limits;
        return 0;
}

int queue_new(const QueueLimits *limits, Queue **ret) {
        _cleanup_(queue_freep) Queue *queue = NULL;
        int r;

        queue = calloc(1, sizeof(*queue));
        if (!queue)
                return -ENOMEM;
        r = queue_set_limits(queue, limits);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(queue);
        return 0;
}

Queue *queue_free(Queue *queue) {
        if (!queue)
                return NULL;
        free(queue->users);
        free(queue);
        return NULL;
}

void queue_set_gate(Queue *queue, QueueGate gate, void *userdata) {
        queue->gate = gate;
        queue->userdata = userdata;
}

bool queue_is_busy(const Queue *queue) {
        return queue->n_running >= queue->limits.max_running;
}

unsigned queue_n_running(const Queue *queue) {
        return queue->n_running + queue->n_resting;
}

unsigned queue_n_waiting(const Queue *queue) {
        return queue->n_waiting;
}

static QueueUser *find_user(const Queue *queue, uid_t uid) {
        for (unsigned i = 0; i < queue->n_users; i++)
                if (queue->users[i].uid == uid)
                        return &queue->users[i];
        return NULL;
}

/* The user of an entry that is in the queue. */
static QueueUser *user_of(const Queue *queue, const QueueEntry *entry) {
        QueueUser *user = find_user(queue, entry->uid);

        assert(user);
        return user;
}

/*
 * The user without entries whose last turn is longest ago. There is one, because the table has room
 * for every user with entries and more.
 */
static QueueUser *find_forgettable(Queue *queue) {
        QueueUser *oldest = NULL;

        for (unsigned i = 0; i < queue->n_users; i++) {
                QueueUser *user = &queue->users[i];

                if (user->n_running == 0 && user->n_waiting == 0 &&
                    (!oldest || user->last_turn < oldest->last_turn))
                        oldest = user;
        }
        assert(oldest);
        return oldest;
}

static QueueUser *get_user(Queue *queue, uid_t uid) {
        QueueUser *user = find_user(queue, uid);

        if (user)
                return user;
        user = queue->n_users < queue->max_users ? &queue->users[queue->n_users++]
                                                 : find_forgettable(queue);
        *user = (QueueUser){ .uid = uid };
        return user;
}

int queue_add(Queue *queue, QueueEntry *entry, uid_t uid) {
        const QueueUser *known = find_user(queue, uid);
        QueueEntry **end = &queue->first;

        assert(entry->place == QUEUE_OUTSIDE);
        if (known && known->n_waiting >= queue->limits.max_waiting_per_uid)
                return QUEUE_E_FULL_FOR_USER;
        if (queue->n_waiting >= queue->limits.max_waiting)
                return QUEUE_E_FULL;

        while (*end)
                end = &(*end)->next;
        *end = entry;
        *entry = (QueueEntry){ .place = QUEUE_WAITING, .uid = uid };
        get_user(queue, uid)->n_waiting++;
        queue->n_waiting++;
        return QUEUE_OK;
}

static void unlink_entry(Queue *queue, QueueEntry *entry) {
        QueueEntry **link = &queue->first;

        while (*link != entry)
                link = &(*link)->next;
        *link = entry->next;
        entry->next = NULL;
}

QueueEntry *queue_next(Queue *queue) {
        QueueEntry *chosen = NULL;
        QueueUser *chosen_user = NULL;

        if (queue->n_running >= queue->limits.max_running)
                return NULL;
        for (QueueEntry *entry = queue->first; entry; entry = entry->next) {
                QueueUser *user = user_of(queue, entry);

                if (user->n_running >= queue->limits.max_running_per_uid)
                        continue;
                if (queue->gate && !queue->gate(entry->uid, queue->userdata))
                        continue;
                if (!chosen || user->last_turn < chosen_user->last_turn) {
                        chosen = entry;
                        chosen_user = user;
                }
        }
        if (!chosen)
                return NULL;

        unlink_entry(queue, chosen);
        chosen->place = QUEUE_RUNNING;
        chosen_user->last_turn = ++queue->n_turns;
        chosen_user->n_waiting--;
        chosen_user->n_running++;
        queue->n_waiting--;
        queue->n_running++;
        return chosen;
}

void queue_rest(Queue *queue, QueueEntry *entry) {
        if (entry->place != QUEUE_RUNNING || queue->n_resting >= queue->limits.max_running)
                return;
        entry->place = QUEUE_RESTING;
        queue->n_running--;
        queue->n_resting++;
}

void queue_wake(Queue *queue, QueueEntry *entry) {
        if (entry->place != QUEUE_RESTING)
                return;
        entry->place = QUEUE_RUNNING;
        queue->n_resting--;
        queue->n_running++;
}

void queue_remove(Queue *queue, QueueEntry *entry) {
        switch (entry->place) {
        case QUEUE_OUTSIDE:
                return;
        case QUEUE_WAITING:
                unlink_entry(queue, entry);
                user_of(queue, entry)->n_waiting--;
                queue->n_waiting--;
                break;
        case QUEUE_RUNNING:
                user_of(queue, entry)->n_running--;
                queue->n_running--;
                break;
        case QUEUE_RESTING:
                user_of(queue, entry)->n_running--;
                queue->n_resting--;
                break;
        }
        entry->place = QUEUE_OUTSIDE;
}
