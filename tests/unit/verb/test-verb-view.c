/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"
#include "render/printable.h"

static const Exchange compared[] = { { REPLIES(COMPARED("60012000000", HEAD("a"), HEAD("b"))) } };

START_TEST(compare_prints_heads_rows_and_what_is_hidden) {
        begin(compared, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--rows");
        expect(0,
               "before    a, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
               "after     b, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
               "totals    of whole lives, which differ in length; captured 1min 0.012s apart\n"
               "changed   kernel.x: 0 \u2192 1\n"
               "missing   io: 201 of 213 threads refused (--verbose)\n"
               "\n"
               "process   threads metric      before            after             delta"
               "                 %          rate\n"
               "nginx\\x1b     3\u21924 run_time    1.000s 18446744073.710s +18446744072.710s"
               " +1844674407271.0% +307.446 CPUs\n"
               "nginx\\x1b     3\u21924 policy           S          R (2/4)           differs"
               "                 -             -\n"
               "nginx\\x1b     3\u21924 avg_slice 100.50ns                -                 -"
               "                 -             -\n"
               "nginx\\x1b     3\u21924 run_time    1.000s 18446744073.710s +18446744072.710s"
               " +1844674407271.0% +307.446 CPUs\n"
               "nginx\\x1b     3\u21924 policy           S          R (2/4)           differs"
               "                 -             -\n"
               "nginx\\x1b     3\u21924 avg_slice 100.50ns                -                 -"
               "                 -             -\n"
               "\n"
               "only in BEFORE (1 group)\n"
               "process threads run_time wait_time voluntary_csw hiwater_rss\n"
               "gone          2  5.000ms         -             -           -\n"
               "\n"
               "7 unchanged rows hidden (--all-rows)\n"
               "2 more groups (--limit 0)\n",
               "");
        ck_assert_ptr_nonnull(
                strstr(ctl.asked, "\"before\":{\"name\":\"a\"},\"after\":{\"name\":\"b\"}"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":40"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"changedOnly\":true"));
        end();
}
END_TEST

START_TEST(compare_json_is_the_contract_digit_by_digit) {
        begin(compared, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--json=short");
        expect(0,
               "{\"before\":" HEAD("a") ",\"after\":" HEAD(
                       "b") ",\"sameBoot\":true,"
                            "\"elapsedNs\":60012000000,"
                            "\"hostChanges\":[{\"key\":\"kernel.x\",\"before\":\"0\",\"after\":"
                            "\"1\"}],"
                            "\"groups\":[" GROUP "," GROUP "],\"onlyBefore\":[" ONLY
                            "],\"onlyAfter\":[],"
                            "\"sections\":{},\"sourcesBefore\":" SOME_SOURCES
                            ",\"sourcesAfter\":" SOME_SOURCES ","
                            "\"hiddenRows\":7,\"hiddenGroups\":2}\n",
               "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":0"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"changedOnly\":false"));
        end();
}
END_TEST

#define IDLE_ONLY "{\"key\":\"idle\",\"process\":\"idle\",\"threads\":1,\"metrics\":{}}"
/* Ten groups that only BEFORE has, and another one. */
// clang-format off
#define ONLY_IN_BEFORE(last, hidden)                                                               \
        { REPLIES("{\"parameters\":{\"before\":" HEAD("a") ",\"after\":" HEAD("b") ","             \
                  "\"sourcesBefore\":[],\"sourcesAfter\":[],\"sameBoot\":true,\"elapsedNs\":5,"    \
                  "\"hostChanges\":[]},\"continues\":true}\0"                                      \
                  "{\"parameters\":{\"onlyBefore\":[" ONLY "," ONLY "," ONLY "," ONLY "," ONLY "," \
                  ONLY "," ONLY "," ONLY "," ONLY "," ONLY "," last "]},\"continues\":true}\0"     \
                  "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0,"          \
                  "\"hiddenOnlyBefore\":" hidden "}}") }
// clang-format on

static const struct {
        const Exchange exchange;
        const char *said;
} many_of_one_side[] = {
        { ONLY_IN_BEFORE(ONLY, "0"), "\nand 1 more that ran less\n" },
        { ONLY_IN_BEFORE(IDLE_ONLY, "0"), "\nand 1 more\n" },
        { ONLY_IN_BEFORE(ONLY, "2"), "\nand 3 more\n" },
};

START_TEST(groups_of_one_side_ran_less_where_that_is_known) {
        begin(&many_of_one_side[_i].exchange, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--rows");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, many_of_one_side[_i].said));
        end();
}
END_TEST

/* Sections in parts; a name that could end its quotes is dropped. */
static const Exchange in_parts[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"sources\":[]},\"continues\":true}\0"
             "{\"parameters\":{\"groups\":[]},"
             "\"continues\":true}\0"
             "{\"parameters\":{\"sections\":{\"cgroup-stats\":"
             "[{\"cgroup\":\"/a\"}],\"x\\\"y\":[1],"
             "\"memory-stat\":[{\"key\":\"anon\"}]}},"
             "\"continues\":true}\0"
             "{\"parameters\":{\"sections\":{\"memory-stat\":"
             "[{\"key\":\"file\"}],\"memory-events\":[]},"
             "\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(sections_in_parts_become_one) {
        begin(in_parts, 1);
        CTL_RUN(&ctl, "show", "a", "--json=short");
        expect(0,
               "{\"snapshot\":" HEAD("a") ",\"groups\":[],\"sections\":{\"cgroup-stats\":"
                                          "[{\"cgroup\":\"/a\"}],\"memory-stat\":"
                                          "[{\"key\":\"anon\"},{\"key\":\"file\"}],"
                                          "\"memory-events\":[]},\"sources\":[],"
                                          "\"hiddenRows\":0,\"hiddenGroups\":0}\n",
               "");
        end();
}
END_TEST

static const Exchange above[] = { { REPLIES(
        "{\"parameters\":{\"before\":" HEAD("a") ",\"after\":" HEAD(
                "b") ",\"sameBoot\":false,\"elapsedNs\":null,\"hostChanges\":[],"
                     "\"sourcesBefore\":[],\"sourcesAfter\":[]},\"continues\":true}\0"
                     "{\"parameters\":{\"sections\":{},\"hiddenRows\":2,\"hiddenGroups\":0,"
                     "\"rowsAboveThreshold\":1}}") } };
static const Exchange below[] = { { REPLIES(
        "{\"parameters\":{\"before\":" HEAD("a") ",\"after\":" HEAD(
                "b") ",\"sameBoot\":false,\"elapsedNs\":null,\"hostChanges\":[],"
                     "\"sourcesBefore\":[],\"sourcesAfter\":[]},\"continues\":true}\0"
                     "{\"parameters\":{\"sections\":{},\"hiddenRows\":2,\"hiddenGroups\":0,"
                     "\"rowsAboveThreshold\":0}}") } };
static const char *const forms[] = { "--json", "--format=csv", "--format=ndjson",
                                     "--format=table" };

START_TEST(a_threshold_decides_the_exit_status) {
        begin(above, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--threshold", "12.5", forms[_i]);
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 3);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"threshold\":12.5"));
        end();
        begin(below, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--threshold", "12.5", forms[_i]);
        ck_assert_int_eq(ctl.status, 0);
        end();
}
END_TEST

START_TEST(a_threshold_says_what_it_hides) {
        begin(above, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--threshold", "5");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\n2 rows hidden that did not move by more (--threshold)\n"));
        CTL_RUN(&ctl, "compare", "a", "b", "--threshold", "5", "--json");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"rowsAboveThreshold\":1}\n"));
        end();
}
END_TEST

