/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"
#include "ctl-answers.h"

/* An answer of Compare with @groups that are none but @sections, and of Show. */
#define TWO_SIDES(sections, last)                                                          \
        REPLIES("{\"parameters\":{\"before\":{\"name\":\"a\"},\"after\":{\"name\":\"b\"}," \
                "\"sameBoot\":true,\"elapsedNs\":1000000000,\"hostChanges\":[],"           \
                "\"sourcesBefore\":[],\"sourcesAfter\":[]},\"continues\":true}\0"          \
                "{\"parameters\":{\"sections\":" sections ",\"hiddenRows\":0," last        \
                "\"hiddenGroups\":0,\"hiddenOnlyBefore\":0,\"hiddenOnlyAfter\":0}}")
#define ONE_SIDE(sections)                                                        \
        REPLIES("{\"parameters\":{\"snapshot\":{\"name\":\"a\"},\"sources\":[]}," \
                "\"continues\":true}\0"                                           \
                "{\"parameters\":{\"sections\":" sections                         \
                ",\"hiddenRows\":0,\"hiddenGroups\":0}}")

#define PAIR(before, after, delta) "{\"before\":" before ",\"after\":" after ",\"delta\":" delta "}"
#define NONE PAIR("null", "null", "null")
#define LONG "/system.slice/a-service-with-a-rather-long-name.service/worker.scope"

/* What stands behind the head, which ends in an empty line. */
static const char *behind_head(void) {
        const char *text = strstr(ctl.out, "\n\n");

        ck_assert_ptr_nonnull(text);
        return text + 2;
}

/* compare: one value a row */

// clang-format off
#define MEMBER(name, before, after, delta) "\"" name "\":" PAIR(before, after, delta)
#define UNKNOWN(name) "\"" name "\":" NONE
#define SAME(name, value) MEMBER(name, value, value, "0")
#define KEYED(item, key, unit, before, after, delta)                                           \
        "{" item ",\"key\":\"" key "\",\"unit\":\"" unit "\","                                 \
        MEMBER("value", before, after, delta) "}"
#define NGINX "\"process\":\"nginx\""
#define CGROUP_A "\"cgroup\":\"/a\""

