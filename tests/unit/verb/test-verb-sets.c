/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"

/* Newest first, as the daemon lists them. */
#define NAMES                                                                          \
        "{\"parameters\":{\"snapshots\":[{\"name\":\"next-2\"},{\"name\":\"next-1\"}," \
        "{\"name\":\"base-2\"},{\"name\":\"base-1\"},{\"name\":\"other\"}],\"unreadable\":[]}}"

#define SAMPLE(median) "{\"n\":4,\"median\":" median ",\"min\":1,\"max\":2500.5,\"q1\":1,\"q3\":2}"
#define SET_GROUP                                                                                  \
        "{\"key\":\"pool\",\"process\":\"pool\",\"threadsBefore\":4,\"threadsAfter\":4,"           \
        "\"metrics\":{\"run_time_ns\":{\"before\":" SAMPLE("1000000") ",\"after\":" SAMPLE(        \
                "1200000") ",\"delta\":200000,\"percent\":20,\"u\":16,\"p\":0.0286,"               \
                           "\"pAdjusted\":0.0429,\"significant\":true,\"perSecond\":true},"        \
                           "\"nr_threads\":{\"before\":" SAMPLE(                                   \
                                   "4") ",\"after\":null,\"delta\":null,\"percent\":null,"         \
                                        "\"u\":null,\"p\":null,\"pAdjusted\":null,"                \
                                        "\"significant\":false,\"perSecond\":false,"               \
                                        "\"reason\":\"after: gone\"}},"                            \
                                        "\"derived\":{\"cpu_efficiency\":{\"before\":" SAMPLE(     \
                                                "0.5") ",\"after\":" SAMPLE("0.25") ",\"delta\":-" \
                                                                                    "0.25,"        \
                                                                                    "\"percent\":" \
                                                                                    "null,"        \
                                                                                    "\"u\":0,"     \
                                                                                    "\"p\":0."     \
                                                                                    "00001,"       \
                                                                                    "\"pAdjusted"  \
                                                                                    "\":"          \
                                                                                    "0.00005,"     \
                                                                                    "\"significan" \
                                                                                    "t\":true,"    \
                                                                                    "\"perSecond"  \
                                                                                    "\":false}}}"

#define FIRST(tested, significant, least, needed)                                               \
        "{\"parameters\":{\"before\":[" HEAD("base-1") "," HEAD("base-2") "],\"after\":[" HEAD( \
                "next-1") "],\"sourcesBefore\":" SOME_SOURCES ",\"sourcesAfter\":" SOME_SOURCES \
                          ",\"alpha\":0.05,\"tested\":" tested ",\"significant\":" significant  \
                          ",\"leastP\":" least ",\"samplesNeeded\":" needed                     \
                          "},\"continues\":true}\0"
#define LAST(more)                                                                     \
        "{\"parameters\":{\"hiddenRows\":7,\"hiddenGroups\":1,\"groupsOnlyBefore\":2," \
        "\"groupsOnlyAfter\":1" more "}}"

static const Exchange sets[] = { {
        REPLIES(FIRST("3", "2", "0.0286", "null") "{\"parameters\":{\"groups\":[" SET_GROUP
                                                  "]},\"continues\":true}\0" LAST("")),
} };

