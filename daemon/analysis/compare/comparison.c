/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/comparison.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/account/weight.h"
#include "analysis/compare/order.h"
#include "wire/limits.h"

int comparison_new(const View *view, const ComparisonSetup *setup, Comparison **ret) {
        _cleanup_(comparison_freep) Comparison *comparison = calloc(1, sizeof(*comparison));
        ColumnTable *table;
        int r;

        if (!comparison)
                return -ENOMEM;
        comparison->view = *view;
        comparison->elapsed_ns = setup->boots == BOOTS_SAME ? setup->elapsed_ns : 0;
        table = &comparison->table;
        table->covers = true;
        r = column_table_init(table, &comparison->view, setup->n_columns, setup->boots);
        for (unsigned i = 0; i < setup->n_columns; i++)
                column_table_begin(table, i, &setup->columns[i]);
        table->columns.interval_ns = setup->interval_ns;
        comparison->order = (GroupOrder){ .sort = &comparison->view.sort,
                                          .scale = &comparison->scale,
                                          .n_sides = table->columns.n_sides,
                                          .in_order = comparison->elapsed_ns > 0 };
        if (r == 0 && table->columns.n_sides == SIDES &&
            (view->axis == VIEW_AXIS_CGROUP || view->axis == VIEW_AXIS_ALL) &&
            (view->pairing || view->pairs.n > 0))
                r = pairing_new(table->threads.keys.cgroup, &table->pairing);
        if (r == 0)
                *ret = TAKE_PTR(comparison);
        return r;
}

Comparison *comparison_free(Comparison *comparison) {
        if (!comparison)
                return NULL;
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++)
                free(comparison->lists[list].groups);
        column_table_done(&comparison->table);
        free(comparison);
        return NULL;
}

/* Merges the group of a renamed cgroup into the group of its old name, if that exists. */
static int rename_group(Comparison *comparison, Span cgroup, Group *after) {
        ViewAxis axis = comparison->view.axis;
        Span key = group_key(after), old = group_names(after, axis).cgroup;
        _cleanup_(buffer_done) Buffer id = { .bytes = NULL };
        Group *before;
        int r;

        buffer_append(&id, cgroup.bytes, cgroup.n);
        r = buffer_append(&id, key.bytes + old.n, key.n - old.n);
        if (axis == VIEW_AXIS_ALL)
                r = thread_key_append_lengths(&id, cgroup.n, after->n_process);
        if (r != 0)
                return r;
        before = group_table_find(&comparison->table.threads.table, buffer_span(&id));
        if (!before || group_side(before, SIDE_AFTER))
                return 0;
        return group_adopt(before, SIDE_AFTER, after);
}

static int pair_cgroups(Comparison *comparison) {
        const GroupTable *table = &comparison->table.threads.table;
        Pairing *pairing = comparison->table.pairing;
        ViewAxis axis = comparison->view.axis;
        int r;

        r = pairing_match(pairing, &comparison->view);
        for (size_t i = 0; r == 0 && i < pairing_n(pairing); i++) {
                const PairingMatch *match = pairing_get(pairing, i);

                if (axis == VIEW_AXIS_CGROUP) { /* each cgroup is one group */
                        Group *group = group_table_find(table, match->after);

                        if (group)
                                r = rename_group(comparison, match->before, group);
                        continue;
                }
                for (size_t j = 0; r == 0 && j < table->n_groups; j++) {
                        Group *group = table->groups[j];

                        if (!group_is_empty(group) &&
                            span_equal(group_names(group, axis).cgroup, match->after))
                                r = rename_group(comparison, match->before, group);
                }
        }
        return r;
}

