/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/group-json.h"

#include <math.h>
#include <stdio.h>

#include "analysis/account/account.h"
#include "analysis/account/weight.h"
#include "analysis/compare/row.h"
#include "analysis/key/thread-group.h"
#include "analysis/compare/order.h"

/*
 * Every thread has a policy, a priority and CPUs. A newborn one's are news where somebody chose
 * them; so is the memory that it holds.
 */
static bool level_is_news(const Row *row) {
        const Value *value = &row->values[SIDE_AFTER];

        switch (row->id) {
        case METRIC_policy:
                return value->mode.count < value->mode.total ||
                       !span_is((Span){ value->mode.text, value->mode.n_text }, "SCHED_OTHER");
        case METRIC_nice:
        case METRIC_rt_priority:
                return value->range.min.magnitude > 0 || value->range.max.magnitude > 0;
        default:
                return metric_table[row->id].rule == METRIC_RULE_SumGaugeBytes &&
                       value->integer.magnitude > 0;
        }
}

size_t group_context_rows(const GroupContext *context, const Group *group, size_t max,
                          Row *ret_rows) {
        const GroupColumn *of = group_interval(group);
        const View *view = context->view;
        size_t n = 0;

        for (unsigned index = 0; index < ROW_MAX && n < max; index++) {
                Row *row = &ret_rows[n];
                double number;

                if (!row_is_wanted(view, index))
                        continue;
                row_init(row, group, context->side, index, context->in_order);
                row->impact = IMPACT_NONE;
                if (row->has_number && !row->is_derived &&
                    metric_table[index].shape == METRIC_SHAPE_SUM) {
                        number = fabs(context->side == BOTH_SIDES ? delta_number(&row->delta)
                                                                  : value_number(&row->values[0]));
                        if (row->is_rate)
                                number = number * (double) context->columns->scale_ns /
                                         (double) NSEC_PER_SEC;
                        row->impact = number / context->scale->denominators[index];
                }
                /* Nobody knows how much a counter did that was reset: it counts as above. */
                if (context->threshold && !row->reset &&
                    !(row_growth(row, &number) && number > view->threshold))
                        continue;
                if (context->changed_only && context->side != BOTH_SIDES) {
                        n += row->values[0].kind != VALUE_ABSENT;
                        continue;
                }
                if (!context->changed_only || !row->changed || view->has_metrics || !of ||
                    of->work->lives.survived > 0 || of->work->lives.vanished > 0) {
                        n += !context->changed_only || row->changed;
                        continue;
                }
                /*
                 * All threads of the group were born inside, and beside a group that was not there
                 * every value has changed. Where the view named no metrics, only what the group did
                 * is told: counters, derived values and peaks that are not 0.
                 */
                if (row->is_derived || metric_is_cumulative((MetricId) index) || row->has_inside)
                        n += fabs(value_number(&row->values[SIDE_AFTER])) > 0;
                else
                        n += level_is_news(row);
        }
        return n;
}

/* The members of JSON in which the two sides stand. */
static const char *columns_side_name(const Columns *columns, unsigned side) {
        if (columns->are_intervals)
                return side == SIDE_BEFORE ? "a" : "b";
        return side == SIDE_BEFORE ? "before" : "after";
}

void life_counts_write_json(JsonWriter *writer, const LifeCounts *lives, const char *reason,
                            const char *folded) {
        json_write_object(writer);
        json_write_member_u64(writer, "survived", lives->survived);
        json_write_member_u64(writer, "born", lives->born);
        json_write_member_u64(writer, "ended", lives->vanished);
        amount_write_json(writer, "bornAndEnded", lives->short_lived);
        if (reason)
                json_write_member_text(writer, "endedReason", reason);
        if (folded)
                json_write_member_text(writer, "foldedReason", folded);
        json_write_end(writer);
}

/*
 * Writes what became of the threads of each column. If there are several columns, each member is an
 * object with one value for each of them.
 */
static void write_lives(JsonWriter *writer, const Group *group, unsigned column, unsigned end) {
        enum { LIVES, EXITS, BIRTHS, STARTED_BY };
        static const char *const members[] = { [LIVES] = "lives",
                                               [EXITS] = "exits",
                                               [BIRTHS] = "births",
                                               [STARTED_BY] = "startedBy" };
        bool are_several = end - column > 1;

        for (unsigned member = 0; member < ELEMENTSOF(members); member++) {
                if (are_several) {
                        json_write_key(writer, members[member]);
                        json_write_object(writer);
                }
                for (unsigned i = column; i < end; i++) {
                        const GroupColumn *of = &group->of[i];
                        LifeCounts lives = of->work ? of->work->lives : (LifeCounts){ .born = 0 };
                        Amount births = amount_add(lives.exits, amount_of(lives.born));
                        const char *key = are_several ? columns_side_name(group->columns, i)
                                                      : members[member];

                        /* Threads that came to be: those that ended, and by how much it grew. */
                        births.known = births.known && births.n >= lives.vanished;
                        births.n = births.known ? births.n - lives.vanished : 0;
                        if (member == LIVES) {
                                json_write_key(writer, key);
                                life_counts_write_json(writer, &lives, NULL, NULL);
                        } else if (member == STARTED_BY) {
                                member_list_write_json(writer, key, column_starters(of));
                        } else {
                                amount_write_json(writer, key,
                                                  member == EXITS ? lives.exits : births);
                        }
                }
                if (are_several)
                        json_write_end(writer);
        }
}