static const struct {
        const char *list;
        const Exchange exchange;
        const char *text;
} compared_rows[] = {
        { "smaps-rollup",
          { TWO_SIDES("{\"smaps-rollup\":["
                      KEYED(NGINX, "Rss", "bytes", "1048576", "3145728", "2097152") ","
                      KEYED(NGINX, "Swap", "bytes", "0", "0", "0") ","
                      KEYED("\"process\":\"gone\"", "Rss", "bytes", "4096", "null", "null") ","
                      KEYED("\"process\":\"odd\"", "Rss", "count", "0.5", "1.5", "1")
                      "]}", "") },
          "smaps-rollup\n"
          "process key   before    after     delta       %\n"
          "nginx   Rss 1.000MiB 3.000MiB +2.000MiB +200.0%\n"
          "gone    Rss 4.000KiB        -         -       -\n"
          "odd     Rss    0.500    1.500        +1 +200.0%\n"
          "\n"
          "1 unchanged row hidden (--all-rows)\n" },
        { "cgroup-stats",
          { TWO_SIDES("{\"cgroup-stats\":["
                      "{" CGROUP_A ",\"cpu\":{"
                      MEMBER("usage_usec", "1000000", "1500000", "500000") ","
                      MEMBER("nr_throttled", "4", "2", "-2") "," UNKNOWN("throttled_usec")
                      "},\"memory\":{" SAME("current", "4096") "}},"
                      "{\"cgroup\":\"/new\",\"cpu\":{"
                      MEMBER("usage_usec", "null", "0", "null") "," UNKNOWN("nr_throttled") ","
                      UNKNOWN("throttled_usec") "},\"memory\":{" UNKNOWN("current") "}}]}", "") },
          "cgroup-stats\n"
          "cgroup counter        before  after      delta      %\n"
          "/a     cpu_usage_usec 1.000s 1.500s +500.000ms +50.0%\n"
          "/a     nr_throttled        4      2         -2 -50.0%\n"
          "/new   cpu_usage_usec      -    0\u00b5s          -      -\n"
          "\n"
          "5 unchanged rows hidden (--all-rows)\n" },
        { "cgroup-limits",
          { TWO_SIDES("{\"cgroup-limits\":[{" CGROUP_A ",\"cpu\":{"
                      MEMBER("max_quota_us", "\"max\"", "50000", "null") ","
                      SAME("max_period_us", "100000") ","
                      MEMBER("cpus", "\"max\"", "0.5", "null") ","
                      MEMBER("weight", "100", "200", "100") ","
                      MEMBER("weight_nice", "0", "-4", "-4") "},\"memory\":{"
                      MEMBER("max", "1073741824", "\"max\"", "null") ","
                      MEMBER("high", "\"max\"", "\"max\"", "null") ","
                      MEMBER("low", "null", "0", "null") "," UNKNOWN("min") "},\"pids\":{"
                      MEMBER("current", "10", "12", "2") ","
                      MEMBER("max", "\"max\"", "null", "null") "}}]}", "") },
          "cgroup-limits\n"
          "cgroup limit              before      after delta       %\n"
          "/a     cpu.max         max/100ms 50ms/100ms     -       -\n"
          "/a     cpu.max.cpus          max      0.500     -       -\n"
          "/a     cpu.weight            100        200  +100 +100.0%\n"
          "/a     cpu.weight.nice         0         -4    -4       -\n"
          "/a     memory.max       1.000GiB        max     -       -\n"
          "/a     memory.low              -         0B     -       -\n"
          "/a     pids.current           10         12    +2  +20.0%\n"
          "/a     pids.max              max          -     -       -\n"
          "\n"
          "2 unchanged rows hidden (--all-rows)\n" },
        { "memory-stat,memory-events",
          { TWO_SIDES("{\"memory-stat\":["
                      KEYED(CGROUP_A, "anon", "bytes", "4096", "8192", "4096") ","
                      KEYED(CGROUP_A, "pgfault", "count", "4096", "5096", "1000") ","
                      KEYED(CGROUP_A, "file", "bytes", "null", "0", "null") "],"
                      "\"memory-events\":[{" CGROUP_A ",\"event\":\"oom_kill\","
                      "\"unit\":\"count\"," MEMBER("count", "0", "1", "1") "}]}", "") },
          "memory-stat\n"
          "cgroup key       before    after     delta       %\n"
          "/a     anon    4.000KiB 8.000KiB +4.000KiB +100.0%\n"
          "/a     pgfault   4.096K   5.096K   +1.000K  +24.4%\n"
          "/a     file           -       0B         -       -\n"
          "\n"
          "memory-events\n"
          "cgroup event    before after delta %\n"
          "/a     oom_kill      0     1    +1 -\n" },
        { "pressure,host-pressure",
          { TWO_SIDES("{\"pressure\":["
                      "{" CGROUP_A ",\"resource\":\"io\",\"row\":\"some\","
                      MEMBER("avg10", "10009", "5", "-10004") "," SAME("avg60", "0") ","
                      MEMBER("avg300", "null", "1", "null") ","
                      MEMBER("total_usec", "10", "2000010", "2000000") "},"
                      "{" CGROUP_A ",\"resource\":\"io\",\"row\":\"full\"," SAME("avg10", "0") ","
                      SAME("avg60", "0") "," SAME("avg300", "0") "," SAME("total_usec", "0")
                      "}],\"host-pressure\":[{\"resource\":\"cpu\",\"row\":\"some\","
                      MEMBER("avg10", "1", "2", "1") "," SAME("avg60", "0") ","
                      SAME("avg300", "0") "," SAME("total_usec", "7") "}]}", "") },
          "pressure: io\n"
          "cgroup row          avg10 avg60  avg300       total   delta            %\n"
          "/a     some 100.09%\u21920.05% 0.00% -\u21920.01% 10\u00b5s\u21922.000s +2.000s "
          "+20000000.0%\n"
          "\n"
          "host-pressure: cpu\n"
          "row        avg10 avg60 avg300 total delta     %\n"
          "some 0.01%\u21920.02% 0.00%  0.00%   7\u00b5s  +0\u00b5s +0.0%\n"
          "\n"
          "1 unchanged row hidden (--all-rows)\n" },
        { "sched-ext",
          { TWO_SIDES("{\"sched-ext\":["
                      "{\"attr\":\"state\","
                      MEMBER("value", "\"disabled\"", "\"enabled\"", "null") "},"
                      "{\"attr\":\"nr_rejected\"," SAME("value", "0") "},"
                      "{\"attr\":\"enable_seq\"," MEMBER("value", "1", "3", "2") "},"
                      "{\"attr\":\"ops\"," MEMBER("value", "null", "\"a\\u001b\"", "null")
                      "}]}", "") },
          "sched-ext\n"
          "attr         before   after delta       %\n"
          "state      disabled enabled     -       -\n"
          "enable_seq        1       3    +2 +200.0%\n"
          "ops               -   a\\x1b     -       -\n"
          "\n"
          "1 unchanged row hidden (--all-rows)\n" },
};
// clang-format on