/* Sorts the groups, of @n_rows each, into the lists without those that have no row to show. */
static int fill_lists(Comparison *comparison, size_t n_rows) {
        const GroupTable *table = &comparison->table.threads.table;
        const GroupContext *context = &comparison->context;
        Row row;

        for (unsigned i = 0; i < _COMPARISON_LIST_MAX; i++) {
                /* One more than needed because calloc(0) may return NULL. */
                comparison->lists[i].groups = calloc(table->n_groups + 1, sizeof(Group *));
                if (!comparison->lists[i].groups)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < table->n_groups; i++) {
                Group *group = table->groups[i];
                GroupList *list = &comparison->lists[COMPARISON_GROUPS];
                bool before = group_side(group, SIDE_BEFORE), after = group_side(group, SIDE_AFTER);

                if (group_is_empty(group) || !group_passes(group, &comparison->view))
                        continue;
                comparison->n_matched++;
                if (comparison->table.columns.n_sides > 1 && !(before && after)) {
                        list = &comparison->lists[before ? COMPARISON_ONLY_BEFORE
                                                         : COMPARISON_ONLY_AFTER];
                } else if ((context->changed_only || context->threshold) &&
                           group_context_rows(context, group, 1, &row) == 0) {
                        comparison->n_hidden_rows += comparison->view.rows ? n_rows : 0;
                        continue;
                }
                list->groups[list->n_groups++] = group;
        }
        return 0;
}

static int order_lists(Comparison *comparison) {
        GroupList *groups = &comparison->lists[COMPARISON_GROUPS];
        GroupList *overview = &comparison->lists[COMPARISON_OVERVIEW];
        GroupOrder order = comparison->order;
        int r;

        r = order_groups(&order, groups->groups, groups->n_groups);
        for (unsigned i = COMPARISON_ONLY_BEFORE; i <= COMPARISON_ONLY_AFTER && r == 0; i++) {
                GroupList *list = &comparison->lists[i];

                /* Beside each other they have values and no deltas. */
                order.side = i == COMPARISON_ONLY_AFTER ? SIDE_AFTER : SIDE_BEFORE;
                order.n_sides = order.sort->order == VIEW_ORDER_METRICS ? 1 : SIDES;
                if (order.sort->order == VIEW_ORDER_WEIGHT ||
                    order.sort->order == VIEW_ORDER_METRICS)
                        r = order_groups(&order, list->groups, list->n_groups);
                else
                        impact_sort_one_sided(list->groups, list->n_groups, order.side);
        }
        if (r != 0 || !comparison->view.overview)
                return r;

        /* The overview has all groups of the other lists. */
        for (unsigned i = 0; i < COMPARISON_OVERVIEW; i++) {
                const GroupList *list = &comparison->lists[i];

                if (list->n_groups > 0)
                        memcpy(overview->groups + overview->n_groups, list->groups,
                               list->n_groups * sizeof(*list->groups));
                overview->n_groups += list->n_groups;
        }
        order = comparison->order;
        order.figures = FIGURES_CUT;
        return order_groups(&order, overview->groups, overview->n_groups);
}

int comparison_finish(Comparison *comparison, const SourceTable *const sources[static SIDES]) {
        ColumnTable *table = &comparison->table;
        const GroupTable *groups = &table->threads.table;
        const GroupList *both = &comparison->lists[COMPARISON_GROUPS];
        const View *view = &comparison->view;
        const GroupContext *context = &comparison->context;
        size_t limit = view->limit, n_rows = 0;
        Row rows[ROW_MAX];
        int r = 0;

        comparison->context = (GroupContext){
                .view = view,
                .side = table->columns.n_sides > 1 ? BOTH_SIDES : SIDE_BEFORE,
                .scale = &comparison->scale,
                .columns = &table->columns,
                .spread_names = table->columns.of[0].spread_names,
                .uptimes = table->columns.n_sides > 1 ? &comparison->uptimes : NULL,
                .sources = { sources[0], sources[1] },
                .changed_only = view->changed_only,
                .threshold = view->has_threshold && table->columns.n_sides > 1,
                .in_order = comparison->elapsed_ns > 0,
                .elapsed_ns = comparison->elapsed_ns,
        };
        /* Threads that are gone count where their rows are; then groups are paired. */
        for (unsigned i = 0; i < table->columns.n; i++)
                (void) column_table_place_vanished(table, i);
        if (table->pairing)
                r = pair_cgroups(comparison);
        for (unsigned i = 0; i < table->columns.n && r == 0; i++)
                r = column_table_settle(table, i);
        if (r != 0)
                return r;

        impact_scale_init(&comparison->scale, groups);
        uptimes_init(&comparison->uptimes, groups);
        for (size_t i = 0; i < groups->n_groups; i++)
                if (!group_is_empty(groups->groups[i]))
                        group_weigh(groups->groups[i]);
        /* The view wants so many rows of each group. */
        for (unsigned index = 0; index < ROW_MAX; index++)
                n_rows += row_is_wanted(view, index);
        r = fill_lists(comparison, n_rows);
        if (r == 0)
                r = order_lists(comparison);
        if (r != 0)
                return r;

        for (unsigned i = 0; i < _COMPARISON_LIST_MAX; i++) {
                GroupList *list = &comparison->lists[i];

                list->n_shown = limit > 0 ? MIN_OF(limit, list->n_groups) : list->n_groups;
                list->n_hidden = list->n_groups - list->n_shown;
                for (size_t j = 0; j < list->n_shown; j++) {
                        member_list_sort(&list->groups[j]->members);
                        member_list_sort(&list->groups[j]->commands);
                        for (unsigned c = 0; c < table->columns.n; c++)
                                member_list_sort(&list->groups[j]->of[c].starters);
                }
        }

        /* Rows that are hidden, and those that are above the threshold. */
        if (!context->threshold && !(context->changed_only && view->rows))
                return 0;
        if (context->threshold && n_rows > 0)
                comparison->n_rows_above_threshold =
                        comparison->lists[COMPARISON_ONLY_BEFORE].n_groups +
                        comparison->lists[COMPARISON_ONLY_AFTER].n_groups;
        for (size_t i = 0; i < both->n_groups; i++) {
                size_t n_left = group_context_rows(context, both->groups[i], ROW_MAX, rows);

                if (context->threshold)
                        comparison->n_rows_above_threshold += n_left;
                if (i < both->n_shown && view->rows)
                        comparison->n_hidden_rows += n_rows - n_left;
        }
        return 0;
}

