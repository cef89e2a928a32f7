/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/row/group-rows.h"

#include "metric/metric.h"
#include "render/cell.h"
#include "report/row/row-head.h"

/* what the rows of a group have in common */

/* How many threads @group has on the side @which; a group of one side has only one number. */
static json_object *threads_of(ReportKind kind, json_object *group, RowSide which, RowSide side) {
        json_object *threads = cell_member(group, "threads");

        if (side != ROW_SIDE_BOTH && json_object_is_type(threads, json_type_int))
                return side == which ? threads : NULL;
        if (kind == REPORT_INTERVALS)
                return cell_member(threads, which == ROW_SIDE_BEFORE ? "a" : "b");
        return cell_member(group, which == ROW_SIDE_BEFORE ? "threadsBefore" : "threadsAfter");
}

void group_rows_begin_group(RowWriter *writer, ReportKind kind, Span side, RowSide row_side,
                            json_object *group) {
        static const RowField names[] = { { "cgroup", "cgroup" },
                                          { "process", "process" },
                                          { "thread", "thread" } };
        static const RowField commands[] = { { "cgroup", "cgroup" },
                                             { "process", "command" },
                                             { "thread", "thread" } };
        static const RowField ids[] = { { "pid", "pid" },
                                        { "tid", "tid" },
                                        { "start_ticks", "startTicks" } };

        row_begin(writer, ROW_PART_GROUP);
        if (report_kind_has_sides(kind))
                row_write_text(writer, "side", side);
        row_write_fields(writer, group, cell_member(group, "command") ? commands : names,
                         ELEMENTSOF(names));
        if (kind != REPORT_SETS)
                row_write_fields(writer, group, ids, ELEMENTSOF(ids));
        if (kind == REPORT_SNAPSHOT) {
                row_write_value(writer, "threads", cell_member(group, "threads"));
                return;
        }
        row_write_value(writer, kind == REPORT_INTERVALS ? "a_threads" : "before_threads",
                        threads_of(kind, group, ROW_SIDE_BEFORE, row_side));
        row_write_value(writer, kind == REPORT_INTERVALS ? "b_threads" : "after_threads",
                        threads_of(kind, group, ROW_SIDE_AFTER, row_side));
}

/* a metric */

static void write_metric(RowWriter *writer, const char *name) {
        MetricId metric = name ? metric_find(span_of(name)) : _METRIC_MAX;
        DerivedId derived = name ? derived_find(span_of(name)) : _DERIVED_MAX;
        const char *section = NULL, *unit = NULL, *rule = NULL;

        if (metric < _METRIC_MAX) {
                rule = metric_table[metric].rule_name;
                section = metric_section_name(metric_table[metric].section);
                unit = metric_unit_name(metric_table[metric].unit);
        } else if (derived < _DERIVED_MAX) {
                rule = GROUP_ROWS_RULE_DERIVED;
                section = metric_section_name(derived_table[derived].section);
                unit = metric_unit_name(derived_table[derived].unit);
        }
        row_write_text(writer, "section", span_of(section));
        row_write_text(writer, "metric", span_of(name));
        row_write_text(writer, "rule", span_of(rule));
        row_write_text(writer, "unit", span_of(unit));
}

void group_rows_write_value(RowWriter *writer, RowValueName name, const RowValue *value) {
        static const struct {
                const char *value, *min, *max, *text, *count, *total;
        } names[] = {
                [ROW_VALUE] = { "value", "value_min", "value_max", "value_text", "value_count",
                                "value_total" },
                [ROW_VALUE_BEFORE] = { "before", "before_min", "before_max", "before_text",
                                       "before_count", "before_total" },
                [ROW_VALUE_AFTER] = { "after", "after_min", "after_max", "after_text",
                                      "after_count", "after_total" },
                [ROW_VALUE_A] = { "a", "a_min", "a_max", "a_text", "a_count", "a_total" },
                [ROW_VALUE_B] = { "b", "b_min", "b_max", "b_text", "b_count", "b_total" },
        };

        if (value->digits)
                row_write_number(writer, names[name].value, value->digits);
        else
                row_write_value(writer, names[name].value, value->number);
        row_write_value(writer, names[name].min, value->min);
        row_write_value(writer, names[name].max, value->max);
        row_write_value(writer, names[name].text, value->text);
        row_write_value(writer, names[name].count, value->count);
        row_write_value(writer, names[name].total, value->total);
}

