/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/group-columns.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "metric/metric.h"
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

static const GroupColumns defaults[] = {
        [REPORT_SNAPSHOT] = { { GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS, GROUP_COLUMN_METRIC,
                                GROUP_COLUMN_VALUE },
                              4,
                              4 },
        [REPORT_PAIR] = { { GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS, GROUP_COLUMN_METRIC,
                            GROUP_COLUMN_BEFORE, GROUP_COLUMN_AFTER, GROUP_COLUMN_DELTA,
                            GROUP_COLUMN_PERCENT, GROUP_COLUMN_RATE },
                          8,
                          8 },
        [REPORT_INTERVAL] = { { GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS, GROUP_COLUMN_METRIC,
                                GROUP_COLUMN_WORK, GROUP_COLUMN_RATE },
                              5,
                              5 },
        [REPORT_INTERVALS] = { { GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS, GROUP_COLUMN_METRIC,
                                 GROUP_COLUMN_BEFORE, GROUP_COLUMN_AFTER, GROUP_COLUMN_DELTA,
                                 GROUP_COLUMN_PERCENT },
                               7,
                               7 },
        [REPORT_SETS] = { { GROUP_COLUMN_GROUP, GROUP_COLUMN_SET_METRIC, GROUP_COLUMN_MEDIAN_BEFORE,
                            GROUP_COLUMN_MEDIAN_AFTER, GROUP_COLUMN_MEDIAN_DELTA,
                            GROUP_COLUMN_MEDIAN_PERCENT, GROUP_COLUMN_P, GROUP_COLUMN_RANGE_BEFORE,
                            GROUP_COLUMN_RANGE_AFTER, GROUP_COLUMN_SAMPLES },
                          10,
                          10 },
};

TableColumn group_column_table(GroupColumn id, ReportKind kind, const char *group_header) {
        TableColumn column = rows[id].table;

        if (kind == REPORT_INTERVAL && id == GROUP_COLUMN_RATE)
                column.header = "per second";
        if (kind == REPORT_INTERVALS && id == GROUP_COLUMN_BEFORE)
                column.header = "A";
        if (kind == REPORT_INTERVALS && id == GROUP_COLUMN_AFTER)
                column.header = "B";

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

static GroupColumn find_column(Span word, ReportKind kind) {
        unsigned id = 0;

        for (size_t i = 0; i < ELEMENTSOF(aliases); i++)
                if (is_word(word, aliases[i].name))
                        word = span_of(rows[aliases[i].id].name);
        while (id < _GROUP_COLUMN_MAX &&
               ((rows[id].kinds >> kind & 1) == 0 || !is_word(word, rows[id].name)))
                id++;
        return (GroupColumn) id;
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

/* The arrow shows both values, so that a column of one of them would repeat it. */
static bool repeats(GroupColumn a, GroupColumn b) {
        return a == GROUP_COLUMN_ARROW && (b == GROUP_COLUMN_BEFORE || b == GROUP_COLUMN_AFTER);
}

static int add_column(GroupColumns *columns, Span word, ReportKind kind, char *ret_complaint) {
        GroupColumn id = find_column(word, kind);
        char quoted[QUOTE_BYTES];

        if (word.n == 0)
                return refuse(ret_complaint,
                              "The list of columns has an empty entry: separate names "
                              "by one comma each.");
        if (id == _GROUP_COLUMN_MAX)
                return refuse_unknown(word, kind, ret_complaint);
        for (size_t i = 0; i < columns->n; i++)
                if (columns->ids[i] == id)
                        return refuse(ret_complaint,
                                      i < columns->n_default
                                              ? "The column %s is a default one: \"+\" adds "
                                                "others to these."
                                              : "The column %s is named twice: name it once.",
                                      quote_span(word, quoted));
        for (size_t i = 0; i < columns->n; i++)
                if (repeats(id, columns->ids[i]) || repeats(columns->ids[i], id))
                        return refuse(ret_complaint,
                                      "The column \"arrow\" shows before and after: name it "
                                      "without these.");
        columns->ids[columns->n++] = id;
        return 0;
}

static Span trim(Span word) {
        while (word.n > 0 && word.bytes[0] == ' ')
                word = (Span){ word.bytes + 1, word.n - 1 };
        while (word.n > 0 && word.bytes[word.n - 1] == ' ')
                word.n--;
        return word;
}

int group_columns_parse(const char *list, ReportKind kind, GroupColumns *ret,
                        char ret_complaint[static GROUP_COLUMNS_COMPLAINT_BYTES]) {
        GroupColumns columns = {};
        int r;

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

                r = add_column(&columns, trim((Span){ list, n }), kind, ret_complaint);
                if (r != 0)
                        return r;
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

bool group_columns_want_spread(const GroupColumns *columns) {
        for (size_t i = 0; i < columns->n; i++)
                if (columns->ids[i] == GROUP_COLUMN_TOP || columns->ids[i] == GROUP_COLUMN_P50 ||
                    columns->ids[i] == GROUP_COLUMN_P99)
                        return true;
        return false;
}
