/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/comparison.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/group-account.h"
#include "analysis/compare/group-json.h"
#include "analysis/compare/impact.h"
#include "analysis/compare/order.h"
#include "analysis/compare/wait-shift.h"
#include "analysis/pairing/pairing.h"
#include "analysis/group/spread.h"
#include "analysis/key/thread-group.h"
#include "analysis/group/group.h"

/* Groups in the order of display, borrowed from the table. */
typedef struct GroupList {
        Group **groups; /* owned */
        size_t n_groups;
        size_t n_shown; /* the others are beyond the limit */
} GroupList;

struct Comparison {
        View view;
        ComparisonSetup setup;
        ThreadGroups threads;
        SpreadNames *spread_names; /* owned; NULL: the view does not show the spread */
        Uptimes uptimes;
        Pairing *pairing; /* owned; NULL: the axis has no cgroups, or there is one side */
        const SourceTable *sources[SIDES]; /* borrowed */
        ImpactScale scale;
        GroupAccounts accounts;
        Coverage coverages[SIDES];
        GroupList lists[_COMPARISON_LIST_MAX];
        /* Of an interval under SIDE_AFTER, of two under each. */
        LifeCounts lives[SIDES];
        uint64_t n_exits[SIDES];     /* by the ledger; modulo 2^64 */
        GonePeaks gone_peaks[SIDES]; /* of threads that ended */
        GroupDead dead[SIDES];       /* all of them, whatever their groups */
        bool lost_names[SIDES];      /* comparison_lose_names() */
        LedgerPlaces places[SIDES];
        uint64_t n_matched;
        uint64_t n_hidden_rows;
        uint64_t n_rows_above_threshold;
};

static bool of_intervals(const Comparison *comparison) {
        return comparison->setup.interval_of_ns[0] > 0;
}

/* When the interval that is @side was. */
static Period period_of_side(const ComparisonSetup *setup, unsigned side) {
        const JudgeTime times[SIDES] = { setup->begins[side], setup->times[side] };

        return period_between(times);
}

static void init_accounts(Comparison *comparison) {
        const ComparisonSetup *setup = &comparison->setup;
        GroupAccounts *accounts = &comparison->accounts;

        accounts->is_interval = comparison_wants_lives(comparison);
        accounts->of_intervals = of_intervals(comparison);
        accounts->n_sides = setup->n_sides;
        for (unsigned side = 0; side < SIDES; side++) {
                accounts->periods[side] = accounts->of_intervals
                                                  ? period_of_side(setup, side)
                                                  : period_of_lives(&setup->times[side]);
                accounts->defects[side] = setup->defects[side];
        }
        if (accounts->is_interval)
                accounts->periods[SIDE_AFTER] = period_between(setup->times);
        for (unsigned side = 0; side < SIDES; side++) {
                accounts->waits_since_ns[side] = setup->waits_since_ns[side];
                accounts->reasons_since_ns[side] = setup->reasons_since_ns[side];
        }
}

int comparison_new(const View *view, const ComparisonSetup *setup, Comparison **ret) {
        _cleanup_(comparison_freep) Comparison *comparison = calloc(1, sizeof(*comparison));
        int r;

        assert(setup->n_sides == 1 || setup->n_sides == 2);
        if (!comparison)
                return -ENOMEM;
        comparison->view = *view;
        comparison->setup = *setup;
        init_accounts(comparison);
        r = thread_groups_init(&comparison->threads, &comparison->view, setup->boots);
        if (r != 0)
                return r;
        if (view->spread) {
                r = spread_names_new(&comparison->spread_names);
                if (r != 0)
                        return r;
        }
        if (setup->n_sides == 2 &&
            (view->axis == VIEW_AXIS_CGROUP || view->axis == VIEW_AXIS_ALL) &&
            (view->pairing || view->pairs.n > 0)) {
                r = pairing_new(thread_keys_cgroup_part(&comparison->threads.keys),
                                &comparison->pairing);
                if (r != 0)
                        return r;
        }
        *ret = TAKE_PTR(comparison);
        return 0;
}