static void write_value(RowWriter *writer, RowValueName name, json_object *value) {
        bool is_affinity = cell_member(value, "minCpus");
        bool plain = value && !json_object_is_type(value, json_type_object);
        char midpoint[CELL_MIDPOINT_CHARS];
        RowValue columns = {
                .number = plain ? value : NULL,
                .min = cell_member(value, is_affinity ? "minCpus" : "min"),
                .max = cell_member(value, is_affinity ? "maxCpus" : "max"),
                .text = cell_member(value, is_affinity ? "cpus" : "mode"),
                .count = cell_member(value, "count"),
                .total = cell_member(value, "total"),
        };

        if (cell_midpoint(columns.min, columns.max, midpoint))
                columns.digits = midpoint;
        group_rows_write_value(writer, name, &columns);
}

/* Why there is no value; for a group that is missing on one side, also that it is. */
static void write_reason(RowWriter *writer, ReportKind kind, json_object *entry, RowSide side) {
        static const char *const names[2][2] = { { "before", "after" }, { "A", "B" } };
        const char *const *sides = names[kind == REPORT_INTERVALS];
        Span own = cell_string(cell_member(entry, "reason"));
        Buffer *reason = &writer->scratch;

        if (side == ROW_SIDE_BOTH) {
                row_write_text(writer, "reason", own);
                return;
        }
        if (own.n > 0)
                buffer_append_format(reason, "%s: %.*s; ", sides[side == ROW_SIDE_AFTER],
                                     (int) own.n, own.bytes);
        buffer_append_format(reason, "%s: there is no such group", sides[side == ROW_SIDE_BEFORE]);
        row_write_scratch(writer, "reason");
}

#define SPREAD_TOP(prefix)                                            \
        { prefix "top_tid", "tid" }, { prefix "top_name", "name" }, { \
                prefix "top_value", "value"                           \
        }
#define SPREAD_RANKS(prefix)        \
        { prefix "p50", "p50" }, {  \
                prefix "p99", "p99" \
        }

void group_rows_write_spreads(RowWriter *writer, ReportKind kind, json_object *entry,
                              RowSide side) {
        static const RowField before_top[] = { SPREAD_TOP("before_") };
        static const RowField before_ranks[] = { SPREAD_RANKS("before_") };
        static const RowField top[] = { SPREAD_TOP("") }, ranks[] = { SPREAD_RANKS("") };
        json_object *spread = cell_member(entry, "spread"), *before;

        if (kind == REPORT_SETS || kind == REPORT_INTERVALS)
                return;
        if (report_kind_has_sides(kind)) {
                /* A group of one side has one spread, as a group of show has. */
                before = side == ROW_SIDE_BEFORE ? spread : cell_member(entry, "spreadBefore");
                row_write_fields(writer, cell_member(before, "top"), before_top,
                                 ELEMENTSOF(before_top));
                row_write_fields(writer, before, before_ranks, ELEMENTSOF(before_ranks));
        }
        if (side == ROW_SIDE_BEFORE)
                spread = NULL;
        row_write_fields(writer, cell_member(spread, "top"), top, ELEMENTSOF(top));
        row_write_fields(writer, spread, ranks, ELEMENTSOF(ranks));
}

/* How far to believe the values. */
static void write_doubts(RowWriter *writer, json_object *entry) {
        static const RowField fields[] = { { "approximate", "approximate" },
                                           { "implausible", "implausible" } };

        row_write_fields(writer, entry, fields, ELEMENTSOF(fields));
}

static const RowField changes[] = {
        { "delta", "delta" },     { "percent", "percent" }, { "per_second", "perSecond" },
        { "changed", "changed" }, { "reset", "reset" },
};

static void write_pair(RowWriter *writer, ReportKind kind, json_object *entry, RowSide side) {
        json_object *value = cell_member(entry, "value");

        write_value(writer, ROW_VALUE_BEFORE,
                    side == ROW_SIDE_BEFORE ? value : cell_member(entry, "before"));
        write_value(writer, ROW_VALUE_AFTER,
                    side == ROW_SIDE_AFTER ? value : cell_member(entry, "after"));
        if (kind == REPORT_INTERVAL)
                row_write_value(writer, "work", cell_member(entry, "work"));
        row_write_fields(writer, entry, changes, ELEMENTSOF(changes));
        write_reason(writer, kind, entry, side);
        write_doubts(writer, entry);
}