static const Exchange no_groups[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"sources\":[]},\"continues\":true}\0"
             "{\"parameters\":{\"groups\":[],\"sections\":{},\"hiddenRows\":0,"
             "\"hiddenGroups\":0}}") } };

#define MATCHED(n)                                                                                 \
        {                                                                                          \
                REPLIES("{\"parameters\":{\"kind\":\"interval\",\"matchedGroups\":" n              \
                        ",\"before\":" HEAD("a") ",\"sourcesBefore\":[],\"after\":" HEAD(          \
                                "b") ",\"sourcesAfter\":[],\"sameBoot\":true,\"elapsedNs\":1000}," \
                                     "\"continues\":true}\0"                                       \
                                     "{\"parameters\":{\"groups\":[],\"sections\":{},"             \
                                     "\"hiddenRows\":7,"                                           \
                                     "\"hiddenGroups\":0}}")                                       \
        }
static const Exchange none_match[] = { MATCHED("0") };
static const Exchange some_match[] = { MATCHED("2") };

START_TEST(that_nothing_matches_and_that_nothing_changed_are_two_sentences) {
        begin(none_match, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--filter=x");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nno group matches the filter\n"));
        ck_assert_ptr_null(strstr(ctl.out, "nothing changed"));
        CTL_RUN(&ctl, "compare", "a", "b", "--filter=x", "-q");
        ck_assert_ptr_null(strstr(ctl.out, "no group"));
        end();
        begin(some_match, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--filter=x");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\nnothing changed in groups that match the filter\n"));
        ck_assert_ptr_null(strstr(ctl.out, "no group matches"));
        end();
}
END_TEST

