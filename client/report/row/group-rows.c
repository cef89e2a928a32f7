/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/row/group-rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/cell.h"
#include "render/midpoint.h"
#include "report/section/section-row.h"

/* A line is put together from three parts that change ever more often. */
struct GroupRows {
        RowWriter writer;
        ReportKind kind;
        const View *view;
        FILE *out;
        Buffer head, group, line;
        Buffer scratch;
};

int group_rows_new(RowStyle style, ReportKind kind, const View *view, FILE *out, GroupRows **ret) {
        GroupRows *rows = malloc(sizeof(*rows));

        if (!rows)
                return -ENOMEM;
        *rows = (GroupRows){ .writer = { .style = style }, .kind = kind, .view = view, .out = out };
        *ret = rows;
        return 0;
}

GroupRows *group_rows_free(GroupRows *rows) {
        if (!rows)
                return NULL;
        buffer_done(&rows->head);
        buffer_done(&rows->group);
        buffer_done(&rows->line);
        buffer_done(&rows->scratch);
        free(rows);
        return NULL;
}

static bool put(const GroupRows *rows, const Buffer *part) {
        return part->n == 0 || fwrite(part->bytes, 1, part->n, rows->out) == part->n;
}

static int put_line(GroupRows *rows) {
        Buffer *line = &rows->line;
        int r;

        r = row_write_end(&rows->writer, line);
        if (r < 0)
                return r;
        if (!put(rows, &rows->head) || !put(rows, &rows->group) || !put(rows, line))
                return errno > 0 ? -errno : -EIO;
        return 0;
}

/* what all rows have */

#define HEAD_FIELDS(prefix)                                                           \
        { prefix "snapshot", "name" }, { prefix "host", "hostName" },                 \
                { prefix "machine_id", "machineId" }, { prefix "boot_id", "bootId" }, \
                { prefix "start_realtime_ns", "startRealtimeNs" },                    \
                { prefix "end_realtime_ns", "endRealtimeNs" },                        \
                { prefix "start_boottime_ns", "startBoottimeNs" }, {                  \
                prefix "end_boottime_ns", "endBoottimeNs"                             \
        }
static const RowField head_fields[] = { HEAD_FIELDS("") };
static const RowField before_fields[] = { HEAD_FIELDS("before_") };
static const RowField after_fields[] = { HEAD_FIELDS("after_") };
static const RowField pair_fields[] = { { "same_boot", "sameBoot" },
                                        { "elapsed_ns", "elapsedNs" } };

int group_rows_begin(GroupRows *rows, json_object *reply) {
        Buffer *head = &rows->head;
        int r;

        buffer_clear(head);
        if (rows->writer.style == ROW_STYLE_CSV)
                return 0;
        r = buffer_append_byte(head, '{');
        if (r == 0 && rows->kind == REPORT_SNAPSHOT)
                return row_write_fields(&rows->writer, head, cell_member(reply, "snapshot"),
                                        head_fields, ELEMENTSOF(head_fields));
        if (r == 0)
                r = row_write_fields(&rows->writer, head, cell_member(reply, "before"),
                                     before_fields, ELEMENTSOF(before_fields));
        if (r == 0)
                r = row_write_fields(&rows->writer, head, cell_member(reply, "after"), after_fields,
                                     ELEMENTSOF(after_fields));
        return r < 0 ? r
                     : row_write_fields(&rows->writer, head, reply, pair_fields,
                                        ELEMENTSOF(pair_fields));
}

/* what the rows of a group have */

static int set_group(GroupRows *rows, json_object *group, RowSide side) {
        static const RowField parts[] = {
                { "cgroup", "cgroup" }, { "process", "process" }, { "thread", "thread" },
                { "pid", "pid" },       { "tid", "tid" },         { "start_ticks", "startTicks" },
        };
        static const char *const sides[] = { "both", "before", "after" };
        Buffer *to = &rows->group;
        json_object *threads = cell_member(group, "threads");
        int r = 0;

        buffer_clear(to);
        if (rows->kind == REPORT_PAIR)
                r = row_write_text(&rows->writer, to, "side", span_of(sides[side]));
        if (r == 0)
                r = row_write_fields(&rows->writer, to, group, parts, ELEMENTSOF(parts));
        if (r < 0)
                return r;
        if (rows->kind == REPORT_SNAPSHOT)
                return row_write_value(&rows->writer, to, "threads", threads);
        r = row_write_value(&rows->writer, to, "before_threads",
                            side == ROW_SIDE_BEFORE ? threads
                                                    : cell_member(group, "threadsBefore"));
        if (r == 0)
                r = row_write_value(&rows->writer, to, "after_threads",
                                    side == ROW_SIDE_AFTER ? threads
                                                           : cell_member(group, "threadsAfter"));
        return r;
}

