/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/group-cell.h"

#include <string.h>

#include "base/number.h"
#include "metric/metric.h"
#include "render/printable.h"

#define BOLD_PERCENT 50

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

uint32_t group_user_hz(json_object *reply) {
        json_object *b = cell_member(reply, "b");
        json_object *const heads[] = {
                cell_member(reply, "snapshot"), cell_member(reply, "after"),
                cell_member(b, "after"), cell_element(cell_member(reply, "after"), 0), /* of sets */
        };

        for (size_t i = 0; i < ELEMENTSOF(heads); i++) {
                int64_t hz = json_object_get_int64(cell_member(heads[i], "userHz"));

                if (hz > 0 && hz <= (int64_t) NSEC_PER_SEC)
                        return (uint32_t) hz;
        }
        return 0;
}

GroupRow group_row_of(ReportKind kind, const char *metric, json_object *entry, bool raw,
                      uint32_t user_hz) {
        MetricId id = metric_find(span_of(metric));
        DerivedId derived = id < _METRIC_MAX ? _DERIVED_MAX : derived_find(span_of(metric));
        GroupRow row = { .kind = kind,
                         .metric = metric,
                         .entry = entry,
                         .style = { .raw = raw, .user_hz = user_hz } };

        if (id < _METRIC_MAX) {
                row.registered = &metric_table[id];
                row.style.unit = metric_table[id].unit;
        } else if (derived < _DERIVED_MAX) {
                row.style.unit = derived_table[derived].unit;
                row.style.derived = true;
        }
        return row;
}

static json_object *member_of(const GroupRow *row, const char *object, const char *key) {
        return cell_member(cell_member(row->entry, object), key);
}

static bool has_value(json_object *entry) {
        return cell_member(entry, "value") || cell_member(entry, "after") ||
               cell_member(entry, "before") || cell_member(entry, "a") || cell_member(entry, "b");
}

/* The kernel shows some counters in two places. */
static bool is_second_name(const GroupRow *row, json_object *metrics) {
        static const struct {
                const char *name, *first;
        } seconds[] = {
                { "cpu_delay_total_ns", "wait_time_ns" },
                { "cpu_delay_count", "timeslices" },
        };

        for (size_t i = 0; i < ELEMENTSOF(seconds); i++)
                if (strcmp(row->metric, seconds[i].name) == 0)
                        return has_value(cell_member(metrics, seconds[i].first));
        return false;
}

/* The peak, or the least value, of lives that began before the interval, and did not move in it. */
static bool is_old_extreme(const GroupRow *row) {
        json_object *inside = cell_member(row->entry, "inside");

        return row->kind == REPORT_INTERVAL && json_object_is_type(inside, json_type_boolean) &&
               !json_object_get_boolean(inside);
}

bool group_row_is_idle(const GroupRow *row, json_object *metrics) {
        return is_second_name(row, metrics) || is_old_extreme(row);
}

/* "VALUE NAME[TID]" of the thread that has the most. The name comes last, as what may be cut. */
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

