/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"

/* A comparison by lives of threads, and of renamed cgroups: @first and @last are more members. */
#define ANSWER(first, last)                                                                      \
        REPLIES("{\"parameters\":{\"before\":" HEAD("a") ",\"after\":" HEAD(                     \
                "b") ",\"sameBoot\":true,\"elapsedNs\":1000000000,\"hostChanges\":[],"           \
                     "\"sourcesBefore\":[],\"sourcesAfter\":[]" first "},\"continues\":true}\0"  \
                     "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0" last \
                     "}}")

static const Exchange window[] = { {
        ANSWER(",\"kind\":\"interval\",\"lives\":{\"survived\":204,\"born\":9,\"ended\":1,"
               "\"bornAndEnded\":null}",
               ""),
} };

START_TEST(a_window_is_asked_for_and_explained) {
        begin(window, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--window");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"window\":true"));
        ck_assert_ptr_nonnull(strstr(ctl.out, ": 204 lived on, 9 born, 1 ended unseen\n"));
        end();
}
END_TEST

START_TEST(json_has_the_window) {
        begin(window, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--window", "--json=short");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(
                ctl.out,
                "\"lives\":{\"survived\":204,\"born\":9,\"ended\":1,\"bornAndEnded\":null}"));
        end();
}
END_TEST

static const Exchange plain[] = { { ANSWER("", "") } };

START_TEST(without_it_nothing_is_said_of_it) {
        begin(plain, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_ptr_null(strstr(ctl.asked, "\"window\":true"));
        ck_assert_ptr_null(strstr(ctl.out, "lived"));
        end();
}
END_TEST

static const Exchange refused[] = { {
        REPLIES("{\"error\":\"io.ctprof.Profiler.NoWindow\",\"parameters\":{\"reason\":"
                "\"\\\"a\\\" and \\\"b\\\" are from different boots\"}}"),
} };

START_TEST(what_has_no_window_is_an_error) {
        begin(refused, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--window");
        expect(1, "", "There is no such interval: \"a\" and \"b\" are from different boots.\n");
        end();
}
END_TEST

static const char *const two_sided[] = { "--window", "--no-pairing", "--pair=/a=/b" };

START_TEST(one_snapshot_has_none_of_it) {
        char sentence[128];

        (void) snprintf(sentence, sizeof(sentence),
                        "%.*s is for an interval (A..B): one snapshot has none.\n",
                        (int) strcspn(two_sided[_i], "="), two_sided[_i]);
        begin(NULL, 0);
        CTL_RUN(&ctl, "show", "a", two_sided[_i]);
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_str_eq(ctl.err, sentence);
        end();
}
END_TEST

static const Exchange paired[] = { {
        ANSWER("",
               ",\"pairings\":[{\"before\":\"/old\\uefff\",\"after\":\"/new\",\"by\":\"content\","
               "\"shared\":23,\"jaccard\":0.92},{\"before\":\"/s\",\"after\":\"/t\",\"by\":"
               "\"stated\",\"shared\":0,\"jaccard\":null},{\"before\":\"/s/x\",\"after\":"
               "\"/t/x\",\"by\":\"parent\",\"shared\":2,\"jaccard\":1}],\"hiddenPairings\":4"),
} };

START_TEST(pairs_are_listed_with_their_grounds) {
        begin(paired, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by=cgroup", "--pair", "/s=/t", "--rows");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"pairs\":[{\"old\":\"/s\",\"new\":\"/t\"}]"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nPaired by content (7 cgroups)\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "     23   92.0% content\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "      0       - --pair\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "      2  100.0% parent\nand 4 more\n"));
        end();
}
END_TEST

START_TEST(the_overview_counts_pairs_that_are_not_told) {
        begin(paired, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by=cgroup", "--pair", "/s=/t");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\n7 cgroups paired by content (--rows lists them)\n"));
        end();
}
END_TEST

START_TEST(json_has_the_pairs) {
        begin(paired, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by=cgroup", "--no-pairing", "--json=short");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"pairing\":false"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"pairings\":[{\"before\":\"/old"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"hiddenPairings\":4"));
        end();
}
END_TEST

START_TEST(a_pair_that_matches_nothing_is_told) {
        begin(paired, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by=cgroup", "--pair", "/s=/t", "--pair=/s=/u");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_eq(strstr(ctl.err, "--pair \"/s\"=\"/u\" paired nothing: "), ctl.err);
        end();
}
END_TEST

START_TEST(pairs_need_cgroups) {
        begin(plain, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--pair", "/s=/t");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_str_eq(ctl.err, "--pair does nothing under --group-by pcomm: groups by cgroup or "
                                  "all have cgroups.\n");
        ck_assert_ptr_null(strstr(ctl.out, "Paired"));
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-window");
        TCase *lives = tcase_create("window"), *pairs = tcase_create("pairs");
        TCase *line = tcase_create("command line");

        tcase_add_test(lives, a_window_is_asked_for_and_explained);
        tcase_add_test(lives, json_has_the_window);
        tcase_add_test(lives, without_it_nothing_is_said_of_it);
        tcase_add_test(lives, what_has_no_window_is_an_error);
        suite_add_tcase(suite, lives);
        tcase_add_test(pairs, pairs_are_listed_with_their_grounds);
        tcase_add_test(pairs, the_overview_counts_pairs_that_are_not_told);
        tcase_add_test(pairs, json_has_the_pairs);
        tcase_add_test(pairs, a_pair_that_matches_nothing_is_told);
        tcase_add_test(pairs, pairs_need_cgroups);
        suite_add_tcase(suite, pairs);
        tcase_add_loop_test(line, one_snapshot_has_none_of_it, 0, ELEMENTSOF(two_sided));
        suite_add_tcase(suite, line);
        return check_main(suite);
}