Comparison *comparison_free(Comparison *comparison) {
        if (!comparison)
                return NULL;
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++)
                free(comparison->lists[list].groups);
        pairing_free(comparison->pairing);
        spread_names_free(comparison->spread_names);
        thread_groups_done(&comparison->threads);
        free(comparison);
        return NULL;
}

bool comparison_wants_census(const Comparison *comparison) {
        return thread_groups_want_census(&comparison->threads);
}

int comparison_census(Comparison *comparison, const ThreadSample *sample) {
        return thread_groups_census(&comparison->threads, sample);
}

bool comparison_wants_cgroups(Comparison *comparison) {
        return thread_groups_want_cgroups(&comparison->threads);
}

int comparison_census_cgroup(Comparison *comparison, Span path) {
        return thread_groups_census_cgroup(&comparison->threads, path);
}

static int note_kind(Comparison *comparison, const Group *group, Side side,
                     const ThreadSample *sample) {
        if (!comparison->pairing)
                return 0;
        return pairing_add(comparison->pairing, group_names(group, comparison->view.axis).cgroup,
                           side, sample);
}

static int fold_spread(Comparison *comparison, Group *group, Side side,
                       const ThreadSample *sample) {
        if (!comparison->spread_names)
                return 0;
        return spread_fold_sample(&group->spreads[side], comparison->spread_names, sample);
}

int comparison_fold(Comparison *comparison, Side side, const ThreadSample *sample) {
        Group *group;
        int r;

        assert((unsigned) side < comparison->setup.n_sides);
        if (thread_is_left_out(&comparison->view, sample))
                return 0;
        r = thread_groups_obtain(&comparison->threads, side, sample, &group);
        if (r == 0)
                r = note_kind(comparison, group, side, sample);
        if (r == 0)
                r = fold_spread(comparison, group, side, sample);
        if (r == 0)
                r = group_fold(group, side, sample);
        if (r == 0)
                life_tally_add(&group->tallies[side], &comparison->accounts.periods[side], NULL,
                               sample);
        return r;
}

bool comparison_wants_lives(const Comparison *comparison) {
        return comparison->view.window && comparison->setup.n_sides == 2 &&
               comparison->setup.boots == BOOTS_SAME;
}

/*
 * A survivor adds its work in the window. A thread that is gone adds its totals, which are shown
 * only if the whole group is gone.
 */
static int fold_spread_of_life(Comparison *comparison, Group *group, const ThreadSample *before,
                               const ThreadSample *after) {
        ThreadSample work;

        if (!comparison->spread_names)
                return 0;
        if (!after)
                return fold_spread(comparison, group, SIDE_BEFORE, before);
        if (before)
                life_work(before, after, &work);
        else
                life_work_of_born(after, &work);
        return fold_spread(comparison, group, SIDE_AFTER, &work);
}

/* A thread that ended is one of those that the ledger tells of, if there is one. */
static int obtain_group(Comparison *comparison, Side side, const ThreadSample *before,
                        const ThreadSample *after, Group **ret) {
        ThreadGroups *threads = &comparison->threads;
        Side names = side; /* of two intervals */
        int r;

        if (!after && comparison->setup.has_ledger[side]) {
                r = thread_groups_obtain_dead(threads, before, 0, ret);
                if (r == 0)
                        r = thread_groups_note_unplaced(threads, before, *ret);
                if (r == 0)
                        r = group_fold_gone(*ret, side, &comparison->accounts.periods[side],
                                            before);
                gone_peaks_add(&comparison->gone_peaks[side], before);
                return r;
        }
        if (!of_intervals(comparison))
                names = after ? SIDE_AFTER : SIDE_BEFORE;
        return thread_groups_obtain(threads, names, after ? after : before, ret);
}

/* What the earlier snapshot says of a thread, without any value if it was overlooked there. */
static const ThreadSample *earlier_of(const Comparison *comparison, Side side,
                                      const ThreadSample *before, const ThreadSample *after,
                                      ThreadSample *room) {
        if (before || !period_overlooked(&comparison->accounts.periods[side], after))
                return before;
        *room = *after;
        memset(room->present, 0, sizeof(room->present));
        return room;
}