START_TEST(json_says_how_many_groups_the_filter_lets_through) {
        begin(some_match, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--filter=x", "--json");
        ck_assert_ptr_nonnull(strstr(ctl.out, "{\"kind\":\"interval\",\"matchedGroups\":2,"));
        end();
        begin(compared, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--json");
        ck_assert_ptr_null(strstr(ctl.out, "matchedGroups"));
        end();
}
END_TEST

START_TEST(an_empty_table_is_a_sentence) {
        begin(below, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--rows");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\n\nnothing changed\n\n2 unchanged rows hidden"));
        ck_assert_ptr_null(strstr(ctl.out, "metric"));
        CTL_RUN(&ctl, "compare", "a", "b", "--threshold=5");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\nno row of a group moved by more than the threshold\n"));
        CTL_RUN(&ctl, "compare", "a", "b", "--filter=x");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\nnothing changed in groups that match the filter\n"));
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by=all", "-q");
        ck_assert_ptr_null(strstr(ctl.out, "nothing"));
        end();
        begin(no_groups, 1);
        CTL_RUN(&ctl, "show", "a");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nno values\n"));
        CTL_RUN(&ctl, "show", "a", "--filter=x");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nno group matches the filter\n"));
        end();
}
END_TEST

START_TEST(the_view_is_asked_for_as_it_was_given) {
        begin(below, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by=all", "--cgroup-flatten", "/a/*",
                "--cgroup-flatten=/b/**", "--no-cg-normalize", "--filter", "x*", "--sort-by",
                "minflt:asc,run_time_ns");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"groupBy\":\"all\""));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"cgroupNormalize\":false"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"cgroupFlatten\":[\"/a/*\",\"/b/**\"]"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"filter\":\"x*\""));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"sortBy\":\"minflt:asc,run_time_ns"));
        end();
}
END_TEST

START_TEST(an_explicit_limit_is_for_json_too) {
        begin(compared, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--json", "--limit", "5");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":5"));
        end();
}
END_TEST

static const Exchange swapped[] = { { REPLIES(
        COMPARED("5,\"swapped\":true", HEAD("b"), HEAD("a"))) } };
static const Exchange apart[] = { { REPLIES(
        "{\"parameters\":{\"before\":{\"name\":\"a\",\"hostName\":\"h\",\"bootId\":\"1\"},"
        "\"after\":{\"name\":\"b\",\"hostName\":\"h\",\"bootId\":\"2\"},\"sameBoot\":false,"
        "\"elapsedNs\":null,\"hostChanges\":[],\"sourcesBefore\":[],\"sourcesAfter\":[]},"
        "\"continues\":true}\0{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}"
        "}") } };

static const Exchange elsewhere[] = { { REPLIES(
        "{\"parameters\":{\"before\":{\"name\":\"a\",\"hostName\":\"h\",\"machineId\":\"1\"},"
        "\"after\":{\"name\":\"b\",\"hostName\":\"h\",\"machineId\":\"2\"},\"sameBoot\":false,"
        "\"elapsedNs\":null,\"hostChanges\":[],\"sourcesBefore\":[],\"sourcesAfter\":[]},"
        "\"continues\":true}\0{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}"
        "}") } };

START_TEST(what_compares_of_two_hosts_is_told) {
        begin(elsewhere, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "the snapshots are of different hosts: levels, peaks and limits "
                                "compare, and work by two intervals (A..B C..D)\n"));
        end();
}
END_TEST

START_TEST(a_swap_of_the_sides_is_told) {
        begin(swapped, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--json");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_str_eq(ctl.err,
                         "\"b\" is older than \"a\": the sides were swapped, so that it is "
                         "BEFORE.\n");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"swapped\":true,"));
        end();
}
END_TEST

START_TEST(without_one_boot_there_is_no_time_between) {
        begin(apart, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "totals    of whole lives, which differ in length; "
                                              "the snapshots are of different boots\n"));
        ck_assert_ptr_null(strstr(ctl.out, "hidden"));
        CTL_RUN(&ctl, "compare", "a", "b", "--json");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"sameBoot\":false,\"elapsedNs\":null,"));
        end();
}
END_TEST

START_TEST(raw_and_columns_are_the_users) {
        begin(compared, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--raw", "--columns", "metric,delta,unit,tags,arrow",
                "--no-legend");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "run_time_ns  18446744072709551615 ns   [SCHED_INFO] "
                                              "1000000000 \u2192 18446744073709551615\n"));
        ck_assert_ptr_null(strstr(ctl.out, "metric "));
        ck_assert_ptr_null(strstr(ctl.out, "hidden"));
        end();
}
END_TEST

static const Exchange long_name[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"sources\":[]},\"continues\":true}\0"
             "{\"parameters\":{\"groups\":[{\"key\":\"/system.slice/"
             "a-service-of-a-name-that-takes.slice/all-"
             "of-the-line-and-then-some.service\",\"threads\":1,\"metrics\":{\"minflt\":{\"value\":"
             "1}}}]},"
             "\"continues\":true}\0"
             "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

#define LEAF(cgroup, process, thread, value)                                        \
        "{\"key\":\"k\"," cgroup "\"process\":\"" process "\",\"thread\":\"" thread \
        "\",\"threads\":1,\"metrics\":{\"minflt\":{\"value\":" value                \
        "},\"majflt\":{\"value\":0}}}"

static const Exchange forest[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"sources\":[]},\"continues\":true}\0"
             "{\"parameters\":{\"groups\":[" LEAF("\"cgroup\":\"/b\",", "p", "t2", "9") "," LEAF(
                     "", "q", "t",
                     "8") "," LEAF("\"cgroup\":\"/b\",", "o", "",
                                   "7") "]},"
                                        "\"continues\":true}\0"
                                        "{\"parameters\":{\"groups\":[" LEAF(
                                                "\"cgroup\":\"/b\",", "p", "t1",
                                                "6") "]},"
                                                     "\"continues\":true}\0"
                                                     "{\"parameters\":{\"sections\":{},"
                                                     "\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(all_at_once_is_a_tree) {
        const char *tree;

        begin(forest, 1);
        CTL_RUN(&ctl, "show", "a", "--group-by", "all", "--rows");
        ck_assert_int_eq(ctl.status, 0);
        tree = strstr(ctl.out, "cgroup / process / thread ");
        ck_assert_ptr_nonnull(tree);
        ck_assert_str_eq(tree, "cgroup / process / thread threads metric value\n"
                               "/b\n"
                               "\u251c\u2500p\n"
                               "\u2502 \u251c\u2500t2                          1 minflt     9\n"
                               "\u2502 \u2502 t2                          1 majflt     0\n"
                               "\u2502 \u2514\u2500t1                          1 minflt     6\n"
                               "\u2502   t1                          1 majflt     0\n"
                               "\u2514\u2500o\n"
                               "  \u2514\u2500\"\"                          1 minflt     7\n"
                               "    \"\"                          1 majflt     0\n"
                               "(unknown)\n"
                               "\u2514\u2500q\n"
                               "  \u2514\u2500t                           1 minflt     8\n"
                               "    t                           1 majflt     0\n");
        CTL_RUN(&ctl, "show", "a", "--group-by", "all", "--columns", "metric,value", "--no-legend");
        ck_assert_ptr_nonnull(strstr(ctl.out, "minflt 9\nmajflt 0\nminflt 6\n"));
        CTL_RUN(&ctl, "show", "a", "--group-by", "all", "--format", "csv", "--no-legend");
        ck_assert_ptr_nonnull(strstr(ctl.out, ",/b,p,t2,,,,1,primary,minflt,"));
        ck_assert(strstr(ctl.out, ",/b,p,t2,") < strchr(ctl.out, '\r'));
        CTL_RUN(&ctl, "show", "a", "--group-by", "all", "--json");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\"groups\":[" LEAF("\"cgroup\":\"/b\",", "p", "t2", "9") ","));
        end();
}
END_TEST

START_TEST(wrap_shows_names_whole) {
        begin(long_name, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "show", "a", "--group-by", "cgroup");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\n\u2026"));
        CTL_RUN_TERMINAL(&ctl, 80, "show", "a", "--group-by", "cgroup", "--wrap");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\n/system.slice/a-service-of-a-name-that-takes.slice/"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "and-then-some.service\r\n"));
        ck_assert_ptr_null(strstr(ctl.out, "\u2026"));
        CTL_RUN(&ctl, "show", "a", "--group-by", "cgroup", "--wrap");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "takes.slice/all-of-the-line-and-then-some.service "));
        end();
}
END_TEST

START_TEST(compare_fits_a_terminal) {
        const size_t columns = (size_t) _i;
        char *rest;

        begin(compared, 1);
        CTL_RUN_TERMINAL(&ctl, (unsigned short) columns, "compare", "a", "b", "--columns",
                         "group,metric,delta");
        ck_assert_int_eq(ctl.status, 0);
        for (char *line = strtok_r(ctl.out, "\r\n", &rest); line;
             line = strtok_r(NULL, "\r\n", &rest))
                ck_assert_uint_le(printable_width(span_of(line)), MAX_OF(columns, (size_t) 80));
        end();
}
END_TEST

/* rows */

static const char compared_names[] =
        "kind,group_by,before_snapshot,before_host,before_machine_id,before_boot_id,before_kernel_"
        "release,before_tool_version,before_start_realtime_ns,before_end_realtime_ns,before_start_"
        "boottime_ns,before_end_boottime_ns,"
        "after_snapshot,after_host,after_machine_id,after_boot_id,after_kernel_release,after_tool_"
        "version,after_start_realtime_ns,after_end_realtime_ns,after_start_boottime_ns,after_end_"
        "boottime_ns,same_boot,elapsed_ns,cpus,"
        "side,cgroup,process,thread,pid,tid,start_ticks,before_threads,after_threads,section,"
        "metric,rule,unit,before,before_min,before_max,before_text,before_count,before_total,after,"
        "after_min,after_max,after_text,after_count,after_total,delta,percent,per_second,changed,"
        "reset,reason,approximate,implausible,before_top_tid,before_top_name,before_top_value,"
        "before_p50,before_p99,"
        "top_tid,top_name,top_value,p50,p99\r\n";
#define COMPARED_HEAD                                                                            \
        "totals,pcomm,a,h,,,6.1,,1795188901123456789,,,,b,h,,,6.1,,1795188901123456789,,,,true," \
        "60012000000,,"
static const char compared_rows[] = COMPARED_HEAD
        "both,,nginx,,,,,3,4,primary,run_time_ns,SumNs,ns,1000000000,,,,,,18446744073709551615,,,,,"
        ","
        "18446744072709551615,1844674407270.9551,307445734545.1592,true,false,,,,,,,,,,,,,"
        "\r\n" COMPARED_HEAD "both,,nginx,,,,,3,4,primary,policy,Mode,none,,,,S,3,3,,,,R,2,4,,,,"
        "true,false,,,,,,,,,,,,,\r\n" COMPARED_HEAD
        "both,,nginx,,,,,3,4,derived,avg_slice_ns,Derived,ns,100.5,,,,,,,,,,,,,,,true,false,,,,,,,,"
        ",,,,,"
        "\r\n";
static const char only_row[] =
        COMPARED_HEAD "before,,gone,,,,,2,,primary,run_time_ns,SumNs,ns,5000000,,,,,,,,,,,,,,,,,"
                      "after: there is no such group,,,,,,,,,,,,\r\n";

START_TEST(compare_csv_is_a_row_a_metric) {
        char expected[4096];

        (void) snprintf(expected, sizeof(expected), "%s%s%s%s", compared_names, compared_rows,
                        compared_rows, only_row);
        begin(compared, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--format", "csv");
        expect(0, expected, "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":0"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"changedOnly\":false"));
        CTL_RUN(&ctl, "compare", "a", "b", "--format=csv", "--no-legend", "--limit=3");
        expect(0, expected + strlen(compared_names), "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":3"));
        end();
}
END_TEST

#define ROW_HEAD(side)                                                                            \
        "\"" side "snapshot\":\"a\",\"" side "host\":\"h\",\"" side "machine_id\":null,\"" side   \
        "boot_id\":null,\"" side "kernel_release\":\"6.1\",\"" side "tool_version\":null,\"" side \
        "start_realtime_ns\":1795188901123456789,\"" side "end_realtime_ns\":null,\"" side        \
        "start_boottime_ns\":null,\"" side "end_boottime_ns\":null,"

static const Exchange compared_short[] = { { REPLIES(
        "{\"parameters\":{\"before\":" HEAD("a") ",\"sourcesBefore\":[],\"after\":" HEAD(
                "a") ",\"sourcesAfter\":[],\"sameBoot\":true,\"elapsedNs\":5,\"hostChanges\":[]},"
                     "\"continues\":true}\0"
                     "{\"parameters\":{\"onlyAfter\":[" ONLY "]},\"continues\":true}\0"
                     "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(compare_ndjson_is_an_object_a_row) {
        begin(compared_short, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--format", "ndjson");
        expect(0,
               "{\"kind\":\"totals\",\"group_by\":\"pcomm\"," ROW_HEAD("before_") ROW_HEAD(
                       "after_") "\"same_boot\":true,\"elapsed_ns\":5,\"cpus\":null,\"side\":"
                                 "\"after\","
                                 "\"cgroup\":null,"
                                 "\"process\":\"gone\",\"thread\":null,\"pid\":null,\"tid\":null,"
                                 "\"start_ticks\":null,\"before_threads\":null,\"after_threads\":2,"
                                 "\"section\":\"primary\",\"metric\":\"run_time_ns\",\"rule\":"
                                 "\"SumNs\",\"unit\":\"ns\","
                                 "\"before\":null,\"before_min\":null,\"before_max\":null,\"before_"
                                 "text\":null,"
                                 "\"before_count\":null,\"before_total\":null,\"after\":5000000,"
                                 "\"after_min\":null,\"after_max\":null,\"after_text\":null,"
                                 "\"after_count\":null,\"after_total\":null,\"delta\":null,"
                                 "\"percent\":null,"
                                 "\"per_second\":null,\"changed\":null,\"reset\":null,"
                                 "\"reason\":\"before: there is no such group\","
                                 "\"approximate\":null,\"implausible\":null,"
                                 "\"before_top_tid\":null,\"before_top_name\":null,"
                                 "\"before_top_value\":null,\"before_p50\":null,"
                                 "\"before_p99\":null,\"top_tid\":null,\"top_name\":null,"
                                 "\"top_value\":null,\"p50\":null,\"p99\":null}\n",
               "");
        end();
}
END_TEST

/* A login shell. */
static const Exchange dashed[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":{\"name\":\"a\"},\"sources\":[]},\"continues\":true}\0"
        "{\"parameters\":{\"groups\":[{\"key\":\"-bash\",\"process\":\"-bash\",\"threads\":1,"
        "\"metrics\":{\"minflt\":{\"value\":1}}}]},\"continues\":true}\0"
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(both_forms_of_rows_escape_formulas_alike) {
        begin(dashed, 1);
        CTL_RUN(&ctl, "show", "a", "--format=csv");
        ck_assert_ptr_nonnull(strstr(ctl.out, ",\uef2dbash,"));
        CTL_RUN(&ctl, "show", "a", "--format=ndjson");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"process\":\"\uef2dbash\","));
        CTL_RUN(&ctl, "show", "a", "--format=csv", "--formulas");
        ck_assert_ptr_nonnull(strstr(ctl.out, ",-bash,"));
        CTL_RUN(&ctl, "show", "a", "--format=ndjson", "--formulas");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"process\":\"-bash\","));
        CTL_RUN(&ctl, "show", "a", "--json", "--formulas");
        ck_assert_int_eq(ctl.status, 2);
        end();
}
END_TEST

/* show */

static const Exchange shown[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"sources\":" SOME_SOURCES "},\"continues\":true}\0"
             "{\"parameters\":{\"groups\":[{\"key\":\"1\\u001f2\\u001f3\\u001fp\\u001ft\","
             "\"process\":\"p\","
             "\"thread\":\"t\",\"pid\":1,\"tid\":2,\"startTicks\":3,\"threads\":1,\"metrics\":"
             "{\"nice\":{\"value\":{\"min\":0,\"max\":5},\"present\":1},\"cpu_affinity\":{"
             "\"value\":"
             "{\"minCpus\":2,\"maxCpus\":2,\"uniform\":true,\"cpus\":\"0-1\"},\"present\":1},"
             "\"new_metric\":{\"value\":null,\"present\":0,\"reason\":\"x\"}},\"derived\":{}},"
             "{\"key\":\"\",\"threads\":1,\"metrics\":{\"minflt\":{\"value\":1500,\"present\":1}}}]"
             "},"
             "\"continues\":true}\0"
             "{\"parameters\":{\"sections\":{},\"hiddenRows\":1,\"hiddenGroups\":0}}") } };

/* An alpha, of which no snapshot exists, counts 1024 ticks a second. */
static const Exchange ticking[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":{\"name\":\"a\",\"userHz\":1024},\"sources\":[]},"
        "\"continues\":true}\0"
        "{\"parameters\":{\"groups\":[{\"key\":\"p\",\"process\":\"p\",\"threads\":1,\"metrics\":{"
        "\"utime_clock_ticks\":{\"value\":2560}}}]},\"continues\":true}\0"
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(ticks_are_as_long_as_the_head_says) {
        begin(ticking, 1);
        CTL_RUN(&ctl, "show", "a", "--rows");
        ck_assert_ptr_nonnull(strstr(ctl.out, " utime  2.500s\n"));
        end();
}
END_TEST

START_TEST(show_prints_values) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "latest~2", "--group-by", "thread", "--rows");
        expect(0,
               "snapshot  a, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
               "missing   io: 201 of 213 threads refused (--verbose)\n"
               "\n"
               "thread    threads metric              value\n"
               "p/t[2]          1 nice               [0, 5]\n"
               "p/t[2]          1 cpu_affinity 2 cpus (0-1)\n"
               "p/t[2]          1 new_metric              -\n"
               "(unknown)       1 minflt             1.500K\n"
               "\n"
               "1 empty row hidden (--all-rows)\n",
               "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"snapshot\":{\"name\":\"latest~2\"}"));
        end();
}
END_TEST

