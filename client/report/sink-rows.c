/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "metric/metric.h"
#include "render/cell.h"
#include "report/row-writer.h"
#include "report/section/section-row.h"

/*
 * Groups and sections as rows for programs, one for each value. Every row can be read alone, and
 * all rows of a report have the same columns in the same order, whatever the metric and the axis;
 * ctprof-rows(5) is their contract. Names of columns that a view has once a side or once a column
 * begin with its name.
 */

/* The column "rule" says so of values that are made of others and cannot be added. */
#define RULE_DERIVED "Derived"

typedef struct SinkRows {
        GroupSink sink;
        RowWriter writer;
        RowStream own; /* stdout, where there is no other */
        RowStream *stream;
        ReportKind kind;
        const ReportSetting *setting; /* of the kind */
        bool present;                 /* only rows that have a value */
        bool lives; /* rows say how the threads of an interval lived, and how much is known */
        json_object *coverage; /* owned */
} SinkRows;

/* columns that all rows have in common: where the snapshots come from */

static void write_head(RowWriter *writer, const char *column, const char *end, json_object *head) {
        static const RowField fields[] = {
                { "snapshot", "name" },
                { "host", "hostName" },
                { "machine_id", "machineId" },
                { "boot_id", "bootId" },
                { "kernel_release", "kernelRelease" },
                { "tool_version", "toolVersion" },
                { "start_realtime_ns", "startRealtimeNs" },
                { "end_realtime_ns", "endRealtimeNs" },
                { "start_boottime_ns", "startBoottimeNs" },
                { "end_boottime_ns", "endBoottimeNs" },
        };

        row_set_prefix(writer, column, end);
        row_write_fields(writer, head, fields, ELEMENTSOF(fields));
        row_set_prefix(writer, column, NULL);
}

static void write_set(RowWriter *writer, const char *side, json_object *heads) {
        /* A field has the value that all snapshots share, or nothing. */
        static const RowField shared[] = {
                { "host", "hostName" },
                { "machine_id", "machineId" },
                { "boot_id", "bootId" },
                { "kernel_release", "kernelRelease" },
                { "tool_version", "toolVersion" },
        };
        size_t n = cell_length(heads);
        json_object *first = cell_element(heads, 0);
        json_object *last = n > 0 ? cell_element(heads, n - 1) : NULL;

        row_set_prefix(writer, side, "_");
        row_write_double(writer, "captures", (double) n);
        row_write_value(writer, "first", cell_member(first, "name"));
        row_write_value(writer, "last", cell_member(last, "name"));
        for (size_t i = 0; i < ELEMENTSOF(shared); i++) {
                json_object *value = cell_member(first, shared[i].member);

                for (size_t k = 1; k < n; k++)
                        if (!json_object_equal(
                                    cell_member(cell_element(heads, k), shared[i].member), value))
                                value = NULL;
                row_write_value(writer, shared[i].name, value);
        }
        row_write_value(writer, "start_realtime_ns", cell_member(first, "startRealtimeNs"));
        row_write_value(writer, "end_realtime_ns", cell_member(last, "endRealtimeNs"));
}

void sink_rows_write_sets(RowWriter *writer, json_object *reply) {
        static const RowField test[] = { { "alpha", "alpha" }, { "tested", "tested" } };
        const ReportSetting *setting = &report_settings[REPORT_SETS];

        for (size_t i = 0; i < setting->n_columns; i++)
                write_set(writer, setting->sides[i], cell_member(reply, setting->sides[i]));
        row_set_prefix(writer, NULL, NULL);
        row_write_fields(writer, reply, test, ELEMENTSOF(test));
}

static void begin_head(SinkRows *rows, const char *kind, const char *axis) {
        row_begin(&rows->writer, ROW_PART_HEAD);
        row_write_text(&rows->writer, "kind", span_of(kind));
        row_write_text(&rows->writer, "group_by", span_of(axis));
}