START_TEST(sets_are_told_in_a_head_and_a_table) {
        begin(sets, 1);
        CTL_RUN(&ctl, "compare", "--before", "base-1,base-2", "--after", " next-1 , latest~3");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"method\":\"io.ctprof.Profiler.CompareSets\""));
        ck_assert_ptr_nonnull(strstr(ctl.asked,
                                     "\"before\":[{\"name\":\"base-1\"},{\"name\":\"base-2\"}],"
                                     "\"after\":[{\"name\":\"next-1\"},{\"name\":\"latest~3\"}]"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"changedOnly\":true"));
        ck_assert_ptr_null(strstr(ctl.asked, "alpha"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "before    2 captures, base-1 to base-2, 20"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "after     1 capture, next-1, 20"));
        ck_assert_ptr_nonnull(strstr(
                ctl.out,
                "tested    3 rows, adjusted for as many: 2 have an adjusted p below 0.05\n"));
        ck_assert_ptr_nonnull(strstr(
                ctl.out, "pool    run_time_ns    1.000ms/s 1.200ms/s +200.000µs/s +20.0%   0.043  "
                         "1ns..2.500µs/s  1ns..2.500µs/s 4+4\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "pool    nr_threads"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "<0.0001"));
        ck_assert_ptr_nonnull(strstr(ctl.out,
                                     "7 rows hidden that are not significant (--all-rows)\n"
                                     "1 more group (--limit 0)\n"
                                     "2 groups only in BEFORE, 1 group only in AFTER: not "
                                     "tested\n"));
        end();
}
END_TEST

// clang-format off: each group on lines of its own
#define WEIGHED(key, weight)                                                \
        "{\"key\":\"" key "\",\"process\":\"" key "\",\"threadsBefore\":1," \
        "\"threadsAfter\":1,\"metrics\":{},\"derived\":{},\"weight\":" weight
#define RATES(running, storage, exact, written)                                                    \
        "{\"runningNs\":" running ",\"waitingNs\":null,\"storageNs\":" storage ",\"exact\":" exact \
        ",\"readBytes\":0,\"writeBytes\":" written "}"
#define BEFORE ",\"rates\":{\"before\":"
#define AFTER ",\"after\":"
/* In the order of the daemon. */
#define WEIGHED_GROUPS                                                                          \
        "{\"parameters\":{\"groups\":[" WEIGHED("new", "0.5") BEFORE "null" AFTER RATES(        \
                "1000000000", "0", "true", "0") "}}," WEIGHED("less", "-0.25")                  \
                BEFORE RATES("840000000", "10000000", "true", "1048576")                        \
                        AFTER RATES("340000000", "20000000", "false", "1048576") "}}," WEIGHED( \
                                "tiny", "0.0001") BEFORE RATES("0", "null", "true", "0")        \
                                AFTER RATES("1000", "null", "true", "0") "}}," WEIGHED("old",   \
                                                                                       "null")  \
                                        BEFORE RATES("null", "null", "true", "null") AFTER      \
                "null"                                                                          \
                "}}]},\"continues\":true}\0"
// clang-format on

static const Exchange untested[] = { {
        REPLIES(FIRST("3", "0", "0.0286", "6") WEIGHED_GROUPS LAST("")),
} };
static const Exchange tested[] = { {
        REPLIES(FIRST("3", "1", "0.001", "null") WEIGHED_GROUPS
                "{\"parameters\":{\"groups\":[" SET_GROUP "]},\"continues\":true}\0" LAST("")),
} };

#define WEIGHED_LINES                                                        \
        "\n\nGROUP THREADS       CPU WAIT         IO READ/S WRITE/S\n"       \
        "new     1 new    -\u21921.00    -          0      0       0\n"      \
        "less        1 0.84\u21920.34    - 0.01\u2192~0.02      0  1.0MiB\n" \
        "old    1 gone         -    -          -      0       -\n\n"

START_TEST(groups_without_a_test_have_a_line_each) {
        begin(untested, 1);
        CTL_RUN(&ctl, "compare", "--before", "base-1,base-2", "--after", "next-1");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.out, "with so few samples no test could succeed"));
        ck_assert_ptr_nonnull(strstr(ctl.out, WEIGHED_LINES "~ approximate: "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\n1 more group (--limit 0); 1 idle group"));
        ck_assert_ptr_null(strstr(ctl.out, "no difference is significant"));
        end();
}
END_TEST

START_TEST(a_newcomer_stands_where_it_weighs_above_the_rows) {
        begin(tested, 1);
        CTL_RUN(&ctl, "compare", "--before", "base-1,base-2", "--after", "next-1");
        ck_assert_ptr_nonnull(strstr(ctl.out, WEIGHED_LINES "process metric "));
        end();
}
END_TEST

START_TEST(eighty_columns_hold_what_matters) {
        char *line;

        begin(sets, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "--before", "base-1,base-2", "--after", "next-1");
        line = strstr(ctl.out, "run_time_ns");
        ck_assert_ptr_nonnull(line);
        ck_assert_ptr_nonnull(strstr(ctl.out, "1.200ms/s"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "0.043"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "no room for "));
        end();
}
END_TEST

START_TEST(json_is_one_object_with_all_of_it) {
        begin(sets, 1);
        CTL_RUN(&ctl, "compare", "--before", "base-1,base-2", "--after", "next-1", "--alpha",
                "0.01", "--json=short");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"alpha\":0.01"));
        ck_assert_ptr_null(strstr(ctl.asked, "\"changedOnly\":true"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":0"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"alpha\":0.05,\"tested\":3,\"significant\":2,"
                                              "\"leastP\":0.0286,\"samplesNeeded\":null,"
                                              "\"groups\":[" SET_GROUP "],\"sourcesBefore\":["));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"hiddenRows\":7,\"hiddenGroups\":1,"
                                              "\"groupsOnlyBefore\":2,\"groupsOnlyAfter\":1}\n"));
        end();
}
END_TEST

