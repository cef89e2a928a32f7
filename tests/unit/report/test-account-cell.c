/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/account-cell.h"

#include <check.h>
#include <json-c/json.h>

#include "check-main.h"

#define SECOND "1000000000"
#define MEMORY(begin, end) "{\"rssBeforeBytes\":" begin ",\"rssBytes\":" end "}"
#define MIB_12 "12582912"
#define MIB_100 "104857600"

/* One cell of a group with these accounts; all columns are a second long. */
static const struct {
        AccountColumn column;
        ReportKind kind;
        const char *accounts, *text;
} rows[] = {
        { ACCOUNT_COLUMN_WAITS, REPORT_INTERVAL, "[{\"reasons\":{\"poll\":" SECOND "}}]",
          "poll 1.0" },
        /* Names of reasons are those that the daemon sends. */
        { ACCOUNT_COLUMN_WAITS, REPORT_INTERVAL,
          "[{\"reasons\":{\"\\u001b[2J\\n\\u202ea\":" SECOND ",\"\\u009b1m\":500000000}}]",
          "\\x1b[2J\\x0a\\xe2\\x80\\xaea 1.0, \\xc2\\x9b1m 0.50" },
        { ACCOUNT_COLUMN_RSS, REPORT_PAIR, "[{\"rssBytes\":null},{\"rssBytes\":" MIB_100 "}]",
          "-\u2192100MiB" },
        { ACCOUNT_COLUMN_RSS, REPORT_PAIR, "[{\"rssBytes\":" MIB_100 "},{\"rssBytes\":null}]",
          "100MiB\u2192-" },
        { ACCOUNT_COLUMN_RSS, REPORT_PAIR, "[{\"rssBytes\":" MIB_100 "},null]", "100MiB\u2192-" },
        { ACCOUNT_COLUMN_RSS, REPORT_PAIR, "[{\"rssBytes\":0},{\"rssBytes\":" MIB_100 "}]",
          "0\u2192100MiB" },
        /* Of what was not there 0 is known: it was born, or it ended. */
        { ACCOUNT_COLUMN_RSS, REPORT_INTERVAL, "[" MEMORY("null", MIB_12) "]", "0\u219212MiB" },
        { ACCOUNT_COLUMN_RSS, REPORT_INTERVAL, "[" MEMORY(MIB_12, "null") "]", "12MiB\u21920" },
        { ACCOUNT_COLUMN_RSS, REPORT_INTERVAL, "[" MEMORY("null", "null") "]", "-" },
        { ACCOUNT_COLUMN_RSS, REPORT_INTERVALS,
          "[" MEMORY("null", "null") "," MEMORY(MIB_12, MIB_100) "]", "-\u2192100MiB" },
        { ACCOUNT_COLUMN_RSS, REPORT_INTERVALS,
          "[" MEMORY(MIB_12, "null") "," MEMORY("null", MIB_100) "]", "0\u2192100MiB" },
        { ACCOUNT_COLUMN_RSS, REPORT_SETS,
          "[{\"memoryGrowthBytes\":null},{\"memoryGrowthBytes\":" MIB_12 "}]", "-\u219212MiB" },
        { ACCOUNT_COLUMN_RSS, REPORT_SETS,
          "[{\"memoryGrowthBytes\":" MIB_12 "},{\"memoryGrowthBytes\":null}]", "12MiB\u2192-" },
};

START_TEST(cells_read_like_this) {
        _cleanup_(buffer_done) Buffer cell = {};
        json_object *row = json_object_new_object();
        AccountSigns signs = {};
        const AccountStyle style = { .setting = &report_settings[rows[_i].kind],
                                     .all_rss = true,
                                     .elapsed_ns = { NSEC_PER_SEC, NSEC_PER_SEC } };

        (void) json_object_object_add(row, "accounts", json_tokener_parse(rows[_i].accounts));
        account_cell_append(&cell, rows[_i].column, row, &style, &signs);
        buffer_append_byte(&cell, '\0');
        ck_assert_int_eq(buffer_failure(&cell), 0);
        ck_assert_str_eq(cell.bytes, rows[_i].text);
        (void) json_object_put(row);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("account-cell");
        TCase *cells = tcase_create("cells");

        tcase_add_loop_test(cells, cells_read_like_this, 0, ELEMENTSOF(rows));
        suite_add_tcase(suite, cells);
        return check_main(suite);
}
