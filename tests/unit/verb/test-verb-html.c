/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>

#include "check-main.h"
#include "ctl-answers.h"

/* The page that show and compare are asked for with --format html. */

static const Exchange shown[] = {
        { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
                "a") ",\"sources\":[]},\"continues\":true}\0"
                     "{\"parameters\":{\"groups\":[{\"key\":\"</"
                     "script>\",\"threads\":1,\"metrics\":{"
                     "\"run_time_ns\":{\"value\":18446744073709551615,\"present\":1}},\"derived\":{"
                     "}}]"
                     "},\"continues\":true}\0"
                     "{\"parameters\":{\"sections\":{\"sched-ext\":[{\"attr\":\"x\",\"value\":1}]},"
                     "\"hiddenRows\":0,\"hiddenGroups\":7}}") },
};

static const char *const parts[] = {
        "{\"info\":{\"lines\":[[\"snapshot\",\"a, ",
        "{\"info\":{\"snapshot\":{",
        ("[{\"groups\":[{\"key\":\"\\u003c/script\\u003e\",\"threads\":1,\"rows\":[[10,0,null,"
         "\"18446744073709551615\",1]]}]}]"),
        "[{\"sections\":{\"sched-ext\":[{\"attr\":\"x\",\"value\":1}]}}]",
        "[{\"end\":{\"hiddenRows\":0,\"hiddenGroups\":7}}]",
};

START_TEST(a_page_is_all_there_is_on_stdout) {
        static const char begin_mark[] = "<!DOCTYPE html>\n", end_mark[] = "</html>\n";
        const char *at;

        begin(shown, 1);
        CTL_RUN(&ctl, "show", "a", "--format", "html");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_int_eq(strncmp(ctl.out, begin_mark, strlen(begin_mark)), 0);
        ck_assert_str_eq(ctl.out + strlen(ctl.out) - strlen(end_mark), end_mark);
        at = ctl.out;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                at = strstr(at, parts[i]);
                ck_assert_msg(at, "%s is not there, or out of order", parts[i]);
        }
        end();
}
END_TEST

static const struct {
        const char *words[6];
        const char *asked, *written;
} wishes[] = {
        { { "show", "a", "--format", "html" },
          "\"limit\":40,",
          "\"header\":\"process\",\"raw\":0,\"allRows\":0," },
        { { "show", "a", "--format", "html", "--all-rows" }, "\"limit\":40,", "\"allRows\":1," },
        { { "show", "a", "--format", "html", "--raw" }, "\"limit\":40,", "\"raw\":1," },
        { { "show", "a", "--format", "html", "--limit=3" }, "\"limit\":3,", "\"limit\":3," },
        { { "show", "a", "--format", "html", "--limit=0" }, "\"limit\":0,", "\"limit\":0," },
        { { "show", "a", "--format", "html", "--group-by=cgroup" },
          "\"groupBy\":\"cgroup\"",
          "\"header\":\"cgroup\"" },
};

/* It hides what did not change by itself, and so wants all of it. */
START_TEST(a_page_has_the_limit_of_a_table_and_all_rows) {
        const char *words[ELEMENTSOF(wishes[0].words) + 1] = { NULL };

        memcpy(words, wishes[_i].words, sizeof(wishes[_i].words));
        begin(shown, 1);
        ctl_run(&ctl, words);
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.asked, wishes[_i].asked));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"changedOnly\":false"));
        ck_assert_ptr_nonnull(strstr(ctl.out, wishes[_i].written));
        end();
}
END_TEST

START_TEST(a_terminal_is_not_asked_to_show_it) {
        begin(shown, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "show", "a", "--format", "html");
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_ptr_nonnull(strstr(ctl.out, "A page is not for a terminal to show: redirect "
                                              "stdout to a file (> report.html)."));
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

START_TEST(a_page_is_one_form) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "a", "--format", "html", "--json");
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_str_eq(ctl.out, "");
        CTL_RUN(&ctl, "export", "a", "--format", "html");
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_ptr_nonnull(strstr(ctl.err, "\"export\" has no --format html"));
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-html");
        TCase *view = tcase_create("view");

        tcase_add_test(view, a_page_is_all_there_is_on_stdout);
        tcase_add_loop_test(view, a_page_has_the_limit_of_a_table_and_all_rows, 0,
                            ELEMENTSOF(wishes));
        tcase_add_test(view, a_terminal_is_not_asked_to_show_it);
        tcase_add_test(view, a_page_is_one_form);
        suite_add_tcase(suite, view);
        return check_main(suite);
}