/* Also one that the view leaves out. */
static void note_gone(Comparison *comparison, Side side, const ThreadSample *before,
                      const ThreadSample *after) {
        if (!after && comparison->setup.has_ledger[side])
                group_dead_add_gone(&comparison->dead[side], &comparison->accounts.periods[side],
                                    before);
}

int comparison_fold_life(Comparison *comparison, const ThreadSample *before,
                         const ThreadSample *after) {
        ThreadSample room;
        Group *group;
        int r;

        assert(comparison_wants_lives(comparison));
        before = earlier_of(comparison, SIDE_AFTER, before, after, &room);
        coverage_add(&comparison->coverages[SIDE_AFTER], before, after);
        note_gone(comparison, SIDE_AFTER, before, after);
        /* A thread that was ctprof's own in one snapshot is left out of both. */
        if ((before && thread_is_left_out(&comparison->view, before)) ||
            (after && thread_is_left_out(&comparison->view, after)))
                return 0;
        r = obtain_group(comparison, SIDE_AFTER, before, after, &group);
        if (r == 0 && before)
                r = note_kind(comparison, group, SIDE_BEFORE, before);
        if (r == 0 && after)
                r = note_kind(comparison, group, SIDE_AFTER, after);
        if (r == 0)
                r = fold_spread_of_life(comparison, group, before, after);
        if (r == 0)
                r = group_fold_life(group, before, after);
        if (r != 0)
                return r;
        life_tally_add(&group->tallies[SIDE_AFTER], &comparison->accounts.periods[SIDE_AFTER],
                       before, after);
        life_counts_add(&comparison->lives[SIDE_AFTER], before, after);
        return 0;
}

int comparison_fold_dead(Comparison *comparison, Side side, Side end, const DeadRow *row) {
        uint64_t n = end == SIDE_AFTER ? row->exits : -row->exits;
        Group *group;
        int r;

        assert(comparison->setup.has_ledger[side]);
        coverage_add_dead(&comparison->coverages[side], end, row);
        group_dead_add_row(&comparison->dead[side], end, row);
        ledger_places_note(&comparison->places[side], row);
        if (thread_is_left_out(&comparison->view, &row->sample))
                return 0;
        comparison->n_exits[side] += n;
        r = thread_groups_obtain_dead(&comparison->threads, &row->sample, n, &group);
        return r == 0 ? group_fold_dead(group, side, end, row) : r;
}

int comparison_fold_work(Comparison *comparison, Side side, const ThreadSample *before,
                         const ThreadSample *after) {
        ThreadSample room, sample;
        Group *group;
        int r;

        assert(of_intervals(comparison));
        before = earlier_of(comparison, side, before, after, &room);
        coverage_add(&comparison->coverages[side], before, after);
        note_gone(comparison, side, before, after);
        if ((before && thread_is_left_out(&comparison->view, before)) ||
            (after && thread_is_left_out(&comparison->view, after)))
                return 0;
        r = obtain_group(comparison, side, before, after, &group);
        if (r == 0 && after)
                r = note_kind(comparison, group, side, after);
        if (r == 0)
                r = group_fold_work(group, side, before, after, &sample);
        if (r != 0)
                return r;
        life_tally_add(&group->tallies[side], &comparison->accounts.periods[side], before, after);
        life_counts_add(&comparison->lives[side], before, after);
        return 0;
}

/*
 * Finds the group that has the process and thread of @after in another cgroup; NULL when there is
 * none.
 */
static int find_counterpart(Comparison *comparison, Span cgroup, const Group *after, Group **ret) {
        Span key = group_key(after), old = group_names(after, comparison->view.axis).cgroup;
        _cleanup_(buffer_done) Buffer id = { .bytes = NULL };
        int r;

        buffer_append(&id, cgroup.bytes, cgroup.n);
        r = buffer_append(&id, key.bytes + old.n, key.n - old.n);
        if (comparison->view.axis == VIEW_AXIS_ALL)
                r = thread_key_append_lengths(&id, cgroup.n, after->n_process);
        if (r != 0)
                return r;
        *ret = group_table_find(&comparison->threads.table, buffer_span(&id));
        return 0;
}