START_TEST(compare_tells_what_changed) {
        begin(&compared_rows[_i].exchange, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--sections",
                compared_rows[_i].list);
        ck_assert_str_eq(ctl.err, "");
        ck_assert_str_eq(behind_head(), compared_rows[_i].text);
        ck_assert_int_eq(ctl.status, 0);
        end();
}
END_TEST

START_TEST(all_rows_are_there_when_asked_for) {
        begin(&compared_rows[0].exchange, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--sections", "smaps-rollup", "--all-rows", "--raw");
        ck_assert_str_eq(behind_head(), "smaps-rollup\n"
                                        "process key   before   after   delta   %\n"
                                        "nginx   Rss  1048576 3145728 2097152 200\n"
                                        "nginx   Swap       0       0       0   -\n"
                                        "gone    Rss     4096       -       -   -\n"
                                        "odd     Rss      0.5     1.5       1 200\n");
        end();
}
END_TEST

START_TEST(a_threshold_is_for_values_of_sections_too) {
        begin(&compared_rows[2].exchange, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--sections", "cgroup-limits",
                "--threshold", "25");
        ck_assert_ptr_nonnull(strstr(ctl.out, "cpu.weight "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "memory.max"));
        ck_assert_ptr_null(strstr(ctl.out, "pids.current"));
        end();
}
END_TEST

/* show */

#define LIMITS(cgroup, quota, cpus, memory)                                               \
        "{\"cgroup\":\"" cgroup "\",\"cpu\":{\"max_quota_us\":" quota                     \
        ",\"max_period_us\":100000,\"cpus\":" cpus ",\"weight\":100,\"weight_nice\":-1}," \
        "\"memory\":{\"max\":" memory ",\"high\":\"max\",\"low\":0,\"min\":null},"        \
        "\"pids\":{\"current\":1234,\"max\":\"max\"}}"
#define STATS(cgroup)                                                                    \
        "{\"cgroup\":\"" cgroup "\",\"cpu\":{\"usage_usec\":1500,\"nr_throttled\":null," \
        "\"throttled_usec\":0},\"memory\":{\"current\":1048576}}"

static const Exchange shown[] = { { ONE_SIDE(
        "{\"smaps-rollup\":[{\"process\":\"p\",\"key\":\"Rss\",\"unit\":\"bytes\",\"value\":"
        "2048}],\"cgroup-stats\":[" STATS(LONG) "," STATS("") "],\"cgroup-limits\":[" LIMITS(
                LONG, "150000", "1.5",
                "1073741824") "," LIMITS("/b", "\"max\"", "\"max\"",
                                         "null") "],"
                                                 "\"memory-stat\":[{\"cgroup\":\"/"
                                                 "b\",\"key\":\"workingset_refault_anon\","
                                                 "\"unit\":\"count\",\"value\":1500},{\"cgroup\":"
                                                 "\"/b\",\"key\":\"anon\","
                                                 "\"unit\":\"bytes\",\"value\":2048}],"
                                                 "\"memory-events\":[{\"cgroup\":\"/"
                                                 "b\",\"event\":\"oom\",\"unit\":\"count\","
                                                 "\"count\":2}],"
                                                 "\"pressure\":[{\"cgroup\":\"/"
                                                 "b\",\"resource\":\"cpu\",\"row\":\"some\","
                                                 "\"avg10\":101,"
                                                 "\"avg60\":0,\"avg300\":null,\"total_usec\":5}],"
                                                 "\"host-pressure\":[{\"resource\":\"cpu\",\"row\":"
                                                 "\"full\",\"avg10\":0,\"avg60\":0,"
                                                 "\"avg300\":0,\"total_usec\":18446744073709551615}"
                                                 "],"
                                                 "\"sched-ext\":[{\"attr\":\"state\",\"value\":"
                                                 "null},{\"attr\":\"enable_seq\",\"value\":7}],"
                                                 "\"of-a-newer-daemon\":[{\"x\":1}]}") } };

static const char shown_text[] =
        "smaps-rollup\n"
        "process key    value\n"
        "p       Rss 2.000KiB\n"
        "\n"
        "cgroup-stats\n"
        "cgroup                                                               cpu_usage_usec "
        "nr_throttled throttled_usec memory_current\n" LONG
        "        1.500ms            -            0\u00b5s       1.000MiB\n"
        "\"\"                                                                          1.500ms"
        "            -            0\u00b5s       1.000MiB\n"
        "\n"
        "cgroup-limits: cpu and pids\n"
        "cgroup                                                                   cpu.max  cpus "
        "cpu.weight nice pids.current pids.max\n" LONG
        " 150ms/100ms 1.500        100   -1       1.234K      max\n"
        "/b                                                                     max/100ms   max"
        "        100   -1       1.234K      max\n"
        "\n"
        "cgroup-limits: memory\n"
        "cgroup                                                               memory.max "
        "memory.high memory.low memory.min\n" LONG "   1.000GiB         max         0B          -\n"
        "/b                                                                            -"
        "         max         0B          -\n"
        "\n"
        "memory-stat\n"
        "cgroup key                        value\n"
        "/b     workingset_refault_anon   1.500K\n"
        "/b     anon                    2.000KiB\n"
        "\n"
        "memory-events\n"
        "cgroup event value\n"
        "/b     oom       2\n"
        "\n"
        "pressure: cpu\n"
        "cgroup row  avg10 avg60 avg300 total\n"
        "/b     some 1.01% 0.00%      -   5\u00b5s\n"
        "\n"
        "host-pressure: cpu\n"
        "row  avg10 avg60 avg300               total\n"
        "full 0.00% 0.00%  0.00% 18446744073709.552s\n"
        "\n"
        "sched-ext\n"
        "attr       value\n"
        "state          -\n"
        "enable_seq     7\n";

#define ALL_TABLES                                                                    \
        "smaps-rollup,cgroup-stats,cgroup-limits,memory-stat,memory-events,pressure," \
        "host-pressure,sched-ext"

START_TEST(show_has_a_cgroup_a_line) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "a", "--group-by", "cgroup", "--sections", ALL_TABLES);
        ck_assert_str_eq(ctl.err, "");
        ck_assert_str_eq(behind_head(), shown_text);
        end();
}
END_TEST