/* @ends are those of one interval, or two snapshots that may be its ends. */
static void write_pair(SinkRows *rows, json_object *ends) {
        static const RowField time[] = { { "same_boot", "sameBoot" },
                                         { "elapsed_ns", "elapsedNs" } };
        /* Rows of a state have these, too, so that a query joins both. */
        static const RowField place[] = { { "host", "hostName" },
                                          { "machine_id", "machineId" },
                                          { "boot_id", "bootId" },
                                          { "kernel_release", "kernelRelease" } };
        RowWriter *writer = &rows->writer;

        write_head(writer, NULL, "before_", cell_member(ends, "before"));
        write_head(writer, NULL, "after_", cell_member(ends, "after"));
        row_write_fields(writer, ends, time, ELEMENTSOF(time));
        row_write_value(writer, "cpus", cell_member(cell_member(ends, "host"), "cpus"));
        if (rows->kind == REPORT_INTERVAL)
                row_write_fields(writer, cell_member(ends, "after"), place, ELEMENTSOF(place));
}

/* @reply is the first one, or NULL while names are written. */
static void write_heads(SinkRows *rows, json_object *reply) {
        static const char *const columns[] = { "a", "b" }, *const prefixes[] = { "a_", "b_" };
        json_object *host = cell_member(reply, "host");
        RowWriter *writer = &rows->writer;

        switch (rows->kind) {
        case REPORT_SNAPSHOT:
                write_head(writer, NULL, NULL, cell_member(reply, "snapshot"));
                row_write_value(writer, "cpus", cell_member(host, "cpus"));
                break;
        case REPORT_PAIR:
        case REPORT_INTERVAL:
                write_pair(rows, reply);
                break;
        case REPORT_INTERVALS:
                for (size_t i = 0; i < ELEMENTSOF(columns); i++) {
                        json_object *interval = cell_member(reply, columns[i]);

                        write_head(writer, prefixes[i], "before_", cell_member(interval, "before"));
                        write_head(writer, prefixes[i], "after_", cell_member(interval, "after"));
                        row_write_value(writer, "elapsed_ns", cell_member(interval, "elapsedNs"));
                        row_write_value(writer, "cpus",
                                        cell_member(cell_member(host, columns[i]), "cpus"));
                }
                row_set_prefix(writer, NULL, NULL);
                row_write_value(writer, "same_boot", cell_member(reply, "sameBoot"));
                break;
        case REPORT_SETS:
                sink_rows_write_sets(writer, reply);
                break;
        case _REPORT_KIND_MAX:
                break;
        }
}

/* columns that the rows of a group have in common */

/*
 * @side is the one that has the group, "both" or nothing. @group may be any object with members of
 * a Group.
 */
static void begin_group(SinkRows *rows, Span side, GroupList list, json_object *group) {
        static const RowField names[] = { { "cgroup", "cgroup" },
                                          { "process", "process" },
                                          { "thread", "thread" } };
        static const RowField commands[] = { { "cgroup", "cgroup" },
                                             { "process", "command" },
                                             { "thread", "thread" } };
        static const RowField ids[] = { { "pid", "pid" },
                                        { "tid", "tid" },
                                        { "start_ticks", "startTicks" } };
        static const char *const numbers[] = { "threadsBefore", "threadsAfter" };
        json_object *threads = cell_member(group, "threads");
        const ReportSetting *setting = rows->setting;
        RowWriter *writer = &rows->writer;

        row_begin(writer, ROW_PART_GROUP);
        if (setting->n_lists > 1)
                row_write_text(writer, "side", side);
        row_write_fields(writer, group, cell_member(group, "command") ? commands : names,
                         ELEMENTSOF(names));
        if (rows->kind != REPORT_SETS)
                row_write_fields(writer, group, ids, ELEMENTSOF(ids));
        if (setting->n_sides == 1)
                row_write_value(writer, "threads", threads);
        for (size_t i = 0; setting->n_sides == 2 && i < 2; i++) {
                json_object *number = json_object_is_type(threads, json_type_object)
                                              ? cell_member(threads, setting->sides[i])
                                              : cell_member(group, numbers[i]);

                /* A group of one side has only one number. */
                if (list != GROUP_LIST_GROUPS && json_object_is_type(threads, json_type_int))
                        number = list == GROUP_LIST_ONLY_BEFORE + i ? threads : NULL;
                row_set_prefix(writer, setting->sides[i], "_");
                row_write_value(writer, "threads", number);
        }
        row_set_prefix(writer, NULL, NULL);
}

