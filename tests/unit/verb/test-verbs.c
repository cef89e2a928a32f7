/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "check-main.h"
#include "ctl.h"
#include "render/printable.h"

static Ctl ctl; /* large, and one at a time */

#define HEAD(name)                                                                                \
        "{\"name\":\"" name "\",\"tagged\":true,\"formatVersion\":1,\"hostName\":\"h\","          \
        "\"kernelRelease\":\"6.1\",\"threads\":213,\"processes\":98,\"sizeBytes\":49281,\"uid\":" \
        "0,"                                                                                      \
        "\"startRealtimeNs\":1795188901123456789,\"complete\":false,"                             \
        "\"cost\":{\"wallNs\":52301000,\"cpuNs\":50000000,\"peakRssBytes\":4194304}}"
#define SOURCES                                                                                   \
        "[{\"name\":\"stat\",\"state\":\"ok\",\"ok\":213,\"denied\":0,\"vanished\":0,"            \
        "\"unsupported\":0,\"malformed\":0,\"other\":0},"                                         \
        "{\"name\":\"io\",\"state\":\"partial\",\"reason\":\"others' io needs CAP_SYS_PTRACE\","  \
        "\"ok\":12,\"denied\":201,\"vanished\":0,\"unsupported\":0,\"malformed\":0,\"other\":0}," \
        "{\"name\":\"jemalloc\",\"state\":\"unavailable\",\"reason\":\"it is never "              \
        "read\",\"ok\":0,"                                                                        \
        "\"denied\":0,\"vanished\":0,\"unsupported\":213,\"malformed\":0,\"other\":0}]"

static void begin(const Exchange *exchanges, size_t n_exchanges) {
        ctl_init(&ctl, exchanges, n_exchanges);
}

static void end(void) {
        ctl_done(&ctl);
}

static void expect(int status, const char *out, const char *err) {
        ck_assert_str_eq(ctl.err, err);
        ck_assert_str_eq(ctl.out, out);
        ck_assert_int_eq(ctl.status, status);
}

/* capture */

static const Exchange captured[] = { { REPLIES(
        "{\"parameters\":{\"progress\":{\"phase\":\"threads\",\"done\":1,\"total\":213}},"
        "\"continues\":true}\0"
        "{\"parameters\":{\"snapshot\":" HEAD("a") ",\"sources\":" SOURCES ",\"rotated\":[]}}") } };

START_TEST(capture_tells_what_was_taken_and_what_is_missing) {
        begin(captured, 1);
        CTL_RUN(&ctl, "capture", "--tag", "a", "--replace", "--no-smaps");
        expect(0,
               "a: 213 threads of 98 processes in 52.301ms, 48.126KiB\n"
               "missing   io partial: others' io needs CAP_SYS_PTRACE\n",
               "");
        ck_assert_str_eq(ctl.asked,
                         "{\"method\":\"io.ctprof.Profiler.Capture\",\"parameters\":"
                         "{\"tag\":\"a\",\"replace\":true,\"smaps\":false},\"more\":true}\n");
        end();
}
END_TEST

START_TEST(capture_json_is_the_contract) {
        begin(captured, 1);
        CTL_RUN(&ctl, "capture", "--json");
        expect(0, "{\"snapshot\":" HEAD("a") ",\"sources\":" SOURCES "}\n", "");
        end();
}
END_TEST

START_TEST(quiet_says_nothing) {
        begin(captured, 1);
        CTL_RUN(&ctl, "capture", "-q");
        expect(0, "", "");
        end();
}
END_TEST

static const Exchange anonymous[] = { {
        REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
                "a") ",\"sources\":[],\"fileDescriptor\":0}}"),
        .file = "the snapshot",
} };

START_TEST(capture_output_writes_the_file_beside_the_spool) {
        char path[TEMPORARY_PATH_BYTES], text[32] = "";
        FILE *file;

        begin(anonymous, 1);
        CTL_RUN(&ctl, "capture", "--output", "f.zst");
        expect(0, "f.zst: 213 threads of 98 processes in 52.301ms, 48.126KiB\n", "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"anonymous\":true"));
        file = fopen(temporary_path(&ctl.temporary, "f.zst", path), "re");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fread(text, 1, sizeof(text) - 1, file), strlen("the snapshot"));
        (void) fclose(file);
        ck_assert_str_eq(text, "the snapshot");
        end();
}
END_TEST