/* Without escape sequences, in columns of a terminal. */
static size_t width_of(const char *line, size_t n) {
        size_t width = 0;

        for (size_t i = 0; i < n; i++) {
                if (line[i] == '\033')
                        i += strcspn(line + i, "m");
                else if (line[i] != '\r' && (line[i] & 0xc0) != 0x80)
                        width++;
        }
        return width;
}

static void check_width(size_t columns) {
        for (const char *line = ctl.out; *line != '\0'; line += strcspn(line, "\n") + 1)
                ck_assert_uint_le(width_of(line, strcspn(line, "\n")), columns);
}

START_TEST(tables_fit_80_columns) {
        begin(shown, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "show", "a", "--group-by", "cgroup", "--no-pager");
        check_width(80);
        ck_assert_ptr_nonnull(strstr(ctl.out, "\u2026"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "worker.scope"));
        end();
        for (size_t i = 0; i < ELEMENTSOF(compared_rows); i++) {
                begin(&compared_rows[i].exchange, 1);
                CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b", "--group-by", "cgroup",
                                 "--no-pager");
                check_width(80);
                end();
        }
}
END_TEST

// clang-format off
static const Exchange wide[] = {
        { TWO_SIDES("{\"pressure\":[{\"cgroup\":\"" LONG "\",\"resource\":\"io\",\"row\":\"some\","
                    MEMBER("avg10", "1234", "4321", "3087") ","
                    MEMBER("avg60", "1234", "4321", "3087") ","
                    MEMBER("avg300", "1234", "4321", "3087") ","
                    MEMBER("total_usec", "12345678", "22345678", "10000000") "}]}", "") }
};
// clang-format on