/* one metric */

/* A VALUE of the interface in columns of one type each. */
typedef struct Names {
        const char *value, *min, *max, *text, *count, *total;
} Names;

static const Names one_names = { "value",      "value_min",   "value_max",
                                 "value_text", "value_count", "value_total" };
static const Names before_names = { "before",      "before_min",   "before_max",
                                    "before_text", "before_count", "before_total" };
static const Names after_names = { "after",      "after_min",   "after_max",
                                   "after_text", "after_count", "after_total" };

static int add_side(GroupRows *rows, const Names *names, json_object *value) {
        json_object *min = cell_member(value, "min"), *max = cell_member(value, "max");
        bool plain = value && !json_object_is_type(value, json_type_object);
        json_object *text = cell_member(value, "mode");
        Buffer *to = &rows->line;
        char midpoint[MIDPOINT_CHARS];
        int r;

        if (cell_member(value, "minCpus")) {
                min = cell_member(value, "minCpus");
                max = cell_member(value, "maxCpus");
                text = cell_member(value, "cpus");
        }
        if (midpoint_format(min, max, midpoint))
                r = row_write_number(&rows->writer, to, names->value, midpoint);
        else
                r = row_write_value(&rows->writer, to, names->value, plain ? value : NULL);
        if (r == 0)
                r = row_write_value(&rows->writer, to, names->min, min);
        if (r == 0)
                r = row_write_value(&rows->writer, to, names->max, max);
        if (r == 0)
                r = row_write_value(&rows->writer, to, names->text, text);
        if (r == 0)
                r = row_write_value(&rows->writer, to, names->count, cell_member(value, "count"));
        return r < 0 ? r
                     : row_write_value(&rows->writer, to, names->total,
                                       cell_member(value, "total"));
}

/* Why there is no value; of a group that one side lacks, also that it does. */
static int add_reason(GroupRows *rows, json_object *entry, RowSide side) {
        static const struct {
                const char *own, *other;
        } sides[] = {
                [ROW_SIDE_BEFORE] = { "before", "after" },
                [ROW_SIDE_AFTER] = { "after", "before" },
        };
        Buffer *scratch = &rows->scratch;
        Span own = cell_string(cell_member(entry, "reason"));
        int r = 0;

        if (side == ROW_SIDE_BOTH)
                return row_write_text(&rows->writer, &rows->line, "reason", own);
        buffer_clear(scratch);
        if (own.n > 0)
                r = buffer_append_format(scratch, "%s: %.*s; ", sides[side].own, (int) own.n,
                                         own.bytes);
        if (r == 0)
                r = buffer_append_format(scratch, "%s: there is no such group", sides[side].other);
        return r < 0 ? r
                     : row_write_text(&rows->writer, &rows->line, "reason", buffer_span(scratch));
}

/* How a sum is spread over the threads: contract of the members of a Spread. */
#define SPREAD_FIELDS(prefix)                                         \
        { prefix "top_tid", "tid" }, { prefix "top_name", "name" }, { \
                prefix "top_value", "value"                           \
        }
#define SPREAD_RANKS(prefix)        \
        { prefix "p50", "p50" }, {  \
                prefix "p99", "p99" \
        }
typedef struct SpreadFields {
        RowField top[3], ranks[2];
} SpreadFields;
static const SpreadFields spread_fields = { { SPREAD_FIELDS("") }, { SPREAD_RANKS("") } };
static const SpreadFields spread_before_fields = { { SPREAD_FIELDS("before_") },
                                                   { SPREAD_RANKS("before_") } };

static int add_spread(GroupRows *rows, json_object *spread, const SpreadFields *fields) {
        Buffer *to = &rows->line;
        int r;

        r = row_write_fields(&rows->writer, to, cell_member(spread, "top"), fields->top,
                             ELEMENTSOF(fields->top));
        return r < 0 ? r
                     : row_write_fields(&rows->writer, to, spread, fields->ranks,
                                        ELEMENTSOF(fields->ranks));
}

/* One-sided groups have one spread, as those of show do. */
static int add_spreads(GroupRows *rows, json_object *entry, RowSide side) {
        json_object *spread = cell_member(entry, "spread");
        int r = 0;

        if (rows->kind == REPORT_PAIR)
                r = add_spread(
                        rows, side == ROW_SIDE_BEFORE ? spread : cell_member(entry, "spreadBefore"),
                        &spread_before_fields);
        return r < 0 ? r
                     : add_spread(rows, side == ROW_SIDE_BEFORE ? NULL : spread, &spread_fields);
}