START_TEST(capture_output_dash_is_stdout_and_nothing_else) {
        begin(anonymous, 1);
        CTL_RUN(&ctl, "capture", "--output", "-");
        expect(0, "the snapshot", "-: 213 threads of 98 processes in 52.301ms, 48.126KiB\n");
        CTL_RUN(&ctl, "capture", "--output=-", "--json");
        expect(2, "", "--output - and --json both want stdout: name a file.\n");
        end();
}
END_TEST

/* list */

static const Exchange listed[] = { { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD(
        "newest") "," HEAD("a-name\\uef9b") "],"
                                            "\"unreadable\":[{\"name\":\"bad\",\"ok\":false,"
                                            "\"error\":\"Its head is cut off.\","
                                            "\"offset\":null}]}}") } };

START_TEST(list_is_a_table) {
        begin(listed, 1);
        CTL_RUN(&ctl, "list", "--since", "2026-11-20", "--until", "2026-11-21 00:00");
        ck_assert_str_eq(ctl.err, "\"bad\" cannot be read: Its head is cut off.\n");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "NAME"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "newest"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "a-name\\x9b"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "2026-11-20 15:35:01"));
        ck_assert_ptr_nonnull(strstr(ctl.out, " h    6.1        213        98 48.126KiB root\n"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"sinceRealtimeNs\":1795132800000000000,"
                                                "\"untilRealtimeNs\":1795219200000000000"));
        end();
}
END_TEST

START_TEST(list_json_is_the_contract) {
        begin(listed, 1);
        CTL_RUN(&ctl, "list", "-j");
        expect(0, "{\"snapshots\":[" HEAD("newest") "," HEAD("a-name\uef9b") "]}\n",
               "\"bad\" cannot be read: Its head is cut off.\n");
        end();
}
END_TEST

/* compare */

#define ENTRY(before, after, delta, percent, rate)                                            \
        "{\"before\":" before ",\"after\":" after ",\"delta\":" delta ",\"percent\":" percent \
        ",\"perSecond\":" rate ",\"changed\":true,\"reset\":false}"
#define GROUP                                                                                     \
        "{\"key\":\"nginx\\u001b\",\"process\":\"nginx\",\"threadsBefore\":3,\"threadsAfter\":4," \
        "\"metrics\":{\"run_time_ns\":" ENTRY(                                                    \
                "1000000000", "18446744073709551615", "18446744072709551615",                     \
                "1844674407270.9551",                                                             \
                "307445734545.1592") ",\"state\":{\"before\":{\"mode\":\"S\",\"count\":3,"        \
                                     "\"total\":3},\"after\":"                                    \
                                     "{\"mode\":\"R\",\"count\":2,\"total\":4},\"delta\":null,"   \
                                     "\"percent\":null,"                                          \
                                     "\"perSecond\":null,\"changed\":true,\"reset\":false}},"     \
                                     "\"derived\":{\"avg_slice_ns\":" ENTRY(                      \
                                             "100.5", "null", "null", "null", "null") "}}"
#define ONLY                                                                                 \
        "{\"key\":\"gone\",\"process\":\"gone\",\"threads\":2,\"metrics\":{\"run_time_ns\":" \
        "{\"value\":5000000,\"present\":2}},\"derived\":{}}"
#define COMPARED(elapsed, before, after)                                                        \
        "{\"parameters\":{\"before\":" before ",\"sourcesBefore\":" SOURCES ",\"after\":" after \
        ",\"sourcesAfter\":" SOURCES ",\"sameBoot\":true,\"elapsedNs\":" elapsed ","            \
        "\"hostChanges\":[{\"key\":\"kernel.x\",\"before\":\"0\",\"after\":\"1\"}]},"           \
        "\"continues\":true}\0"                                                                 \
        "{\"parameters\":{\"groups\":[" GROUP "]},\"continues\":true}\0"                        \
        "{\"parameters\":{\"groups\":[" GROUP "]},\"continues\":true}\0"                        \
        "{\"parameters\":{\"onlyBefore\":[" ONLY "]},\"continues\":true}\0"                     \
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":7,\"hiddenGroups\":2}}"

static const Exchange compared[] = { { REPLIES(COMPARED("60012000000", HEAD("a"), HEAD("b"))) } };