void comparison_write(const Comparison *comparison, ComparisonList list, size_t index,
                      JsonWriter *writer) {
        GroupContext context = comparison->context;
        const Group *group;

        assert(index < comparison->lists[list].n_shown);
        group = comparison->lists[list].groups[index];
        if (list == COMPARISON_OVERVIEW) {
                group_write_overview_json(writer, &context, group);
                return;
        }
        if (list != COMPARISON_GROUPS) {
                context.side = list == COMPARISON_ONLY_AFTER ? SIDE_AFTER : SIDE_BEFORE;
                context.changed_only = context.threshold = false;
        }
        group_write_json(writer, &context, group);
}

/* changes of whole groups */

/* All threads of the group have one value on each side, and somebody made them differ. */
static bool is_changed(const Comparison *comparison, const Group *group, MetricId id,
                       Value ret[static SIDES]) {
        static const Span worker = SPAN_LITERAL("kworker/");
        const Columns *columns = &comparison->table.columns;
        GroupNames names = group_names(group, comparison->view.axis);
        Span name = names.process.bytes ? names.process : names.thread;
        bool is_set = false;

        /* Workers of the kernel, which have no memory, are given CPUs by it as it needs them. */
        if (id == METRIC_cpu_affinity && name.n >= worker.n &&
            memcmp(name.bytes, worker.bytes, worker.n) == 0 &&
            group_side(group, SIDE_AFTER)->present[METRIC_rss_anon_bytes] == 0)
                return false;
        for (unsigned side = 0; side < SIDES; side++) {
                Amount n_cpus = columns->of[columns->sides[side].column].host.n_cpus;
                const Value *value = &ret[side];

                ret[side] = aggregate_value(group_side(group, side), id);
                if (value->kind == VALUE_MODE ? value->mode.count < value->mode.total
                                              : value->kind != VALUE_CPUS || !value->cpus.uniform)
                        return false;
                /* Threads that nobody pinned have all CPUs that the kernel may ever see. */
                if (value->kind != VALUE_CPUS || !n_cpus.known || value->cpus.max < n_cpus.n)
                        is_set = true;
        }
        return is_set && !value_equal(&ret[SIDE_BEFORE], &ret[SIDE_AFTER]);
}