#define SET_HEAD                                                                             \
        "sets,pcomm,2,base-1,base-2,h,,,6.1,,1795188901123456789,,1,next-1,next-1,h,,,6.1,," \
        "1795188901123456789,,0.05,3,"

START_TEST(csv_is_a_row_a_metric) {
        begin(sets, 1);
        CTL_RUN(&ctl, "compare", "--before", "base-1,base-2", "--after", "next-1", "--format",
                "csv");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_null(strstr(ctl.asked, "\"changedOnly\":true"));
        ck_assert_str_eq(
                ctl.out,
                "kind,group_by,before_captures,before_first,before_last,before_host,before_machine_"
                "id,before_boot_id,before_kernel_release,before_tool_version,before_start_realtime_"
                "ns,before_end_realtime_ns,"
                "after_captures,after_first,after_last,after_host,after_machine_id,after_boot_id,"
                "after_kernel_release,after_tool_version,after_start_realtime_ns,after_end_"
                "realtime_ns,alpha,tested,"
                "cgroup,process,thread,before_threads,after_threads,section,metric,rule,unit,"
                "before_n,"
                "before_median,before_min,before_max,before_q1,before_q3,after_n,after_median,"
                "after_min,after_max,after_q1,after_q3,delta,percent,u,p,p_adjusted,significant,"
                "is_rate,reason,approximate\r\n" SET_HEAD
                ",pool,,4,4,primary,run_time_ns,SumNs,ns,4,1000000,1,2500.5,1,2,4,1200000,1,2500.5,"
                "1,2,"
                "200000,20,16,0.0286,0.0429,true,true,,\r\n" SET_HEAD
                ",pool,,4,4,primary,nr_threads,MaxGaugeCount,count,4,4,1,2500.5,1,2,,,,,,,,,,,,"
                "false,false,"
                "after: gone,\r\n" SET_HEAD ",pool,,4,4,derived,cpu_efficiency,Derived,ratio,4,0.5,"
                "1,2500.5,1,2,4,0.25,1,2500.5,1,2,"
                "-0.25,,0,0.00001,0.00005,true,false,,\r\n");
        end();
}
END_TEST

START_TEST(ndjson_rows_stand_for_themselves) {
        begin(sets, 1);
        CTL_RUN(&ctl, "compare", "--before", "base-1,base-2", "--after", "next-1", "--format",
                "ndjson");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "{\"kind\":\"sets\",\"group_by\":\"pcomm\",\"before_captures\":2,"
                                "\"before_first\":\"base-1\","
                                "\"before_last\":\"base-2\",\"before_host\":\"h\","
                                "\"before_machine_id\":null,\"before_boot_id\":null,"
                                "\"before_kernel_release\":\"6.1\",\"before_tool_version\":null,"
                                "\"before_start_realtime_ns\":1795188901123456789,"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"alpha\":0.05,\"tested\":3,\"cgroup\":null,"
                                              "\"process\":\"pool\""));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"p_adjusted\":0.0429,\"significant\":true,"
                                              "\"is_rate\":true,\"reason\":null,"
                                              "\"approximate\":null}\n"));
        end();
}
END_TEST

static const Exchange globbed[] = {
        { REPLIES(NAMES) },
        { REPLIES(FIRST("0", "0", "1", "null") LAST("")) },
};