START_TEST(compare_prints_heads_rows_and_what_is_hidden) {
        begin(compared, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        expect(0,
               "before    a, 2026-11-20 15:35:01, h, 6.1, 213 threads, 98 processes\n"
               "after     b, 2026-11-20 15:35:01, h, 6.1, 213 threads, 98 processes\n"
               "elapsed   1min 0.012s\n"
               "changed   kernel.x: 0 \u2192 1\n"
               "missing   io (before and after), partial: others' io needs CAP_SYS_PTRACE\n"
               "\n"
               "process   threads metric         before            after             delta"
               "                 %        rate\n"
               "nginx\\x1b     3\u21924 run_time_ns    1.000s 18446744073.710s +18446744072.710s"
               " +1844674407271.0% +307.446s/s\n"
               "nginx\\x1b     3\u21924 state               S          R (2/4)           differs"
               "                 -           -\n"
               "nginx\\x1b     3\u21924 avg_slice_ns 100.50ns                -                 -"
               "                 -           -\n"
               "nginx\\x1b     3\u21924 run_time_ns    1.000s 18446744073.710s +18446744072.710s"
               " +1844674407271.0% +307.446s/s\n"
               "nginx\\x1b     3\u21924 state               S          R (2/4)           differs"
               "                 -           -\n"
               "nginx\\x1b     3\u21924 avg_slice_ns 100.50ns                -                 -"
               "                 -           -\n"
               "\n"
               "only in BEFORE (1 group)\n"
               "process threads run_time_ns wait_time_ns voluntary_csw hiwater_rss_bytes\n"
               "gone          2     5.000ms            -             -                 -\n"
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
                            "\"sections\":{},\"sourcesBefore\":" SOURCES
                            ",\"sourcesAfter\":" SOURCES ","
                            "\"hiddenRows\":7,\"hiddenGroups\":2}\n",
               "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":0"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"changedOnly\":false"));
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

static const Exchange backwards[] = { { REPLIES(COMPARED("-5", HEAD("a"), HEAD("b"))) } };
static const Exchange apart[] = { { REPLIES(
        "{\"parameters\":{\"before\":{\"name\":\"a\",\"hostName\":\"h\",\"bootId\":\"1\"},"
        "\"after\":{\"name\":\"b\",\"hostName\":\"h\",\"bootId\":\"2\"},\"sameBoot\":false,"
        "\"elapsedNs\":null,\"hostChanges\":[],\"sourcesBefore\":[],\"sourcesAfter\":[]},"
        "\"continues\":true}\0{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}"
        "}") } };

START_TEST(the_wrong_way_round_is_warned_about) {
        begin(backwards, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--json");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_str_eq(ctl.err,
                         "AFTER (\"b\") is older than BEFORE (\"a\"): the other way round they "
                         "show what happened.\n");
        end();
}
END_TEST

START_TEST(without_one_boot_there_is_no_time_between) {
        begin(apart, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "elapsed   unknown (different boots): no rates\n"));
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
        CTL_RUN(&ctl, "show", "a", "--group-by", "all");
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
        ck_assert_ptr_eq(strstr(ctl.out, "/b,p,t2,,,,1,primary,minflt,"), ctl.out);
        CTL_RUN(&ctl, "show", "a", "--group-by", "all", "--json");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\"groups\":[" LEAF("\"cgroup\":\"/b\",", "p", "t2", "9") ","));
        end();
}
END_TEST

START_TEST(wrap_shows_names_whole) {
        begin(long_name, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "show", "a", "--group-by", "cgroup");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\u2026 "));
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
                ck_assert_uint_le(printable_width(line), MAX_OF(columns, (size_t) 80));
        end();
}
END_TEST

/* rows */

static const char compared_names[] =
        "side,cgroup,process,thread,pid,tid,start_ticks,before_threads,after_threads,section,"
        "metric,unit,before,before_min,before_max,before_text,before_count,before_total,after,"
        "after_min,after_max,after_text,after_count,after_total,delta,percent,per_second,changed,"
        "reset,reason\r\n";
static const char compared_rows[] =
        "both,,nginx,,,,,3,4,primary,run_time_ns,ns,1000000000,,,,,,18446744073709551615,,,,,"
        ","
        "18446744072709551615,1844674407270.9551,307445734545.1592,true,false,\r\n"
        "both,,nginx,,,,,3,4,primary,state,none,,,,S,3,3,,,,R,2,4,,,,true,false,\r\n"
        "both,,nginx,,,,,3,4,derived,avg_slice_ns,ns,100.5,,,,,,,,,,,,,,,true,false,\r\n";
static const char only_row[] = "before,,gone,,,,,2,,primary,run_time_ns,ns,5000000,,,,,,,,,,,,,,,,,"
                               "after: there is no such group\r\n";

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