int comparison_write_changes(const Comparison *comparison, JsonWriter *writer) {
        static const MetricId metrics[] = { METRIC_policy, METRIC_cpu_affinity };
        static const char *const side_names[SIDES] = { "before", "after" };
        const ViewSort by_weight = { .order = VIEW_ORDER_WEIGHT };
        const GroupTable *table = &comparison->table.threads.table;
        GroupOrder order = comparison->order;
        Group **groups = calloc(table->n_groups + 1, sizeof(*groups));
        Value values[SIDES];
        size_t n = 0, first_byte = writer->buffer->n;
        int r;

        if (!groups)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_groups; i++) {
                Group *group = table->groups[i];
                bool changed = false;

                if (!group_side(group, SIDE_BEFORE) || !group_side(group, SIDE_AFTER) ||
                    !group_passes(group, &comparison->view))
                        continue;
                for (size_t j = 0; j < ELEMENTSOF(metrics) && !changed; j++)
                        changed = is_changed(comparison, group, metrics[j], values);
                if (changed)
                        groups[n++] = group;
        }
        order.sort = &by_weight;
        r = order_groups(&order, groups, n);
        for (size_t i = 0; r == 0 && i < n && i < COMPARISON_MAX_CHANGED &&
                           writer->buffer->n - first_byte < LIMIT_BATCH_BYTES;
             i++)
                for (size_t j = 0; j < ELEMENTSOF(metrics); j++) {
                        if (!is_changed(comparison, groups[i], metrics[j], values))
                                continue;
                        json_write_object(writer);
                        group_write_names(writer, groups[i], comparison->view.axis);
                        json_write_member_text(writer, "what", metric_table[metrics[j]].name);
                        for (unsigned side = 0; side < SIDES; side++)
                                json_write_member_name(writer, side_names[side],
                                                       values[side].kind == VALUE_MODE
                                                               ? (Span){ values[side].mode.text,
                                                                         values[side].mode.n_text }
                                                               : values[side].cpus.list);
                        json_write_end(writer);
                }
        free(groups);
        return r;
}

/*
 * Waits
 *
 * A shift is the time that moved from one part of the account of a group (analysis/account) to
 * another between two intervals: its threads wait for something instead of what they did before.
 * Threads that came to be or ended bring or take time of their own, which moved nowhere, so a part
 * has gained no more than the others together have lost.
 *
 * One shift is told of each group, to a wait or away from one that nobody chooses to be in: for a
 * lock, in the kernel or for storage. Those come before the others, which may be idleness. A larger
 * one of these is told of the group as well: many may stand in line behind the one that waits for
 * the disk.
 */

/* A shift is told from so many seconds in each second, and such a share of the larger part. */
#define WAIT_SHIFTS_MAX 16 /* that are written, the largest */
#define LEAST_SHIFT 0.05
#define LEAST_SHARE 0.1
/* One that may be idleness is told beside the other only if it is so much larger. */
#define PREFERENCE 1.25

/* Parts of an account: these, and the reasons apart. */
enum {
        PART_RUNNING = WAIT_REASONS_APART_MAX,
        PART_WAITING,
        PART_STORAGE,
        PART_BLOCKED,
        _PART_APART_MAX,
        PART_SYNC = _PART_APART_MAX, /* of the two above it */
        _PART_MAX,
};

#define NAME_OF_REASON(reason, text, ...) [WAIT_REASON_##reason] = #reason,
static const char *const part_names[_PART_MAX] = {
        WAIT_REASONS_APART(NAME_OF_REASON)[PART_STORAGE] = "storage",
        [PART_BLOCKED] = "uninterruptible",
        [PART_SYNC] = "sync",
};

typedef struct Shift {
        const Group *group;
        unsigned part;
        uint64_t ns[SIDES]; /* of the part */
        uint64_t threads;   /* at the end of the second interval */
        double moved;       /* seconds in each second */
} Shift;

static bool is_chosen_by_nobody(unsigned part) {
        return part == WAIT_REASON_lock || part >= PART_STORAGE;
}

static Amount part_of(const Account *account, unsigned part) {
        switch (part) {
        case PART_RUNNING:
                return account->running_ns;
        case PART_WAITING:
                return account->waiting_ns;
        case PART_STORAGE:
                return account->storage_ns;
        case PART_BLOCKED:
                return account->blocked_ns;
        case PART_SYNC:
                return account->sync_ns;
        }
        return account->reasons_ns[part];
}

#define GROUP_SHIFTS 2

