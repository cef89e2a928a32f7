/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/account-cell.h"
#include "report/group/group-columns.h"
#include "view/view-sort.h"

#include <check.h>

#include "check-main.h"

static const struct {
        const char *list;
        ReportKind kind;
        size_t n;
        GroupColumn ids[8];
} rows[] = {
        { NULL,
          REPORT_SNAPSHOT,
          4,
          { GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS, GROUP_COLUMN_METRIC, GROUP_COLUMN_VALUE } },
        { "metric,%", REPORT_PAIR, 2, { GROUP_COLUMN_METRIC, GROUP_COLUMN_PERCENT } },
        { " Delta , RATE", REPORT_PAIR, 2, { GROUP_COLUMN_DELTA, GROUP_COLUMN_RATE } },
        { "baseline,candidate", REPORT_PAIR, 2, { GROUP_COLUMN_BEFORE, GROUP_COLUMN_AFTER } },
        { "group", REPORT_SNAPSHOT, 1, { GROUP_COLUMN_GROUP } },
        { "unit,tags,arrow",
          REPORT_PAIR,
          3,
          { GROUP_COLUMN_UNIT, GROUP_COLUMN_TAGS, GROUP_COLUMN_ARROW } },
        { "top,P50,p99,uptime",
          REPORT_PAIR,
          4,
          { GROUP_COLUMN_TOP, GROUP_COLUMN_P50, GROUP_COLUMN_P99, GROUP_COLUMN_UPTIME } },
        { "+top, p99",
          REPORT_SNAPSHOT,
          6,
          { GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS, GROUP_COLUMN_METRIC, GROUP_COLUMN_VALUE,
            GROUP_COLUMN_TOP, GROUP_COLUMN_P99 } },
        { " + unit",
          REPORT_SNAPSHOT,
          5,
          { GROUP_COLUMN_GROUP, GROUP_COLUMN_THREADS, GROUP_COLUMN_METRIC, GROUP_COLUMN_VALUE,
            GROUP_COLUMN_UNIT } },
};

START_TEST(columns_come_in_the_order_typed) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES];
        GroupColumns columns;

        ck_assert_int_eq(group_columns_parse(rows[_i].list, rows[_i].kind, &columns, complaint), 0);
        ck_assert_uint_eq(columns.n, rows[_i].n);
        for (size_t i = 0; i < rows[_i].n; i++)
                ck_assert_int_eq(columns.ids[i], rows[_i].ids[i]);
}
END_TEST

#define OVERVIEW \
        "; the overview has cpu wait io lock blocked switch read write majflt rss peak-rss."

static const struct {
        const char *list;
        ReportKind kind;
        const char *sentence;
} refusals[] = {
        { "", REPORT_SNAPSHOT,
          "The list of columns has an empty entry: separate names by one comma each." },
        { "group,", REPORT_SNAPSHOT,
          "The list of columns has an empty entry: separate names by one comma each." },
        { "group,group", REPORT_PAIR, "The column \"group\" is named twice: name it once." },
        { "before,baseline", REPORT_PAIR, "The column \"baseline\" is named twice: name it once." },
        { "delta", REPORT_SNAPSHOT,
          "Unknown column \"delta\": there are group, threads, metric, value, top, "
          "p50, p99, uptime, tags, unit" OVERVIEW },
        { "valu", REPORT_SNAPSHOT,
          "Unknown column \"valu\", did you mean \"value\"? There are group, threads, metric, "
          "value, top, p50, p99, uptime, tags, unit" OVERVIEW },
        { "value", REPORT_PAIR,
          "Unknown column \"value\": there are group, threads, metric, before, after, arrow, "
          "delta, "
          "%, rate, top, p50, p99, uptime, tags, unit" OVERVIEW },
        { "+", REPORT_SNAPSHOT,
          "The list of columns has an empty entry: separate names by one comma each." },
        { "+top,", REPORT_SNAPSHOT,
          "The list of columns has an empty entry: separate names by one comma each." },
        { "+rate", REPORT_PAIR,
          "The column \"rate\" is a default one: \"+\" adds others to these." },
        { "arrow,after", REPORT_PAIR,
          "The column \"arrow\" shows before and after: name it without these." },
        { "baseline,arrow", REPORT_PAIR,
          "The column \"arrow\" shows before and after: name it without these." },
        { "+arrow", REPORT_PAIR,
          "The column \"arrow\" shows before and after: name it without these." },
        { "+top,top", REPORT_PAIR, "The column \"top\" is named twice: name it once." },
        { "top,+p50", REPORT_SNAPSHOT,
          "Unknown column \"+p50\", did you mean \"p50\"? There are group, threads, metric, "
          "value, top, p50, p99, uptime, tags, unit" OVERVIEW },
        { "x\033", REPORT_SNAPSHOT,
          "Unknown column \"x\\x1b\": there are group, threads, metric, value, top, "
          "p50, p99, uptime, tags, unit" OVERVIEW },
};

