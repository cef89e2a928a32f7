/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/manager/queue.h"

#include <assert.h>

int queue_add(Queue *queue, QueueEntry *entry, uid_t uid) {
        Use use = USE_WAITING + (Use) queue->kind;
        QueueEntry **end = &queue->first;
        int r;

        assert(entry->place == QUEUE_OUTSIDE);
        r = users_ask(queue->users, uid, use, 1);
        if (r != USER_OK)
                return r;
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

static void unlink_entry(Queue *queue, QueueEntry *entry) {
        QueueEntry **link = &queue->first;

        while (*link != entry)
                link = &(*link)->next;
        *link = entry->next;
        entry->next = NULL;
}

QueueEntry *queue_next(Queue *queue) {
        Use running = USE_RUNNING + (Use) queue->kind;
        QueueEntry *chosen = NULL;
        uint64_t chosen_turn = 0;

        for (QueueEntry *entry = queue->first; entry; entry = entry->next) {
                uint64_t last_turn = users_last_turn(queue->users, entry->uid, queue->kind);

                if (users_ask(queue->users, entry->uid, running, 1) != USER_OK ||
                    (queue->gate && !queue->gate(entry->uid, queue->userdata)))
                        continue;
                if (!chosen || last_turn < chosen_turn) {
                        chosen = entry;
                        chosen_turn = last_turn;
                }
        }
        if (!chosen)
                return NULL;

        unlink_entry(queue, chosen);
        chosen->place = QUEUE_RUNNING;
        users_take_turn(queue->users, chosen->uid, queue->kind);
        charge_move(&chosen->charge, running);
        return chosen;
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
        if (entry->place == QUEUE_WAITING)
                unlink_entry(queue, entry);
        entry->place = QUEUE_OUTSIDE;
        charge_end(&entry->rest);
        charge_end(&entry->charge);
}

void queue_count(const Users *users, unsigned *ret_running, unsigned *ret_waiting) {
        *ret_running = *ret_waiting = 0;
        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++) {
                *ret_running += (unsigned) users_count_all(users, USE_RUNNING + kind);
                *ret_waiting += (unsigned) users_count_all(users, USE_WAITING + kind);
        }
}