// clang-format off
static const Exchange two_intervals[] = { { REPLIES(
        "{\"parameters\":{\"kind\":\"intervals\","
        "\"a\":{\"before\":" HEAD("a") ",\"after\":" HEAD("b") ",\"elapsedNs\":5},"
        "\"b\":{\"before\":" HEAD("c") ",\"after\":" HEAD("d") ",\"elapsedNs\":6},"
        "\"sameBoot\":false,\"hostChanges\":[],"
        "\"host\":{\"a\":{\"cpus\":2},\"b\":{\"cpus\":4}}},\"continues\":true}\0"
        "{\"parameters\":{\"groups\":[{\"key\":\"p\",\"process\":\"p\",\"threads\":{\"a\":2,"
        "\"b\":3},"
        "\"metrics\":{\"run_time_ns\":{\"a\":1.5,\"b\":3,\"delta\":1.5,\"percent\":100}}}]},"
        "\"continues\":true}\0"
        "{\"parameters\":{\"onlyB\":[{\"key\":\"n\",\"process\":\"n\",\"threads\":1,"
        "\"metrics\":{\"run_time_ns\":{\"value\":7}}}]},\"continues\":true}\0"
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };
// clang-format on

/* Each of them has a head, and rates where two snapshots have totals. */
START_TEST(two_intervals_are_rows_of_a_and_b) {
        static const char *const parts[] = {
                "{\"kind\":\"intervals\",\"group_by\":\"pcomm\",\"a_before_snapshot\":\"a\",",
                ",\"a_after_snapshot\":\"b\",",
                ",\"a_elapsed_ns\":5,\"a_cpus\":2,\"b_before_snapshot\":\"c\",",
                ",\"b_elapsed_ns\":6,\"b_cpus\":4,\"same_boot\":false,\"side\":\"both\",",
                ",\"a_threads\":2,\"b_threads\":3,\"section\":\"primary\",",
                ",\"unit\":\"ns\",\"a\":1.5,\"a_min\":null,",
                ",\"b\":3,\"b_min\":null,\"b_max\":null,\"b_text\":null,\"b_count\":null,",
                "\"b_total\":null,\"delta\":1.5,\"percent\":100,\"reason\":null,",
                "\"approximate\":null,\"implausible\":null}\n",
                ",\"side\":\"b\",\"cgroup\":null,\"process\":\"n\",",
                ",\"a_threads\":null,\"b_threads\":1,",
                ",\"b\":7,",
                ",\"reason\":\"A: there is no such group\",",
        };

        begin(two_intervals, 1);
        CTL_RUN(&ctl, "compare", "a..b", "c..d", "--format", "ndjson");
        ck_assert_str_eq(ctl.err, "");
        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                ck_assert_msg(strstr(ctl.out, parts[i]), "%s is not in %s", parts[i], ctl.out);
        end();
}
END_TEST

// clang-format off
static const Exchange one_interval[] = { { REPLIES(
        "{\"parameters\":{\"kind\":\"interval\",\"before\":" HEAD("a") ",\"after\":" HEAD("b") ","
        "\"sourcesBefore\":[],\"sourcesAfter\":[],\"sameBoot\":true,\"elapsedNs\":5,"
        "\"hostChanges\":[],\"host\":{\"cpus\":2}},\"continues\":true}\0"
        "{\"parameters\":{\"groups\":[{\"key\":\"p\",\"process\":\"p\",\"threadsBefore\":2,"
        "\"threadsAfter\":3,\"metrics\":{\"run_time_ns\":{\"before\":1,\"after\":4,\"delta\":3,"
        "\"work\":9,\"percent\":300,\"perSecond\":0.6,\"changed\":true,\"reset\":false}}}]},"
        "\"continues\":true}\0"
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };
// clang-format on

START_TEST(an_interval_has_its_work_in_its_rows) {
        begin(one_interval, 1);
        CTL_RUN(&ctl, "show", "a..b", "--format", "ndjson");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.out, "{\"kind\":\"interval\","));
        ck_assert_ptr_nonnull(strstr(ctl.out, ",\"elapsed_ns\":5,\"cpus\":2,\"host\":"));
        ck_assert_ptr_nonnull(strstr(ctl.out, ",\"work\":9,\"delta\":3,\"percent\":300,"
                                              "\"per_second\":0.6,"));
        CTL_RUN(&ctl, "show", "a..b", "--format", "csv");
        ck_assert_ptr_nonnull(strstr(ctl.out, ",after_total,work,delta,percent,per_second,"));
        end();
}
END_TEST

#define SHOWN_HEAD "state,pcomm,a,h,,,6.1,,1795188901123456789,,,,,"

START_TEST(show_csv_has_columns_of_one_type) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "a", "--format", "csv");
        expect(0,
               "kind,group_by,snapshot,host,machine_id,boot_id,kernel_release,tool_version,start_"
               "realtime_ns,end_realtime_ns,start_boottime_ns,end_boottime_ns,cpus,"
               "cgroup,process,thread,pid,tid,start_ticks,threads,section,metric,rule,unit,value,"
               "value_min,value_max,value_text,value_count,value_total,present,reason,"
               "approximate,implausible,"
               "top_tid,top_name,top_value,p50,p99\r\n" SHOWN_HEAD
               ",p,t,1,2,3,1,primary,nice,RangeI32,none,2.5,0,5,,,,1,,,,,,,,\r\n" SHOWN_HEAD
               ",p,t,1,2,3,1,primary,cpu_affinity,Affinity,none,2,2,2,0-1,,,1,,,,,,,,"
               "\r\n" SHOWN_HEAD ",p,t,1,2,3,1,,new_metric,,,,,,,,,0,x,,,,,,,\r\n" SHOWN_HEAD
               ",,,,,,1,primary,minflt,SumCount,count,1500,,,,,,1,,,,,,,,\r\n",
               "");
        end();
}
END_TEST