/* values, in columns of one type each */

typedef struct RowValue {
        json_object *number;
        const char *digits; /* the number as text instead */
        json_object *min, *max, *text, *count, *total;
} RowValue;

static void write_columns(RowWriter *writer, const char *side, const RowValue *value) {
        row_set_prefix(writer, side, NULL);
        if (value->digits)
                row_write_number(writer, "", value->digits);
        else
                row_write_value(writer, "", value->number);
        row_write_value(writer, "_min", value->min);
        row_write_value(writer, "_max", value->max);
        row_write_value(writer, "_text", value->text);
        row_write_value(writer, "_count", value->count);
        row_write_value(writer, "_total", value->total);
        row_set_prefix(writer, NULL, NULL);
}

/* Writes a VALUE of the interface. */
static void write_value(RowWriter *writer, const char *side, json_object *value) {
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
        write_columns(writer, side, &columns);
}

/* The fields of a row beside the values of its sides. */
static const RowField changes[] = {
        { "work", "work" },       { "delta", "delta" },
        { "percent", "percent" }, { "per_second", "perSecond" },
        { "changed", "changed" }, { "reset", "reset" },
};
static const RowField presence[] = { { "present", "present" } };
static const RowField tests[] = { { "delta", "delta" },
                                  { "percent", "percent" },
                                  { "u", "u" },
                                  { "p", "p" },
                                  { "p_adjusted", "pAdjusted" },
                                  { "significant", "significant" },
                                  { "is_rate", "perSecond" } };

static const struct {
        const RowField *fields;
        size_t n;
} beside[_REPORT_KIND_MAX] = {
        [REPORT_SNAPSHOT] = { presence, ELEMENTSOF(presence) },
        [REPORT_INTERVAL] = { changes, ELEMENTSOF(changes) },
        [REPORT_PAIR] = { &changes[1], ELEMENTSOF(changes) - 1 },
        [REPORT_INTERVALS] = { &changes[1], 2 }, /* both are rates already, and none is reset */
        [REPORT_SETS] = { tests, ELEMENTSOF(tests) },
};

/* Says why there is no value, and of a group that is missing on one side also that it is. */
static void write_reason(SinkRows *rows, json_object *entry, GroupList list) {
        const char *const *words = rows->setting->words;
        Span own = cell_string(cell_member(entry, "reason"));
        Buffer *reason = &rows->writer.scratch;

        if (list == GROUP_LIST_GROUPS) {
                row_write_text(&rows->writer, "reason", own);
                return;
        }
        if (own.n > 0)
                buffer_append_format(reason, "%s: %.*s; ", words[list - GROUP_LIST_ONLY_BEFORE],
                                     (int) own.n, own.bytes);
        buffer_append_format(reason, "%s: there is no such group",
                             words[list == GROUP_LIST_ONLY_BEFORE]);
        row_write_scratch(&rows->writer, "reason");
}

/* Says how far to believe the values. */
static void write_doubts(SinkRows *rows, json_object *entry) {
        static const RowField fields[] = { { "approximate", "approximate" },
                                           { "implausible", "implausible" } };

        row_write_fields(&rows->writer, entry, fields,
                         rows->kind == REPORT_SETS ? 1 : ELEMENTSOF(fields));
}