#define ROW_HEAD(side)                                                                          \
        "\"" side "snapshot\":\"a\",\"" side "host\":\"h\",\"" side "machine_id\":null,\"" side \
        "boot_id\":null,\"" side "start_realtime_ns\":1795188901123456789,\"" side              \
        "end_realtime_ns\":null,\"" side "start_boottime_ns\":null,\"" side                     \
        "end_boottime_ns\":null,"

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
               "{" ROW_HEAD("before_") ROW_HEAD(
                       "after_") "\"same_boot\":true,\"elapsed_ns\":5,\"side\":\"after\","
                                 "\"cgroup\":null,"
                                 "\"process\":\"gone\",\"thread\":null,\"pid\":null,\"tid\":null,"
                                 "\"start_ticks\":null,\"before_threads\":null,\"after_threads\":2,"
                                 "\"section\":\"primary\",\"metric\":\"run_time_ns\",\"unit\":"
                                 "\"ns\","
                                 "\"before\":null,\"before_min\":null,\"before_max\":null,\"before_"
                                 "text\":null,"
                                 "\"before_count\":null,\"before_total\":null,\"after\":5000000,"
                                 "\"after_min\":null,\"after_max\":null,\"after_text\":null,"
                                 "\"after_count\":null,\"after_total\":null,\"delta\":null,"
                                 "\"percent\":null,"
                                 "\"per_second\":null,\"changed\":null,\"reset\":null,"
                                 "\"reason\":\"before: there is no such group\"}\n",
               "");
        end();
}
END_TEST

/* show */

static const Exchange shown[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"sources\":" SOURCES "},\"continues\":true}\0"
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

START_TEST(show_prints_values) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "latest~2", "--group-by", "thread");
        expect(0,
               "snapshot  a, 2026-11-20 15:35:01, h, 6.1, 213 threads, 98 processes\n"
               "missing   io partial: others' io needs CAP_SYS_PTRACE\n"
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

START_TEST(show_csv_has_columns_of_one_type) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "a", "--format", "csv");
        expect(0,
               "cgroup,process,thread,pid,tid,start_ticks,threads,section,metric,unit,value,"
               "value_min,value_max,value_text,value_count,value_total,present,reason\r\n"
               ",p,t,1,2,3,1,primary,nice,none,2.5,0,5,,,,1,\r\n"
               ",p,t,1,2,3,1,primary,cpu_affinity,none,2,2,2,0-1,,,1,\r\n"
               ",p,t,1,2,3,1,,new_metric,,,,,,,,0,x\r\n"
               ",,,,,,1,primary,minflt,count,1500,,,,,,1,\r\n",
               "");
        end();
}
END_TEST

static const Exchange odd[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":{\"name\":\"a\"},\"sources\":[]},\"continues\":true}\0"
        "{\"parameters\":{\"groups\":[{\"key\":\"\",\"process\":\"\",\"threads\":1,\"metrics\":"
        "{\"m\":{\"value\":null,\"reason\":\"a, b\"}}},"
        "{\"key\":\"x\",\"process\":\"say \\\"hi\\\"\",\"threads\":1,\"metrics\":"
        "{\"m\":{\"value\":-18446744073709551615,\"reason\":\"a\\n\\u007fb\"}}}]},\"continues\":"
        "true}\0"
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(csv_quotes_what_must_be_quoted) {
        begin(odd, 1);
        CTL_RUN(&ctl, "show", "a", "--format", "csv", "--no-legend");
        expect(0,
               ",\"\",,,,,1,,m,,,,,,,,,\"a, b\"\r\n"
               ",\"say \"\"hi\"\"\",,,,,1,,m,,-18446744073709551615,,,,,,,a\uef0a\uef7fb\r\n",
               "");
        end();
}
END_TEST

START_TEST(rows_have_no_tables_of_sections) {
        begin(odd, 1);
        CTL_RUN(&ctl, "show", "a", "--format", "ndjson", "--sections", "host-pressure");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_str_eq(ctl.err, "The section \"host-pressure\" has no rows in --format ndjson: "
                                  "--json has it.\n");
        end();
}
END_TEST

/* the small ones */

static const Exchange verified[] = { { REPLIES("{\"parameters\":{\"results\":[{\"name\":\"a\","
                                               "\"ok\":true,\"error\":null,\"offset\":null}]},"
                                               "\"continues\":true}\0"
                                               "{\"parameters\":{\"results\":[{\"name\":\"b\","
                                               "\"ok\":false,\"error\":\"the digest differs\","
                                               "\"offset\":512}]}}") } };

START_TEST(verify_says_what_and_where) {
        begin(verified, 1);
        CTL_RUN(&ctl, "verify", "--all");
        expect(1, "a: ok\nb: damaged at byte 512: the digest differs\n",
               "1 of 2 snapshots is damaged.\n");
        CTL_RUN(&ctl, "verify", "a", "b", "--json");
        expect(1,
               "{\"results\":[{\"name\":\"a\",\"ok\":true,\"error\":null,\"offset\":null},"
               "{\"name\":\"b\",\"ok\":false,\"error\":\"the digest differs\",\"offset\":512}]}\n",
               "1 of 2 snapshots is damaged.\n");
        end();
}
END_TEST

START_TEST(remove_looks_latest_up_once) {
        begin((const Exchange[]){ { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD(
                                          "newest") "]}}") },
                                  { REPLIES("{\"parameters\":{\"snapshots\":[]}}") } },
              2);
        CTL_RUN(&ctl, "remove", "old", "latest");
        expect(0, "removed old\nremoved newest\n", "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"names\":[\"old\",\"newest\"]"));
        CTL_RUN(&ctl, "remove", "latest~1");
        expect(1, "", "There is no snapshot \"latest~1\": the spool has 1.\n");
        CTL_RUN(&ctl, "remove", "./f");
        expect(2, "", "\"./f\" is a file, and remove is for snapshots of the spool.\n");
        end();
}
END_TEST