static void write_threads(JsonWriter *writer, const Group *group, unsigned side) {
        const Columns *columns = group->columns;
        bool are_intervals = columns->are_intervals;

        if (columns->are_ends)
                write_lives(writer, group, 0, 1);
        if (side != BOTH_SIDES) {
                json_write_member_u64(writer, "threads", group_side(group, side)->n_threads);
                if (are_intervals)
                        write_lives(writer, group, side, side + 1);
                return;
        }
        if (are_intervals) {
                json_write_key(writer, "threads");
                json_write_object(writer);
        }
        for (unsigned i = 0; i < SIDES; i++)
                json_write_member_u64(writer,
                                      are_intervals ? columns_side_name(columns, i)
                                      : i == 0      ? "threadsBefore"
                                                    : "threadsAfter",
                                      group_side(group, i)->n_threads);
        if (are_intervals) {
                json_write_end(writer);
                write_lives(writer, group, 0, columns->n);
        }
}

/* Writes how the row is distributed over the threads of @side; null when no thread has a value. */
static void write_spread(JsonWriter *writer, const GroupContext *context, const Group *group,
                         const Row *row, unsigned side, const char *key) {
        const ColumnSide *at = &group->columns->sides[side];
        SpreadFigures figures;

        if (!context->spread_names || row->is_derived || !metric_is_cumulative((MetricId) row->id))
                return;
        json_write_key(writer, key);
        if (!spread_read(&group->of[at->column].spreads[at->end], context->spread_names,
                         (MetricId) row->id, &figures)) {
                json_write_null(writer);
                return;
        }
        json_write_object(writer);
        json_write_key(writer, "top");
        json_write_object(writer);
        json_write_member_i64(writer, "tid", figures.top_tid);
        json_write_member_name(writer, "name", figures.top_name);
        json_write_member_u64(writer, "value", figures.top);
        json_write_end(writer);
        json_write_member_u64(writer, "p50", figures.p50);
        json_write_member_u64(writer, "p99", figures.p99);
        json_write_end(writer);
}

/* As sides_join() does, with the names that the sides of the view have. */
static bool join_sides(const GroupContext *context, const char *const reasons[static SIDES],
                       char ret_text[static JOINED_BYTES]) {
        const char *const names[SIDES] = { columns_side_name(context->columns, SIDE_BEFORE),
                                           columns_side_name(context->columns, SIDE_AFTER) };

        return sides_join(names, reasons, ret_text);
}

/*
 * Writes why values of the row are only approximate, that one is at its limit, and how many were
 * not believed at all.
 */
static void write_doubts(JsonWriter *writer, const GroupContext *context, const Row *row) {
        char texts[SIDES][ABSENCE_BYTES], text[JOINED_BYTES];
        const char *found[SIDES] = { NULL, NULL };
        unsigned side = context->side;
        uint64_t n_implausible = 0;

        for (unsigned i = 0; i < (side == BOTH_SIDES ? SIDES : 1); i++) {
                unsigned of = context->columns->sides[side == BOTH_SIDES ? i : side].column;

                if (row->values[i].kind != VALUE_ABSENT)
                        found[i] = approximation_of_value(
                                row, i, context->columns->of[of].setup.defects, texts[i]);
        }
        for (unsigned i = 0; i < SIDES && !row->is_derived; i++)
                n_implausible += row->doubts[i] ? row->doubts[i]->implausible[row->id] : 0;
        if (side != BOTH_SIDES) {
                if (found[0])
                        json_write_member_text(writer, "approximate", found[0]);
        } else if (join_sides(context, found, text)) {
                json_write_member_text(writer, "approximate", text);
        }
        if (row->limited[0] || row->limited[1])
                json_write_member_bool(writer, "atLimit", true);
        if (n_implausible > 0)
                json_write_member_u64(writer, "implausible", n_implausible);
}

/* The work of a row in an interval. */
typedef struct RowWork {
        bool applies; /* the row is a sum or a derived value, and its threads were followed */
        Value value;
        /* Why it is absent although the sides are not; "": nothing. */
        char reason[ABSENCE_BYTES + 8];
} RowWork;