static void write_spread(RowWriter *writer, const char *side, json_object *spread) {
        static const RowField top[] = { { "top_tid", "tid" },
                                        { "top_name", "name" },
                                        { "top_value", "value" } };
        static const RowField ranks[] = { { "p50", "p50" }, { "p99", "p99" } };

        row_set_prefix(writer, side, NULL);
        row_write_fields(writer, cell_member(spread, "top"), top, ELEMENTSOF(top));
        row_write_fields(writer, spread, ranks, ELEMENTSOF(ranks));
        row_set_prefix(writer, NULL, NULL);
}

/* Says how a sum is spread over threads. @entry NULL: the columns are absent. */
static void write_spreads(SinkRows *rows, json_object *entry, GroupList list) {
        json_object *spread = cell_member(entry, "spread");
        bool is_before = list == GROUP_LIST_ONLY_BEFORE;

        if (rows->kind == REPORT_SETS || rows->kind == REPORT_INTERVALS)
                return;
        /* A group of one side has one spread, as a group of show has. */
        if (rows->setting->n_lists > 1)
                write_spread(&rows->writer, "before_",
                             is_before ? spread : cell_member(entry, "spreadBefore"));
        write_spread(&rows->writer, NULL, is_before ? NULL : spread);
}

static void write_metric(RowWriter *writer, const char *section, Span metric, const char *rule,
                         const char *unit) {
        row_begin(writer, ROW_PART_OWN);
        row_write_text(writer, "section", span_of(section));
        row_write_text(writer, "metric", metric);
        row_write_text(writer, "rule", span_of(rule));
        row_write_text(writer, "unit", span_of(unit));
}

/* @metric and @entry are NULL while names are written. */
static void add_entry(SinkRows *rows, const char *metric, json_object *entry, GroupList list) {
        static const char *const members[] = { "value", "before", "after", "a", "b", "work" };
        static const RowField samples[] = { { "n", "n" },     { "median", "median" },
                                            { "min", "min" }, { "max", "max" },
                                            { "q1", "q1" },   { "q3", "q3" } };
        json_object *one = cell_member(entry, "value"); /* of a group of one side, or of a state */
        const ReportSetting *setting = rows->setting;
        bool is_wanted = !rows->present || !metric;
        RowWriter *writer = &rows->writer;
        MetricId id;
        DerivedId derived;

        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                is_wanted = is_wanted || cell_member(entry, members[i]);
        if (!is_wanted)
                return;
        id = metric ? metric_find(span_of(metric)) : _METRIC_MAX;
        derived = metric ? derived_find(span_of(metric)) : _DERIVED_MAX;
        if (id < _METRIC_MAX)
                write_metric(writer, metric_section_names[metric_table[id].section],
                             span_of(metric), metric_table[id].rule_name,
                             metric_unit_names[metric_table[id].unit]);
        else if (derived < _DERIVED_MAX)
                write_metric(writer, metric_section_names[derived_table[derived].section],
                             span_of(metric), RULE_DERIVED,
                             metric_unit_names[derived_table[derived].unit]);
        else
                write_metric(writer, NULL, span_of(metric), NULL, NULL);
        for (size_t i = 0; i < setting->n_sides; i++) {
                json_object *side = cell_member(entry, setting->sides[i]);

                if (rows->kind == REPORT_SETS) {
                        row_set_prefix(writer, setting->sides[i], "_");
                        row_write_fields(writer, side, samples, ELEMENTSOF(samples));
                        row_set_prefix(writer, NULL, NULL);
                } else {
                        write_value(writer, setting->sides[i],
                                    one && list == GROUP_LIST_ONLY_BEFORE + i ? one : side);
                }
        }
        row_write_fields(writer, entry, beside[rows->kind].fields, beside[rows->kind].n);
        write_reason(rows, entry, list);
        write_doubts(rows, entry);
        write_spreads(rows, entry, list);
        row_end(writer);
}