START_TEST(rename_checks_the_new_name_first) {
        begin((const Exchange[]){ { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD("n") "]}}") } },
              1);
        CTL_RUN(&ctl, "rename", "o", "n");
        expect(0, "renamed o to n\n", "");
        CTL_RUN(&ctl, "rename", "o", "latest");
        expect(2, "", "The new name \"latest\" is reserved for the newest snapshot.\n");
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

static const Exchange exported[] = { {
        REPLIES("{\"parameters\":{\"snapshot\":" HEAD("a") ",\"fileDescriptor\":0}}"),
        .file = "bytes",
} };

START_TEST(export_never_overwrites) {
        begin(exported, 1);
        CTL_RUN(&ctl, "export", "latest");
        expect(0, "exported \"a\" to \"./a.ctprof.zst\"\n", "");
        CTL_RUN(&ctl, "export", "latest");
        expect(1, "",
               "\"./a.ctprof.zst\" is there already, and export never overwrites: remove it or "
               "name "
               "another file.\n");
        CTL_RUN(&ctl, "export", "a", "a.ctprof.zst");
        ck_assert_int_eq(ctl.status, 1);
        ck_assert_str_eq(ctl.asked, ""); /* known before anything was asked for */
        CTL_RUN(&ctl, "export", "a", "-");
        expect(0, "bytes", "");
        CTL_RUN(&ctl, "export", "a", "--json", "--format", "ndjson");
        expect(0, "{\"snapshots\":[" HEAD("a") "]}\n", "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"format\":\"ndjson\""));
        end();
}
END_TEST

static const Exchange exported_nowhere[] = { {
        REPLIES("{\"parameters\":{\"snapshot\":{\"name\":\"../../x\"},\"fileDescriptor\":0}}"),
        .file = "bytes",
} };

START_TEST(a_name_from_the_daemon_is_no_path) {
        begin(exported_nowhere, 1);
        CTL_RUN(&ctl, "export", "a");
        expect(1, "", "The snapshot has no name to make a file name of: name the file.\n");
        end();
}
END_TEST

static const Exchange imported[] = { { REPLIES(
        "{\"parameters\":{\"snapshots\":[" HEAD("a") "]}}") } };

START_TEST(import_sends_the_file) {
        char path[TEMPORARY_PATH_BYTES];

        begin(imported, 1);
        (void) fclose(fopen(temporary_path(&ctl.temporary, "f.ctprof.zst", path), "we"));
        CTL_RUN(&ctl, "import", "f.ctprof.zst", "--tag", "t");
        expect(0, "imported \"a\": 213 threads of 98 processes\n", "");
        ck_assert_str_eq(ctl.asked, "{\"method\":\"io.ctprof.Profiler.Import\",\"parameters\":"
                                    "{\"fileDescriptor\":0,\"tag\":\"t\",\"label\":\"f\"}} +1\n");
        end();
}
END_TEST

static const Exchange informed[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"host\":{\"cpus\":4,\"tunables\":"
             "{\"kernel.x\":\"1\",\"none\":null}},\"sources\":" SOURCES "}}") } };

