/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/group-columns.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "metric/metric.h"
#include "render/compact.h"
#include "render/printable.h"
#include "session/complain.h"
#include "view/view-sort.h"

#define OFFERED(id, name, ...) " " name

enum {
        KINDS_ONE = 1 << REPORT_SNAPSHOT,
        KINDS_TWO = 1 << REPORT_PAIR | 1 << REPORT_INTERVALS,
        KINDS_WORK = 1 << REPORT_INTERVAL,
        KINDS_RATED = 1 << REPORT_PAIR | KINDS_WORK, /* the sides of two intervals are rates */
        KINDS_CHANGE = KINDS_TWO | KINDS_WORK,
        KINDS_BOTH = KINDS_ONE | KINDS_TWO | KINDS_WORK,
        KINDS_SETS = 1 << REPORT_SETS,
};

#define COLUMN_ROW(id, name_, header_, right_, shrink_, omit_, kinds_) \
        [GROUP_COLUMN_##id] = {                                        \
                .name = (name_),                                       \
                .kinds = KINDS_##kinds_,                               \
                .table = { .header = (header_),                        \
                           .right = (right_),                          \
                           .shrink_to = (shrink_),                     \
                           .omit = (omit_) },                          \
        },
static const struct {
        const char *name;
        unsigned kinds;
        TableColumn table;
} rows[_GROUP_COLUMN_MAX] = { GROUP_COLUMNS(COLUMN_ROW) GROUP_SET_COLUMNS(COLUMN_ROW) };

/* Names that the prior tool used. */
static const struct {
        const char *name;
        GroupColumn id;
} aliases[] = {
        { "baseline", GROUP_COLUMN_BEFORE },
        { "candidate", GROUP_COLUMN_AFTER },
};

#define DEFAULT(n, ...) \
        { { __VA_ARGS__ }, (n), (n), false }
static const GroupColumns defaults[] = {
        [REPORT_SNAPSHOT] = DEFAULT(4, GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS,
                                    GROUP_COLUMN_METRIC, GROUP_COLUMN_VALUE),
        [REPORT_PAIR] = DEFAULT(8, GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS, GROUP_COLUMN_METRIC,
                                GROUP_COLUMN_BEFORE, GROUP_COLUMN_AFTER, GROUP_COLUMN_DELTA,
                                GROUP_COLUMN_PERCENT, GROUP_COLUMN_RATE),
        [REPORT_INTERVAL] = DEFAULT(5, GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS,
                                    GROUP_COLUMN_METRIC, GROUP_COLUMN_WORK, GROUP_COLUMN_RATE),
        [REPORT_INTERVALS] = DEFAULT(7, GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS,
                                     GROUP_COLUMN_METRIC, GROUP_COLUMN_BEFORE, GROUP_COLUMN_AFTER,
                                     GROUP_COLUMN_DELTA, GROUP_COLUMN_PERCENT),
        [REPORT_SETS] = DEFAULT(10, GROUP_COLUMN_GROUP, GROUP_COLUMN_METRIC, GROUP_COLUMN_BEFORE,
                                GROUP_COLUMN_AFTER, GROUP_COLUMN_DELTA, GROUP_COLUMN_PERCENT,
                                GROUP_COLUMN_P, GROUP_COLUMN_RANGE_BEFORE, GROUP_COLUMN_RANGE_AFTER,
                                GROUP_COLUMN_SAMPLES),
};

TableColumn group_column_table(GroupColumn id, ReportKind kind, const char *group_header) {
        TableColumn column = rows[id].table;

        if (kind == REPORT_INTERVAL && id == GROUP_COLUMN_RATE)
                column.header = "per second";
        if (id == GROUP_COLUMN_BEFORE || id == GROUP_COLUMN_AFTER)
                column.header = report_settings[kind].words[id == GROUP_COLUMN_AFTER];
        /* Medians are short, and there are more columns of them. */
        if (kind == REPORT_SETS && (id == GROUP_COLUMN_BEFORE || id == GROUP_COLUMN_AFTER))
                column.shrink_to = 0;
        if (kind == REPORT_SETS && id == GROUP_COLUMN_METRIC)
                column.shrink_to = 20;
        if (kind == REPORT_SETS && id == GROUP_COLUMN_DELTA)
                column.omit = 1;
        if (!column.header)
                column.header = group_header;
        return column;
}