/* numbers of a whole interval, without a before and an after */

typedef struct RowCount {
        const char *member, *metric, *rule, *unit;
        bool has_reason; /* where it is not known */
} RowCount;

static void add_counts(SinkRows *rows, const char *section, const RowCount counts[], size_t n,
                       json_object *object, Span reason) {
        RowWriter *writer = &rows->writer;

        for (size_t i = 0; i < n; i++) {
                json_object *work = cell_member(object, counts[i].member);

                if (rows->present && !work)
                        continue;
                write_metric(writer, section, span_of(counts[i].metric), counts[i].rule,
                             counts[i].unit);
                for (size_t k = 0; k < 2; k++)
                        write_columns(writer, rows->setting->sides[k], &(RowValue){});
                row_write_value(writer, changes[0].name, work);
                row_write_fields(writer, NULL, &changes[1], ELEMENTSOF(changes) - 1);
                row_write_text(writer, "reason", !work && counts[i].has_reason ? reason : (Span){});
                write_doubts(rows, NULL);
                write_spreads(rows, NULL, GROUP_LIST_GROUPS);
                row_end(writer);
        }
}

static void add_group(SinkRows *rows, json_object *group, GroupList list) {
        static const char *const members[] = { "metrics", "derived" };
        static const RowCount counts[] = {
                { "survived", "survived", "SumCount", "count", false },
                { "born", "born", "SumCount", "count", false },
                { "ended", "ended", "SumCount", "count", false },
                { "bornAndEnded", "born_and_ended", "SumCount", "count", true },
        };
        json_object *lives = cell_member(group, "lives");
        const char *side = list == GROUP_LIST_GROUPS
                                   ? "both"
                                   : rows->setting->sides[list - GROUP_LIST_ONLY_BEFORE];
        json_object_iter member;

        begin_group(rows, span_of(side), list, group);
        for (size_t i = 0; i < ELEMENTSOF(members); i++) {
                json_object *entries = cell_member(group, members[i]);

                if (json_object_is_type(entries, json_type_object))
                        json_object_object_foreachC(entries, member) {
                                add_entry(rows, member.key, member.val, list);
                        }
        }
        if (lives && rows->lives)
                add_counts(rows, "lives", counts, ELEMENTSOF(counts), lives,
                           cell_string(cell_member(rows->coverage, "endedReason")));
}

/* sections */

/* Returns the decimals of a value that replies have in hundredths; NULL for any other value. */
static const char *hundredths_digits(json_object *value, SectionUnit unit,
                                     char text[static QUANTITY_CHARS]) {
        Quantity quantity;

        if ((unit != SECTION_UNIT_PERCENT && unit != SECTION_UNIT_HUNDREDTHS) ||
            !cell_quantity(value, &quantity))
                return NULL;
        (void) snprintf(text, QUANTITY_CHARS, "%s%llu.%02u", quantity.negative ? "-" : "",
                        (unsigned long long) (quantity.whole / 100),
                        (unsigned) (quantity.whole % 100));
        return text;
}

/* @before and @after are the sides of the value, or NULL. */
static void write_section_change(SinkRows *rows, const SectionValue *value, json_object *before,
                                 json_object *after) {
        json_object *delta = cell_member(value->value, "delta");
        RowWriter *writer = &rows->writer;
        char digits[QUANTITY_CHARS];
        double percent;

        if (rows->kind == REPORT_INTERVAL)
                row_write_absent(writer, "work");
        if (hundredths_digits(delta, value->unit, digits))
                row_write_number(writer, "delta", digits);
        else
                row_write_value(writer, "delta",
                                json_object_is_type(delta, json_type_string) ? NULL : delta);
        if (section_value_percent(value->value, &percent))
                row_write_double(writer, "percent", percent);
        else
                row_write_absent(writer, "percent");
        if (rows->kind == REPORT_INTERVALS)
                return;
        row_write_value(writer, "per_second", value->rate);
        if (before && after)
                row_write_number(writer, "changed",
                                 json_object_equal(before, after) ? "false" : "true");
        else
                row_write_absent(writer, "changed");
        row_write_absent(writer, "reset");
}