/* "[cfs-only] [SCHEDSTATS]": the class, then kernel options without their common prefix. */
static void append_tags(Buffer *cell, const Metric *metric) {
        static const char prefix[] = "CONFIG_";
        size_t n_before = cell->n;
        const char *gates;

        if (!metric)
                return;
        if (metric->class != METRIC_CLASS_ANY)
                buffer_append_format(cell, "[%s]", metric_class_name(metric->class));
        for (gates = metric->gates; *gates != '\0'; gates += strspn(gates, ", ")) {
                size_t n = strcspn(gates, ", ");
                size_t skip = strncmp(gates, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;

                buffer_append_format(cell, "%s[%.*s]", cell->n > n_before ? " " : "",
                                     (int) (n - skip), gates + skip);
                gates += n;
        }
}

static bool is_counter(const GroupRow *row) {
        return row->registered && metric_is_work((MetricId) (row->registered - metric_table));
}

/* The values of two intervals are rates where "perSecond" is true. */
static bool is_rate(const GroupRow *row) {
        json_object *rate = cell_member(row->entry, "perSecond");

        return row->kind == REPORT_INTERVALS && json_object_is_type(rate, json_type_boolean) &&
               json_object_get_boolean(rate);
}

/* Words of a place or a state are neither the same nor different: there is nothing to compare. */
static void append_delta(Buffer *cell, const GroupRow *row) {
        const Metric *metric = row->registered;

        if (metric && metric_is_momentary((MetricId) (metric - metric_table)))
                buffer_append_byte(cell, '-');
        else if (is_rate(row))
                cell_append_rate(cell, cell_member(row->entry, "delta"), &row->style);
        else
                cell_append_delta(cell, row->entry, &row->style);
}

/* sets */

/* Samples of counters are rates. @value NULL: there is nothing to put a unit behind. */
static void append_per_second(Buffer *cell, json_object *value, const GroupRow *row) {
        if (value && !row->style.raw &&
            json_object_get_boolean(cell_member(row->entry, "perSecond")))
                buffer_append_text(cell, "/s");
}

static void append_median(Buffer *cell, const char *side, const GroupRow *row) {
        json_object *median = member_of(row, side, "median");

        if (!row->style.raw && median && cell_is_approximate(row->entry, side))
                buffer_append_byte(cell, '~');
        cell_append_value(cell, median, &row->style);
        append_per_second(cell, median, row);
}

/* Medians are no integers, so that the percentage cannot be more exact than the reply has it. */
static void append_median_percent(Buffer *cell, const GroupRow *row) {
        json_object *value = cell_member(row->entry, "percent");
        char text[QUANTITY_CHARS];
        Quantity percent;

        if (row->style.raw || !cell_quantity(value, &percent))
                cell_append_value(cell, value, &row->style);
        else
                buffer_append(cell, text, quantity_format_percent(percent, text));
}

/* Two significant digits, and nothing below a ten thousandth. */
static void append_p(Buffer *cell, const GroupRow *row) {
        json_object *value = cell_member(row->entry, "pAdjusted");
        double p = json_object_get_double(value), scaled = p;
        int digits = 1;

        if (!value) {
                buffer_append_text(cell, "-");
        } else if (row->style.raw) {
                buffer_append_format(cell, "%.6g", p);
        } else if (p < 0.0001) {
                buffer_append_text(cell, "<0.0001");
        } else {
                while (scaled < 1) {
                        scaled *= 10;
                        digits++;
                }
                buffer_append_format(cell, "%.*f", digits, p);
        }
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

static unsigned long long samples_of(const GroupRow *row, const char *side) {
        return json_object_get_uint64(member_of(row, side, "n"));
}

/* all columns */

/* "~" stands in front of what is only approximate. */
static void append_value(Buffer *cell, const char *side, const GroupRow *row) {
        if (!row->style.raw && cell_is_approximate(row->entry, side))
                buffer_append_byte(cell, '~');
        cell_append_value(cell, cell_member(row->entry, side), &row->style);
}

/* A side of two snapshots, or of two intervals, of which counters have rates. */
static void append_side(Buffer *cell, size_t side, const GroupRow *row) {
        static const char *const sides[] = { "before", "after" }, *const intervals[] = { "a", "b" };
        json_object *value;

        if (row->kind != REPORT_INTERVALS) {
                append_value(cell, sides[side], row);
                return;
        }
        value = cell_member(row->entry, intervals[side]);
        if (!is_rate(row)) {
                append_value(cell, intervals[side], row);
                return;
        }
        if (!row->style.raw && value && cell_is_approximate(row->entry, intervals[side]))
                buffer_append_byte(cell, '~');
        cell_append_per_second(cell, value, &row->style);
}

/* Of two intervals: a peak that rose in B alone was one in A all the same. */
static bool is_peak_of_last(const GroupRow *row) {
        return row->kind == REPORT_INTERVALS && row->registered &&
               row->registered->kind == METRIC_KIND_PEAK && !cell_member(row->entry, "a") &&
               cell_member(row->entry, "b");
}

static void append_arrow(Buffer *cell, const GroupRow *row) {
        if (is_peak_of_last(row)) {
                buffer_append_text(cell, "peak ");
                append_side(cell, 1, row);
                return;
        }
        append_side(cell, 0, row);
        buffer_append_text(cell, " \u2192 ");
        append_side(cell, 1, row);
}

/* What was done, or a level at the end with what it was before where that differs. */
static void append_work(Buffer *cell, const GroupRow *row) {
        json_object *work, *before = cell_member(row->entry, "before");

        if (json_object_object_get_ex(row->entry, "work", &work) || is_counter(row)) {
                append_value(cell, work ? "work" : "delta", row);
                return;
        }
        if (before && !json_object_equal(before, cell_member(row->entry, "after"))) {
                append_value(cell, "before", row);
                buffer_append_text(cell, "\u2192");
        }
        append_value(cell, "after", row);
}

void group_cell_append(Buffer *cell, GroupColumn column, const GroupRow *row) {
        switch (column) {
        case GROUP_COLUMN_METRIC:
                printable_append(cell, row->style.raw ? span_of(row->metric)
                                                      : group_metric_text(row->metric));
                break;
        case GROUP_COLUMN_SET_METRIC:
                printable_append(cell, span_of(row->metric));
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
                cell_append_percent(cell, row->entry, &row->style);
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
                buffer_append_text(cell, metric_unit_name(row->style.unit));
                break;
        case GROUP_COLUMN_MEDIAN_BEFORE:
                append_median(cell, "before", row);
                break;
        case GROUP_COLUMN_MEDIAN_AFTER:
                append_median(cell, "after", row);
                break;
        case GROUP_COLUMN_MEDIAN_DELTA:
                cell_append_delta(cell, row->entry, &row->style);
                append_per_second(cell, cell_member(row->entry, "delta"), row);
                break;
        case GROUP_COLUMN_MEDIAN_PERCENT:
                append_median_percent(cell, row);
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
                buffer_append_format(cell, "%llu+%llu", samples_of(row, "before"),
                                     samples_of(row, "after"));
                break;
        case GROUP_COLUMN_GROUP:
        case GROUP_COLUMN_THREADS:
        case GROUP_COLUMN_UPTIME:
        case _GROUP_COLUMN_MAX:
                break;
        }
}

bool group_cell_is_bold(GroupColumn column, const GroupRow *row) {
        Quantity percent;

        if (column == GROUP_COLUMN_P)
                return json_object_get_boolean(cell_member(row->entry, "significant"));
        return column == GROUP_COLUMN_PERCENT &&
               cell_quantity(cell_member(row->entry, "percent"), &percent) &&
               percent.whole >= BOLD_PERCENT;
}
