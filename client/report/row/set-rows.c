/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/row/set-rows.h"

#include <errno.h>
#include <stdlib.h>

#include "render/cell.h"

/* A line is put together from three parts that change ever more often. */
struct SetRows {
        RowWriter writer;
        FILE *out;
        Buffer head, group, line;
};

int set_rows_new(RowStyle style, FILE *out, SetRows **ret) {
        SetRows *rows = malloc(sizeof(*rows));

        if (!rows)
                return -ENOMEM;
        *rows = (SetRows){ .writer = { .style = style }, .out = out };
        *ret = rows;
        return 0;
}

SetRows *set_rows_free(SetRows *rows) {
        if (!rows)
                return NULL;
        buffer_done(&rows->head);
        buffer_done(&rows->group);
        buffer_done(&rows->line);
        free(rows);
        return NULL;
}

static bool put(const SetRows *rows, const Buffer *part) {
        return part->n == 0 || fwrite(part->bytes, 1, part->n, rows->out) == part->n;
}

static int put_line(SetRows *rows) {
        int r = row_write_end(&rows->writer, &rows->line);

        if (r < 0)
                return r;
        if (!put(rows, &rows->head) || !put(rows, &rows->group) || !put(rows, &rows->line))
                return errno > 0 ? -errno : -EIO;
        return 0;
}

/* what all rows have */

/* What all captures of a side share; NULL when they do not. */
static json_object *shared(json_object *heads, const char *key) {
        json_object *value = cell_member(cell_element(heads, 0), key);

        for (size_t i = 1; i < cell_length(heads); i++)
                if (!json_object_equal(cell_member(cell_element(heads, i), key), value))
                        return NULL;
        return value;
}

typedef struct SideNames {
        const char *captures, *first, *last, *host, *machine_id, *boot_id, *kernel, *start, *end;
} SideNames;

#define SIDE_NAMES(side)                                                                         \
        {                                                                                        \
                side "_captures", side "_first", side "_last", side "_host", side "_machine_id", \
                        side "_boot_id", side "_kernel_release", side "_start_realtime_ns",      \
                        side "_end_realtime_ns"                                                  \
        }

static int add_heads(SetRows *rows, const SideNames *names, json_object *heads) {
        size_t n = cell_length(heads);
        json_object *first = cell_element(heads, 0);
        json_object *last = n > 0 ? cell_element(heads, n - 1) : NULL;
        const struct {
                const char *name;
                json_object *value;
        } fields[] = {
                { names->first, cell_member(first, "name") },
                { names->last, cell_member(last, "name") },
                { names->host, shared(heads, "hostName") },
                { names->machine_id, shared(heads, "machineId") },
                { names->boot_id, shared(heads, "bootId") },
                { names->kernel, shared(heads, "kernelRelease") },
                { names->start, cell_member(first, "startRealtimeNs") },
                { names->end, cell_member(last, "endRealtimeNs") },
        };
        int r = row_write_double(&rows->writer, &rows->head, names->captures, (double) n);

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(fields); i++)
                r = row_write_value(&rows->writer, &rows->head, fields[i].name, fields[i].value);
        return r;
}

int set_rows_begin(SetRows *rows, json_object *reply) {
        static const SideNames before = SIDE_NAMES("before"), after = SIDE_NAMES("after");
        static const RowField fields[] = { { "alpha", "alpha" }, { "tested", "tested" } };
        int r;

        buffer_clear(&rows->head);
        if (rows->writer.style == ROW_STYLE_CSV)
                return 0;
        r = buffer_append_byte(&rows->head, '{');
        if (r == 0)
                r = add_heads(rows, &before, cell_member(reply, "before"));
        if (r == 0)
                r = add_heads(rows, &after, cell_member(reply, "after"));
        return r < 0 ? r
                     : row_write_fields(&rows->writer, &rows->head, reply, fields,
                                        ELEMENTSOF(fields));
}

/* rows */

static int set_group(SetRows *rows, json_object *group) {
        static const RowField fields[] = {
                { "cgroup", "cgroup" },
                { "process", "process" },
                { "thread", "thread" },
                { "before_threads", "threadsBefore" },
                { "after_threads", "threadsAfter" },
        };

        buffer_clear(&rows->group);
        return row_write_fields(&rows->writer, &rows->group, group, fields, ELEMENTSOF(fields));
}

static int add_row(SetRows *rows, const char *name, json_object *entry) {
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
        };
        const RowWriter *writer = &rows->writer;
        int r;

        buffer_clear(&rows->line);
        r = row_write_metric(&rows->writer, &rows->line, name);
        if (r == 0)
                r = row_write_fields(writer, &rows->line, cell_member(entry, "before"), before,
                                     ELEMENTSOF(before));
        if (r == 0)
                r = row_write_fields(writer, &rows->line, cell_member(entry, "after"), after,
                                     ELEMENTSOF(after));
        if (r == 0)
                r = row_write_fields(writer, &rows->line, entry, rest, ELEMENTSOF(rest));
        return r < 0 ? r : put_line(rows);
}

static int add_rows(SetRows *rows, json_object *entries) {
        json_object_iter member;
        int r = 0;

        if (!json_object_is_type(entries, json_type_object))
                return 0;
        json_object_object_foreachC(entries, member) {
                r = add_row(rows, member.key, member.val);
                if (r < 0)
                        break;
        }
        return r;
}

int set_rows_add_names(SetRows *rows) {
        int r;

        rows->writer.naming = true;
        r = set_group(rows, NULL);
        if (r == 0)
                r = add_row(rows, NULL, NULL);
        rows->writer.naming = false;
        return r;
}

int set_rows_add(SetRows *rows, json_object *group) {
        int r;

        r = set_group(rows, group);
        if (r == 0)
                r = add_rows(rows, cell_member(group, "metrics"));
        return r < 0 ? r : add_rows(rows, cell_member(group, "derived"));
}