START_TEST(what_is_no_column_is_named_with_those_that_are) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES];
        GroupColumns columns = { .n = 77 };

        ck_assert_int_eq(
                group_columns_parse(refusals[_i].list, refusals[_i].kind, &columns, complaint),
                GROUP_COLUMNS_E_INVALID);
        ck_assert_str_eq(complaint, refusals[_i].sentence);
        ck_assert_uint_eq(columns.n, 77);
}
END_TEST

START_TEST(two_sides_have_eight_columns_by_default) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES];
        GroupColumns columns;

        ck_assert_int_eq(group_columns_parse(NULL, REPORT_PAIR, &columns, complaint), 0);
        ck_assert_uint_eq(columns.n, 8);
        ck_assert_uint_eq(columns.n_default, 8);
        ck_assert_str_eq(group_column_table(columns.ids[0], REPORT_PAIR, "process").header,
                         "process");
        ck_assert_str_eq(group_column_table(columns.ids[7], REPORT_PAIR, "process").header, "rate");
}
END_TEST

START_TEST(only_default_columns_may_be_left_out) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES];
        GroupColumns columns;

        ck_assert_int_eq(group_columns_parse("+top", REPORT_PAIR, &columns, complaint), 0);
        ck_assert_uint_eq(columns.n, 9);
        ck_assert_uint_eq(columns.n_default, 8);
        ck_assert_int_eq(group_columns_parse("group", REPORT_PAIR, &columns, complaint), 0);
        ck_assert_uint_eq(columns.n_default, 0);
}
END_TEST

static const struct {
        const char *list;
        bool wants;
} spreads[] = { { NULL, false },        { "group,metric,uptime,unit", false },
                { "metric,top", true }, { "p50", true },
                { "+p99", true },       { "+unit", false } };

START_TEST(a_spread_is_asked_for_when_a_column_needs_it) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES];
        GroupColumns columns;

        ck_assert_int_eq(
                group_columns_parse(spreads[_i].list, REPORT_SNAPSHOT, &columns, complaint), 0);
        ck_assert(columns.want_spread == spreads[_i].wants);
}
END_TEST

/* What a column is called in an order, it is called in a list of columns. */
START_TEST(every_column_has_one_name) {
        char complaint[ACCOUNT_COLUMNS_COMPLAINT_BYTES];

        for (unsigned id = 0; id < _VIEW_COLUMN_MAX; id++) {
                AccountColumns chosen;

                ck_assert_msg(account_columns_parse(view_columns[id].name, &chosen, complaint) ==
                                      ACCOUNT_COLUMNS_OK,
                              "%s", view_columns[id].name);
                ck_assert_uint_eq(chosen.n, 2);
        }
}
END_TEST

static const struct {
        const char *entry, *text;
} works[] = {
        { "{\"before\":1,\"after\":4,\"delta\":3,\"work\":2}", "2" },
        { "{\"before\":1,\"after\":4,\"delta\":3,\"work\":0}", "0" },
        { "{\"before\":1,\"after\":4,\"delta\":3,\"work\":null}", "-" },
        { "{\"before\":1,\"after\":4,\"delta\":3}", "3" },
};

START_TEST(work_that_is_not_known_is_no_difference) {
        const Metric *metric = &metric_table[METRIC_voluntary_csw];
        GroupRow row = { .kind = REPORT_INTERVAL,
                         .metric = metric->name,
                         .entry = json_tokener_parse(works[_i].entry),
                         .style = { .unit = metric->unit },
                         .registered = metric };
        _cleanup_(buffer_done) Buffer cell = {};

        group_cell_append(&cell, GROUP_COLUMN_WORK, &row);
        buffer_append_byte(&cell, '\0');
        ck_assert_int_eq(buffer_failure(&cell), 0);
        ck_assert_str_eq(cell.bytes, works[_i].text);
        (void) json_object_put(row.entry);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("group-columns");
        TCase *parse = tcase_create("parse"), *cells = tcase_create("cells");

        tcase_add_loop_test(parse, columns_come_in_the_order_typed, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(parse, what_is_no_column_is_named_with_those_that_are, 0,
                            ELEMENTSOF(refusals));
        tcase_add_test(parse, two_sides_have_eight_columns_by_default);
        tcase_add_test(parse, only_default_columns_may_be_left_out);
        tcase_add_test(parse, every_column_has_one_name);
        tcase_add_loop_test(parse, a_spread_is_asked_for_when_a_column_needs_it, 0,
                            ELEMENTSOF(spreads));
        suite_add_tcase(suite, parse);
        tcase_add_loop_test(cells, work_that_is_not_known_is_no_difference, 0, ELEMENTSOF(works));
        suite_add_tcase(suite, cells);
        return check_main(suite);
}