START_TEST(info_tells_all_there_is) {
        begin(informed, 1);
        CTL_RUN(&ctl, "info", "a");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "name          a\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "complete      no\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "took          52.301ms\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "io       partial      12    201"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "jemalloc          it is never read\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "tunables.kernel.x  1\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "tunables.none      -\n"));
        end();
}
END_TEST

static const Exchange status_of[] = { { REPLIES(
        "{\"parameters\":{\"daemon\":{\"version\":\"0.1.0\",\"uptimeNs\":61000000000,\"uid\":0,"
        "\"capabilities\":[\"cap_net_admin\"]},\"sources\":" SOURCES ",\"spool\":{\"path\":\"/s\","
        "\"snapshots\":2,\"bytes\":2048,\"maxBytes\":1073741824,\"keepFreeBytes\":0},"
        "\"jobs\":{\"running\":1,\"waiting\":0}}}") } };

START_TEST(status_tells_how_the_daemon_is) {
        begin(status_of, 1);
        CTL_RUN(&ctl, "status");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "ctprofd       0.1.0, up 1min 1.000s, uid 0\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "capabilities  cap_net_admin\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "spool         /s\n"));
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "2 snapshots, 2.000KiB of 1.000GiB used; nothing of"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "jobs          1 running, 0 waiting\n"));
        end();
}
END_TEST

START_TEST(metric_list_needs_no_daemon) {
        begin(NULL, 0);
        CTL_RUN(&ctl, "metric-list");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "run_time_ns"));
        CTL_RUN(&ctl, "metric-list", "--json");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "{\"metrics\":[{\"name\":\"thread_count\","));
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

/* run */

static const Exchange ran[] = {
        { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD("other") "]}}") },
        { REPLIES("{\"parameters\":{\"snapshot\":" HEAD("t-before") ",\"sources\":[]}}") },
        { REPLIES("{\"parameters\":{\"snapshot\":" HEAD("t-after") ",\"sources\":[]}}") },
        { REPLIES(COMPARED("5", HEAD("t-before"), HEAD("t-after"))) },
};

START_TEST(run_ends_as_the_command_did) {
        begin(ran, 4);
        CTL_RUN(&ctl, "run", "--tag", "t", "--", "sh", "-c", "echo out; exit 3");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 3);
        ck_assert_ptr_nonnull(strstr(ctl.out, "out\nsh -c 'echo out; exit 3': exit 3, "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "before    t-before, "));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"before\":{\"name\":\"t-before\"}"));

        CTL_RUN(&ctl, "run", "--json", "--tag=t", "--", "sh", "-c", "echo out; kill -KILL $$");
        ck_assert_int_eq(ctl.status, 137);
        ck_assert_str_eq(ctl.err, "out\n");
        ck_assert_ptr_nonnull(strstr(ctl.out, "{\"command\":{\"words\":[\"sh\",\"-c\","));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"signal\":9,\"elapsedNs\":"));
        end();
}
END_TEST

START_TEST(run_keeps_stdout_for_the_rows) {
        begin(ran, 4);
        CTL_RUN(&ctl, "run", "--format", "csv", "--tag=t", "--", "echo", "out");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_eq(strstr(ctl.out, compared_names), ctl.out);
        ck_assert_ptr_eq(strstr(ctl.err, "out\necho out: exit 0, "), ctl.err);
        CTL_RUN(&ctl, "run", "--format", "csv", "--tag=t", "-q", "--", "echo", "out");
        ck_assert_str_eq(ctl.err, "out\n");
        end();
}
END_TEST