/* Adds a value of a section, whose sides are "before" and "after", whatever the kind. */
static void add_section_value(SinkRows *rows, SectionId id, const SectionRow *row,
                              const SectionValue *value) {
        json_object *ends[] = { cell_member(value->value, "before"),
                                cell_member(value->value, "after") };
        Span resource = cell_string(row->resource), half = cell_string(row->half);
        Span item = cell_string(row->item);
        const ReportSetting *setting = rows->setting;
        RowWriter *writer = &rows->writer;
        Buffer *name = &writer->scratch;
        bool is_pair = setting->n_sides == 2, is_whole = ends[0] && ends[1];
        const char *side = is_whole  ? "both"
                           : ends[0] ? setting->sides[0]
                           : ends[1] ? setting->sides[1]
                                     : NULL;

        begin_group(rows, span_of(side), GROUP_LIST_GROUPS, row->json);
        /*
         * Values of pressure are told apart by their resource and row, too: "cpu.some.avg10"; those
         * of the host by the CPU, disk or interface: "sda.read_bytes". The rest is behind the last
         * point.
         */
        if (row->resource)
                buffer_append_format(name, "%.*s.%.*s.", (int) resource.n, resource.bytes,
                                     (int) half.n, half.bytes);
        if (view_table_abouts[id] == SECTION_ABOUT_HOST_PART && row->item)
                buffer_append_format(name, "%.*s.", (int) item.n, item.bytes);
        buffer_append(name, value->name.bytes, value->name.n);
        row_begin(writer, ROW_PART_OWN);
        row_write_text(writer, "section", span_of(view_table_names[id]));
        row_write_scratch(writer, "metric");
        row_write_absent(writer, "rule");
        row_write_text(writer, "unit", span_of(section_units[value->unit].name));
        for (size_t i = 0; i < setting->n_sides; i++) {
                json_object *one = is_pair ? ends[i] : value->value;
                bool is_text = json_object_is_type(one, json_type_string);
                char digits[QUANTITY_CHARS];
                const RowValue columns = {
                        .number = is_text ? NULL : one,
                        .digits = hundredths_digits(one, value->unit, digits),
                        .text = is_text ? one : NULL,
                };

                write_columns(writer, setting->sides[i], &columns);
        }
        if (is_pair)
                write_section_change(rows, value, ends[0], ends[1]);
        else
                row_write_absent(writer, "present");
        row_write_value(writer, "reason",
                        (is_pair ? is_whole : value->value != NULL) ? NULL : row->reason);
        write_doubts(rows, NULL);
        write_spreads(rows, NULL, GROUP_LIST_GROUPS);
        row_end(writer);
}

static void add_section_row(SinkRows *rows, SectionId id, json_object *json) {
        const View *view = &rows->sink.form->session->options->view;
        SectionRow row = section_row_read(id, json);

        for (size_t i = 0; i < row.n_values; i++) {
                const SectionValue *value = &row.values[i];

                if (rows->setting->n_lists > 1 && view->has_threshold &&
                    !section_value_moved(value, view))
                        continue;
                /* A stream has intervals, whose sections have sides. */
                if (rows->present && !cell_member(value->value, "before") &&
                    !cell_member(value->value, "after"))
                        continue;
                add_section_value(rows, id, &row, value);
        }
}

/* the sink */

