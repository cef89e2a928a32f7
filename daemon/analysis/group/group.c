/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "analysis/group/judge.h"

static Group *group_free(Group *group) {
        if (!group)
                return NULL;
        for (unsigned i = 0; group->columns && i < group->columns->n; i++)
                group_column_done(&group->of[i]);
        member_list_done(&group->members);
        member_list_done(&group->commands);
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

void group_table_done(GroupTable *table) {
        for (size_t i = 0; i < table->n_groups; i++)
                group_free(table->groups[i]);
        free(table->groups);
        index_done(&table->index);
        *table = (GroupTable){ .columns = table->columns };
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
        size_t n_columns = table->columns ? table->columns->n : 0;
        int r;

        if (!table->last || !span_equal((Span){ table->last->id, table->last->n_id }, id))
                table->last = group_table_find(table, id);
        if (table->last) {
                *ret = table->last;
                return 0;
        }
        r = ARRAY_RESERVE(table->groups, table->n_allocated, table->n_groups + 1);
        if (r != 0)
                return r;
        group = calloc(1, sizeof(*group) + n_columns * sizeof(group->of[0]));
        if (!group)
                return -ENOMEM;
        group->columns = table->columns;
        group->index = table->n_groups;
        group->id = copy_bytes(id);
        if (!group->id)
                return -ENOMEM;
        group->n_id = id.n;
        r = index_add(&table->index, id, table->n_groups);
        if (r != 0)
                return r;
        *ret = table->last = table->groups[table->n_groups++] = TAKE_PTR(group);
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

const Aggregate *group_side(const Group *group, unsigned side) {
        const ColumnSide *at = &group->columns->sides[side];

        return group->of[at->column].ends[at->end];
}

bool group_is_empty(const Group *group) {
        for (unsigned i = 0; i < group->columns->n; i++)
                if (group->of[i].ends[SIDE_BEFORE] || group->of[i].ends[SIDE_AFTER])
                        return false;
        return true;
}

int group_adopt(Group *group, unsigned side, Group *from) {
        unsigned column = group->columns->sides[side].column;
        int r;

        r = member_list_merge(&group->members, &from->members);
        if (r == 0)
                r = member_list_merge(&group->commands, &from->commands);
        if (r == 0)
                r = group_column_merge(&group->of[column], &from->of[column]);
        if (r != 0)
                return r;
        member_list_done(&from->members);
        member_list_done(&from->commands);
        group->is_pattern = group->is_pattern || from->is_pattern;
        group->has_program = group->has_program || from->has_program;
        return 0;
}

bool group_survived(const Group *group) {
        const Aggregate *before = group_side(group, SIDE_BEFORE);
        const Aggregate *after = group_side(group, SIDE_AFTER);

        return before && after && group->of[0].lives == group->of[1].lives &&
               before->n_threads == after->n_threads;
}

bool group_refutes_growth(const Group *group, MetricId id) {
        uint64_t interval_ns = group->columns->interval_ns;
        Sum first, last;

        if (interval_ns == 0 || !group_survived(group))
                return false;
        first = group_sum(group, SIDE_BEFORE, id);
        last = group_sum(group, SIDE_AFTER, id);
        return first.present == last.present && last.value > first.value &&
               judge_refutes_growth(id, group_side(group, SIDE_BEFORE), last.present,
                                    last.value - first.value, interval_ns);
}

/* sums */

Sum group_sum(const Group *group, unsigned side, MetricId id) {
        const GroupColumn *of = &group->of[group->columns->sides[side].column];

        if (group->columns->are_ends)
                return column_total(of, (Side) side, id);
        return of->work && !work_has_rate(id) ? column_level(of, id) : column_sum(of, id);
}

uint64_t group_scaled_sum(const Group *group, unsigned side, MetricId id) {
        uint64_t sum = group_sum(group, side, id).value;
        uint64_t scale_ns = group->columns->scale_ns, elapsed_ns;

        if (scale_ns == 0 || !work_has_rate(id))
                return sum;
        elapsed_ns = group->columns->of[side].setup.elapsed_ns;
        if (elapsed_ns == 0 || elapsed_ns == scale_ns)
                return sum;
        return number_of_real((long double) sum * (long double) scale_ns /
                              (long double) elapsed_ns);
}

bool group_has_sum(const Group *group, unsigned side, MetricId id) {
        return group_sum(group, side, id).present > 0 &&
               !(group->columns->are_intervals && work_has_rate(id) &&
                 column_fell(&group->of[side], id));
}

/* uptime */

static bool age_of(const Uptimes *uptimes, const Group *group, uint64_t *ret) {
        const Aggregate *after = group_side(group, SIDE_AFTER);
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
                const Aggregate *after = group_side(table->groups[i], SIDE_AFTER);

                if (after)
                        uptimes->last_start = MAX_OF(uptimes->last_start, after->last_start);
        }
        for (size_t i = 0; i < table->n_groups; i++) {
                uint64_t age;

                if (group_side(table->groups[i], SIDE_BEFORE) &&
                    age_of(uptimes, table->groups[i], &age))
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