START_TEST(globs_are_names_of_the_spool_in_the_order_of_captures) {
        begin(globbed, 2);
        CTL_RUN(&ctl, "compare", "--before", "other,base-*,base-1*", "--after", "next-?,x.zst");
        ck_assert_str_eq(ctl.err, "\"x.zst\" cannot be opened: No such file or directory.\n");
        ck_assert_int_eq(ctl.status, 1);
        end();

        begin(globbed, 2);
        CTL_RUN(&ctl, "compare", "--before", "other,base-*,base-1*", "--after", "next-?");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"before\":[{\"name\":\"other\"},{\"name\":"
                                                "\"base-1\"},{\"name\":\"base-2\"}],\"after\":["
                                                "{\"name\":\"next-1\"},{\"name\":\"next-2\"}]"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "tested    nothing: "));
        end();
}
END_TEST

static const Exchange few[] = { { REPLIES(FIRST("3000", "0", "0.0286", "10") LAST("")) } };

START_TEST(too_few_captures_are_said_with_how_many_would_do) {
        begin(few, 1);
        CTL_RUN(&ctl, "compare", "--before", "base-1,base-2", "--after", "next-1");
        ck_assert_ptr_nonnull(strstr(
                ctl.out,
                "          with so few samples no test could succeed: for one row alone to be "
                "significant it takes 10 a side, for rates 11 captures; or fewer rows (--filter, "
                "--metrics)\n"));
        end();
}
END_TEST

static const Exchange above[] = { {
        REPLIES(FIRST("3", "2", "0.0286", "null") LAST(",\"rowsAboveThreshold\":2")),
} };

START_TEST(significant_rows_above_the_threshold_end_in_3) {
        begin(above, 1);
        CTL_RUN(&ctl, "compare", "--before", "base-1,base-2", "--after", "next-1", "--threshold",
                "10");
        ck_assert_int_eq(ctl.status, 3);
        ck_assert_ptr_nonnull(strstr(ctl.out, "(--threshold)\n"));
        end();
}
END_TEST

#define PAIR_ANSWER                                                                    \
        "{\"parameters\":{\"before\":" HEAD("a") ",\"after\":" HEAD(                   \
                "b") ",\"sameBoot\":true,\"elapsedNs\":1000000000,\"hostChanges\":[]," \
                     "\"sourcesBefore\":[],\"sourcesAfter\":[]},\"continues\":true}\0" \
                     "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}"
static const Exchange pair[] = { { REPLIES(PAIR_ANSWER) } };

START_TEST(one_snapshot_a_side_is_the_plain_comparison) {
        begin(pair, 1);
        CTL_RUN(&ctl, "compare", "--before", "a", "--after", "b");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"io.ctprof.Profiler.Compare\""));
        end();
}
END_TEST

