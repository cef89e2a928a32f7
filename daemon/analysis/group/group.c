/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/index.h"
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
                group_dead_free(group->dead[side]);
        }
        group_window_free(group->window);
        member_list_done(&group->members);
        member_list_done(&group->commands);
        for (unsigned side = 0; side < SIDES; side++)
                member_list_done(&group->starters[side]);
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

static int obtain_dead(Group *group, unsigned side) {
        return group->dead[side] ? 0 : group_dead_new(&group->dead[side]);
}

int group_fold_dead(Group *group, unsigned side, Side end, const DeadRow *row) {
        int r = obtain_dead(group, side);

        if (r < 0)
                return r;
        group_dead_add_row(group->dead[side], end, row);
        if (!row->started_by.bytes)
                return 0;
        group->tells_starters[side] = true;
        if (row->sample.has_kthread && row->sample.kthread)
                return 0; /* nobody starts those */
        return member_list_add_ended(&group->starters[side], row->started_by,
                                     end == SIDE_AFTER ? row->exits : -row->exits);
}

const MemberList *group_starters(const Group *group, unsigned side) {
        const LifeCounts *lives = group->works[side] ? &group->works[side]->lives
                                  : group->window    ? &group->window->lives
                                                     : NULL;

        if (!lives || !lives->exits.known)
                return NULL;
        return group->tells_starters[side] || lives->exits.n == 0 ? &group->starters[side] : NULL;
}

int group_fold_gone(Group *group, unsigned side, const Period *period, const ThreadSample *gone) {
        int r = obtain_dead(group, side);

        if (r == 0)
                group_dead_add_gone(group->dead[side], period, gone);
        return r;
}

/* Of two intervals a side has works; else the group has a window. */
static LifeCounts *lives_of(Group *group, unsigned side) {
        if (group->works[side])
                return &group->works[side]->lives;
        return group->window ? &group->window->lives : NULL;
}

/* Makes what a group needs that has no thread at the end, and perhaps none at the beginning. */
static int make_room_for_dead(Group *group, unsigned side) {
        bool of_intervals = group->elapsed_ns[side] > 0;
        int r = group->sides[side] ? 0 : aggregate_new_empty(&group->sides[side]);

        if (r != 0 || lives_of(group, side))
                return r;
        if (!of_intervals)
                return group_window_new(&group->window);
        group->works[side] = calloc(1, sizeof(*group->works[side]));
        return group->works[side] ? 0 : -ENOMEM;
}

static void add_sum(Group *group, unsigned side, MetricId id) {
        DeadSum sum = group_dead_sum(group->dead[side], id);

        if (!sum.known)
                return;
        if (!group->works[side])
                aggregate_add_sum(group->sides[side], id, sum.value, sum.threads);
        else if (group_work_counts(id))
                group_work_add_ended(group->works[side], group->sides[side], id, sum.value,
                                     sum.threads);
}

/* Returns the highest peak of memory that was reached inside. */
static Amount add_peaks(Group *group, unsigned side, const LedgerSight *sight) {
        const LifeCounts *lives = lives_of(group, side);
        bool new_process = sight->by_process && lives->survived == 0 && lives->gone == 0;
        Amount rss = { .known = false };

        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                MetricId id = (MetricId) i;
                Amount peak = group_dead_peak(group->dead[side], id, sight->peaks, new_process);

                if (!peak.known)
                        continue;
                aggregate_add_peak(group->sides[side], id, peak.n);
                if (group->window)
                        group_window_note_record(group->window, id, peak.n);
                if (id == METRIC_hiwater_rss_bytes)
                        rss = peak;
        }
        return rss;
}

int group_settle_dead(Group *group, unsigned side, const LedgerSight *sight) {
        GroupDead *dead = group->dead[side];
        LifeCounts *lives;
        Amount rss;
        int r;

        if (dead && group_dead_exits(dead) > 0) {
                group_dead_judge(dead, sight->period);
                group_dead_find_excess(dead, sight->period, sight->all, sight->n_cpus);
                r = make_room_for_dead(group, side);
                if (r != 0)
                        return r;
                for (unsigned i = 0; i < _METRIC_MAX; i++)
                        if (metric_is_work((MetricId) i))
                                add_sum(group, side, (MetricId) i);
                rss = add_peaks(group, side, sight);
                /* Time alive counts where the time in which they ran does. */
                if (group_dead_left_out(dead, METRIC_run_time_ns) == 0)
                        life_tally_add_ended(&group->tallies[side],
                                             group_dead_alive_ns(dead, sight->period->tick_ns),
                                             rss);
        }
        lives = lives_of(group, side);
        if (lives) {
                lives->fleeting = amount_of(dead ? group_dead_n_fleeting(dead) : 0);
                lives->exits = amount_of(dead ? group_dead_exits(dead) : 0);
        }
        return 0;
}

int group_settle_window(Group *group) {
        return group->window ? group_window_settle(group->window, group->sides) : 0;
}

bool group_is_empty(const Group *group) {
        return !group->sides[0] && !group->sides[1];
}

void group_adopt_dead(Group *group, unsigned side, Group *from) {
        group_dead_adopt(&group->dead[side], &from->dead[side]);
}

static int adopt_members(MemberList *list, MemberList *from) {
        int r = member_list_merge(list, from);

        if (r == 0)
                member_list_done(from);
        return r;
}

int group_adopt(Group *group, unsigned side, Group *from) {
        int r;

        r = adopt_members(&group->members, &from->members);
        if (r == 0)
                r = adopt_members(&group->commands, &from->commands);
        if (r == 0)
                r = adopt_members(&group->starters[side], &from->starters[side]);
        if (r != 0)
                return r;
        group->tells_starters[side] = group->tells_starters[side] || from->tells_starters[side];
        group->is_pattern = group->is_pattern || from->is_pattern;
        group->has_program = group->has_program || from->has_program;
        group->sides[side] = TAKE_PTR(from->sides[side]);
        group->lives[side] = from->lives[side];
        spread_done(&group->spreads[side]);
        group->spreads[side] = TAKE(from->spreads[side], (Spread){});
        life_tally_merge(&group->tallies[side], &from->tallies[side]);
        group_adopt_dead(group, side, from);
        if (from->works[side]) {
                if (group->works[side]) {
                        life_counts_merge(&from->works[side]->lives, &group->works[side]->lives);
                        group_work_done(group->works[side]);
                        free(group->works[side]);
                }
                group->works[side] = TAKE_PTR(from->works[side]);
        }
        /* A group that only the ledger of the dead knows has no window yet. */
        if (from->window && group->window)
                group_window_adopt(group->window, TAKE_PTR(from->window));
        else if (from->window)
                group->window = TAKE_PTR(from->window);
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