/* Merges the group of a renamed cgroup into the group of its old name, if that exists. */
static int rename_group(Comparison *comparison, Span cgroup, Group *after) {
        Group *before;
        int r;

        r = find_counterpart(comparison, cgroup, after, &before);
        if (r != 0 || !before || before->sides[SIDE_AFTER])
                return r;
        return group_adopt(before, SIDE_AFTER, after);
}

static int apply_match(Comparison *comparison, const PairingMatch *match) {
        ViewAxis axis = comparison->view.axis;
        Group *group = group_table_find(&comparison->threads.table, match->after);

        if (axis == VIEW_AXIS_CGROUP) /* each cgroup is one group */
                return group ? rename_group(comparison, match->before, group) : 0;
        for (size_t i = 0; i < comparison->threads.table.n_groups; i++) {
                int r;

                group = comparison->threads.table.groups[i];
                if (group_is_empty(group) ||
                    !span_equal(group_names(group, axis).cgroup, match->after))
                        continue;
                r = rename_group(comparison, match->before, group);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int pair_cgroups(Comparison *comparison) {
        int r;

        if (!comparison->pairing)
                return 0;
        r = pairing_match(comparison->pairing, &comparison->view);
        for (size_t i = 0; r == 0 && i < pairing_n(comparison->pairing); i++)
                r = apply_match(comparison, pairing_get(comparison->pairing, i));
        return r;
}

static bool lacks_places(const Comparison *comparison, unsigned side) {
        return comparison->setup.has_ledger[side] && ledger_lacks_places(&comparison->places[side]);
}

/* What the gone had is taken away from the rows that have what they did later. */
static void place_gone(Comparison *comparison) {
        for (unsigned side = 0; side < SIDES; side++)
                for (size_t i = 0; i < comparison->threads.table.n_groups; i++) {
                        Group *group = comparison->threads.table.groups[i];

                        if (group->unplaced && lacks_places(comparison, side))
                                group_adopt_dead(group->unplaced, side, group);
                }
}

/* The ledger tells which threads of the group ended. */
static bool is_told_of(const Comparison *comparison, unsigned side, const Group *group) {
        return comparison->setup.has_ledger[side] && !comparison->lost_names[side] &&
               !(lacks_places(comparison, side) && group_is_placed(group, comparison->view.axis));
}

static int settle_group(Comparison *comparison, Group *group) {
        int r = 0;

        for (unsigned side = 0; side < SIDES && r == 0; side++) {
                const LedgerSight sight = {
                        .period = &comparison->accounts.periods[side],
                        .peaks = &comparison->gone_peaks[side],
                        .all = &comparison->dead[side],
                        .n_cpus = comparison->accounts.hosts[side].n_cpus,
                        .by_process = comparison->view.axis == VIEW_AXIS_PCOMM,
                };

                if (is_told_of(comparison, side, group))
                        r = group_settle_dead(group, side, &sight);
                else
                        group->dead[side] = group_dead_free(group->dead[side]);
        }
        return r == 0 && !group_is_empty(group) ? group_settle_window(group) : r;
}

static int settle_groups(Comparison *comparison) {
        int r = 0;

        for (size_t i = 0; i < comparison->threads.table.n_groups && r == 0; i++)
                r = settle_group(comparison, comparison->threads.table.groups[i]);
        return r;
}

/* Fewer exits than threads are gone is what no ledger says that knows them all. */
static void settle_lives(Comparison *comparison) {
        for (unsigned side = 0; side < SIDES; side++) {
                LifeCounts *lives = &comparison->lives[side];
                uint64_t n_fleeting = comparison->n_exits[side] - lives->gone;

                if (!comparison->setup.has_ledger[side] || (int64_t) n_fleeting < 0)
                        continue;
                lives->exits = amount_of(comparison->n_exits[side]);
                lives->fleeting = amount_of(n_fleeting);
        }
}

/* The sides are of one boot and the second is the later one: counters can only have grown. */
static bool in_order(const Comparison *comparison) {
        return comparison->setup.boots == BOOTS_SAME && comparison->setup.elapsed_ns > 0;
}

static GroupLens lens_of(const Comparison *comparison, ComparisonList list) {
        return (GroupLens){
                .view = &comparison->view,
                .scale = &comparison->scale,
                .accounts = &comparison->accounts,
                .spread_names = comparison->spread_names,
                .uptimes = comparison->setup.n_sides > 1 ? &comparison->uptimes : NULL,
                .sources = { comparison->sources[0], comparison->sources[1] },
                .defects = { comparison->setup.defects[0], comparison->setup.defects[1] },
                .changed_only = comparison->view.changed_only && list == COMPARISON_GROUPS,
                .threshold = comparison->view.has_threshold && comparison->setup.n_sides > 1 &&
                             list == COMPARISON_GROUPS,
                .in_order = in_order(comparison),
                .of_intervals = of_intervals(comparison),
                .elapsed_ns =
                        comparison->setup.boots == BOOTS_SAME ? comparison->setup.elapsed_ns : 0,
        };
}

/* Which side of the groups in @list is shown. */
static unsigned side_of(const Comparison *comparison, ComparisonList list) {
        switch (list) {
        case COMPARISON_GROUPS:
                return comparison->setup.n_sides == 1 ? SIDE_BEFORE : BOTH_SIDES;
        case COMPARISON_ONLY_AFTER:
                return SIDE_AFTER;
        case COMPARISON_ONLY_BEFORE:
        case COMPARISON_OVERVIEW:
        case _COMPARISON_LIST_MAX:
                break;
        }
        return SIDE_BEFORE;
}

static ComparisonList list_of(const Comparison *comparison, const Group *group) {
        if (comparison->setup.n_sides == 1 || (group->sides[0] && group->sides[1]))
                return COMPARISON_GROUPS;
        return group->sides[0] ? COMPARISON_ONLY_BEFORE : COMPARISON_ONLY_AFTER;
}

/* Sorts the groups into the lists and leaves out groups without a row to show. */
static int fill_lists(Comparison *comparison) {
        GroupLens lens = lens_of(comparison, COMPARISON_GROUPS);
        size_t n_rows = group_lens_n_rows(&lens);
        size_t counts[_COMPARISON_LIST_MAX] = { 0 };

        for (size_t i = 0; i < comparison->threads.table.n_groups; i++)
                if (!group_is_empty(comparison->threads.table.groups[i]))
                        counts[list_of(comparison, comparison->threads.table.groups[i])]++;
        for (unsigned list = 0; list < COMPARISON_OVERVIEW; list++)
                counts[COMPARISON_OVERVIEW] += comparison->view.overview ? counts[list] : 0;
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++) {
                /* One more than needed because calloc(0) may return NULL. */
                comparison->lists[list].groups = calloc(counts[list] + 1, sizeof(Group *));
                if (!comparison->lists[list].groups)
                        return -ENOMEM;
        }

        for (size_t i = 0; i < comparison->threads.table.n_groups; i++) {
                Group *group = comparison->threads.table.groups[i];
                ComparisonList list = list_of(comparison, group);

                if (group_is_empty(group) || !group_passes(group, &comparison->view))
                        continue;
                comparison->n_matched++;
                if (list == COMPARISON_GROUPS && (lens.changed_only || lens.threshold) &&
                    !group_lens_has_rows(&lens, group, side_of(comparison, list))) {
                        comparison->n_hidden_rows += comparison->view.rows ? n_rows : 0;
                        continue;
                }
                comparison->lists[list].groups[comparison->lists[list].n_groups++] = group;
        }
        return 0;
}

static void weigh_groups(Comparison *comparison) {
        group_accounts_scale(&comparison->accounts);
        for (size_t i = 0; i < comparison->threads.table.n_groups; i++)
                if (!group_is_empty(comparison->threads.table.groups[i]))
                        group_weigh(&comparison->accounts, comparison->threads.table.groups[i]);
}

static Order order_of(const Comparison *comparison) {
        return (Order){ .sort = &comparison->view.sort,
                        .scale = &comparison->scale,
                        .accounts = &comparison->accounts,
                        .n_sides = comparison->setup.n_sides,
                        .in_order = in_order(comparison) };
}

static int order_lists(Comparison *comparison) {
        GroupList *groups = &comparison->lists[COMPARISON_GROUPS];
        Order order = order_of(comparison);
        int r;

        r = order_groups(&order, groups->groups, groups->n_groups);
        for (unsigned i = COMPARISON_ONLY_BEFORE; i <= COMPARISON_ONLY_AFTER && r == 0; i++) {
                GroupList *list = &comparison->lists[i];

                /* Beside each other they have values and no deltas. */
                order.side = side_of(comparison, (ComparisonList) i);
                order.n_sides = order.sort->order == VIEW_ORDER_METRICS ? 1 : SIDES;
                if (order.sort->order == VIEW_ORDER_WEIGHT ||
                    order.sort->order == VIEW_ORDER_METRICS)
                        r = order_groups(&order, list->groups, list->n_groups);
                else
                        impact_sort_one_sided(list->groups, list->n_groups, order.side);
        }
        return r;
}

/* All groups of the other lists, one list after the other. */
static void collect_overview(Comparison *comparison) {
        GroupList *overview = &comparison->lists[COMPARISON_OVERVIEW];

        for (unsigned i = 0; i < COMPARISON_OVERVIEW; i++) {
                const GroupList *list = &comparison->lists[i];

                if (list->n_groups > 0)
                        memcpy(overview->groups + overview->n_groups, list->groups,
                               list->n_groups * sizeof(*list->groups));
                overview->n_groups += list->n_groups;
        }
}

static int order_overview(Comparison *comparison) {
        GroupList *overview = &comparison->lists[COMPARISON_OVERVIEW];
        Order order = order_of(comparison);

        if (!comparison->view.overview)
                return 0;
        order.figures = FIGURES_CUT;
        collect_overview(comparison);
        return order_groups(&order, overview->groups, overview->n_groups);
}

static void cut_lists(Comparison *comparison) {
        size_t limit = comparison->view.limit;

        for (unsigned i = 0; i < _COMPARISON_LIST_MAX; i++) {
                GroupList *list = &comparison->lists[i];

                list->n_shown = limit > 0 ? MIN_OF(limit, list->n_groups) : list->n_groups;
                for (size_t j = 0; j < list->n_shown; j++) {
                        member_list_sort(&list->groups[j]->members);
                        member_list_sort(&list->groups[j]->commands);
                        for (unsigned side = 0; side < SIDES; side++)
                                member_list_sort(&list->groups[j]->starters[side]);
                }
        }
}

static void count_hidden_rows(Comparison *comparison) {
        const GroupList *list = &comparison->lists[COMPARISON_GROUPS];
        GroupLens lens = lens_of(comparison, COMPARISON_GROUPS);
        size_t n_rows = group_lens_n_rows(&lens);
        Row rows[ROW_MAX];

        if (!lens.changed_only && !lens.threshold)
                return;
        if (!comparison->view.rows && !lens.threshold)
                return;
        if (lens.threshold && n_rows > 0)
                comparison->n_rows_above_threshold =
                        comparison->lists[COMPARISON_ONLY_BEFORE].n_groups +
                        comparison->lists[COMPARISON_ONLY_AFTER].n_groups;
        for (size_t i = 0; i < list->n_groups; i++) {
                size_t n_left = group_lens_rows(&lens, list->groups[i],
                                                side_of(comparison, COMPARISON_GROUPS), rows);

                if (lens.threshold)
                        comparison->n_rows_above_threshold += n_left;
                if (i < list->n_shown && comparison->view.rows)
                        comparison->n_hidden_rows += n_rows - n_left;
        }
}

static void tell_times(const Comparison *comparison, Group *group) {
        group->interval_ns = comparison->setup.interval_ns;
        for (unsigned side = 0; side < SIDES; side++)
                group->elapsed_ns[side] = comparison->setup.interval_of_ns[side];
}

int comparison_finish(Comparison *comparison, const SourceTable *const sources[static SIDES]) {
        int r;

        for (unsigned side = 0; side < SIDES; side++)
                comparison->sources[side] = sources[side];
        for (size_t i = 0; i < comparison->threads.table.n_groups; i++)
                tell_times(comparison, comparison->threads.table.groups[i]);
        place_gone(comparison);
        r = pair_cgroups(comparison);
        if (r == 0)
                r = settle_groups(comparison);
        if (r != 0)
                return r;
        settle_lives(comparison);
        impact_scale_init(&comparison->scale, &comparison->threads.table);
        uptimes_init(&comparison->uptimes, &comparison->threads.table);
        weigh_groups(comparison);
        r = fill_lists(comparison);
        if (r == 0)
                r = order_lists(comparison);
        if (r == 0)
                r = order_overview(comparison);
        if (r != 0)
                return r;
        cut_lists(comparison);
        count_hidden_rows(comparison);
        return 0;
}

size_t comparison_n(const Comparison *comparison, ComparisonList list) {
        return comparison->lists[list].n_shown;
}

void comparison_write(const Comparison *comparison, ComparisonList list, size_t index,
                      JsonWriter *writer) {
        GroupLens lens = lens_of(comparison, list);

        assert(index < comparison_n(comparison, list));
        if (list == COMPARISON_OVERVIEW) {
                group_write_overview_json(writer, &lens, comparison->lists[list].groups[index]);
                return;
        }
        group_write_json(writer, &lens, comparison->lists[list].groups[index],
                         side_of(comparison, list));
}

/* changes of whole groups */

/* Threads that nobody pinned have all CPUs that the kernel may ever see, on each host others. */
static bool has_all_cpus(const Comparison *comparison, unsigned side, const Value *value) {
        unsigned host = comparison->accounts.is_interval ? SIDE_AFTER : side;
        Amount n_cpus = comparison->accounts.hosts[host].n_cpus;

        return value->kind == VALUE_CPUS && n_cpus.known && value->cpus.max >= n_cpus.n;
}

/* Workers of the kernel, which have no memory, are given CPUs by it as it needs them. */
static bool is_of_kernel_workers(const Comparison *comparison, const Group *group) {
        static const Span prefix = SPAN_LITERAL("kworker/");
        GroupNames names = group_names(group, comparison->view.axis);
        Span name = names.process.bytes ? names.process : names.thread;

        return name.n >= prefix.n && memcmp(name.bytes, prefix.bytes, prefix.n) == 0 &&
               !aggregate_has(group->sides[SIDE_AFTER], METRIC_rss_anon_bytes);
}

/* All threads of the group have one value on each side, and somebody made them differ. */
static bool is_changed(const Comparison *comparison, const Group *group, MetricId id,
                       Value ret[static SIDES]) {
        bool is_set = false;

        if (id == METRIC_cpu_affinity && is_of_kernel_workers(comparison, group))
                return false;
        for (unsigned side = 0; side < SIDES; side++) {
                const Value *value = &ret[side];

                ret[side] = aggregate_value(group->sides[side], id);
                if (value->kind == VALUE_MODE ? value->mode.count < value->mode.total
                                              : value->kind != VALUE_CPUS || !value->cpus.uniform)
                        return false;
                is_set = is_set || !has_all_cpus(comparison, side, value);
        }
        return is_set && !value_equal(&ret[SIDE_BEFORE], &ret[SIDE_AFTER]);
}

static const MetricId whole_metrics[] = { METRIC_policy, METRIC_cpu_affinity };

static bool has_changes(const Comparison *comparison, const Group *group) {
        Value values[SIDES];

        for (size_t i = 0; i < ELEMENTSOF(whole_metrics); i++)
                if (is_changed(comparison, group, whole_metrics[i], values))
                        return true;
        return false;
}

static void write_whole(JsonWriter *writer, const char *key, const Value *value) {
        if (value->kind == VALUE_MODE)
                json_write_member_name(writer, key, (Span){ value->mode.text, value->mode.n_text });
        else
                json_write_member_name(writer, key, value->cpus.list);
}

static void write_changes(const Comparison *comparison, const Group *group, JsonWriter *writer) {
        Value values[SIDES];

        for (size_t i = 0; i < ELEMENTSOF(whole_metrics); i++) {
                if (!is_changed(comparison, group, whole_metrics[i], values))
                        continue;
                json_write_object(writer);
                group_write_names(writer, group, comparison->view.axis);
                json_write_member_text(writer, "what", metric_table[whole_metrics[i]].name);
                write_whole(writer, "before", &values[SIDE_BEFORE]);
                write_whole(writer, "after", &values[SIDE_AFTER]);
                json_write_end(writer);
        }
}

int comparison_write_changes(const Comparison *comparison, JsonWriter *writer) {
        const ViewSort by_weight = { .order = VIEW_ORDER_WEIGHT };
        const GroupTable *table = &comparison->threads.table;
        Order order = order_of(comparison);
        Group **groups = calloc(table->n_groups + 1, sizeof(*groups));
        size_t n = 0;
        int r;

        if (!groups)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_groups; i++) {
                Group *group = table->groups[i];

                if (group->sides[SIDE_BEFORE] && group->sides[SIDE_AFTER] &&
                    group_passes(group, &comparison->view) && has_changes(comparison, group))
                        groups[n++] = group;
        }
        order.sort = &by_weight;
        r = order_groups(&order, groups, n);
        for (size_t i = 0; r == 0 && i < n && i < COMPARISON_MAX_CHANGED; i++)
                write_changes(comparison, groups[i], writer);
        free(groups);
        return r;
}