static int add_one(GroupRows *rows, json_object *entry) {
        int r;

        r = add_side(rows, &one_names, cell_member(entry, "value"));
        if (r == 0)
                r = row_write_value(&rows->writer, &rows->line, "present",
                                    cell_member(entry, "present"));
        return r < 0 ? r : add_reason(rows, entry, ROW_SIDE_BOTH);
}

static int add_pair(GroupRows *rows, json_object *entry, RowSide side) {
        static const RowField fields[] = {
                { "delta", "delta" },     { "percent", "percent" }, { "per_second", "perSecond" },
                { "changed", "changed" }, { "reset", "reset" },
        };
        json_object *value = cell_member(entry, "value");
        int r;

        r = add_side(rows, &before_names,
                     side == ROW_SIDE_BEFORE ? value : cell_member(entry, "before"));
        if (r == 0)
                r = add_side(rows, &after_names,
                             side == ROW_SIDE_AFTER ? value : cell_member(entry, "after"));
        if (r == 0)
                r = row_write_fields(&rows->writer, &rows->line, entry, fields, ELEMENTSOF(fields));
        return r < 0 ? r : add_reason(rows, entry, side);
}

static int add_row(GroupRows *rows, const char *metric, json_object *entry, RowSide side) {
        int r;

        buffer_clear(&rows->line);
        r = row_write_metric(&rows->writer, &rows->line, metric);
        if (r == 0)
                r = rows->kind == REPORT_SNAPSHOT ? add_one(rows, entry)
                                                  : add_pair(rows, entry, side);
        if (r == 0)
                r = add_spreads(rows, entry, side);
        return r < 0 ? r : put_line(rows);
}

static int add_rows(GroupRows *rows, json_object *metrics, RowSide side) {
        json_object_iter member;

        if (!json_object_is_type(metrics, json_type_object))
                return 0;
        json_object_object_foreachC(metrics, member) {
                int r = add_row(rows, member.key, member.val, side);

                if (r < 0)
                        return r;
        }
        return 0;
}

int group_rows_add(GroupRows *rows, json_object *group, RowSide side) {
        int r;

        r = set_group(rows, group, side);
        if (r == 0)
                r = add_rows(rows, cell_member(group, "metrics"), side);
        return r < 0 ? r : add_rows(rows, cell_member(group, "derived"), side);
}

int group_rows_add_names(GroupRows *rows) {
        int r;

        rows->writer.naming = true;
        r = set_group(rows, NULL, ROW_SIDE_BOTH);
        if (r == 0)
                r = add_row(rows, NULL, NULL, ROW_SIDE_BOTH);
        rows->writer.naming = false;
        return r;
}

/* sections */

/* Which of two sides have the value; not known where neither does. */
static Span side_of(const SectionValue *value) {
        bool before = cell_member(value->value, "before"),
             after = cell_member(value->value, "after");

        if (before && after)
                return SPAN_LITERAL("both");
        return before ? SPAN_LITERAL("before") : after ? SPAN_LITERAL("after") : (Span){};
}

/* The columns of a group, of which a row of a section has few. */
static int set_section_group(GroupRows *rows, const SectionRow *row, const SectionValue *value) {
        static const RowField absent[] = {
                { "thread", "" }, { "pid", "" }, { "tid", "" }, { "start_ticks", "" }
        };
        static const RowField one[] = { { "threads", "" } };
        static const RowField two[] = { { "before_threads", "" }, { "after_threads", "" } };
        const RowWriter *writer = &rows->writer;
        Buffer *to = &rows->group;
        int r = 0;

        buffer_clear(to);
        if (rows->kind == REPORT_PAIR)
                r = row_write_text(writer, to, "side", side_of(value));
        if (r == 0)
                r = row_write_value(writer, to, "cgroup", row->cgroup);
        if (r == 0)
                r = row_write_value(writer, to, "process", row->process);
        if (r == 0)
                r = row_write_fields(writer, to, NULL, absent, ELEMENTSOF(absent));
        if (r < 0)
                return r;
        return rows->kind == REPORT_SNAPSHOT
                       ? row_write_fields(writer, to, NULL, one, ELEMENTSOF(one))
                       : row_write_fields(writer, to, NULL, two, ELEMENTSOF(two));
}