static RowWork work_of_row(const Row *row) {
        RowWork ret = { .applies = row->interval &&
                                   (row->is_derived || metric_is_work((MetricId) row->id)) };
        char text[ABSENCE_BYTES];
        RowValue work;

        if (!ret.applies)
                return ret;
        work = row_value(row->interval, row->index, ROW_WORK, 0);
        ret.value = work.value;
        if (ret.value.kind != VALUE_ABSENT)
                return ret;
        /*
         * If the sides lack the value as well, their reasons explain it. The row of an input that
         * is absent explains why the input is absent.
         */
        if (work.outcome == DERIVED_DENOMINATOR_ZERO) {
                derived_format_zero(&derived_table[row->id], text);
                (void) snprintf(ret.reason, sizeof(ret.reason), "work: %s", text);
        } else if (row->values[1].kind == VALUE_ABSENT) {
                return ret;
        } else if (!row->is_derived) {
                (void) snprintf(ret.reason, sizeof(ret.reason), "%s",
                                row->reset ? "work: all of these counters fell"
                                           : "work: the sum is more than 2^64-1");
        } else if (work.outcome == DERIVED_INPUT_ABSENT) {
                (void) snprintf(ret.reason, sizeof(ret.reason), "work: no %s",
                                metric_table[work.input].name);
        }
        return ret;
}

static void write_pair_reason(JsonWriter *writer, const GroupContext *context, const Row *row,
                              const RowWork *work) {
        char texts[SIDES][ABSENCE_BYTES], text[JOINED_BYTES];
        const char *reasons[SIDES] = { NULL, NULL };
        size_t n;

        for (unsigned i = 0; i < SIDES; i++)
                if (row->values[i].kind == VALUE_ABSENT)
                        reasons[i] = absence_of_value(row, i, context->sources[i], texts[i]);
        if (!join_sides(context, reasons, text)) {
                if (row->refuted)
                        (void) snprintf(text, sizeof(text),
                                        "implausible: these threads cannot have done that much in "
                                        "the time between");
                else if (row->limited[0] || row->limited[1])
                        (void) snprintf(text, sizeof(text), "delta: " ROW_AT_ITS_LIMIT);
                else if (row->delta.kind == DELTA_TOO_LARGE)
                        (void) snprintf(text, sizeof(text), "delta: it is beyond 2^64-1");
        }
        n = strlen(text);
        if (work->reason[0] != '\0')
                (void) snprintf(text + n, sizeof(text) - n, "%s%s", n > 0 ? "; " : "",
                                work->reason);
        /* A reason from a file may be cut within a character. */
        if (text[0] != '\0')
                json_write_member_name(writer, "reason", span_of(text));
}

static void write_pair_row(JsonWriter *writer, const GroupContext *context, const Group *group,
                           const Row *row) {
        bool are_intervals = context->columns->are_intervals;
        RowWork of_row = work_of_row(row);
        double number = 0;
        bool has;

        for (unsigned i = 0; i < SIDES; i++) {
                json_write_key(writer, columns_side_name(context->columns, i));
                value_write_json(writer, &row->values[i]);
        }
        json_write_key(writer, "delta");
        delta_write_json(writer, &row->delta);
        if (of_row.applies) {
                json_write_key(writer, "work");
                value_write_json(writer, &of_row.value);
        }
        has = row_percent(row, &number);
        double_write_json(writer, "percent", has, number);
        /* A sum of one of two intervals is its rate, and so no rate stands beside it. */
        has = row_per_second(row, context->elapsed_ns, &number);
        if (are_intervals)
                json_write_member_bool(writer, "perSecond", row->is_rate);
        else
                double_write_json(writer, "perSecond", has, number);
        json_write_member_bool(writer, "changed", row->changed);
        if (row->has_inside)
                json_write_member_bool(writer, "inside", row->inside);
        json_write_member_bool(writer, "reset", row->reset);
        /* Threads that have the sum, at one end at least, and take no part in it. */
        if (row->interval && !row->is_derived && metric_is_cumulative((MetricId) row->id)) {
                const ColumnGaps *gaps = row->interval->work->gaps;
                const GroupExited *exited = row->exited[SIDE_AFTER];
                uint64_t n = exited ? group_exited_left_out(exited, (MetricId) row->id) : 0;

                for (unsigned end = 0; end < SIDES; end++)
                        n += gaps ? gaps->only[end][row->id] : 0;
                json_write_member_u64(writer, "leftOut", n);
        }
        write_pair_reason(writer, context, row, &of_row);
        write_doubts(writer, context, row);
        if (are_intervals)
                return;
        write_spread(writer, context, group, row, 1, "spread");
        /* In an interval the spread is that of the work done in it, so there is only one. */
        if (!context->columns->are_ends)
                write_spread(writer, context, group, row, 0, "spreadBefore");
}