static const struct {
        const char *words[8];
        int status;
        const char *err;
} refused_rows[] = {
        { { "--before", "a" }, 2, "--before needs --after: sets have two sides.\n" },
        { { "--after", "a" }, 2, "--after needs --before: sets have two sides.\n" },
        { { "x", "--before", "a", "--after", "b" },
          2,
          "\"x\" is on neither side: with --before and --after all snapshots are in their "
          "lists.\n" },
        { { "--before", "a,,c", "--after", "b" },
          2,
          "--before has an empty entry: separate snapshots by one comma each.\n" },
        { { "--before", "a,", "--after", "b" },
          2,
          "--before has an empty entry: separate snapshots by one comma each.\n" },
        { { "--before", "", "--after", "b" }, 2, "--before is given an empty list.\n" },
        { { "--before", "a,c,a", "--after", "b" }, 2, "--before names \"a\" twice.\n" },
        { { "--before", "a,c", "--after", "b,c" },
          2,
          "\"c\" is in both sets: a snapshot is either before or after.\n" },
        { { "--before", "a,-c", "--after", "b" },
          2,
          "The snapshot name \"-c\" starts with a dash.\n" },
        { { "--before", "a[", "--after", "b" },
          2,
          "The glob \"a[\" in --before is wrong: a [ in it is never closed.\n" },
        { { "--before", "rack=1", "--after", "b" },
          2,
          "\"rack=1\" in --before names no member of a head: there are host, kernel, machine, "
          "boot, "
          "user, version.\n" },
        { { "--before", "host=", "--after", "b" },
          2,
          "The glob of \"host=\" in --before is wrong: it is empty.\n" },
        { { "--before", "/nowhere/at/all/", "--after", "b" },
          1,
          "The directory \"/nowhere/at/all/\" cannot be read: No such file or directory.\n" },
        { { "--before", "a,c", "--after", "b", "--alpha", "1" },
          2,
          "--alpha \"1\" is not a probability between 0 and 1, as 0.05.\n" },
        { { "--before", "a,c", "--after", "b", "--alpha", "0" },
          2,
          "--alpha \"0\" is not a probability between 0 and 1, as 0.05.\n" },
        { { "a", "b", "--alpha", "0.1" },
          2,
          "--alpha is for sets of snapshots, which --before and --after name: two snapshots are "
          "not tested.\n" },
        { { "a" },
          2,
          "\"compare\" needs another snapshot beside \"a\", as in \"ctprofctl compare BEFORE "
          "AFTER\".\n" },
        { { "a..b" },
          2,
          "\"compare\" needs another interval beside \"a..b\", as in \"ctprofctl compare A..B "
          "C..D\": \"show\" shows one.\n" },
        { { NULL },
          2,
          "\"compare\" needs two snapshots, as in \"ctprofctl compare BEFORE AFTER\", two "
          "intervals, or sets of them (--before, --after); \"ctprofctl capture --tag before\" "
          "takes "
          "a first one.\n" },
        { { "--before", "a,c", "--after", "b", "--totals" },
          2,
          "--totals is for two snapshots: sets are compared by rates and levels.\n" },
        { { "a", "b", "c" },
          2,
          "\"compare\" takes two names, and these are 3: sets are compared by --before A,B,... "
          "--after C,D,..., with globs in quotes.\n" },
        { { "a", "p1*" },
          2,
          "\"p1*\" is a glob, and \"compare\" takes two names: sets are compared by --before "
          "'GLOB' --after 'GLOB'.\n" },
        { { "p[12]" },
          2,
          "\"p[12]\" is a glob, and \"compare\" takes two names: sets are compared by --before "
          "'GLOB' --after 'GLOB'.\n" },
        { { "--before", "a,c", "--after", "b", "--window" },
          2,
          "--window is implied: rates of sets are of the work in the windows between captures.\n" },
        { { "--before", "a,c", "--after", "b", "--pair", "/x=/y" },
          2,
          "--pair is for two snapshots: cgroups are not paired in sets.\n" },
        { { "--before", "a,c", "--after", "b", "--columns", "group" },
          2,
          "--columns is for two snapshots: sets have columns of their own.\n" },
        { { "--before", "a,c", "--after", "b", "--group-by", "thread" },
          2,
          "Sets are not compared by thread: a thread of one set need not be in the other. "
          "--group-by comm-exact has their names.\n" },
        { { "--before", "a,c", "--after", "b", "--sections", "pressure" },
          2,
          "The section \"pressure\" is of two snapshots: sets have rows of metrics only.\n" },
};

START_TEST(what_sets_cannot_be_is_refused) {
        const char *words[ELEMENTSOF(refused_rows[0].words) + 2] = { "compare" };

        for (size_t i = 0; i < ELEMENTSOF(refused_rows[0].words); i++)
                words[i + 1] = refused_rows[_i].words[i];
        begin(NULL, 0);
        ctl_run(&ctl, words);
        expect(refused_rows[_i].status, "", refused_rows[_i].err);
        end();
}
END_TEST

static const Exchange listed[] = { { REPLIES(NAMES) } };

START_TEST(a_glob_that_matches_nothing_is_an_error) {
        begin(listed, 1);
        CTL_RUN(&ctl, "compare", "--before", "nothing-*", "--after", "b");
        expect(1, "",
               "No snapshot of the spool has a name that matches \"nothing-*\": \"ctprofctl list\" "
               "shows all names.\n");
        end();
}
END_TEST

#define OF_HOST(name, host, kernel)                                                    \
        "{\"name\":\"" name "\",\"hostName\":\"" host "\",\"kernelRelease\":\"" kernel \
        "\",\"uid\":7}"
