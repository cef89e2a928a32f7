/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define FIRST_SLOTS 256 /* a power of two */

static Group *group_free(Group *group) {
        if (!group)
                return NULL;
        for (unsigned side = 0; side < SIDES; side++) {
                aggregate_free(group->sides[side]);
                spread_done(&group->spreads[side]);
        }
        group_window_free(group->window);
        member_list_done(&group->members);
        free(group->label);
        free(group->id);
        free(group);
        return NULL;
}
DEFINE_CLEANUP(Group *, group_free);

static char *copy_bytes(Span span) {
        char *copy = malloc(span.n + 1); /* an empty key has memory, too */

        if (copy && span.n > 0)
                memcpy(copy, span.bytes, span.n);
        return copy;
}

static int group_new(Span id, uint64_t hash, Group **ret) {
        _cleanup_(group_freep) Group *group = calloc(1, sizeof(*group));

        if (!group)
                return -ENOMEM;
        group->id = copy_bytes(id);
        if (!group->id)
                return -ENOMEM;
        group->n_id = id.n;
        group->hash = hash;
        *ret = TAKE_PTR(group);
        return 0;
}

void group_table_done(GroupTable *table) {
        for (size_t i = 0; i < table->n_groups; i++)
                group_free(table->groups[i]);
        free(table->groups);
        free(table->slots);
        *table = (GroupTable){ .slots = NULL };
}

static Group **find_slot(const GroupTable *table, Span id, uint64_t hash) {
        size_t i = hash & (table->n_slots - 1);

        for (;; i = (i + 1) & (table->n_slots - 1)) {
                const Group *group = table->slots[i];

                if (!group ||
                    (group->hash == hash && span_equal((Span){ group->id, group->n_id }, id)))
                        return &table->slots[i];
        }
}

static int grow_slots(GroupTable *table) {
        size_t n_slots = table->n_slots > 0 ? table->n_slots * 2 : FIRST_SLOTS;
        Group **slots = calloc(n_slots, sizeof(*slots));

        if (!slots)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_groups; i++) {
                size_t slot = table->groups[i]->hash & (n_slots - 1);

                while (slots[slot])
                        slot = (slot + 1) & (n_slots - 1);
                slots[slot] = table->groups[i];
        }
        free(table->slots);
        table->slots = slots;
        table->n_slots = n_slots;
        return 0;
}

/* Room for one more group in both arrays. */
static int make_room(GroupTable *table) {
        size_t n_allocated = table->n_allocated > 0 ? table->n_allocated * 2 : FIRST_SLOTS / 2;
        Group **groups;
        int r;

        if ((table->n_groups + 1) * 4 > table->n_slots * 3) {
                r = grow_slots(table);
                if (r != 0)
                        return r;
        }
        if (table->n_groups < table->n_allocated)
                return 0;
        groups = realloc(table->groups, n_allocated * sizeof(*groups));
        if (!groups)
                return -ENOMEM;
        table->groups = groups;
        table->n_allocated = n_allocated;
        return 0;
}

Group *group_table_find(const GroupTable *table, Span id) {
        if (table->n_slots == 0)
                return NULL;
        return *find_slot(table, id, XXH3_64bits(id.bytes ? id.bytes : "", id.n));
}

int group_table_obtain(GroupTable *table, Span id, Group **ret) {
        uint64_t hash = XXH3_64bits(id.bytes ? id.bytes : "", id.n);
        Group *group, **slot;
        int r;

        if (table->n_slots > 0) {
                slot = find_slot(table, id, hash);
                if (*slot) {
                        *ret = *slot;
                        return 0;
                }
        }
        r = make_room(table);
        if (r != 0)
                return r;
        r = group_new(id, hash, &group);
        if (r != 0)
                return r;
        *find_slot(table, id, hash) = group;
        group->index = table->n_groups;
        table->groups[table->n_groups++] = group;
        *ret = group;
        return 0;
}

Span group_key(const Group *group) {
        if (group->label)
                return (Span){ group->label, group->n_label };
        return (Span){ group->id, group->n_id };
}

int group_set_label(Group *group, Span label) {
        char *copy;

        if (group->label && span_equal(group_key(group), label))
                return 0;
        copy = copy_bytes(label);
        if (!copy)
                return -ENOMEM;
        free(group->label);
        group->label = copy;
        group->n_label = label.n;
        return 0;
}

/* A life is a tid and when it began. Hashes are added up: the order of threads is nothing. */
static uint64_t life_hash(const ThreadSample *sample) {
        struct {
                uint64_t tid, start_ticks;
        } life = { (uint64_t) sample->tid, sample->start_ticks };

        return XXH3_64bits(&life, sizeof(life));
}

int group_fold(Group *group, unsigned side, const ThreadSample *sample) {
        int r;

        if (!group->sides[side]) {
                r = aggregate_new(&group->sides[side]);
                if (r != 0)
                        return r;
        }
        group->lives[side] += life_hash(sample);
        return aggregate_fold(group->sides[side], sample);
}

int group_fold_life(Group *group, const ThreadSample *before, const ThreadSample *after) {
        int r = group->window ? 0 : group_window_new(&group->window);

        return r == 0 ? group_window_fold(group->window, group->sides, before, after) : r;
}

int group_settle_window(Group *group) {
        return group->window ? group_window_settle(group->window, group->sides) : 0;
}

bool group_is_empty(const Group *group) {
        return !group->sides[0] && !group->sides[1];
}

int group_adopt(Group *group, unsigned side, Group *from) {
        int r;

        r = member_list_merge(&group->members, &from->members);
        if (r != 0)
                return r;
        member_list_done(&from->members);
        group->is_pattern = group->is_pattern || from->is_pattern;
        group->sides[side] = TAKE_PTR(from->sides[side]);
        group->lives[side] = from->lives[side];
        spread_done(&group->spreads[side]);
        group->spreads[side] = TAKE(from->spreads[side], (Spread){});
        if (group->window && from->window)
                group_window_adopt(group->window, TAKE_PTR(from->window));
        return 0;
}

bool group_survived(const Group *group) {
        return group->sides[0] && group->sides[1] && group->lives[0] == group->lives[1] &&
               group->sides[0]->n_threads == group->sides[1]->n_threads;
}