/* Finds the shifts of a group that are worth telling, and returns how many these are. */
static size_t find_shifts(const Group *group, Shift ret[static GROUP_SHIFTS]) {
        double changes[_PART_MAX], gained = 0, lost = 0, elapsed_ns[SIDES];
        Shift forced = { .moved = 0 }, other = { .moved = 0 };
        Account accounts[SIDES];
        size_t n = 0;

        if (!group->has_program)
                return 0;
        for (unsigned i = 0; i < SIDES; i++) {
                elapsed_ns[i] = (double) period_elapsed_ns(&group->columns->of[i].period).n;
                if (!(elapsed_ns[i] > 0) || !group_account(group, i, FIGURES_CUT, &accounts[i]) ||
                    accounts[i].no_reasons)
                        return 0;
        }
        for (unsigned part = 0; part < _PART_MAX; part++) {
                Amount a = part_of(&accounts[0], part), b = part_of(&accounts[1], part);

                changes[part] = 0; /* unless both sides are known */
                if (a.known && b.known)
                        changes[part] = (double) b.n / elapsed_ns[1] - (double) a.n / elapsed_ns[0];
                if (part >= _PART_APART_MAX)
                        continue;
                gained += fmax(0, changes[part]);
                lost += fmax(0, -changes[part]);
        }
        for (unsigned part = 0; part < _PART_MAX; part++) {
                double a = (double) part_of(&accounts[0], part).n / elapsed_ns[0];
                double b = (double) part_of(&accounts[1], part).n / elapsed_ns[1];
                double moved = changes[part] > 0 ? fmin(changes[part], lost)
                                                 : fmin(-changes[part], gained);
                Shift *most = is_chosen_by_nobody(part) ? &forced : &other;

                if (!part_names[part] || part == WAIT_REASON_idle || moved < LEAST_SHIFT ||
                    moved < LEAST_SHARE * fmax(a, b) || moved <= most->moved ||
                    (changes[part] < 0 && most == &other))
                        continue;
                /* Most of it was in calls that sync, which are told of as such. */
                if ((part == PART_STORAGE || part == PART_BLOCKED) &&
                    fabs(changes[PART_SYNC]) > fabs(changes[part]) / 2)
                        continue;
                *most = (Shift){ .group = group,
                                 .part = part,
                                 .ns = { part_of(&accounts[0], part).n,
                                         part_of(&accounts[1], part).n },
                                 .threads = accounts[1].threads,
                                 .moved = moved };
        }
        if (forced.moved > 0)
                ret[n++] = forced;
        if (other.moved > forced.moved * PREFERENCE)
                ret[n++] = other;
        return n;
}

static int compare_shifts(const void *a, const void *b) {
        const Shift *first = a, *second = b;
        bool chosen[] = { is_chosen_by_nobody(first->part), is_chosen_by_nobody(second->part) };

        if (chosen[0] != chosen[1])
                return chosen[0] ? -1 : 1;
        if (first->moved > second->moved || first->moved < second->moved)
                return first->moved > second->moved ? -1 : 1;
        return (first->group->index > second->group->index) -
               (first->group->index < second->group->index);
}

int comparison_write_waits(const Comparison *comparison, JsonWriter *writer) {
        const GroupTable *table = &comparison->table.threads.table;
        const View *view = &comparison->view;
        /* calloc(0) may be NULL. */
        Shift *shifts = calloc(table->n_groups + 1, GROUP_SHIFTS * sizeof(*shifts));
        size_t n = 0;

        if (!shifts)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_groups; i++)
                if (!group_is_empty(table->groups[i]) && group_passes(table->groups[i], view))
                        n += find_shifts(table->groups[i], &shifts[n]);
        qsort(shifts, n, sizeof(*shifts), compare_shifts);
        json_write_key(writer, "waits");
        json_write_array(writer);
        for (size_t i = 0; i < n && i < WAIT_SHIFTS_MAX; i++) {
                json_write_object(writer);
                group_write_names(writer, shifts[i].group, view->axis);
                json_write_member_text(writer, "reason", part_names[shifts[i].part]);
                json_write_member_u64(writer, "aNs", shifts[i].ns[0]);
                json_write_member_u64(writer, "bNs", shifts[i].ns[1]);
                json_write_member_u64(writer, "threads", shifts[i].threads);
                json_write_end(writer);
        }
        json_write_end(writer);
        free(shifts);
        return 0;
}