#define HOSTS                                                                            \
        "{\"parameters\":{\"snapshots\":[" OF_HOST("d", "web-03", "6.12.1") "," OF_HOST( \
                "c", "db-1",                                                             \
                "6.1.0") "," OF_HOST("b", "web-02",                                      \
                                     "6.12.0") "," OF_HOST("a", "web-01",                \
                                                           "6.1.0") "],\"unreadable\":[]}}"

static const struct {
        const char *before, *asked; /* NULL: nothing is chosen */
} chosen_rows[] = {
        { "host=web-*", "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"d\"}]" },
        { "host=web-*,kernel=6.12*", "[{\"name\":\"b\"},{\"name\":\"d\"}]" },
        { "host=web-02,host=db-1", "[{\"name\":\"b\"},{\"name\":\"c\"}]" },
        { "x, kernel=6.12.? ,d", "[{\"name\":\"x\"},{\"name\":\"d\"},{\"name\":\"b\"}]" },
        { "user=7,host=db*,x", "[{\"name\":\"x\"},{\"name\":\"c\"}]" },
        { "host=web-*,kernel=5*", NULL },
        { "boot=*", NULL }, /* a head without it */
};

START_TEST(heads_choose_from_the_spool) {
        const Exchange exchanges[] = {
                { REPLIES(HOSTS) },
                { REPLIES(FIRST("0", "0", "1", "null") LAST("")) },
        };
        const char *asked = chosen_rows[_i].asked;

        begin(exchanges, asked ? 2 : 1);
        CTL_RUN(&ctl, "compare", "--before", chosen_rows[_i].before, "--after", "y,z");
        if (asked)
                ck_assert_ptr_nonnull(strstr(ctl.asked, asked));
        else
                expect(1, "",
                       "No snapshot of the spool is what --before chooses: \"ctprofctl info "
                       "SNAPSHOT --json\" shows the head of one.\n");
        end();
}
END_TEST

START_TEST(two_sets_have_a_bound) {
        char list[512] = "s0", other[512] = "t0";

        for (unsigned i = 1; i < 40; i++) {
                (void) snprintf(list + strlen(list), sizeof(list) - strlen(list), ",s%u", i);
                (void) snprintf(other + strlen(other), sizeof(other) - strlen(other), ",t%u", i);
        }
        begin(NULL, 0);
        CTL_RUN(&ctl, "compare", "--before", list, "--after", other);
        expect(2, "", "Two sets have at most 64 snapshots together: these have 80.\n");
        for (unsigned i = 40; i < 65; i++)
                (void) snprintf(list + strlen(list), sizeof(list) - strlen(list), ",s%u", i);
        CTL_RUN(&ctl, "compare", "--before", list, "--after", other);
        expect(2, "", "--before names more than 64 snapshots.\n");
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-sets");
        TCase *answers = tcase_create("answers"), *line = tcase_create("command line");

        tcase_add_test(answers, sets_are_told_in_a_head_and_a_table);
        tcase_add_test(answers, groups_without_a_test_have_a_line_each);
        tcase_add_test(answers, a_newcomer_stands_where_it_weighs_above_the_rows);
        tcase_add_test(answers, eighty_columns_hold_what_matters);
        tcase_add_test(answers, json_is_one_object_with_all_of_it);
        tcase_add_test(answers, csv_is_a_row_a_metric);
        tcase_add_test(answers, ndjson_rows_stand_for_themselves);
        tcase_add_test(answers, globs_are_names_of_the_spool_in_the_order_of_captures);
        tcase_add_test(answers, too_few_captures_are_said_with_how_many_would_do);
        tcase_add_test(answers, significant_rows_above_the_threshold_end_in_3);
        tcase_add_test(answers, one_snapshot_a_side_is_the_plain_comparison);
        suite_add_tcase(suite, answers);
        tcase_add_loop_test(line, what_sets_cannot_be_is_refused, 0, ELEMENTSOF(refused_rows));
        tcase_add_test(line, a_glob_that_matches_nothing_is_an_error);
        tcase_add_loop_test(line, heads_choose_from_the_spool, 0, ELEMENTSOF(chosen_rows));
        tcase_add_test(line, two_sets_have_a_bound);
        suite_add_tcase(suite, line);
        return check_main(suite);
}