START_TEST(what_did_not_fit_is_named) {
        begin(wide, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b", "--group-by", "cgroup", "--sections",
                         "pressure", "--no-pager");
        check_width(80);
        ck_assert_ptr_nonnull(strstr(ctl.out, "worker.scope "));
        ck_assert_ptr_nonnull(strstr(
                ctl.out, "no room for total of pressure: a wider terminal or a pipe has it"));
        end();
}
END_TEST

static const Exchange cut[] = { { TWO_SIDES("{\"memory-stat\":[]}",
                                            "\"hiddenSections\":{\"smaps-rollup\":1,"
                                            "\"memory-stat\":2,\"pressure\":12},") } };

START_TEST(what_the_limit_cut_is_told) {
        begin(cut, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup");
        ck_assert_ptr_nonnull(strstr(ctl.out,
                                     "\n\n1 more process in smaps-rollup, 2 more cgroups in "
                                     "memory-stat, 12 in pressure (--limit 0)\n"));
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--json");
        ck_assert_ptr_nonnull(strstr(
                ctl.out,
                "\"hiddenSections\":{\"smaps-rollup\":1,\"memory-stat\":2,\"pressure\":12}"));
        end();
}
END_TEST

static const Exchange nothing[] = { { TWO_SIDES("{\"memory-stat\":[]}", "") } };

START_TEST(what_was_named_and_is_not_there_is_told) {
        begin(nothing, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--sections",
                "memory-stat,pressure");
        ck_assert_str_eq(behind_head(), "memory-stat: nothing changed\n"
                                        "\n"
                                        "pressure: no data\n");
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--sections",
                "memory-stat,sched-ext", "--threshold", "5");
        ck_assert_str_eq(behind_head(), "memory-stat: nothing moved by more\n"
                                        "\n"
                                        "sched-ext: no data, or nothing changed\n");
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup");
        ck_assert_ptr_null(strstr(ctl.out, "pressure"));
        end();
}
END_TEST

#define NO_NETWORK(why) \
        "[{\"name\":\"host-network\",\"state\":\"unavailable\",\"reason\":\"" why "\"}]"
static const Exchange unread[] = { { REPLIES(
        "{\"parameters\":{\"before\":{\"name\":\"a\"},\"after\":{\"name\":\"b\"},"
        "\"sameBoot\":true,\"elapsedNs\":1000000000,\"hostChanges\":[],"
        "\"sourcesBefore\":" NO_NETWORK("it is elsewhere") ",\"sourcesAfter\":" NO_NETWORK(
                "it went") "},\"continues\":true}\0"
                           "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}"
                           "}") } };

START_TEST(why_there_is_no_data_is_told) {
        begin(unread, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--sections", "host-network,host-disk");
        ck_assert_str_eq(behind_head(), "host-disk: no data\n"
                                        "\n"
                                        "host-network: no data: it is elsewhere; it went\n");
        end();
}
END_TEST

#define UNREAD_INTERVAL(why_before, why_after)                                       \
        "{\"before\":{\"name\":\"a\"},\"after\":{\"name\":\"b\"},\"sameBoot\":true," \
        "\"elapsedNs\":1000000000,\"hostChanges\":[],"                               \
        "\"sourcesBefore\":" NO_NETWORK(why_before) ",\"sourcesAfter\":" NO_NETWORK(why_after) "}"
static const Exchange unread_intervals[] = { { REPLIES(
        "{\"parameters\":{\"kind\":\"intervals\",\"a\":" UNREAD_INTERVAL(
                "it is elsewhere",
                "it went") ",\"b\":" UNREAD_INTERVAL("it went",
                                                     "it is away") "},\"continues\":true}\0"
                                                                   "{\"parameters\":{\"sections\":{"
                                                                   "},\"hiddenRows\":0,"
                                                                   "\"hiddenGroups\":0}}") } };

START_TEST(why_two_intervals_have_no_data_is_told) {
        begin(unread_intervals, 1);
        CTL_RUN(&ctl, "compare", "a..b", "c..d", "--sections", "host-network");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nhost-network: no data: it is elsewhere; it went; "
                                              "it is away\n"));
        end();
}
END_TEST

