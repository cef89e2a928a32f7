/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/group-rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/json-writer.h"
#include "metric/metric.h"
#include "render/cell.h"
#include "render/midpoint.h"
#include "wire/message.h"

/*
 * A line is put together from three parts that change ever more often; in each a field is followed
 * by a comma, the last of which becomes the end of the line.
 */
struct GroupRows {
        RowStyle style;
        GroupSides sides;
        FILE *out;
        bool naming; /* fields are their names: the first line of CSV */
        Buffer head, group, line;
        Buffer scratch;
};

int group_rows_new(RowStyle style, GroupSides sides, FILE *out, GroupRows **ret) {
        GroupRows *rows = malloc(sizeof(*rows));

        if (!rows)
                return -ENOMEM;
        *rows = (GroupRows){ .style = style, .sides = sides, .out = out };
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

/* fields */

/* A control character must not reach a terminal from a name, so it is U+EF00 plus itself. */
static int append_csv_byte(Buffer *to, char byte) {
        unsigned char code = (unsigned char) byte;

        if (code == '"')
                return buffer_append_text(to, "\"\"");
        if (code >= ' ' && code != 0x7f)
                return buffer_append_byte(to, byte);
        return buffer_append_format(to, "\xee%c%c", 0xbc | code >> 6, 0x80 | (code & 0x3f));
}

/* Quoted where RFC 4180 asks for it, and when empty: an empty name is not an absent one. */
static int append_csv_text(Buffer *to, Span text) {
        bool quotes = text.n == 0;
        int r = 0;

        for (size_t i = 0; !quotes && i < text.n; i++)
                quotes = text.bytes[i] == '"' || text.bytes[i] == ',';
        if (quotes)
                r = buffer_append_byte(to, '"');
        for (size_t i = 0; r == 0 && i < text.n; i++)
                r = append_csv_byte(to, text.bytes[i]);
        return r == 0 && quotes ? buffer_append_byte(to, '"') : r;
}

/* '"name":' in NDJSON. */
static int begin_field(const GroupRows *rows, Buffer *to, const char *name) {
        if (rows->naming)
                return buffer_append_text(to, name);
        return rows->style == ROW_STYLE_NDJSON ? buffer_append_format(to, "\"%s\":", name) : 0;
}

/* A scalar of a reply; NULL is absent. */
static int add_value(const GroupRows *rows, Buffer *to, const char *name, json_object *value) {
        int r = begin_field(rows, to, name);

        if (r == 0 && !rows->naming) {
                if (rows->style == ROW_STYLE_NDJSON)
                        r = message_append_object(to, value);
                else if (json_object_is_type(value, json_type_string))
                        r = append_csv_text(to, cell_string(value));
                else if (value)
                        r = message_append_object(to, value);
        }
        return r < 0 ? r : buffer_append_byte(to, ',');
}

/* The same of a text; without bytes at all it is absent. */
static int add_text(const GroupRows *rows, Buffer *to, const char *name, Span text) {
        int r = begin_field(rows, to, name);

        if (r == 0 && !rows->naming) {
                if (rows->style == ROW_STYLE_CSV) {
                        r = text.bytes ? append_csv_text(to, text) : 0;
                } else {
                        JsonWriter writer;

                        json_writer_init(&writer, to);
                        if (text.bytes)
                                json_write_span(&writer, text);
                        else
                                json_write_null(&writer);
                        r = json_writer_finish(&writer);
                }
        }
        return r < 0 ? r : buffer_append_byte(to, ',');
}

/* A number that is text already. */
static int add_number(const GroupRows *rows, Buffer *to, const char *name, const char *digits) {
        int r = begin_field(rows, to, name);

        if (r == 0 && !rows->naming)
                r = buffer_append_text(to, digits);
        return r < 0 ? r : buffer_append_byte(to, ',');
}

typedef struct Field {
        const char *name;
        const char *member; /* of the object it is from */
} Field;

static int add_fields(const GroupRows *rows, Buffer *to, json_object *object, const Field *fields,
                      size_t n_fields) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n_fields; i++)
                r = add_value(rows, to, fields[i].name, cell_member(object, fields[i].member));
        return r;
}

static bool put(const GroupRows *rows, const Buffer *part) {
        return part->n == 0 || fwrite(part->bytes, 1, part->n, rows->out) == part->n;
}