static void write_row(JsonWriter *writer, const GroupContext *context, const Group *group,
                      const Row *row) {
        unsigned side = context->side;
        char text[ABSENCE_BYTES];

        json_write_key(writer, row_name(row->index));
        json_write_object(writer);
        if (side == BOTH_SIDES) {
                write_pair_row(writer, context, group, row);
                json_write_end(writer);
                return;
        }
        json_write_key(writer, "value");
        value_write_json(writer, &row->values[0]);
        if (!row->is_derived)
                json_write_member_u64(writer, "present", row->present);
        if (context->columns->are_intervals)
                json_write_member_bool(writer, "perSecond", row->is_rate);
        if (row->values[0].kind == VALUE_ABSENT)
                json_write_member_name(
                        writer, "reason",
                        span_of(absence_of_value(row, 0, context->sources[side], text)));
        write_doubts(writer, context, row);
        write_spread(writer, context, group, row, side, "spread");
        json_write_end(writer);
}

/* Writes the member "weight"; null if it is not known in numbers. */
static void write_weight(JsonWriter *writer, const Group *group, Figures figures) {
        bool known = group->has_weight;

        for (unsigned i = 0; i < group->columns->n; i++) {
                const Column *column = &group->columns->of[i];

                known = known &&
                        weight_scale_of(&column->host, period_elapsed_ns(&column->period)).known;
        }
        double_write_json(writer, "weight", known, group->weights[figures]);
}

void group_write_json(JsonWriter *writer, const GroupContext *context, const Group *group) {
        unsigned side = context->side;
        Row rows[ROW_MAX];
        size_t n_rows = group_context_rows(context, group, ROW_MAX, rows), i = 0;
        GroupOrder order = { .sort = &context->view->sort,
                             .scale = context->scale,
                             .n_sides = side == BOTH_SIDES ? 2 : 1,
                             .in_order = context->in_order };
        bool are_both = side == BOTH_SIDES && group->columns->n > 1;
        unsigned column = side == BOTH_SIDES ? 0 : group->columns->sides[side].column;
        unsigned end = are_both ? SIDES : column + 1;
        double percent = 0;

        order_rows(&order, rows, n_rows);
        json_write_object(writer);
        group_write_key(writer, group, context->view->axis);
        write_threads(writer, group, side);
        write_weight(writer, group, FIGURES_WHOLE);
        json_write_key(writer, "time");
        if (are_both)
                json_write_object(writer);
        for (; column < end; column++) {
                Account account;

                if (are_both)
                        json_write_key(writer, columns_side_name(group->columns, column));
                if (!group_account(group, column, FIGURES_WHOLE, &account)) {
                        json_write_null(writer);
                        continue;
                }
                json_write_object(writer);
                account_write_times(writer, &account);
                json_write_end(writer);
        }
        if (are_both)
                json_write_end(writer);
        if (context->uptimes && side == BOTH_SIDES) {
                bool has = uptimes_percent(context->uptimes, group, &percent);

                double_write_json(writer, "uptimePercent", has, percent);
        }
        json_write_key(writer, "metrics");
        json_write_object(writer);
        for (; i < n_rows && !rows[i].is_derived; i++)
                write_row(writer, context, group, &rows[i]);
        json_write_end(writer);
        json_write_key(writer, "derived");
        json_write_object(writer);
        for (; i < n_rows; i++)
                write_row(writer, context, group, &rows[i]);
        json_write_end(writer);
        json_write_end(writer);
}

void group_write_overview_json(JsonWriter *writer, const GroupContext *context,
                               const Group *group) {
        const Columns *columns = group->columns;
        const GroupColumn *of = group_interval(group);
        bool before = group_side(group, SIDE_BEFORE), after = group_side(group, SIDE_AFTER);

        if (of) {
                const LifeCounts *lives = &of->work->lives;

                before = lives->survived + lives->vanished + lives->short_lived.n > 0;
                after = lives->survived + lives->born + lives->short_lived.n > 0;
        }
        json_write_object(writer);
        group_write_key(writer, group, context->view->axis);
        write_weight(writer, group, FIGURES_CUT);
        /* It has threads on neither side where all of them were born and ended inside. */
        if (columns->n_sides == SIDES && before != after)
                json_write_member_text(
                        writer, "only",
                        columns_side_name(columns, before ? SIDE_BEFORE : SIDE_AFTER));
        json_write_key(writer, "accounts");
        json_write_array(writer);
        for (unsigned i = 0; i < columns->n; i++) {
                Account account;

                if (group_account(group, i, FIGURES_CUT, &account))
                        account_write_json(writer, &account);
                else
                        json_write_null(writer);
        }
        json_write_end(writer);
        json_write_end(writer);
}