static const Exchange odd[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":{\"name\":\"a\"},\"sources\":[]},\"continues\":true}\0"
        "{\"parameters\":{\"groups\":[{\"key\":\"\",\"process\":\"\",\"threads\":1,\"metrics\":"
        "{\"m\":{\"value\":null,\"reason\":\"a, b\"}}},"
        "{\"key\":\"x\",\"process\":\"say \\\"hi\\\"\",\"threads\":1,\"metrics\":"
        "{\"m\":{\"value\":-18446744073709551615,\"reason\":\"a\\n\\u007fb\\u009b\"}}}]},"
        "\"continues\":"
        "true}\0"
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(csv_quotes_what_must_be_quoted) {
        begin(odd, 1);
        CTL_RUN(&ctl, "show", "a", "--format", "csv", "--no-legend");
        expect(0,
               "state,pcomm,a,,,,,,,,,,,,\"\",,,,,1,,m,,,,,,,,,,\"a, b\",,,,,,,\r\n"
               "state,pcomm,a,,,,,,,,,,,,\"say "
               "\"\"hi\"\"\",,,,,1,,m,,,-18446744073709551615,,,,,,,a\uef0a\uef7fb\uefc2\uef9b,,,,,"
               ","
               ","
               "\r\n",
               "");
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-view");
        TCase *view = tcase_create("view");

        tcase_add_test(view, compare_prints_heads_rows_and_what_is_hidden);
        tcase_add_loop_test(view, groups_of_one_side_ran_less_where_that_is_known, 0,
                            ELEMENTSOF(many_of_one_side));
        tcase_add_test(view, compare_json_is_the_contract_digit_by_digit);
        tcase_add_test(view, sections_in_parts_become_one);
        tcase_add_loop_test(view, a_threshold_decides_the_exit_status, 0, ELEMENTSOF(forms));
        tcase_add_test(view, a_threshold_says_what_it_hides);
        tcase_add_test(view, an_empty_table_is_a_sentence);
        tcase_add_test(view, that_nothing_matches_and_that_nothing_changed_are_two_sentences);
        tcase_add_test(view, json_says_how_many_groups_the_filter_lets_through);
        tcase_add_test(view, the_view_is_asked_for_as_it_was_given);
        tcase_add_test(view, an_explicit_limit_is_for_json_too);
        tcase_add_test(view, what_compares_of_two_hosts_is_told);
        tcase_add_test(view, a_swap_of_the_sides_is_told);
        tcase_add_test(view, without_one_boot_there_is_no_time_between);
        tcase_add_test(view, raw_and_columns_are_the_users);
        tcase_add_loop_test(view, compare_fits_a_terminal, 79, 82);
        tcase_add_test(view, all_at_once_is_a_tree);
        tcase_add_test(view, wrap_shows_names_whole);
        tcase_add_test(view, both_forms_of_rows_escape_formulas_alike);
        tcase_add_test(view, ticks_are_as_long_as_the_head_says);
        tcase_add_test(view, show_prints_values);
        tcase_add_test(view, compare_csv_is_a_row_a_metric);
        tcase_add_test(view, compare_ndjson_is_an_object_a_row);
        tcase_add_test(view, two_intervals_are_rows_of_a_and_b);
        tcase_add_test(view, an_interval_has_its_work_in_its_rows);
        tcase_add_test(view, show_csv_has_columns_of_one_type);
        tcase_add_test(view, csv_quotes_what_must_be_quoted);
        suite_add_tcase(suite, view);
        return check_main(suite);
}