int comparison_write_waits(const Comparison *comparison, JsonWriter *writer) {
        json_write_key(writer, "waits");
        return wait_shifts_write(writer, &comparison->accounts, &comparison->threads.table,
                                 &comparison->view);
}

uint64_t comparison_n_matched(const Comparison *comparison) {
        return comparison->n_matched;
}

uint64_t comparison_hidden_rows(const Comparison *comparison) {
        return comparison->n_hidden_rows;
}

uint64_t comparison_rows_above_threshold(const Comparison *comparison) {
        return comparison->n_rows_above_threshold;
}

size_t comparison_n_pairings(const Comparison *comparison) {
        return comparison->pairing ? pairing_n(comparison->pairing) : 0;
}

void comparison_write_pairings(const Comparison *comparison, JsonWriter *writer) {
        if (comparison->pairing) {
                pairing_write_json(comparison->pairing, writer);
                return;
        }
        json_write_array(writer);
        json_write_end(writer);
}

int comparison_append_old_cgroup(const Comparison *comparison, Span key, Buffer *name) {
        return comparison->pairing ? pairing_append_old_name(comparison->pairing, key, name) : 0;
}

void comparison_lose_names(Comparison *comparison, Side side) {
        comparison->lost_names[side] = true;
}

void comparison_set_host(Comparison *comparison, Side side, const HostUse *host) {
        comparison->accounts.hosts[side] = *host;
}

void comparison_lack_reasons(Comparison *comparison, Side side, const char *why) {
        comparison->accounts.no_reasons[side] = why;
}

const Coverage *comparison_coverage(const Comparison *comparison, Side side) {
        return &comparison->coverages[side];
}

LifeCounts comparison_lives(const Comparison *comparison) {
        return comparison->lives[SIDE_AFTER];
}

LifeCounts comparison_lives_of(const Comparison *comparison, Side side) {
        return comparison->lives[side];
}

uint64_t comparison_hidden(const Comparison *comparison, ComparisonList list) {
        return comparison->lists[list].n_groups - comparison->lists[list].n_shown;
}