START_TEST(run_checks_before_it_starts) {
        begin((const Exchange[]){ { REPLIES(
                      "{\"parameters\":{\"snapshots\":[" HEAD("t-after") "]}}") } },
              1);
        CTL_RUN(&ctl, "run", "--tag", "t", "--", "touch", "ran");
        expect(1, "",
               "The name \"t-after\" is taken: choose another with --tag, or remove that snapshot "
               "first.\n");
        CTL_RUN(&ctl, "run", "--", "/nonexistent/program");
        expect(127, "", "\"/nonexistent/program\" cannot be run: there is no such program.\n");
        ck_assert_str_eq(ctl.asked, "");
        CTL_RUN(&ctl, "run", "--columns", "x", "--", "true");
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

/* what goes wrong */

static const struct {
        const char *reply; /* NULL: none at all */
        int status;
        const char *sentence;
} failures[] = {
        { NULL, 1,
          "ctprofd hung up in the middle of the call: \"journalctl -u ctprofd\" may tell why.\n" },
        { "{\"error\":\"io.ctprof.Profiler.NoSuchSnapshot\",\"parameters\":{\"name\":\"a\"}}", 1,
          "There is no snapshot \"a\": \"ctprofctl list\" shows those there are.\n" },
        { "{\"error\":\"io.ctprof.Profiler.InvalidName\",\"parameters\":{\"name\":\"a\",\"reason\":"
          "\"is odd\"}}",
          2, "The name \"a\" is odd.\n" },
        { "nonsense", 1, NULL },
};

START_TEST(failures_are_one_sentence) {
        const Exchange exchange = {
                .replies = failures[_i].reply,
                .n_replies = failures[_i].reply ? strlen(failures[_i].reply) + 1 : 0,
        };

        begin(&exchange, 1);
        CTL_RUN(&ctl, "show", "a", "--json");
        ck_assert_str_eq(ctl.out, "");
        ck_assert_int_eq(ctl.status, failures[_i].status);
        if (failures[_i].sentence)
                ck_assert_str_eq(ctl.err, failures[_i].sentence);
        ck_assert_ptr_eq(strchr(ctl.err, '\n'), ctl.err + strlen(ctl.err) - 1);
        end();
}
END_TEST

static const Exchange cut_off[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":" HEAD("a") ",\"sources\":[]},\"continues\":true}") } };

START_TEST(half_an_answer_is_a_failure) {
        begin(cut_off, 1);
        CTL_RUN(&ctl, "show", "a", "--json");
        ck_assert_int_eq(ctl.status, 1);
        ck_assert_ptr_nonnull(strstr(ctl.err, "hung up"));
        end();
}
END_TEST

START_TEST(nobody_there_is_one_sentence) {
        begin(NULL, 0);
        CTL_RUN(&ctl, "list", "--socket", "nobody");
        expect(1, "",
               "No ctprofd is at nobody: as root, \"systemctl enable --now ctprofd.socket\" starts "
               "it; --local does without.\n");
        end();
}
END_TEST

static const struct {
        const char *words[5];
        const char *sentence;
} usages[] = {
        { { NULL }, "No verb is given: \"ctprofctl --help\" lists them.\n" },
        { { "captrue" }, "Unknown verb \"captrue\", did you mean \"capture\"?\n" },
        { { "frobnicate" }, "Unknown verb \"frobnicate\": \"ctprofctl --help\" lists them all.\n" },
        { { "show" }, "\"show\" needs a snapshot, as in \"ctprofctl show SNAPSHOT\".\n" },
        { { "list", "extra" }, "\"list\" has no use for \"extra\".\n" },
        { { "list", "--limit", "3" }, "\"list\" does not take --limit.\n" },
        { { "show", "a", "--format=csv", "--json" },
          "--format and --json are two forms of one result: give either.\n" },
        { { "show", "a", "--format=table", "-j" },
          "--format and --json are two forms of one result: give either.\n" },
        { { "show", "a", "--format=ktstr" },
          "\"show\" has no --format ktstr: there are table, csv, ndjson.\n" },
        { { "show", "a", "--threshold=5" }, "\"show\" does not take --threshold.\n" },
        { { "export", "a", "--format=csv" },
          "\"export\" has no --format csv: there are ctprof, ktstr, ndjson.\n" },
        { { "verify" }, "\"verify\" needs snapshots, or --all and none.\n" },
        { { "verify", "a", "--all" }, "\"verify\" needs snapshots, or --all and none.\n" },
        { { "list", "--local", "--socket", "x" },
          "--local is for no daemon and --socket for one: give either.\n" },
        { { "list", "--spool", "x" }, "--spool goes with --local: a daemon has its own.\n" },
        { { "capture", "--replace" }, "--replace needs the name to replace: give --tag NAME.\n" },
        { { "show", "a b" },
          "The snapshot name \"a b\" has a character other than A-Z a-z 0-9 . _ -.\n" },
        { { "list", "--since=now", "--until=-1h" },
          "--since is later than --until: nothing can be between.\n" },
};