/* Both sides have rates and levels: what changes has no rate of its own, and nothing is reset. */
static void write_intervals(RowWriter *writer, json_object *entry, RowSide side) {
        static const RowField fields[] = { { "delta", "delta" }, { "percent", "percent" } };
        json_object *value = cell_member(entry, "value");

        write_value(writer, ROW_VALUE_A,
                    side == ROW_SIDE_BEFORE && value ? value : cell_member(entry, "a"));
        write_value(writer, ROW_VALUE_B,
                    side == ROW_SIDE_AFTER && value ? value : cell_member(entry, "b"));
        row_write_fields(writer, entry, fields, ELEMENTSOF(fields));
        write_reason(writer, REPORT_INTERVALS, entry, side);
        write_doubts(writer, entry);
}

static void write_sets(RowWriter *writer, json_object *entry) {
        static const RowField before[] = {
                { "before_n", "n" },     { "before_median", "median" }, { "before_min", "min" },
                { "before_max", "max" }, { "before_q1", "q1" },         { "before_q3", "q3" },
        };
        static const RowField after[] = {
                { "after_n", "n" },     { "after_median", "median" }, { "after_min", "min" },
                { "after_max", "max" }, { "after_q1", "q1" },         { "after_q3", "q3" },
        };
        static const RowField rest[] = {
                { "delta", "delta" },
                { "percent", "percent" },
                { "u", "u" },
                { "p", "p" },
                { "p_adjusted", "pAdjusted" },
                { "significant", "significant" },
                { "is_rate", "perSecond" },
                { "reason", "reason" },
                { "approximate", "approximate" },
        };

        row_write_fields(writer, cell_member(entry, "before"), before, ELEMENTSOF(before));
        row_write_fields(writer, cell_member(entry, "after"), after, ELEMENTSOF(after));
        row_write_fields(writer, entry, rest, ELEMENTSOF(rest));
}

static void add_row(RowWriter *writer, ReportKind kind, const char *metric, json_object *entry,
                    RowSide side) {
        row_begin(writer, ROW_PART_OWN);
        write_metric(writer, metric);
        switch (kind) {
        case REPORT_SNAPSHOT:
                write_value(writer, ROW_VALUE, cell_member(entry, "value"));
                row_write_value(writer, "present", cell_member(entry, "present"));
                write_reason(writer, kind, entry, ROW_SIDE_BOTH);
                write_doubts(writer, entry);
                break;
        case REPORT_PAIR:
        case REPORT_INTERVAL:
                write_pair(writer, kind, entry, side);
                break;
        case REPORT_INTERVALS:
                write_intervals(writer, entry, side);
                break;
        case REPORT_SETS:
                write_sets(writer, entry);
                break;
        case _REPORT_KIND_MAX:
                break;
        }
        group_rows_write_spreads(writer, kind, entry, side);
        row_end(writer);
}

/* what an interval has as a whole: a number without a before and an after */

typedef struct RowCount {
        const char *member, *metric, *rule, *unit;
        bool has_reason; /* where it is not known */
} RowCount;

static void add_counts(RowWriter *writer, const char *section, const RowCount counts[], size_t n,
                       json_object *object, Span reason, RowChoice choice) {
        for (size_t i = 0; i < n; i++) {
                json_object *work = cell_member(object, counts[i].member);

                if (choice.present && !work)
                        continue;
                row_begin(writer, ROW_PART_OWN);
                row_write_text(writer, "section", span_of(section));
                row_write_text(writer, "metric", span_of(counts[i].metric));
                row_write_text(writer, "rule", span_of(counts[i].rule));
                row_write_text(writer, "unit", span_of(counts[i].unit));
                group_rows_write_value(writer, ROW_VALUE_BEFORE, &(RowValue){});
                group_rows_write_value(writer, ROW_VALUE_AFTER, &(RowValue){});
                row_write_value(writer, "work", work);
                row_write_fields(writer, NULL, changes, ELEMENTSOF(changes));
                row_write_text(writer, "reason", !work && counts[i].has_reason ? reason : (Span){});
                write_doubts(writer, NULL);
                group_rows_write_spreads(writer, REPORT_INTERVAL, NULL, ROW_SIDE_BOTH);
                row_end(writer);
        }
}

