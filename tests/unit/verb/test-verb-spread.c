/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>

#include "check-main.h"
#include "ctl-answers.h"

/* How sums are spread over threads, in the columns of show and compare. */

#define SPREAD(name, tid, value, p50, p99)                                                  \
        "{\"top\":{\"tid\":" tid ",\"name\":\"" name "\",\"value\":" value "},\"p50\":" p50 \
        ",\"p99\":" p99 "}"
#define SHOWN                                                                               \
        "{\"key\":\"db\",\"process\":\"db\",\"threads\":64,\"metrics\":{"                   \
        "\"run_time_ns\":{\"value\":3600000064000,\"present\":64,\"spread\":" SPREAD(       \
                "stuck\\u001b", "4211", "3600000000000", "1000",                            \
                "1007") "},"                                                                \
                        "\"read_bytes\":{\"value\":0,\"present\":2,\"spread\":" SPREAD(     \
                                "", "7", "0", "0",                                          \
                                "0") "},"                                                   \
                                     "\"minflt\":{\"value\":null,\"present\":0,\"reason\":" \
                                     "\"none\",\"spread\":null},"                           \
                                     "\"wait_max\":{\"value\":5,\"present\":64}},"          \
                                     "\"derived\":{\"avg_slice_ns\":{\"value\":2.5}}}"
static const Exchange shown[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"sources\":[]},\"continues\":true}\0"
             "{\"parameters\":{\"groups\":[" SHOWN "]},\"continues\":true}\0"
             "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(show_tells_the_top_thread_and_two_percentiles) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "a", "--columns", "metric,top,p50,p99,uptime");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.out, "metric    top                           p50     p99 "
                                              "%uptime\n"
                                              "run_time  3600.000s stuck\\x1b[4211] 1.000\u00b5s "
                                              "1.007\u00b5s       -\n"
                                              "read      0B [7]                         0B      0B "
                                              "      -\n"
                                              "minflt    -                               -       - "
                                              "      -\n"
                                              "wait_max  -                               -       - "
                                              "      -\n"
                                              "avg_slice -                               -       - "
                                              "      -\n"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"spread\":true"));
        end();
}
END_TEST

START_TEST(raw_numbers_are_plain) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "a", "--raw", "--no-legend", "--columns", "top,p50");
        ck_assert_ptr_nonnull(strstr(ctl.out, "3600000000000 stuck\\x1b[4211] 1000\n"));
        end();
}
END_TEST

/* One whose age is a third of the oldest, and one of which it is not known. */
#define PAIR(key, uptime, spread, spread_before)                                               \
        "{\"key\":\"" key "\",\"process\":\"" key "\",\"threadsBefore\":1,\"threadsAfter\":1," \
        "\"uptimePercent\":" uptime ",\"metrics\":{\"run_time_ns\":{\"before\":1,\"after\":3," \
        "\"delta\":2,\"percent\":200,\"perSecond\":null,\"changed\":true,\"reset\":false,"     \
        "\"spread\":" spread ",\"spreadBefore\":" spread_before "}},\"derived\":{}}"
static const Exchange compared[] = { { REPLIES(
        "{\"parameters\":{\"before\":" HEAD("a") ",\"after\":" HEAD(
                "b") ",\"sourcesBefore\":[],\"sourcesAfter\":[],\"sameBoot\":true,"
                     "\"elapsedNs\":null,\"hostChanges\":[]},\"continues\":true}\0"
                     "{\"parameters\":{\"groups\":[" PAIR(
                             "x", "33.333333333333336", SPREAD("t", "5", "3", "3", "3"),
                             SPREAD("old", "4", "1", "1",
                                    "1")) "," PAIR("y", "null", "null",
                                                   "null") "]},"
                                                           "\"continues\":true}\0"
                                                           "{\"parameters\":{\"sections\":{},"
                                                           "\"hiddenRows\":0,\"hiddenGroups\":0}"
                                                           "}") } };

START_TEST(compare_adds_columns_of_after_to_the_default_ones) {
        begin(compared, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--columns", "+top,uptime");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "process threads metric   before after delta       % rate top      "
                                "%uptime\n"
                                "x             1 run_time    1ns   3ns  +2ns +200.0%    - 3ns t[5] "
                                "    33%\n"
                                "y             1 run_time    1ns   3ns  +2ns +200.0%    - -        "
                                "      -\n"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"spread\":true"));
        CTL_RUN(&ctl, "compare", "a", "b", "--raw", "--no-legend", "--columns", "uptime");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\n33.333333333333336\n"));
        end();
}
END_TEST

static const struct {
        const char *words[5];
        bool asked;
} forms[] = {
        { { "compare", "a", "b" }, false },
        { { "compare", "a", "b", "--columns", "+uptime" }, false },
        { { "compare", "a", "b", "--columns", "p99" }, true },
        { { "compare", "a", "b", "--json" }, true },
        { { "compare", "a", "b", "--format", "csv" }, true },
        { { "compare", "a", "b", "--format", "ndjson" }, true },
        { { "compare", "a", "b", "--format", "html" }, true },
};

START_TEST(it_is_asked_for_where_it_is_shown) {
        const char *words[ELEMENTSOF(forms[0].words) + 1] = { NULL };

        memcpy(words, forms[_i].words, sizeof(forms[_i].words));
        begin(compared, 1);
        ctl_run(&ctl, words);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"view\":{"));
        ck_assert(!strstr(ctl.asked, "\"spread\":true") == !forms[_i].asked);
        end();
}
END_TEST

START_TEST(a_narrow_terminal_leaves_out_default_columns_only) {
        begin(compared, 1);
        CTL_RUN_TERMINAL(&ctl, 66, "compare", "a", "b", "--columns", "+top,p50,p99");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "p99"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "no room for threads, rate"));
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-spread");
        TCase *view = tcase_create("view");

        tcase_add_test(view, show_tells_the_top_thread_and_two_percentiles);
        tcase_add_test(view, raw_numbers_are_plain);
        tcase_add_test(view, compare_adds_columns_of_after_to_the_default_ones);
        tcase_add_loop_test(view, it_is_asked_for_where_it_is_shown, 0, ELEMENTSOF(forms));
        tcase_add_test(view, a_narrow_terminal_leaves_out_default_columns_only);
        suite_add_tcase(suite, view);
        return check_main(suite);
}