static _printf_(2, 3) int refuse(char *ret_complaint, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(ret_complaint, GROUP_COLUMNS_COMPLAINT_BYTES, format, arguments);
        va_end(arguments);
        return GROUP_COLUMNS_E_INVALID;
}

static bool is_word(Span word, const char *name) {
        return word.n == strlen(name) && strncasecmp(word.bytes, name, word.n) == 0;
}

static int refuse_unknown(Span word, ReportKind kind, char *ret_complaint) {
        const char *names[_GROUP_COLUMN_MAX], *nearest;
        char quoted[QUOTE_BYTES], list[256] = "";
        size_t n = 0, n_list = 0;

        for (size_t id = 0; id < _GROUP_COLUMN_MAX; id++) {
                if ((rows[id].kinds >> kind & 1) == 0)
                        continue;
                names[n++] = rows[id].name;
                n_list += (size_t) snprintf(list + n_list, sizeof(list) - n_list, "%s%s",
                                            n > 1 ? ", " : "", rows[id].name);
        }
        nearest = name_nearest(word, names, n);
        if (nearest)
                return refuse(ret_complaint,
                              "Unknown column %s, did you mean \"%s\"? There are %s; the overview "
                              "has" VIEW_COLUMNS(OFFERED) ".",
                              quote_span(word, quoted), nearest, list);
        return refuse(ret_complaint,
                      "Unknown column %s: there are %s; the overview has" VIEW_COLUMNS(OFFERED) ".",
                      quote_span(word, quoted), list);
}

int group_columns_parse(const char *list, ReportKind kind, GroupColumns *ret,
                        char ret_complaint[static GROUP_COLUMNS_COMPLAINT_BYTES]) {
        GroupColumns columns = {};
        char quoted[QUOTE_BYTES];

        if (!list) {
                *ret = defaults[kind];
                return 0;
        }
        list += strspn(list, " ");
        if (*list == '+') {
                columns = defaults[kind];
                list++;
        }
        for (;;) {
                size_t n = strcspn(list, ",");
                Span word = { list, n }, name;
                unsigned id = 0;

                while (word.n > 0 && word.bytes[0] == ' ')
                        word = (Span){ word.bytes + 1, word.n - 1 };
                while (word.n > 0 && word.bytes[word.n - 1] == ' ')
                        word.n--;
                if (word.n == 0)
                        return refuse(ret_complaint,
                                      "The list of columns has an empty entry: separate names "
                                      "by one comma each.");
                name = word;
                for (size_t i = 0; i < ELEMENTSOF(aliases); i++)
                        if (is_word(name, aliases[i].name))
                                name = span_of(rows[aliases[i].id].name);
                while (id < _GROUP_COLUMN_MAX &&
                       ((rows[id].kinds >> kind & 1) == 0 || !is_word(name, rows[id].name)))
                        id++;
                if (id == _GROUP_COLUMN_MAX)
                        return refuse_unknown(word, kind, ret_complaint);
                for (size_t i = 0; i < columns.n; i++)
                        if (columns.ids[i] == id)
                                return refuse(
                                        ret_complaint,
                                        i < columns.n_default
                                                ? "The column %s is a default one: \"+\" adds "
                                                  "others to these."
                                                : "The column %s is named twice: name it once.",
                                        quote_span(word, quoted));
                for (size_t i = 0; i < columns.n; i++) {
                        GroupColumn other = columns.ids[i];

                        /* A column of one of both values would repeat it. */
                        if ((id == GROUP_COLUMN_ARROW || other == GROUP_COLUMN_ARROW) &&
                            (id == GROUP_COLUMN_BEFORE || id == GROUP_COLUMN_AFTER ||
                             other == GROUP_COLUMN_BEFORE || other == GROUP_COLUMN_AFTER))
                                return refuse(ret_complaint,
                                              "The column \"arrow\" shows before and after: name "
                                              "it without these.");
                }
                columns.ids[columns.n++] = (GroupColumn) id;
                columns.want_spread = columns.want_spread || id == GROUP_COLUMN_TOP ||
                                      id == GROUP_COLUMN_P50 || id == GROUP_COLUMN_P99;
                if (list[n] == '\0')
                        break;
                list += n + 1;
        }
        *ret = columns;
        return 0;
}