static int put_line(GroupRows *rows) {
        Buffer *line = &rows->line;
        int r;

        line->n--; /* the comma of the last field */
        r = buffer_append_text(line, rows->style == ROW_STYLE_CSV ? "\r\n" : "}\n");
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
static const Field head_fields[] = { HEAD_FIELDS("") };
static const Field before_fields[] = { HEAD_FIELDS("before_") };
static const Field after_fields[] = { HEAD_FIELDS("after_") };
static const Field pair_fields[] = { { "same_boot", "sameBoot" }, { "elapsed_ns", "elapsedNs" } };

int group_rows_begin(GroupRows *rows, json_object *reply) {
        Buffer *head = &rows->head;
        int r;

        buffer_clear(head);
        if (rows->style == ROW_STYLE_CSV)
                return 0;
        r = buffer_append_byte(head, '{');
        if (r == 0 && rows->sides == GROUP_SIDES_ONE)
                return add_fields(rows, head, cell_member(reply, "snapshot"), head_fields,
                                  ELEMENTSOF(head_fields));
        if (r == 0)
                r = add_fields(rows, head, cell_member(reply, "before"), before_fields,
                               ELEMENTSOF(before_fields));
        if (r == 0)
                r = add_fields(rows, head, cell_member(reply, "after"), after_fields,
                               ELEMENTSOF(after_fields));
        return r < 0 ? r : add_fields(rows, head, reply, pair_fields, ELEMENTSOF(pair_fields));
}

/* what the rows of a group have */

static int set_group(GroupRows *rows, json_object *group, RowSide side) {
        static const Field parts[] = {
                { "cgroup", "cgroup" }, { "process", "process" }, { "thread", "thread" },
                { "pid", "pid" },       { "tid", "tid" },         { "start_ticks", "startTicks" },
        };
        static const char *const sides[] = { "both", "before", "after" };
        Buffer *to = &rows->group;
        json_object *threads = cell_member(group, "threads");
        int r = 0;

        buffer_clear(to);
        if (rows->sides == GROUP_SIDES_TWO)
                r = add_text(rows, to, "side", span_of(sides[side]));
        if (r == 0)
                r = add_fields(rows, to, group, parts, ELEMENTSOF(parts));
        if (r < 0)
                return r;
        if (rows->sides == GROUP_SIDES_ONE)
                return add_value(rows, to, "threads", threads);
        r = add_value(rows, to, "before_threads",
                      side == ROW_SIDE_BEFORE ? threads : cell_member(group, "threadsBefore"));
        if (r == 0)
                r = add_value(rows, to, "after_threads",
                              side == ROW_SIDE_AFTER ? threads
                                                     : cell_member(group, "threadsAfter"));
        return r;
}

/* one metric */

static int add_metric(GroupRows *rows, const char *name) {
        Span section = {}, unit = {};
        MetricId metric = name ? metric_find(span_of(name)) : _METRIC_MAX;
        DerivedId derived = name ? derived_find(span_of(name)) : _DERIVED_MAX;
        Buffer *to = &rows->line;
        int r;

        if (metric < _METRIC_MAX) {
                section = span_of(metric_section_name(metric_table[metric].section));
                unit = span_of(metric_unit_name(metric_table[metric].unit));
        } else if (derived < _DERIVED_MAX) {
                section = span_of(metric_section_name(derived_table[derived].section));
                unit = span_of(metric_unit_name(derived_table[derived].unit));
        }
        r = add_text(rows, to, "section", section);
        if (r == 0)
                r = add_text(rows, to, "metric", span_of(name));
        return r < 0 ? r : add_text(rows, to, "unit", unit);
}

/* A VALUE of the interface in columns of one type each. */
typedef struct Names {
        const char *value, *min, *max, *text, *count, *total;
} Names;

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
                r = add_number(rows, to, names->value, midpoint);
        else
                r = add_value(rows, to, names->value, plain ? value : NULL);
        if (r == 0)
                r = add_value(rows, to, names->min, min);
        if (r == 0)
                r = add_value(rows, to, names->max, max);
        if (r == 0)
                r = add_value(rows, to, names->text, text);
        if (r == 0)
                r = add_value(rows, to, names->count, cell_member(value, "count"));
        return r < 0 ? r : add_value(rows, to, names->total, cell_member(value, "total"));
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
                return add_text(rows, &rows->line, "reason", own);
        buffer_clear(scratch);
        if (own.n > 0)
                r = buffer_append_format(scratch, "%s: %.*s; ", sides[side].own, (int) own.n,
                                         own.bytes);
        if (r == 0)
                r = buffer_append_format(scratch, "%s: there is no such group", sides[side].other);
        return r < 0 ? r : add_text(rows, &rows->line, "reason", buffer_span(scratch));
}

static int add_one(GroupRows *rows, json_object *entry) {
        static const Names names = { "value",      "value_min",   "value_max",
                                     "value_text", "value_count", "value_total" };
        int r;

        r = add_side(rows, &names, cell_member(entry, "value"));
        if (r == 0)
                r = add_value(rows, &rows->line, "present", cell_member(entry, "present"));
        return r < 0 ? r : add_reason(rows, entry, ROW_SIDE_BOTH);
}

static int add_pair(GroupRows *rows, json_object *entry, RowSide side) {
        static const Names before = { "before",      "before_min",   "before_max",
                                      "before_text", "before_count", "before_total" };
        static const Names after = { "after",      "after_min",   "after_max",
                                     "after_text", "after_count", "after_total" };
        static const Field fields[] = {
                { "delta", "delta" },     { "percent", "percent" }, { "per_second", "perSecond" },
                { "changed", "changed" }, { "reset", "reset" },
        };
        json_object *value = cell_member(entry, "value");
        int r;

        r = add_side(rows, &before, side == ROW_SIDE_BEFORE ? value : cell_member(entry, "before"));
        if (r == 0)
                r = add_side(rows, &after,
                             side == ROW_SIDE_AFTER ? value : cell_member(entry, "after"));
        if (r == 0)
                r = add_fields(rows, &rows->line, entry, fields, ELEMENTSOF(fields));
        return r < 0 ? r : add_reason(rows, entry, side);
}

static int add_row(GroupRows *rows, const char *metric, json_object *entry, RowSide side) {
        int r;

        buffer_clear(&rows->line);
        r = add_metric(rows, metric);
        if (r == 0)
                r = rows->sides == GROUP_SIDES_ONE ? add_one(rows, entry)
                                                   : add_pair(rows, entry, side);
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

        rows->naming = true;
        r = set_group(rows, NULL, ROW_SIDE_BOTH);
        if (r == 0)
                r = add_row(rows, NULL, NULL, ROW_SIDE_BOTH);
        rows->naming = false;
        return r;
}