/* Writes the names of the columns where they are wanted and do not stand there yet. */
static void begin_stream(SinkRows *rows, const Session *session) {
        RowStream *stream = rows->stream;

        rows->writer = (RowWriter){ .style = stream->is_csv ? ROW_STYLE_CSV : ROW_STYLE_NDJSON,
                                    .formulas = options_have(session->options, OPTION_FORMULAS),
                                    .out = stream->out };
        if (stream->is_csv && !stream->is_begun && session->legend == TABLE_LEGEND_SHOWN) {
                rows->writer.naming = true;
                begin_head(rows, NULL, NULL);
                write_heads(rows, NULL);
                begin_group(rows, (Span){}, GROUP_LIST_GROUPS, NULL);
                add_entry(rows, NULL, NULL, GROUP_LIST_GROUPS);
                rows->writer.naming = false;
        }
        stream->is_begun = true;
}

static int begin(GroupSink *sink, json_object *reply) {
        SinkRows *rows = (SinkRows *) sink;
        const Session *session = sink->form->session;
        const View *view = &session->options->view;
        int r;

        rows->own = (RowStream){ stdout, .is_csv = session->options->format == FORMAT_CSV };
        rows->stream = sink->form->stream ? sink->form->stream : &rows->own;
        rows->present = rows->stream->present;
        /* A user who names metrics wants nothing else; a stream has to be believed. */
        rows->lives = sink->form->stream || (!view->has_metrics && !view->has_sections);
        rows->kind = sink->form->kind;
        rows->setting = &report_settings[rows->kind];
        r = sink->form->lead ? sink->form->lead(sink->form->lead_userdata, NULL, NULL) : 0;
        if (r != 0)
                return r;
        begin_stream(rows, session);
        begin_head(rows, rows->setting->name, view_axis_names[view->axis]);
        write_heads(rows, reply);
        if (rows->kind == REPORT_INTERVAL)
                rows->coverage = json_object_get(cell_member(reply, "coverage"));
        return rows->writer.error;
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        SinkRows *rows = (SinkRows *) sink;

        for (size_t i = 0; i < cell_length(groups); i++)
                add_group(rows, cell_element(groups, i), list);
        return rows->writer.error;
}

static int add_sections(GroupSink *sink, json_object *part) {
        SinkRows *rows = (SinkRows *) sink;
        json_object_iter member;

        json_object_object_foreachC(part, member) {
                SectionId id = section_find(member.key);

                for (size_t i = 0; id < _SECTION_MAX && i < cell_length(member.val); i++)
                        add_section_row(rows, id, cell_element(member.val, i));
        }
        return rows->writer.error;
}

static int end(GroupSink *sink, json_object *reply) {
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
        SinkRows *rows = (SinkRows *) sink;

        /* Rows that are of no group say how much of an interval is known. */
        if (rows->coverage && rows->lives) {
                begin_group(rows, (Span){}, GROUP_LIST_GROUPS, NULL);
                add_counts(rows, "coverage", counts, ELEMENTSOF(counts), rows->coverage,
                           cell_string(cell_member(rows->coverage, "endedReason")));
        }
        return rows->writer.error;
}

static void done(GroupSink *sink) {
        SinkRows *rows = (SinkRows *) sink;

        row_writer_done(&rows->writer);
        (void) json_object_put(rows->coverage);
}

const GroupSinkType sink_rows = { .size = sizeof(SinkRows),
                                  .begin = begin,
                                  .groups = add_groups,
                                  .sections = add_sections,
                                  .end = end,
                                  .done = done };

int sink_rows_add_gap(Session *session, RowStream *stream, json_object *ends, Span reason) {
        static const RowCount nothing = { .has_reason = true };
        SinkRows rows = { .stream = stream,
                          .kind = REPORT_INTERVAL,
                          .setting = &report_settings[REPORT_INTERVAL] };

        begin_stream(&rows, session);
        begin_head(&rows, "gap", view_axis_names[session->options->view.axis]);
        write_pair(&rows, ends);
        begin_group(&rows, (Span){}, GROUP_LIST_GROUPS, NULL);
        add_counts(&rows, NULL, &nothing, 1, NULL, reason);
        row_writer_done(&rows.writer);
        return rows.writer.error;
}