const char *group_columns_find_sided(const GroupColumns *columns) {
        for (size_t i = columns->n_default; i < columns->n; i++)
                if (rows[columns->ids[i]].kinds == KINDS_TWO)
                        return rows[columns->ids[i]].name;
        return NULL;
}

/* cells */

Span group_metric_text(const char *metric) {
        static const char *const units[] = { "_clock_ticks", "_ns", "_bytes" };
        Span text = span_of(metric);

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                size_t n = strlen(units[i]);

                if (text.n > n && memcmp(text.bytes + text.n - n, units[i], n) == 0)
                        return (Span){ text.bytes, text.n - n };
        }
        return text;
}

static json_object *member_of(const GroupRow *row, const char *object, const char *key) {
        return cell_member(cell_member(row->entry, object), key);
}

bool group_row_is_idle(const GroupRow *row, json_object *metrics) {
        /* The kernel shows some counters in two places. */
        static const struct {
                const char *name, *first;
        } seconds[] = {
                { "cpu_delay_total_ns", "wait_time_ns" },
                { "cpu_delay_count", "timeslices" },
        };
        static const char *const members[] = { "value", "after", "before", "a", "b" };
        json_object *inside = cell_member(row->entry, "inside");

        /* The peak, or least value, of lives that began before the interval did not move in it. */
        if (row->kind == REPORT_INTERVAL && json_object_is_type(inside, json_type_boolean) &&
            !json_object_get_boolean(inside))
                return true;
        for (size_t i = 0; i < ELEMENTSOF(seconds); i++) {
                if (strcmp(row->metric, seconds[i].name) != 0)
                        continue;
                for (size_t k = 0; k < ELEMENTSOF(members); k++)
                        if (cell_member(cell_member(metrics, seconds[i].first), members[k]))
                                return true;
        }
        return false;
}

/*
 * Appends "VALUE NAME[TID]" of the thread that has the most. The name comes last, because it may be
 * cut.
 */
static void append_top(Buffer *cell, const GroupRow *row) {
        json_object *top = member_of(row, "spread", "top");

        if (!top) {
                buffer_append_byte(cell, '-');
                return;
        }
        cell_append_value(cell, cell_member(top, "value"), &row->style);
        buffer_append_byte(cell, ' ');
        printable_append_name(cell, cell_string(cell_member(top, "name")));
        buffer_append_format(cell, "[%lld]",
                             (long long) json_object_get_int64(cell_member(top, "tid")));
}

