/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/row/row-head.h"

#include "render/cell.h"

#define HEAD_FIELDS(prefix)                                                           \
        { prefix "snapshot", "name" }, { prefix "host", "hostName" },                 \
                { prefix "machine_id", "machineId" }, { prefix "boot_id", "bootId" }, \
                { prefix "kernel_release", "kernelRelease" },                         \
                { prefix "tool_version", "toolVersion" },                             \
                { prefix "start_realtime_ns", "startRealtimeNs" },                    \
                { prefix "end_realtime_ns", "endRealtimeNs" },                        \
                { prefix "start_boottime_ns", "startBoottimeNs" }, {                  \
                prefix "end_boottime_ns", "endBoottimeNs"                             \
        }

/* CPUs at the end, of an interval; what was not told is absent. */
static void write_cpus(RowWriter *writer, const char *name, json_object *host) {
        row_write_value(writer, name, cell_member(host, "cpus"));
}

static void write_state(RowWriter *writer, json_object *reply) {
        static const RowField fields[] = { HEAD_FIELDS("") };

        row_write_fields(writer, cell_member(reply, "snapshot"), fields, ELEMENTSOF(fields));
        write_cpus(writer, "cpus", cell_member(reply, "host"));
}

/*
 * Two snapshots, which may be the ends of an interval. Of an interval the host of the end has plain
 * names, too, as in rows of a state: a query then joins both.
 */
static void write_pair(RowWriter *writer, ReportKind kind, json_object *reply) {
        static const RowField plain[] = { { "host", "hostName" },
                                          { "machine_id", "machineId" },
                                          { "boot_id", "bootId" },
                                          { "kernel_release", "kernelRelease" } };
        static const RowField before[] = { HEAD_FIELDS("before_") };
        static const RowField after[] = { HEAD_FIELDS("after_") };
        static const RowField rest[] = { { "same_boot", "sameBoot" },
                                         { "elapsed_ns", "elapsedNs" } };

        row_write_fields(writer, cell_member(reply, "before"), before, ELEMENTSOF(before));
        row_write_fields(writer, cell_member(reply, "after"), after, ELEMENTSOF(after));
        row_write_fields(writer, reply, rest, ELEMENTSOF(rest));
        write_cpus(writer, "cpus", cell_member(reply, "host"));
        if (kind == REPORT_INTERVAL)
                row_write_fields(writer, cell_member(reply, "after"), plain, ELEMENTSOF(plain));
}

static void write_intervals(RowWriter *writer, json_object *reply) {
        static const RowField a_before[] = { HEAD_FIELDS("a_before_") };
        static const RowField a_after[] = { HEAD_FIELDS("a_after_") };
        static const RowField a_rest[] = { { "a_elapsed_ns", "elapsedNs" } };
        static const RowField b_before[] = { HEAD_FIELDS("b_before_") };
        static const RowField b_after[] = { HEAD_FIELDS("b_after_") };
        static const RowField b_rest[] = { { "b_elapsed_ns", "elapsedNs" } };
        json_object *a = cell_member(reply, "a"), *b = cell_member(reply, "b");
        json_object *host = cell_member(reply, "host");

        row_write_fields(writer, cell_member(a, "before"), a_before, ELEMENTSOF(a_before));
        row_write_fields(writer, cell_member(a, "after"), a_after, ELEMENTSOF(a_after));
        row_write_fields(writer, a, a_rest, ELEMENTSOF(a_rest));
        write_cpus(writer, "a_cpus", cell_member(host, "a"));
        row_write_fields(writer, cell_member(b, "before"), b_before, ELEMENTSOF(b_before));
        row_write_fields(writer, cell_member(b, "after"), b_after, ELEMENTSOF(b_after));
        row_write_fields(writer, b, b_rest, ELEMENTSOF(b_rest));
        write_cpus(writer, "b_cpus", cell_member(host, "b"));
        row_write_value(writer, "same_boot", cell_member(reply, "sameBoot"));
}

/* sets */

/* The value that all snapshots of a set share; NULL if they differ in it. */
static json_object *shared(json_object *heads, const char *key) {
        json_object *value = cell_member(cell_element(heads, 0), key);

        for (size_t i = 1; i < cell_length(heads); i++)
                if (!json_object_equal(cell_member(cell_element(heads, i), key), value))
                        return NULL;
        return value;
}

typedef struct SetNames {
        const char *captures, *first, *last, *host, *machine_id, *boot_id, *kernel, *tool, *start,
                *end;
} SetNames;

#define SET_NAMES(side)                                                                          \
        {                                                                                        \
                side "_captures", side "_first", side "_last", side "_host", side "_machine_id", \
                        side "_boot_id", side "_kernel_release", side "_tool_version",           \
                        side "_start_realtime_ns", side "_end_realtime_ns"                       \
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
        row_write_value(writer, names->tool, shared(heads, "toolVersion"));
        row_write_value(writer, names->start, cell_member(first, "startRealtimeNs"));
        row_write_value(writer, names->end, cell_member(last, "endRealtimeNs"));
}

static void write_sets(RowWriter *writer, json_object *reply) {
        static const SetNames before = SET_NAMES("before"), after = SET_NAMES("after");
        static const RowField test[] = { { "alpha", "alpha" }, { "tested", "tested" } };

        write_set(writer, &before, cell_member(reply, "before"));
        write_set(writer, &after, cell_member(reply, "after"));
        row_write_fields(writer, reply, test, ELEMENTSOF(test));
}

static void begin_head(RowWriter *writer, const char *kind, Span axis) {
        row_begin(writer, ROW_PART_HEAD);
        row_write_text(writer, "kind", span_of(kind));
        row_write_text(writer, "group_by", axis);
}

void row_head_begin_gap(RowWriter *writer, Span axis, json_object *ends) {
        begin_head(writer, "gap", axis);
        write_pair(writer, REPORT_INTERVAL, ends);
}

void row_head_begin(RowWriter *writer, ReportKind kind, Span axis, json_object *reply) {
        begin_head(writer, report_kind_name(kind), axis);
        switch (kind) {
        case REPORT_SNAPSHOT:
                write_state(writer, reply);
                break;
        case REPORT_PAIR:
        case REPORT_INTERVAL:
                write_pair(writer, kind, reply);
                break;
        case REPORT_INTERVALS:
                write_intervals(writer, reply);
                break;
        case REPORT_SETS:
                write_sets(writer, reply);
                break;
        case _REPORT_KIND_MAX:
                break;
        }
}
