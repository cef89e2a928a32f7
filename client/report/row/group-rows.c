/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/row/group-rows.h"

#include "metric/metric.h"
#include "render/cell.h"

/* what all rows have in common */

#define HEAD_FIELDS(prefix)                                                           \
        { prefix "snapshot", "name" }, { prefix "host", "hostName" },                 \
                { prefix "machine_id", "machineId" }, { prefix "boot_id", "bootId" }, \
                { prefix "start_realtime_ns", "startRealtimeNs" },                    \
                { prefix "end_realtime_ns", "endRealtimeNs" },                        \
                { prefix "start_boottime_ns", "startBoottimeNs" }, {                  \
                prefix "end_boottime_ns", "endBoottimeNs"                             \
        }

static void write_pair_head(RowWriter *writer, json_object *reply) {
        static const RowField before[] = { HEAD_FIELDS("before_") };
        static const RowField after[] = { HEAD_FIELDS("after_") };
        static const RowField rest[] = { { "same_boot", "sameBoot" },
                                         { "elapsed_ns", "elapsedNs" } };

        row_write_fields(writer, cell_member(reply, "before"), before, ELEMENTSOF(before));
        row_write_fields(writer, cell_member(reply, "after"), after, ELEMENTSOF(after));
        row_write_fields(writer, reply, rest, ELEMENTSOF(rest));
}

/* The value that all snapshots of a set share; NULL if they differ in it. */
static json_object *shared(json_object *heads, const char *key) {
        json_object *value = cell_member(cell_element(heads, 0), key);

        for (size_t i = 1; i < cell_length(heads); i++)
                if (!json_object_equal(cell_member(cell_element(heads, i), key), value))
                        return NULL;
        return value;
}

typedef struct SetNames {
        const char *captures, *first, *last, *host, *machine_id, *boot_id, *kernel, *start, *end;
} SetNames;

#define SET_NAMES(side)                                                                          \
        {                                                                                        \
                side "_captures", side "_first", side "_last", side "_host", side "_machine_id", \
                        side "_boot_id", side "_kernel_release", side "_start_realtime_ns",      \
                        side "_end_realtime_ns"                                                  \
        }

static void write_set(RowWriter *writer, const SetNames *names, json_object *heads) {
        size_t n = cell_length(heads);
        json_object *first = cell_element(heads, 0);
        json_object *last = n > 0 ? cell_element(heads, n - 1) : NULL;

        row_write_double(writer, names->captures, (double) n);
        row_write_value(writer, names->first, cell_member(first, "name"));
        row_write_value(writer, names->last, cell_member(last, "name"));
        row_write_value(writer, names->host, shared(heads, "hostName"));
        row_write_value(writer, names->machine_id, shared(heads, "machineId"));
        row_write_value(writer, names->boot_id, shared(heads, "bootId"));
        row_write_value(writer, names->kernel, shared(heads, "kernelRelease"));
        row_write_value(writer, names->start, cell_member(first, "startRealtimeNs"));
        row_write_value(writer, names->end, cell_member(last, "endRealtimeNs"));
}

void group_rows_begin(RowWriter *writer, ReportKind kind, json_object *reply) {
        static const RowField snapshot[] = { HEAD_FIELDS("") };
        static const SetNames before = SET_NAMES("before"), after = SET_NAMES("after");
        static const RowField test[] = { { "alpha", "alpha" }, { "tested", "tested" } };

        row_begin(writer, ROW_PART_HEAD);
        if (writer->style != ROW_STYLE_NDJSON)
                return;
        switch (kind) {
        case REPORT_SNAPSHOT:
                row_write_fields(writer, cell_member(reply, "snapshot"), snapshot,
                                 ELEMENTSOF(snapshot));
                break;
        case REPORT_PAIR:
        case REPORT_INTERVAL:
        case REPORT_INTERVALS:
                write_pair_head(writer, reply);
                break;
        case REPORT_SETS:
                write_set(writer, &before, cell_member(reply, "before"));
                write_set(writer, &after, cell_member(reply, "after"));
                row_write_fields(writer, reply, test, ELEMENTSOF(test));
                break;
        case _REPORT_KIND_MAX:
                break;
        }
}

/* what the rows of a group have in common */