/* Who was born and ended in between is only known where exits were counted. */
static Span reason_of_ended(json_object *coverage) {
        return cell_string(cell_member(coverage, "endedReason"));
}

static void add_lives(RowWriter *writer, json_object *group, json_object *coverage,
                      RowChoice choice) {
        static const RowCount counts[] = {
                { "survived", "survived", "SumCount", "count", false },
                { "born", "born", "SumCount", "count", false },
                { "ended", "ended", "SumCount", "count", false },
                { "bornAndEnded", "born_and_ended", "SumCount", "count", true },
        };
        json_object *lives = cell_member(group, "lives");

        if (lives && choice.lives)
                add_counts(writer, "lives", counts, ELEMENTSOF(counts), lives,
                           reason_of_ended(coverage), choice);
}

void group_rows_add_coverage(RowWriter *writer, json_object *coverage, RowChoice choice) {
        static const RowCount counts[] = {
                { "cpuUsedNs", "cpu_used_ns", NULL, "ns", false },
                { "attributedNs", "attributed_ns", NULL, "ns", false },
                { "survivedNs", "survived_ns", NULL, "ns", false },
                { "bornNs", "born_ns", NULL, "ns", false },
                { "endedNs", "ended_ns", NULL, "ns", true },
                { "bornAndEndedNs", "born_and_ended_ns", NULL, "ns", true },
                { "kernelThreadsNs", "kernel_threads_ns", NULL, "ns", false },
                { "ownNs", "own_ns", NULL, "ns", false },
                { "notAttributedNs", "not_attributed_ns", NULL, "ns", false },
                { "boundNs", "bound_ns", NULL, "ns", false },
                { "storageUsedBytes", "storage_used_bytes", NULL, "bytes", false },
                { "storageAttributedBytes", "storage_attributed_bytes", NULL, "bytes", false },
        };

        group_rows_begin_group(writer, REPORT_INTERVAL, (Span){}, ROW_SIDE_BOTH, NULL);
        if (coverage && choice.lives)
                add_counts(writer, "coverage", counts, ELEMENTSOF(counts), coverage,
                           reason_of_ended(coverage), choice);
}

/* Whether a row of a metric has a value on any side. */
static bool has_value(json_object *entry) {
        static const char *const members[] = { "value", "before", "after", "a", "b", "work" };

        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (cell_member(entry, members[i]))
                        return true;
        return false;
}

void group_rows_add(RowWriter *writer, ReportKind kind, json_object *group, RowSide side,
                    RowChoice choice, json_object *coverage) {
        static const char *const names[2][3] = { { "both", "before", "after" },
                                                 { "both", "a", "b" } };
        const char *const *sides = names[kind == REPORT_INTERVALS];
        static const char *const lists[] = { "metrics", "derived" };
        json_object_iter member;

        group_rows_begin_group(writer, kind, span_of(sides[side]), side, group);
        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                json_object *entries = cell_member(group, lists[i]);

                if (json_object_is_type(entries, json_type_object))
                        json_object_object_foreachC(entries, member) {
                                if (!choice.present || has_value(member.val))
                                        add_row(writer, kind, member.key, member.val, side);
                        }
        }
        add_lives(writer, group, coverage, choice);
}

void group_rows_add_gap(RowWriter *writer, Span reason) {
        static const RowCount nothing = { .has_reason = true };

        group_rows_begin_group(writer, REPORT_INTERVAL, (Span){}, ROW_SIDE_BOTH, NULL);
        add_counts(writer, NULL, &nothing, 1, NULL, reason, (RowChoice){});
}

void group_rows_add_names(RowWriter *writer, ReportKind kind) {
        writer->naming = true;
        row_head_begin(writer, kind, (Span){}, NULL);
        group_rows_begin_group(writer, kind, (Span){}, ROW_SIDE_BOTH, NULL);
        add_row(writer, kind, NULL, NULL, ROW_SIDE_BOTH);
        writer->naming = false;
}