START_TEST(a_wrong_command_line_is_one_sentence_and_asks_nobody) {
        begin(listed, 1);
        ctl_run(&ctl, usages[_i].words);
        expect(2, "", usages[_i].sentence);
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

static const char *const helped[] = { "capture",     "list",   "show",   "compare", "run",
                                      "metric-list", "info",   "verify", "remove",  "rename",
                                      "export",      "import", "status" };

START_TEST(every_verb_has_help_that_fits_a_page) {
        char *rest;

        begin(NULL, 0);
        CTL_RUN(&ctl, helped[_i], "--help");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.out, helped[_i]));
        for (char *line = strtok_r(ctl.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                ck_assert_uint_le(printable_width(line), 80);
        CTL_RUN(&ctl, "--help");
        ck_assert_ptr_nonnull(strstr(ctl.out, helped[_i]));
        end();
}
END_TEST

START_TEST(what_is_done_at_once_shows_no_progress) {
        begin(captured, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "capture", "--tag", "a");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_eq(strstr(ctl.out, "a: 213 threads of 98 processes"), ctl.out);
        ck_assert_ptr_null(strchr(ctl.out, '\033'));
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verbs");
        TCase *take = tcase_create("take");
        TCase *view = tcase_create("view");
        TCase *keep = tcase_create("keep");
        TCase *failure = tcase_create("failure");

        tcase_add_test(take, capture_tells_what_was_taken_and_what_is_missing);
        tcase_add_test(take, capture_json_is_the_contract);
        tcase_add_test(take, quiet_says_nothing);
        tcase_add_test(take, capture_output_writes_the_file_beside_the_spool);
        tcase_add_test(take, capture_output_dash_is_stdout_and_nothing_else);
        tcase_add_test(take, what_is_done_at_once_shows_no_progress);
        tcase_add_test(take, run_ends_as_the_command_did);
        tcase_add_test(take, run_keeps_stdout_for_the_rows);
        tcase_add_test(take, run_checks_before_it_starts);
        tcase_add_test(view, compare_prints_heads_rows_and_what_is_hidden);
        tcase_add_test(view, compare_json_is_the_contract_digit_by_digit);
        tcase_add_test(view, sections_in_parts_become_one);
        tcase_add_loop_test(view, a_threshold_decides_the_exit_status, 0, ELEMENTSOF(forms));
        tcase_add_test(view, a_threshold_says_what_it_hides);
        tcase_add_test(view, the_view_is_asked_for_as_it_was_given);
        tcase_add_test(view, an_explicit_limit_is_for_json_too);
        tcase_add_test(view, the_wrong_way_round_is_warned_about);
        tcase_add_test(view, without_one_boot_there_is_no_time_between);
        tcase_add_test(view, raw_and_columns_are_the_users);
        tcase_add_loop_test(view, compare_fits_a_terminal, 79, 82);
        tcase_add_test(view, all_at_once_is_a_tree);
        tcase_add_test(view, wrap_shows_names_whole);
        tcase_add_test(view, show_prints_values);
        tcase_add_test(view, compare_csv_is_a_row_a_metric);
        tcase_add_test(view, compare_ndjson_is_an_object_a_row);
        tcase_add_test(view, show_csv_has_columns_of_one_type);
        tcase_add_test(view, csv_quotes_what_must_be_quoted);
        tcase_add_test(view, rows_have_no_tables_of_sections);
        tcase_add_test(keep, list_is_a_table);
        tcase_add_test(keep, list_json_is_the_contract);
        tcase_add_test(keep, verify_says_what_and_where);
        tcase_add_test(keep, remove_looks_latest_up_once);
        tcase_add_test(keep, rename_checks_the_new_name_first);
        tcase_add_test(keep, export_never_overwrites);
        tcase_add_test(keep, a_name_from_the_daemon_is_no_path);
        tcase_add_test(keep, import_sends_the_file);
        tcase_add_test(keep, info_tells_all_there_is);
        tcase_add_test(keep, status_tells_how_the_daemon_is);
        tcase_add_test(keep, metric_list_needs_no_daemon);
        tcase_add_loop_test(failure, failures_are_one_sentence, 0, ELEMENTSOF(failures));
        tcase_add_test(failure, half_an_answer_is_a_failure);
        tcase_add_test(failure, nobody_there_is_one_sentence);
        tcase_add_loop_test(failure, a_wrong_command_line_is_one_sentence_and_asks_nobody, 0,
                            ELEMENTSOF(usages));
        tcase_add_loop_test(failure, every_verb_has_help_that_fits_a_page, 0, ELEMENTSOF(helped));
        suite_add_tcase(suite, take);
        suite_add_tcase(suite, view);
        suite_add_tcase(suite, keep);
        suite_add_tcase(suite, failure);
        return check_main(suite);
}
