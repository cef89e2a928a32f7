/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "analysis/group/judge.h"

static Group *group_free(Group *group) {
        if (!group)
                return NULL;
        for (unsigned side = 0; side < SIDES; side++) {
                aggregate_free(group->sides[side]);
                spread_done(&group->spreads[side]);
                if (group->works[side])
                        group_work_done(group->works[side]);
                free(group->works[side]);
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

static int group_new(Span id, Group **ret) {
        _cleanup_(group_freep) Group *group = calloc(1, sizeof(*group));

        if (!group)
                return -ENOMEM;
        group->id = copy_bytes(id);
        if (!group->id)
                return -ENOMEM;
        group->n_id = id.n;
        group->life_seed = hash_seed();
        *ret = TAKE_PTR(group);
        return 0;
}

void group_table_done(GroupTable *table) {
        for (size_t i = 0; i < table->n_groups; i++)
                group_free(table->groups[i]);
        free(table->groups);
        index_done(&table->index);
        *table = (GroupTable){ .groups = NULL };
}

static Span id_of(const void *owner, size_t element) {
        const GroupTable *table = owner;
        const Group *group = table->groups[element];

        return (Span){ group->id, group->n_id };
}

Group *group_table_find(const GroupTable *table, Span id) {
        size_t i = index_find(&table->index, id, id_of, table);

        return i == INDEX_NONE ? NULL : table->groups[i];
}

int group_table_obtain(GroupTable *table, Span id, Group **ret) {
        _cleanup_(group_freep) Group *group = NULL;
        Group *found = group_table_find(table, id);
        int r;

        if (found) {
                *ret = found;
                return 0;
        }
        r = ARRAY_RESERVE(table->groups, table->n_allocated, table->n_groups + 1);
        if (r == 0)
                r = group_new(id, &group);
        if (r == 0)
                r = index_add(&table->index, id, table->n_groups);
        if (r != 0)
                return r;
        group->index = table->n_groups;
        *ret = table->groups[table->n_groups++] = TAKE_PTR(group);
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

/*
 * A thread is identified by its tid and start. The hashes are added because the order of threads is
 * arbitrary. Nobody can choose threads whose sums are equal: the seed is secret.
 */
static uint64_t life_hash(const ThreadSample *sample, uint64_t seed) {
        const uint64_t life[] = { (uint64_t) sample->tid, sample->start_ticks };

        return hash_bytes((Span){ (const char *) life, sizeof(life) }, seed);
}

int group_fold(Group *group, unsigned side, const ThreadSample *sample) {
        int r;

        if (!group->sides[side]) {
                r = aggregate_new(&group->sides[side]);
                if (r != 0)
                        return r;
        }
        group->lives[side] += life_hash(sample, group->life_seed);
        return aggregate_fold(group->sides[side], sample);
}

int group_fold_life(Group *group, const ThreadSample *before, const ThreadSample *after) {
        int r = group->window ? 0 : group_window_new(&group->window);

        return r == 0 ? group_window_fold(group->window, group->sides, before, after) : r;
}

int group_fold_work(Group *group, unsigned side, const ThreadSample *before,
                    const ThreadSample *after, ThreadSample *ret_sample) {
        GroupWork *work = group->works[side];

        if (!work) {
                work = group->works[side] = calloc(1, sizeof(*work));
                if (!work)
                        return -ENOMEM;
        }
        life_counts_add(&work->lives, before, after);
        return after ? group_work_fold(work, &group->sides[side], before, after, true, ret_sample)
                     : 0;
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
        life_tally_merge(&group->tallies[side], &from->tallies[side]);
        if (from->works[side]) {
                if (group->works[side]) {
                        life_counts_merge(&from->works[side]->lives, &group->works[side]->lives);
                        group_work_done(group->works[side]);
                        free(group->works[side]);
                }
                group->works[side] = TAKE_PTR(from->works[side]);
        }
        if (group->window && from->window)
                group_window_adopt(group->window, TAKE_PTR(from->window));
        return 0;
}

bool group_survived(const Group *group) {
        return group->sides[0] && group->sides[1] && group->lives[0] == group->lives[1] &&
               group->sides[0]->n_threads == group->sides[1]->n_threads;
}

bool group_refutes_growth(const Group *group, MetricId id) {
        const Aggregate *before = group->sides[SIDE_BEFORE], *after = group->sides[SIDE_AFTER];
        uint64_t first, last;

        if (group->interval_ns == 0 || group->window || !group_survived(group) ||
            before->present[id] != after->present[id])
                return false;
        first = aggregate_sum(before, id);
        last = aggregate_sum(after, id);
        return last > first && judge_refutes_growth(id, before, after->present[id], last - first,
                                                    group->interval_ns);
}

/* sums */

uint64_t group_sum_ns(const Group *group) {
        return MAX_OF(group->elapsed_ns[0], group->elapsed_ns[1]);
}

bool group_is_scaled(const Group *group, unsigned side) {
        return group->elapsed_ns[side] != 0 && group->elapsed_ns[side] != group_sum_ns(group);
}

uint64_t group_sum(const Group *group, unsigned side, MetricId id) {
        uint64_t sum = aggregate_sum(group->sides[side], id);
        long double scaled;

        if (!group_is_scaled(group, side) || !group_work_counts(id))
                return sum;
        scaled = (long double) sum * (long double) group_sum_ns(group) /
                 (long double) group->elapsed_ns[side];
        return scaled < (long double) UINT64_MAX ? (uint64_t) scaled : UINT64_MAX;
}

bool group_has_sum(const Group *group, unsigned side, MetricId id) {
        return aggregate_has(group->sides[side], id) &&
               !(group->works[side] && group_work_fell(group->works[side], id));
}

/* uptime */

static bool age_of(const Uptimes *uptimes, const Group *group, uint64_t *ret) {
        const Aggregate *after = group->sides[SIDE_AFTER];
        uint64_t start;

        if (!after || after->n_started == 0)
                return false;
        start = after->start_ticks / after->n_started;
        *ret = uptimes->last_start - MIN_OF(start, uptimes->last_start);
        return true;
}

void uptimes_init(Uptimes *uptimes, const GroupTable *table) {
        *uptimes = (Uptimes){ .oldest = 1 };
        for (size_t i = 0; i < table->n_groups; i++) {
                const Aggregate *after = table->groups[i]->sides[SIDE_AFTER];

                if (after)
                        uptimes->last_start = MAX_OF(uptimes->last_start, after->last_start);
        }
        for (size_t i = 0; i < table->n_groups; i++) {
                uint64_t age;

                if (table->groups[i]->sides[0] && age_of(uptimes, table->groups[i], &age))
                        uptimes->oldest = MAX_OF(uptimes->oldest, age);
        }
}

bool uptimes_percent(const Uptimes *uptimes, const Group *group, double *ret) {
        uint64_t age;

        if (!age_of(uptimes, group, &age))
                return false;
        *ret = (double) age / (double) uptimes->oldest * 100;
        return true;
}