START_TEST(metrics_that_were_named_come_alone) {
        begin(nothing, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--metrics", "minflt");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"sections\":[\"primary\",\"taskstats-delay\","
                                                "\"taskstats-accounting\",\"waits\",\"derived\"]"));
        CTL_RUN(&ctl, "compare", "a", "b", "--metrics", "minflt", "--sections",
                "primary,sched-ext");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"sections\":[\"primary\",\"sched-ext\"]"));
        CTL_RUN(&ctl, "compare", "a", "b", "--metrics", "minflt", "--json");
        ck_assert_ptr_null(strstr(ctl.asked, "\"sections\""));
        end();
}
END_TEST

static const char *const axis_forms[] = { "--json", "--format=csv", "--format=ndjson",
                                          "--format=table" };

START_TEST(a_section_of_cgroups_needs_an_axis_with_cgroups) {
        begin(nothing, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--sections", "primary,memory-stat,host-pressure",
                axis_forms[_i]);
        ck_assert_str_eq(ctl.err, "The section \"memory-stat\" has no rows with --group-by pcomm: "
                                  "it needs --group-by cgroup or all.\n");
        ck_assert_int_eq(ctl.status, 0);
        CTL_RUN(&ctl, "compare", "a", "b", axis_forms[_i]);
        ck_assert_str_eq(ctl.err, "");
        end();
}
END_TEST

/* rows */

// clang-format off
static const Exchange row_answers[] = {
        { TWO_SIDES("{\"cgroup-limits\":[{" CGROUP_A ",\"cpu\":{"
                    MEMBER("max_quota_us", "\"max\"", "50000", "null") ","
                    MEMBER("cpus", "2.5", "0.5", "-2.0") "},"
                    "\"memory\":{" MEMBER("max", "null", "1", "null") "},\"pids\":{},"
                    "\"reason\":\"before: x\"}],"
                    "\"host-pressure\":[{\"resource\":\"cpu\",\"row\":\"some\","
                    MEMBER("avg10", "10009", "5", "-10004") "}]}", "") }
};
// clang-format on