/* Appends "[cfs-only] [SCHEDSTATS]": the class, then kernel options without their common prefix. */
static void append_tags(Buffer *cell, const Metric *metric) {
        static const char prefix[] = "CONFIG_";
        size_t n_before = cell->n;
        const char *gates;

        if (!metric)
                return;
        if (metric->class != METRIC_CLASS_ANY)
                buffer_append_format(cell, "[%s]", metric_class_names[metric->class]);
        for (gates = metric->gates; *gates != '\0'; gates += strspn(gates, ", ")) {
                size_t n = strcspn(gates, ", ");
                size_t skip = strncmp(gates, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;

                buffer_append_format(cell, "%s[%.*s]", cell->n > n_before ? " " : "",
                                     (int) (n - skip), gates + skip);
                gates += n;
        }
}

/* True if the values of two intervals are rates, as "perSecond" says. */
static bool is_rate(const GroupRow *row) {
        json_object *rate = cell_member(row->entry, "perSecond");

        return row->kind == REPORT_INTERVALS && json_object_is_type(rate, json_type_boolean) &&
               json_object_get_boolean(rate);
}

/* Appends the unit of samples of counters, which are rates, if there is a @value. */
static void append_per_second(Buffer *cell, json_object *value, const GroupRow *row) {
        if (value && !row->style.raw &&
            json_object_get_boolean(cell_member(row->entry, "perSecond")))
                buffer_append_text(cell, "/s");
}

/* Appends a difference, which words of a place or a state do not have. */
static void append_delta(Buffer *cell, const GroupRow *row) {
        const Metric *metric = row->registered;

        if (row->kind == REPORT_SETS) {
                cell_append_delta(cell, row->entry, &row->style);
                append_per_second(cell, cell_member(row->entry, "delta"), row);
        } else if (metric && metric_is_momentary((MetricId) (metric - metric_table))) {
                buffer_append_byte(cell, '-');
        } else if (is_rate(row)) {
                cell_append_rate(cell, cell_member(row->entry, "delta"), &row->style);
        } else {
                cell_append_delta(cell, row->entry, &row->style);
        }
}

/* sets */

static void append_p(Buffer *cell, const GroupRow *row) {
        json_object *value = cell_member(row->entry, "pAdjusted");
        double p = json_object_get_double(value);

        if (!value)
                buffer_append_text(cell, "-");
        else if (row->style.raw)
                buffer_append_format(cell, "%.6g", p);
        else
                compact_append_p(cell, p);
}

static void append_range(Buffer *cell, const char *side, const GroupRow *row) {
        json_object *min = member_of(row, side, "min"), *max = member_of(row, side, "max");

        cell_append_value(cell, min, &row->style);
        if (!json_object_equal(min, max)) {
                buffer_append_text(cell, "..");
                cell_append_value(cell, max, &row->style);
        }
        append_per_second(cell, cell_member(row->entry, side), row);
}

/* all columns */

/* Appends a value, with "~" in front if it is only approximate. */
static void append_value(Buffer *cell, const char *side, const GroupRow *row) {
        if (!row->style.raw && cell_is_approximate(row->entry, side))
                buffer_append_byte(cell, '~');
        cell_append_value(cell, cell_member(row->entry, side), &row->style);
}

/* Appends a side. Counters of two intervals have rates there, sets have medians. */
static void append_side(Buffer *cell, size_t side, const GroupRow *row) {
        const char *name = report_settings[row->kind].sides[side];
        json_object *value = cell_member(row->entry, name);

        if (row->kind != REPORT_SETS && !is_rate(row)) {
                append_value(cell, name, row);
                return;
        }
        if (row->kind == REPORT_SETS)
                value = cell_member(value, "median");
        if (!row->style.raw && value && cell_is_approximate(row->entry, name))
                buffer_append_byte(cell, '~');
        if (is_rate(row)) {
                cell_append_per_second(cell, value, &row->style);
        } else {
                cell_append_value(cell, value, &row->style);
                append_per_second(cell, value, row);
        }
}

static void append_arrow(Buffer *cell, const GroupRow *row) {
        /* A peak of two intervals that rose in B alone was one in A all the same. */
        if (row->kind == REPORT_INTERVALS && row->registered &&
            row->registered->kind == METRIC_KIND_PEAK && !cell_member(row->entry, "a") &&
            cell_member(row->entry, "b")) {
                buffer_append_text(cell, "peak ");
                append_side(cell, 1, row);
                return;
        }
        append_side(cell, 0, row);
        buffer_append_text(cell, " \u2192 ");
        append_side(cell, 1, row);
}

/* Appends work, or the level at the end, behind an earlier one that differs. */
static void append_work(Buffer *cell, const GroupRow *row) {
        bool has_work = json_object_object_get_ex(row->entry, "work", NULL);
        json_object *before = cell_member(row->entry, "before");
        const Metric *metric = row->registered;
        bool is_counter = metric && metric_is_work((MetricId) (metric - metric_table));

        /* The difference stands in for work that nobody tells, not for one that is not known. */
        if (has_work || is_counter) {
                append_value(cell, has_work ? "work" : "delta", row);
                return;
        }
        if (before && !json_object_equal(before, cell_member(row->entry, "after"))) {
                append_value(cell, "before", row);
                buffer_append_text(cell, "\u2192");
        }
        append_value(cell, "after", row);
}

void group_cell_append(Buffer *cell, GroupColumn column, const GroupRow *row) {
        json_object *percent;
        char text[QUANTITY_CHARS];
        Quantity quantity;

        switch (column) {
        case GROUP_COLUMN_METRIC:
                printable_append(cell, row->style.raw || row->kind == REPORT_SETS
                                               ? span_of(row->metric)
                                               : group_metric_text(row->metric));
                break;
        case GROUP_COLUMN_BEFORE:
                append_side(cell, 0, row);
                break;
        case GROUP_COLUMN_AFTER:
                append_side(cell, 1, row);
                break;
        case GROUP_COLUMN_ARROW:
                append_arrow(cell, row);
                break;
        case GROUP_COLUMN_WORK:
                append_work(cell, row);
                break;
        case GROUP_COLUMN_DELTA:
                append_delta(cell, row);
                break;
        case GROUP_COLUMN_PERCENT:
                percent = cell_member(row->entry, "percent");
                /* Medians are no integers, so their percentage is as exact as in the reply. */
                if (row->kind != REPORT_SETS)
                        cell_append_percent(cell, row->entry, &row->style);
                else if (row->style.raw || !cell_quantity(percent, &quantity))
                        cell_append_value(cell, percent, &row->style);
                else
                        buffer_append(cell, text, quantity_format_percent(quantity, text));
                break;
        case GROUP_COLUMN_RATE:
                if (row->kind == REPORT_INTERVAL)
                        cell_append_per_second(cell, cell_member(row->entry, "perSecond"),
                                               &row->style);
                else
                        cell_append_rate(cell, cell_member(row->entry, "perSecond"), &row->style);
                break;
        case GROUP_COLUMN_VALUE:
                append_value(cell, "value", row);
                break;
        case GROUP_COLUMN_TOP:
                append_top(cell, row);
                break;
        case GROUP_COLUMN_P50:
                cell_append_value(cell, member_of(row, "spread", "p50"), &row->style);
                break;
        case GROUP_COLUMN_P99:
                cell_append_value(cell, member_of(row, "spread", "p99"), &row->style);
                break;
        case GROUP_COLUMN_TAGS:
                append_tags(cell, row->registered);
                break;
        case GROUP_COLUMN_UNIT:
                buffer_append_text(cell, metric_unit_names[row->style.unit]);
                break;
        case GROUP_COLUMN_P:
                append_p(cell, row);
                break;
        case GROUP_COLUMN_RANGE_BEFORE:
                append_range(cell, "before", row);
                break;
        case GROUP_COLUMN_RANGE_AFTER:
                append_range(cell, "after", row);
                break;
        case GROUP_COLUMN_SAMPLES:
                buffer_append_u64(cell, json_object_get_uint64(member_of(row, "before", "n")));
                buffer_append_byte(cell, '+');
                buffer_append_u64(cell, json_object_get_uint64(member_of(row, "after", "n")));
                break;
        case GROUP_COLUMN_GROUP:
        case GROUP_COLUMN_THREADS:
        case GROUP_COLUMN_UPTIME:
        case _GROUP_COLUMN_MAX:
                break;
        }
}