void group_rows_begin_group(RowWriter *writer, ReportKind kind, Span side, RowSide row_side,
                            json_object *group) {
        static const RowField names[] = { { "cgroup", "cgroup" },
                                          { "process", "process" },
                                          { "thread", "thread" } };
        static const RowField ids[] = { { "pid", "pid" },
                                        { "tid", "tid" },
                                        { "start_ticks", "startTicks" } };
        json_object *threads = cell_member(group, "threads");

        row_begin(writer, ROW_PART_GROUP);
        if (report_kind_has_sides(kind))
                row_write_text(writer, "side", side);
        row_write_fields(writer, group, names, ELEMENTSOF(names));
        if (kind != REPORT_SETS)
                row_write_fields(writer, group, ids, ELEMENTSOF(ids));
        if (kind == REPORT_SNAPSHOT) {
                row_write_value(writer, "threads", threads);
                return;
        }
        row_write_value(writer, "before_threads",
                        row_side == ROW_SIDE_BEFORE ? threads
                                                    : cell_member(group, "threadsBefore"));
        row_write_value(writer, "after_threads",
                        row_side == ROW_SIDE_AFTER ? threads : cell_member(group, "threadsAfter"));
}

/* a metric */

static void write_metric(RowWriter *writer, const char *name) {
        MetricId metric = name ? metric_find(span_of(name)) : _METRIC_MAX;
        DerivedId derived = name ? derived_find(span_of(name)) : _DERIVED_MAX;
        const char *section = NULL, *unit = NULL;

        if (metric < _METRIC_MAX) {
                section = metric_section_name(metric_table[metric].section);
                unit = metric_unit_name(metric_table[metric].unit);
        } else if (derived < _DERIVED_MAX) {
                section = metric_section_name(derived_table[derived].section);
                unit = metric_unit_name(derived_table[derived].unit);
        }
        row_write_text(writer, "section", span_of(section));
        row_write_text(writer, "metric", span_of(name));
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

static void write_side(RowWriter *writer, RowValueName name, json_object *value) {
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
static void write_reason(RowWriter *writer, json_object *entry, RowSide side) {
        Span own = cell_string(cell_member(entry, "reason"));
        Buffer *reason = &writer->scratch;

        if (side == ROW_SIDE_BOTH) {
                row_write_text(writer, "reason", own);
                return;
        }
        if (own.n > 0)
                buffer_append_format(reason, "%s: %.*s; ",
                                     side == ROW_SIDE_BEFORE ? "before" : "after", (int) own.n,
                                     own.bytes);
        buffer_append_format(reason, "%s: there is no such group",
                             side == ROW_SIDE_BEFORE ? "after" : "before");
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

static void write_pair(RowWriter *writer, json_object *entry, RowSide side) {
        static const RowField fields[] = {
                { "delta", "delta" },     { "percent", "percent" }, { "per_second", "perSecond" },
                { "changed", "changed" }, { "reset", "reset" },
        };
        json_object *value = cell_member(entry, "value");

        write_side(writer, ROW_VALUE_BEFORE,
                   side == ROW_SIDE_BEFORE ? value : cell_member(entry, "before"));
        write_side(writer, ROW_VALUE_AFTER,
                   side == ROW_SIDE_AFTER ? value : cell_member(entry, "after"));
        row_write_fields(writer, entry, fields, ELEMENTSOF(fields));
        write_reason(writer, entry, side);
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
                write_side(writer, ROW_VALUE, cell_member(entry, "value"));
                row_write_value(writer, "present", cell_member(entry, "present"));
                write_reason(writer, entry, ROW_SIDE_BOTH);
                write_doubts(writer, entry);
                break;
        case REPORT_PAIR:
        case REPORT_INTERVAL:
        case REPORT_INTERVALS:
                write_pair(writer, entry, side);
                break;
        case REPORT_SETS:
                write_sets(writer, entry);
                break;
        case _REPORT_KIND_MAX:
                break;
        }
        if (kind != REPORT_SETS)
                group_rows_write_spreads(writer, kind, entry, side);
        row_end(writer);
}

void group_rows_add(RowWriter *writer, ReportKind kind, json_object *group, RowSide side) {
        static const char *const sides[] = { "both", "before", "after" };
        static const char *const lists[] = { "metrics", "derived" };
        json_object_iter member;

        group_rows_begin_group(writer, kind, span_of(sides[side]), side, group);
        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                json_object *entries = cell_member(group, lists[i]);

                if (json_object_is_type(entries, json_type_object))
                        json_object_object_foreachC(entries, member) {
                                add_row(writer, kind, member.key, member.val, side);
                        }
        }
}

void group_rows_add_names(RowWriter *writer, ReportKind kind) {
        writer->naming = true;
        group_rows_begin_group(writer, kind, (Span){}, ROW_SIDE_BOTH, NULL);
        add_row(writer, kind, NULL, NULL, ROW_SIDE_BOTH);
        writer->naming = false;
}