START_TEST(rows_of_sections_have_the_columns_of_all) {
        static const char *const lines[] = {
                ",/a,,,,,,,,cgroup-limits,cpu.max.period,,us,,,,,,,,,,,,,,,,,,before: "
                "x,,,,,,,,,,,,\r\n",
                "both,/"
                "a,,,,,,,,cgroup-limits,cpu.max.cpus,,cpus,2.5,,,,,,0.5,,,,,,-2.0,-80,,true,,,"
                ",,,,,,,,,,,\r\n",
                "after,/a,,,,,,,,cgroup-limits,memory.max,,bytes,,,,,,,1,,,,,,,,,,,before: "
                "x,,,,,,,,,,,,\r\n",
                "both,,,,,,,,,host-pressure,cpu.some.avg10,,percent,100.09,,,,,,0.05,,,,,,-100.04,"
                "-99.95004495953641,,true,,,,,,,,,,,,,,\r\n",
        };

        begin(row_answers, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--format", "csv");
        ck_assert_str_eq(ctl.err, "");
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                ck_assert_msg(strstr(ctl.out, lines[i]) != NULL, "%s is not in %s", lines[i],
                              ctl.out);
        end();
}
END_TEST

/* Plain numbers have a percent in every format, and the threshold compares the same. */
// clang-format off
static const Exchange plain_numbers[] = {
        { TWO_SIDES("{\"cgroup-limits\":[{" CGROUP_A ",\"cpu\":{"
                    MEMBER("weight", "100", "200", "100") "},\"memory\":{},\"pids\":{}}],"
                    "\"sched-ext\":[{\"attr\":\"nr_rejected\","
                    MEMBER("value", "4", "5", "1") "}]}", "") }
};
// clang-format on

START_TEST(a_percent_is_the_same_in_every_format) {
        begin(plain_numbers, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--sections",
                "cgroup-limits,sched-ext");
        ck_assert_ptr_nonnull(strstr(ctl.out, "+100.0%"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "+25.0%"));
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--sections",
                "cgroup-limits,sched-ext", "--raw");
        ck_assert_ptr_nonnull(strstr(ctl.out, "cpu.weight    100   200   100 100\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "nr_rejected      4     5     1 25\n"));
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--format", "csv");
        ck_assert_ptr_nonnull(strstr(ctl.out, "cpu.weight,,none,100,,,,,,200,,,,,,100,100,,true,"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "nr_rejected,,none,4,,,,,,5,,,,,,1,25,,true,"));
        CTL_RUN(&ctl, "compare", "a", "b", "--group-by", "cgroup", "--threshold", "99");
        ck_assert_ptr_nonnull(strstr(ctl.out, "cpu.weight"));
        ck_assert_ptr_null(strstr(ctl.out, "nr_rejected"));
        end();
}
END_TEST

START_TEST(rows_of_sections_are_objects_like_all) {
        begin(shown, 1);
        CTL_RUN(&ctl, "show", "a", "--group-by", "cgroup", "--format", "ndjson");
        ck_assert_ptr_nonnull(strstr(
                ctl.out, "\"cgroup\":\"/b\",\"process\":null,\"thread\":null,\"pid\":null,"
                         "\"tid\":null,\"start_ticks\":null,\"threads\":null,"
                         "\"section\":\"memory-stat\",\"metric\":\"anon\","
                         "\"rule\":null,\"unit\":\"bytes\",\"value\":2048,\"value_min\":null,"
                         "\"value_max\":null,\"value_text\":null,\"value_count\":null,"
                         "\"value_total\":null,\"present\":null,\"reason\":null,"
                         "\"approximate\":null,\"implausible\":null,"
                         "\"top_tid\":null,\"top_name\":null,\"top_value\":null,"
                         "\"p50\":null,\"p99\":null}\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out,
                                     "\"metric\":\"memory.high\",\"rule\":null,\"unit\":\"bytes\","
                                     "\"value\":null,\"value_min\":null,"
                                     "\"value_max\":null,\"value_text\":\"max\""));
        end();
}
END_TEST

static const Exchange spread[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":{\"name\":\"a\"},\"sources\":[]},\"continues\":true}\0"
        "{\"parameters\":{\"groups\":[{\"key\":\"p\",\"process\":\"p\",\"threads\":2,\"metrics\":"
        "{\"minflt\":{\"value\":7,\"present\":2,\"spread\":{\"top\":{\"tid\":12,\"name\":\"a,b\","
        "\"value\":6},\"p50\":1,\"p99\":6}}}}]},\"continues\":true}\0"
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}") } };

START_TEST(the_spread_of_a_sum_is_in_its_row) {
        begin(spread, 1);
        CTL_RUN(&ctl, "show", "a", "--format", "csv", "--no-legend");
        expect(0,
               "state,pcomm,a,,,,,,,,,,,,p,,,,,2,primary,minflt,SumCount,count,7,,,,,,2,,,,12,\"a,"
               "b\",6,1,6\r\n",
               "");
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-sections");
        TCase *tables = tcase_create("tables"), *rows = tcase_create("rows");

        tcase_add_loop_test(tables, compare_tells_what_changed, 0, ELEMENTSOF(compared_rows));
        tcase_add_test(tables, all_rows_are_there_when_asked_for);
        tcase_add_test(tables, a_threshold_is_for_values_of_sections_too);
        tcase_add_test(tables, show_has_a_cgroup_a_line);
        tcase_add_test(tables, tables_fit_80_columns);
        tcase_add_test(tables, what_did_not_fit_is_named);
        tcase_add_test(tables, what_the_limit_cut_is_told);
        tcase_add_test(tables, what_was_named_and_is_not_there_is_told);
        tcase_add_test(tables, why_there_is_no_data_is_told);
        tcase_add_test(tables, why_two_intervals_have_no_data_is_told);
        tcase_add_test(tables, metrics_that_were_named_come_alone);
        tcase_add_loop_test(tables, a_section_of_cgroups_needs_an_axis_with_cgroups, 0,
                            ELEMENTSOF(axis_forms));
        suite_add_tcase(suite, tables);
        tcase_add_test(rows, rows_of_sections_have_the_columns_of_all);
        tcase_add_test(rows, a_percent_is_the_same_in_every_format);
        tcase_add_test(rows, rows_of_sections_are_objects_like_all);
        tcase_add_test(rows, the_spread_of_a_sum_is_in_its_row);
        suite_add_tcase(suite, rows);
        return check_main(suite);
}
