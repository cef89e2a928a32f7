/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/manager/queue.h"

#include <assert.h>

int queue_add(Queue *queue, QueueEntry *entry, uid_t uid) {
        int r = users_ask(queue->users, uid, USE_WAITING + (Use) queue->kind, 1);

        return r == USER_OK ? queue_add_again(queue, entry, uid) : r;
}

int queue_add_again(Queue *queue, QueueEntry *entry, uid_t uid) {
        Use use = USE_WAITING + (Use) queue->kind;
        QueueEntry **end = &queue->first;
        int r;

        assert(entry->place == QUEUE_OUTSIDE);
        *entry = (QueueEntry){ .uid = uid };
        r = charge_begin(&entry->charge, queue->users, uid, use, 1);
        if (r < 0)
                return r;
        entry->place = QUEUE_WAITING;
        while (*end)
                end = &(*end)->next;
        *end = entry;
        return USER_OK;
}

QueueEntry *queue_next(Queue *queue) {
        Use running = USE_RUNNING + (Use) queue->kind;
        QueueEntry **chosen = NULL, *entry;
        uint64_t chosen_turn = 0;

        for (QueueEntry **link = &queue->first; *link; link = &(*link)->next) {
                uint64_t last_turn = (*link)->charge.user->last_turn[queue->kind];
                uid_t uid = (*link)->uid;

                if (users_ask(queue->users, uid, running, 1) != USER_OK)
                        continue;
                /*
                 * A job that has ended its call may still hang, when it was killed or closes its
                 * files, and holds its memory until it is gone. So it goes on to count, and a user
                 * waits for jobs that may come to hang. If some are known to, the request passes,
                 * to be refused.
                 */
                if (queue->kind == QUEUE_READING &&
                    users_ask(queue->users, uid, USE_STUCK, 1) == USER_OK &&
                    users_ask(queue->users, uid, USE_HANGABLE, 1) != USER_OK)
                        continue;
                if (!chosen || last_turn < chosen_turn) {
                        chosen = link;
                        chosen_turn = last_turn;
                }
        }
        if (!chosen)
                return NULL;

        entry = *chosen;
        *chosen = entry->next;
        entry->next = NULL;
        entry->place = QUEUE_RUNNING;
        entry->charge.user->last_turn[queue->kind] = ++queue->users->n_turns;
        charge_set(&entry->charge, 0);
        entry->charge.use = running;
        charge_set(&entry->charge, 1);
        return entry;
}

void queue_rest(Queue *queue, QueueEntry *entry) {
        Use resting = USE_RESTING + (Use) queue->kind;

        if (entry->place == QUEUE_RUNNING &&
            users_ask(queue->users, entry->uid, resting, 1) == USER_OK &&
            charge_begin(&entry->rest, queue->users, entry->uid, resting, 1) == 0)
                entry->place = QUEUE_RESTING;
}

void queue_wake(QueueEntry *entry) {
        if (entry->place != QUEUE_RESTING)
                return;
        entry->place = QUEUE_RUNNING;
        charge_end(&entry->rest);
}

void queue_remove(Queue *queue, QueueEntry *entry) {
        QueueEntry **link = &queue->first;

        if (entry->place == QUEUE_WAITING) {
                while (*link != entry)
                        link = &(*link)->next;
                *link = entry->next;
                entry->next = NULL;
        }
        entry->place = QUEUE_OUTSIDE;
        charge_end(&entry->rest);
        charge_end(&entry->charge);
}

void queue_count(const Users *users, unsigned *ret_running, unsigned *ret_waiting) {
        *ret_running = *ret_waiting = 0;
        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++) {
                *ret_running += (unsigned) users->n[USE_RUNNING + kind];
                *ret_waiting += (unsigned) users->n[USE_WAITING + kind];
        }
}