/* "cpu.some.avg10" of pressure, where a row has no name that tells its values apart. */
static int add_section_metric(GroupRows *rows, SectionId id, const SectionRow *row,
                              const SectionValue *value) {
        Span resource = cell_string(row->resource), half = cell_string(row->half);
        Buffer *scratch = &rows->scratch;
        int r = 0;

        buffer_clear(scratch);
        if (row->resource)
                r = buffer_append_format(scratch, "%.*s.%.*s.", (int) resource.n, resource.bytes,
                                         (int) half.n, half.bytes);
        if (r == 0)
                r = buffer_append(scratch, value->name.bytes, value->name.n);
        if (r == 0)
                r = row_write_text(&rows->writer, &rows->line, "section",
                                   span_of(view_table_name(id)));
        if (r == 0)
                r = row_write_text(&rows->writer, &rows->line, "metric", buffer_span(scratch));
        return r < 0 ? r
                     : row_write_text(&rows->writer, &rows->line, "unit",
                                      span_of(section_unit_name(value->unit)));
}

/* A number of a section; percents are hundredths on the wire, and numbers of percent in rows. */
static int add_section_number(GroupRows *rows, const char *name, json_object *value,
                              SectionUnit unit) {
        char text[QUANTITY_CHARS];
        Quantity quantity;

        if (unit != SECTION_UNIT_PERCENT || !cell_quantity(value, &quantity))
                return row_write_value(&rows->writer, &rows->line, name,
                                       json_object_is_type(value, json_type_string) ? NULL : value);
        (void) snprintf(text, sizeof(text), "%s%llu.%02u", quantity.negative ? "-" : "",
                        (unsigned long long) (quantity.whole / 100),
                        (unsigned) (quantity.whole % 100));
        return row_write_number(&rows->writer, &rows->line, name, text);
}

static int add_section_side(GroupRows *rows, const Names *names, json_object *value,
                            SectionUnit unit) {
        const RowField range[] = { { names->min, "" }, { names->max, "" } };
        const RowField counts[] = { { names->count, "" }, { names->total, "" } };
        Buffer *to = &rows->line;
        int r;

        r = add_section_number(rows, names->value, value, unit);
        if (r == 0)
                r = row_write_fields(&rows->writer, to, NULL, range, ELEMENTSOF(range));
        if (r == 0)
                r = row_write_text(&rows->writer, to, names->text, cell_string(value));
        return r < 0 ? r : row_write_fields(&rows->writer, to, NULL, counts, ELEMENTSOF(counts));
}

static int add_section_change(GroupRows *rows, const SectionValue *value) {
        json_object *before = cell_member(value->value, "before");
        json_object *after = cell_member(value->value, "after");
        const RowWriter *writer = &rows->writer;
        Buffer *to = &rows->line;
        double percent;
        int r;

        r = add_section_number(rows, "delta", cell_member(value->value, "delta"), value->unit);
        if (r == 0)
                r = section_value_percent(value->value, &percent)
                            ? row_write_double(writer, to, "percent", percent)
                            : row_write_number(writer, to, "percent", NULL);
        if (r == 0)
                r = row_write_number(writer, to, "per_second", NULL);
        if (r == 0)
                r = before && after ? row_write_bool(writer, to, "changed",
                                                     !json_object_equal(before, after))
                                    : row_write_number(writer, to, "changed", NULL);
        return r < 0 ? r : row_write_number(writer, to, "reset", NULL);
}

static int add_section_value(GroupRows *rows, SectionId id, const SectionRow *row,
                             const SectionValue *value) {
        bool is_pair = rows->kind == REPORT_PAIR;
        json_object *before = cell_member(value->value, "before");
        json_object *after = cell_member(value->value, "after");
        bool absent = is_pair ? !before || !after : !value->value;
        int r;

        buffer_clear(&rows->line);
        r = set_section_group(rows, row, value);
        if (r == 0)
                r = add_section_metric(rows, id, row, value);
        if (r == 0 && !is_pair)
                r = add_section_side(rows, &one_names, value->value, value->unit);
        if (r == 0 && !is_pair)
                r = row_write_number(&rows->writer, &rows->line, "present", NULL);
        if (r == 0 && is_pair)
                r = add_section_side(rows, &before_names, before, value->unit);
        if (r == 0 && is_pair)
                r = add_section_side(rows, &after_names, after, value->unit);
        if (r == 0 && is_pair)
                r = add_section_change(rows, value);
        if (r == 0)
                r = row_write_value(&rows->writer, &rows->line, "reason",
                                    absent ? row->reason : NULL);
        if (r == 0)
                r = add_spreads(rows, NULL, ROW_SIDE_BOTH);
        return r < 0 ? r : put_line(rows);
}

int group_rows_add_section(GroupRows *rows, SectionId id, json_object *json) {
        SectionRow row = section_row_read(id, json);
        int r = 0;

        for (size_t i = 0; r == 0 && i < row.n_values; i++) {
                const SectionValue *value = &row.values[i];

                if (rows->kind == REPORT_PAIR && rows->view->has_threshold &&
                    !section_value_moved(value, rows->view))
                        continue;
                r = add_section_value(rows, id, &row, value);
        }
        return r;
}
