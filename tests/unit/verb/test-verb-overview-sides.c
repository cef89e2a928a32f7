/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"
#include "overview-answers.h"

START_TEST(two_intervals_stand_side_by_side) {
        begin(intervals, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        expect(0,
               "A         a..b: 10.000s from 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads: 200 "
               "lived "
               "on, 13 born, 9 ended\n"
               "B         c..d: 20.000s from 2026-11-20 15:35:01 UTC, 213 threads: 200 lived on, "
               "13 "
               "born, 9 ended\n"
               "host      1.62 \u2192 0.81 of 2 CPUs (interrupts 4 % \u2192 2 %), 0.84 \u2192 0.42 "
               "waiting, pressure cpu 12 % \u2192 6 %, 98 \u2192 49 new threads/s; ctprof saw 41 "
               "% of it\n"
               "          vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms \u2192 vda busy 22 %, "
               "5.0MiB/s, 170 requests/s of 1.2ms, memory 3.2GiB of 7.6GiB, network out 50MiB "
               "\u2192 25MiB/s, 12 \u2192 6 TCP retransmits/s\n"
               "limited B /web.slice: CPU throttled 3.20s in 80 periods\n"
               "limited B /db: memory.max reached 1.2K times, 1 process killed for lack of memory\n"
               "limited B the host: 2 processes killed for lack of memory; 1 more (--verbose)\n"
               "\n"
               "GROUP         THREADS       CPU   WAIT      IO SWITCH/S   READ/S       WRITE/S "
               "MAJFLT/S PEAK-RSS\n"
               "nginx              12 1.06\u21920.59   0.20       0 12K\u21921.2K        0 "
               "7.0MiB\u21923.5MiB        0        -\n"
               "stress-ng-cpu   4 new    -\u21920.99 -\u21921.02       0      -\u21922        0    "
               "         0        0        -\n"
               "sysbench          3\u21922 1.98\u21920.64 0\u21920.20 0\u2192~1.47  0.9\u21920.5 "
               "0\u2192218MiB 7.0MiB\u21923.5MiB        0        -\n"
               "cron           1 gone    0.00\u2192-      0       0        0        0             "
               "0        0        -\n"
               "\n"
               "~ approximate: IO by delay accounting since Linux 6.12\n"
               "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, --sections\n",
               "");
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b");
        expect_lines(
                0,
                "A         a..b: 10.000s from 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads:\n"
                "          200 lived on, 13 born, 9 ended\n"
                "B         c..d: 20.000s from 2026-11-20 15:35:01 UTC, 213 threads: 200 lived on,\n"
                "          13 born, 9 ended\n"
                "host      1.62 \u2192 0.81 of 2 CPUs (interrupts 4 % \u2192 2 %), 0.84 \u2192 "
                "0.42 "
                "waiting,\n"
                "          pressure cpu 12 % \u2192 6 %, 98 \u2192 49 new threads/s; ctprof saw "
                "41 % of it\n"
                "          vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms \u2192 vda busy 22 %,\n"
                "          5.0MiB/s, 170 requests/s of 1.2ms, memory 3.2GiB of 7.6GiB, network\n"
                "          out 50MiB \u2192 25MiB/s, 12 \u2192 6 TCP retransmits/s\n"
                "limited B /web.slice: CPU throttled 3.20s in 80 periods; /db: memory.max reached\n"
                "          1.2K times, 1 process killed for lack of memory; 2 more (--verbose)\n"
                "\n"
                "GROUP         THREADS       CPU   WAIT      IO SWITCH/S   READ/S       WRITE/S\n"
                "nginx              12 1.06\u21920.59   0.20       0 12K\u21921.2K        0 "
                "7.0MiB\u21923.5MiB\n"
                "stress-ng-cpu   4 new    -\u21920.99 -\u21921.02       0      -\u21922        0   "
                " "
                "         0\n"
                "sysbench          3\u21922 1.98\u21920.64 0\u21920.20 0\u2192~1.47  0.9\u21920.5 "
                "0\u2192218MiB 7.0MiB\u21923.5MiB\n"
                "cron           1 gone    0.00\u2192-      0       0        0        0             "
                "0\n"
                "\n"
                "~ approximate: IO by delay accounting since Linux 6.12\n"
                "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, "
                "--sections\n",
                "");
        CTL_RUN_TERMINAL(&ctl, 120, "compare", "a", "b");
        expect_lines(
                0,
                "A         a..b: 10.000s from 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads: 200 "
                "lived "
                "on, 13 born, 9 ended\n"
                "B         c..d: 20.000s from 2026-11-20 15:35:01 UTC, 213 threads: 200 lived on, "
                "13 "
                "born, 9 ended\n"
                "host      1.62 \u2192 0.81 of 2 CPUs (interrupts 4 % \u2192 2 %), 0.84 \u2192 "
                "0.42 "
                "waiting, pressure cpu 12 % \u2192 6 %, 98 \u2192 49 new\n"
                "          threads/s; ctprof saw 41 % of it\n"
                "          vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms \u2192 vda busy 22 %, "
                "5.0MiB/s, 170 requests/s of 1.2ms, memory\n"
                "          3.2GiB of 7.6GiB, network out 50MiB \u2192 25MiB/s, 12 \u2192 6 TCP "
                "retransmits/s\n"
                "limited B /web.slice: CPU throttled 3.20s in 80 periods; /db: memory.max "
                "reached 1.2K times, 1 process killed for lack\n"
                "          of memory; the host: 2 processes killed for lack of memory; /x: "
                "pids.max reached 1 time\n"
                "\n"
                "GROUP         THREADS       CPU   WAIT      IO SWITCH/S   READ/S       WRITE/S "
                "MAJFLT/S PEAK-RSS\n"
                "nginx              12 1.06\u21920.59   0.20       0 12K\u21921.2K        0 "
                "7.0MiB\u21923.5MiB        0        -\n"
                "stress-ng-cpu   4 new    -\u21920.99 -\u21921.02       0      -\u21922        0   "
                " "
                "         0        0        -\n"
                "sysbench          3\u21922 1.98\u21920.64 0\u21920.20 0\u2192~1.47  0.9\u21920.5 "
                "0\u2192218MiB 7.0MiB\u21923.5MiB        0        -\n"
                "cron           1 gone    0.00\u2192-      0       0        0        0             "
                "0        0        -\n"
                "\n"
                "~ approximate: IO by delay accounting since Linux 6.12\n"
                "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, "
                "--sections\n",
                "");
        end();
}
END_TEST

// clang-format off
static const Exchange totals[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"totals\",\"before\":" HEAD("a") ",\"after\":" HEAD("b")
                ",\"sameBoot\":false,\"elapsedNs\":null,\"hostChanges\":[],\"sourcesBefore\":[],"
                "\"sourcesAfter\":[],\"coverage\":null},\"continues\":true}\0"
                OVERVIEW(ROW("nginx", "", NGINX_A "," NGINX_LATER) ","
                         ROW("new", ",\"only\":\"after\"", "null," STRESS_B)) LAST),
} };
static const Exchange state[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"state\",\"snapshot\":" HEAD("a")
                ",\"sources\":[],\"coverage\":null},\"continues\":true}\0"
                OVERVIEW(ROW("nginx", "", NGINX_A)) LAST),
} };
// clang-format on

// clang-format off
#define DATABASE_A                                            \
        THREADS("3", "3", "1")                                \
        TIMES("19800000000", "9000000000", "0", "true")       \
        WORK_DONE("9", "20480", "73400320", "true")
#define DATABASE_B                                            \
        THREADS("3", "3", "1")                                \
        TIMES("12800000000", "4000000000", "29400000000", "false") \
        WORK_DONE("10", "81920", "4571791360", "false")
static const Exchange writers[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000")
                ",\"b\":" SIDE("c", "d", "20000000000") ",\"sameBoot\":true,\"hostChanges\":[],"
                "\"coverage\":{\"a\":" COVERAGE ",\"b\":" COVERAGE "},\"host\":{\"a\":" HOST
                ",\"b\":" HOST "},\"limited\":{\"a\":[],\"b\":[]}},\"continues\":true}\0"
                OVERVIEW(ROW("postgres", "", DATABASE_A "," DATABASE_B)) LAST),
} };
// clang-format on

// clang-format off
static const Exchange late[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000")
                ",\"b\":" SIDE("c", "d", "20000000000") ",\"sameBoot\":true,\"hostChanges\":[],"
                "\"coverage\":{\"a\":" COVERAGE ",\"b\":" COVERAGE "},\"host\":{\"a\":" HOST
                ",\"b\":" HOST "},\"limited\":{\"a\":[],\"b\":[]}},\"continues\":true}\0"
                OVERVIEW(ROW("late", ",\"only\":\"b\"", "null,"
                             THREADS("0", "0", "3") TIMES("1000000", "0", "0", "true")
                             WORK_DONE("1", "0", "0", "true"))) LAST),
} };
// clang-format on

// clang-format off
#define SAYS(what, text) "{\"what\":\"" what ",\"text\":\"" text "\"}"
#define PRESSURE(resource) "pressure\",\"resource\":\"" resource "\""
#define BUT_OF_INTERVALS(a, b) { { \
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000") \
                ",\"b\":" SIDE("c", "d", "20000000000") ",\"sameBoot\":true,\"hostChanges\":[]," \
                "\"but\":{\"a\":[" a "],\"b\":[" b "]}},\"continues\":true}\0" \
                OVERVIEW(ROW("nginx", "", NGINX_A "," NGINX_B)) LAST), \
} }
#define LONG_SENTENCE \
        "1.05 threads wait while 0.95 CPUs are idle: redis-server and python3 share CPU 1, 100 % " \
        "busy, while CPU 0 is idle"
static const Exchange but[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"interval\",\"before\":" HEAD("a")
                ",\"after\":" HEAD("b")
                ",\"sameBoot\":true,\"elapsedNs\":10000000000,\"hostChanges\":[],\"but\":["
                SAYS("waiting\"", LONG_SENTENCE) "," SAYS(PRESSURE("io"), "io\\u0007") ","
                SAYS("limits\"", "limits") "]},\"continues\":true}\0"
                OVERVIEW(ROW("nginx", "", NGINX_A)) LAST),
} };
static const Exchange but_sides[][1] = {
        BUT_OF_INTERVALS(SAYS("waiting\"", "a waits") "," SAYS(PRESSURE("io"), "a reads") ","
                         SAYS(PRESSURE("cpu"), "a runs"),
                         SAYS("waiting\"", "b waits")),
        BUT_OF_INTERVALS(SAYS("waiting\"", "a waits") "," SAYS(PRESSURE("io"), "a reads"),
                         SAYS(PRESSURE("io"), "b reads")),
        BUT_OF_INTERVALS(SAYS("limits\"", "a limits"),
                         SAYS("waiting\"", "b waits") "," SAYS(PRESSURE("io"), "b reads") ","
                         SAYS("limits\"", "b limits")),
        BUT_OF_INTERVALS("", ""),
};
// clang-format on

static const char *const but_lines[] = {
        "born, 9 ended unseen\nbut B     b waits\nbut A     a reads\n\n",
        "born, 9 ended unseen\nbut B     b reads\nbut A     a waits\n\n",
        "born, 9 ended unseen\nbut B     b waits\nbut B     b reads\n\n",
        "born, 9 ended unseen\n\nGROUP",
};

START_TEST(what_contradicts_itself_is_two_sentences) {
        begin(but, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "but       " LONG_SENTENCE "\nbut       io\\x07\n\n"));
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b");
        ck_assert_ptr_nonnull(strstr(ctl.out, "but       1.05 threads wait while 0.95 CPUs are "
                                              "idle: redis-server and python3\r\n"
                                              "          share CPU 1, 100 % busy, while CPU 0 is "
                                              "idle\r\n"
                                              "but       io\\x07\r\n\r\n"));
        CTL_RUN_TERMINAL(&ctl, 50, "compare", "a", "b");
        ck_assert_ptr_nonnull(strstr(ctl.out,
                                     "but       1.05 threads wait while 0.95 CPUs are\r\n"
                                     "          idle: redis-server and python3 share\u2026\r\n"));
        CTL_RUN(&ctl, "compare", "a", "b", "--verbose");
        ck_assert_ptr_nonnull(strstr(ctl.out, "but       limits\n"));
        end();
}
END_TEST

START_TEST(the_second_interval_is_spoken_of_first) {
        begin(but_sides[_i], 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out, but_lines[_i]), "%s", ctl.out);
        end();
}
END_TEST

/* They were there when the second interval began. */
START_TEST(threads_of_a_group_that_ended_are_not_new) {
        begin(late, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nlate  3 ended "));
        end();
}
END_TEST

// clang-format off
/* @storage, and how many threads were left and ended. */
#define PART(storage, threads, ended) \
        THREADS(threads, "0", ended) TIMES("10000000000", "0", storage, "true") \
        WORK_DONE("0", "0", "0", "true")
static const Exchange two_parts[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000")
                ",\"b\":" SIDE("c", "d", "10000000000") ",\"sameBoot\":true},\"continues\":true}\0"
                OVERVIEW(ROW("told", "", PART("null", "1", "0") "," PART("0", "1", "0")) ","
                         ROW("lost", "", PART("0", "1", "0") "," PART("null", "1", "0")) ","
                         ROW("dark", "", PART("null", "1", "0") "," PART("null", "1", "0")) ","
                         ROW("there", ",\"only\":\"a\"", PART("0", "1", "0") ",null") ","
                         ROW("fewer", "", PART("0", "0", "2310") "," PART("0", "0", "500")) ","
                         ROW("same", "", PART("0", "0", "7") "," PART("0", "0", "7")) ","
                         ROW("left", "", PART("0", "0", "7") "," PART("0", "2", "0"))) LAST),
} };
// clang-format on

START_TEST(a_cell_of_two_intervals_tells_ended_and_unmeasured_from_nothing) {
        static const char *const rows[] = {
                "\ntold               1   1.00    0 -\u21920 ",
                "\nlost               1   1.00    0 0\u2192- ",
                "\ndark               1   1.00    0   - ",
                "\nthere         1 gone 1.00\u2192-    0   0 ",
                "\nfewer 2310\u2192500 ended   1.00    0   0 ",
                "\nsame         7 ended   1.00    0   0 ",
                "\nleft             0\u21922   1.00    0   0 ",
        };

        begin(two_parts, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                ck_assert_msg(strstr(ctl.out, rows[i]), "%s in\n%s", rows[i], ctl.out);
        end();
}
END_TEST

// clang-format off
/* Of the host nothing but the time of its CPUs was read. */
#define HOST_UNREAD \
        "{\"cpus\":2,\"cpuUsedNs\":16200000000,\"irqNs\":null,\"softirqNs\":null," \
        "\"stealNs\":null,\"perCpu\":[{\"cpu\":0,\"usedNs\":16200000000}," \
        "{\"cpu\":1,\"usedNs\":null}],\"waitingNs\":null,\"processesCreated\":null," \
        "\"pressure\":{\"cpu\":null,\"memory\":null,\"io\":null}," \
        "\"disks\":null,\"memory\":null,\"network\":null}"
#define HOST_IDLE \
        "{\"cpus\":2,\"cpuUsedNs\":16200000000,\"disks\":[{\"name\":\"vda\",\"busyNs\":0}]}"
#define HOSTS(a, b) \
        { { \
                REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", \
                        "10000000000") ",\"b\":" SIDE("c", "d", "10000000000") \
                        ",\"sameBoot\":true,\"host\":{\"a\":" a ",\"b\":" b \
                        "}},\"continues\":true}\0" LAST), \
        } }
static const Exchange hosts[][1] = { HOSTS(HOST_UNREAD, HOST), HOSTS("null", HOST),
                                     HOSTS(HOST, HOST_UNREAD), HOSTS(HOST_IDLE, HOST) };
static const Exchange unread[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"interval\",\"before\":" HEAD("a")
                ",\"after\":" HEAD("b") ",\"sameBoot\":true,\"elapsedNs\":10000000000,"
                "\"host\":" HOST_UNREAD
                "},\"continues\":true}\0" LAST),
} };
// clang-format on

static const struct {
        const Exchange *exchange;
        const char *lines;
} host_rows[] = {
        { hosts[0],
          "host      1.62 of 2 CPUs (interrupts - \u2192 4 %), - \u2192 0.84 "
          "waiting, pressure cpu - \u2192 12 %, - \u2192 98 new threads/s\n"
          "          disks - \u2192 vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms, memory - "
          "\u2192 3.2GiB of 7.6GiB, network out - \u2192 50MiB/s, - \u2192 12 TCP "
          "retransmits/s\n" },
        { hosts[1],
          "host      - \u2192 0.84 waiting, pressure cpu - \u2192 12 %, - \u2192 98 new "
          "threads/s\n"
          "          disks - \u2192 vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms, memory - "
          "\u2192 3.2GiB of 7.6GiB, network out - \u2192 50MiB/s, - \u2192 12 TCP "
          "retransmits/s\n" },
        { hosts[2],
          "host      1.62 of 2 CPUs (interrupts 4 % \u2192 -), 0.84 \u2192 - "
          "waiting, pressure cpu 12 % \u2192 -, 98 \u2192 - new threads/s\n"
          "          vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms \u2192 disks -, memory 3.2GiB "
          "\u2192 -, network out 50MiB \u2192 -/s, 12 \u2192 - TCP retransmits/s\n" },
        { hosts[3], "          disks idle \u2192 vda busy 45 %, " },
        { unread, "host      1.62 of 2 CPUs\n\n" },
};

/* What was not measured is not 0. */
START_TEST(what_no_source_of_a_host_told_is_a_dash) {
        begin(host_rows[_i].exchange, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out, host_rows[_i].lines), "%s", ctl.out);
        end();
}
END_TEST

// clang-format off
/* Everything that can stand above the groups, and thirty of them. */
#define LONG "a-name-of-sixty-four-characters-is-the-longest-that-there-can-b"
#define LONG_HEAD(name) \
        "{\"name\":\"" LONG name "\",\"hostName\":\"" LONG "\",\"kernelRelease\":\"6.1.0-" LONG \
        "\",\"threads\":213,\"startRealtimeNs\":1795188901123456789}"
#define REFUSED \
        "[{\"name\":\"io\",\"state\":\"partial\",\"reason\":\"why\",\"ok\":1,\"denied\":12}]"
#define FULL_SIDE(before, after) \
        "{\"before\":" LONG_HEAD(before) ",\"sourcesBefore\":" REFUSED ",\"after\":" \
        LONG_HEAD(after) ",\"sourcesAfter\":[],\"elapsedNs\":10000000000," \
        "\"lives\":" LIVES("200", "13", "9") "}"
#define FULL_HOST(n) \
        "{\"cpus\":" n ",\"cpuUsedNs\":1" n "200000000,\"softirqNs\":8" n "0000000," \
        "\"stealNs\":9" n "0000000,\"perCpu\":[{\"cpu\":0,\"usedNs\":9900000000}," \
        "{\"cpu\":1,\"usedNs\":1}],\"waitingNs\":8" n "00000000,\"processesCreated\":98" n "," \
        "\"pressure\":{\"cpu\":{\"someNs\":1" n "00000000}," \
        "\"memory\":{\"someNs\":2" n "00000000}," \
        "\"io\":{\"someNs\":3" n "00000000}},\"disks\":[{\"name\":\"vda\"," \
        "\"busyNs\":4" n "00000000," \
        "\"readBytes\":" n "000,\"writeBytes\":104857600,\"requests\":34" n "," \
        "\"requestNs\":4080000000}]," \
        "\"memory\":{\"usedBytes\":3" n "35973837,\"totalBytes\":8160437862," \
        "\"swapUsedBytes\":3" n "0," \
        "\"swapTotalBytes\":1000,\"swapInBytes\":" n "000,\"swapOutBytes\":" n "00000}," \
        "\"network\":" \
        "{\"receivedBytes\":1" n "000000,\"sentBytes\":5" n "4288000," \
        "\"tcpRetransmits\":1" n "0," \
        "\"listenDrops\":" n "0}}"
#define FULL_LIMITED \
        "[{\"cgroup\":\"/system.slice/" LONG "\",\"what\":\"cpu.max\",\"count\":80," \
        "\"ns\":3200000000}," \
        "{\"cgroup\":\"/db\",\"what\":\"memory.max\",\"count\":1204,\"ns\":null}," \
        "{\"cgroup\":\"/db\",\"what\":\"oom_kill\",\"count\":1,\"ns\":null}," \
        "{\"cgroup\":\"\",\"what\":\"oom_kill\",\"count\":2,\"ns\":null}]"
#define FULL_BUT \
        "[" SAYS("waiting\"", LONG_SENTENCE) "," SAYS(PRESSURE("io"), LONG_SENTENCE) "," \
        SAYS("limits\"", LONG_SENTENCE) "]"
#define CHANGES \
        "\"hostChanges\":[{\"key\":\"kernel.x\",\"before\":\"" LONG "\",\"after\":\"1\"}," \
        "{\"key\":\"kernel.y\",\"before\":\"0\",\"after\":\"" LONG "\"}]"
#define SIX(a, accounts) \
        OVERVIEW(ROW(LONG a "1", "", accounts) "," ROW(LONG a "2", "", accounts) "," \
                 ROW(LONG a "3", "", accounts) "," ROW(LONG a "4", "", accounts) "," \
                 ROW(LONG a "5", "", accounts) "," ROW(LONG a "0", "", accounts))
#define THIRTY(accounts) \
        SIX("a", accounts) SIX("b", accounts) SIX("c", accounts) SIX("d", accounts) \
        SIX("e", accounts)
#define FULL_LAST \
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":1234," \
        "\"pairings\":[{\"before\":\"/a\",\"after\":\"/b\"}]}}"

static const Exchange full_interval[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"interval\",\"before\":" LONG_HEAD("a")
                ",\"after\":" LONG_HEAD("b") ",\"sameBoot\":true,\"elapsedNs\":10000000000,"
                "\"lives\":" LIVES("200", "13", "9") "," CHANGES ",\"sourcesBefore\":" REFUSED
                ",\"sourcesAfter\":[],\"coverage\":" COVERAGE ",\"host\":" FULL_HOST("2")
                ",\"limited\":" FULL_LIMITED ",\"but\":" FULL_BUT "},\"continues\":true}\0"
                THIRTY(POSTGRES) FULL_LAST),
} };
static const Exchange full_intervals[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" FULL_SIDE("a", "b")
                ",\"b\":" FULL_SIDE("c", "d") ",\"sameBoot\":true," CHANGES ","
                "\"coverage\":{\"a\":" COVERAGE ",\"b\":" COVERAGE "},\"host\":{\"a\":"
                FULL_HOST("2") ",\"b\":" FULL_HOST("3") "},\"limited\":{\"a\":" FULL_LIMITED
                ",\"b\":" FULL_LIMITED "},\"but\":{\"a\":" FULL_BUT ",\"b\":" FULL_BUT
                "}},\"continues\":true}\0"
                THIRTY(POSTGRES "," SYSBENCH_B) FULL_LAST),
} };
static const Exchange full_totals[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"totals\",\"before\":" LONG_HEAD("a")
                ",\"after\":" LONG_HEAD("b") ",\"sameBoot\":true,\"elapsedNs\":10000000000,"
                CHANGES ",\"sourcesBefore\":" REFUSED ",\"sourcesAfter\":[]},\"continues\":true}\0"
                THIRTY(POSTGRES "," SYSBENCH_B) FULL_LAST),
} };
// clang-format on

static const struct {
        const Exchange *exchange;
        size_t columns, least_groups;
} screen_rows[] = {
        { full_interval, 80, 4 },  { full_interval, 120, 5 },  { full_interval, 200, 5 },
        { full_intervals, 80, 2 }, { full_intervals, 120, 3 }, { full_intervals, 200, 4 },
        { full_totals, 80, 8 },    { full_totals, 120, 8 },    { full_totals, 200, 8 },
};

static size_t count(const char *text, const char *what) {
        size_t n = 0;

        while ((text = strstr(text, what))) {
                n++;
                text++;
        }
        return n;
}

/* The terminal has 24 lines, the last of them for the next prompt. */
START_TEST(whatever_there_is_to_say_is_one_screen_with_some_groups) {
        size_t n_groups;

        begin(screen_rows[_i].exchange, 1);
        CTL_RUN_TERMINAL(&ctl, (unsigned short) screen_rows[_i].columns, "compare", "a", "b");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_uint_le(count(ctl.out, "\n"), 23);
        n_groups = count(ctl.out, "\na-name-of-") + count(ctl.out, "\n\u2026");
        ck_assert_msg(n_groups >= screen_rows[_i].least_groups, "%zu groups in\n%s", n_groups,
                      ctl.out);
        end();
}
END_TEST

START_TEST(of_reads_and_writes_those_of_more_bytes_stay) {
        begin(writers, 1);
        CTL_RUN_TERMINAL(&ctl, 66, "compare", "a", "b");
        ck_assert_ptr_nonnull(strstr(ctl.out, "no room for SWITCH/S, READ/S:"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "disks\r\n"));
        end();
        begin(intervals, 1);
        CTL_RUN_TERMINAL(&ctl, 66, "compare", "a", "b");
        ck_assert_ptr_nonnull(strstr(ctl.out, "no room for SWITCH/S, WRITE/S:"));
        end();
}
END_TEST

// clang-format off
/* Of 10 s and 20 s. */
#define REASONS(lock, poll, sleep)                                                                 \
        ",\"syncNs\":0,\"reasons\":{\"lock\":" lock ",\"futex\":1000,\"poll\":" poll             \
        ",\"sleep\":" sleep "}"
#define APP(times, reasons) THREADS("8", "0", "0") times reasons WORK_DONE("20", "0", "0", "true")
#define LITTLE TIMES("1000000000", "0", "0", "true")
static const Exchange waiting[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000")
                ",\"b\":" SIDE("c", "d", "20000000000") ",\"sameBoot\":true,\"hostChanges\":[],"
                "\"coverage\":{\"a\":null,\"b\":null},\"host\":{\"a\":null,\"b\":" HOST "},"
                "\"limited\":{\"a\":[],\"b\":[]},\"waits\":[{\"key\":\"app\",\"reason\":\"lock\","
                "\"aNs\":1000000000,\"bNs\":136000000000,\"threads\":8},{\"key\":\"pg\",\"reason\":"
                "\"sync\",\"aNs\":0,\"bNs\":4200000000,\"threads\":3}]},\"continues\":true}\0"
                OVERVIEW(ROW("app", "", APP(LITTLE, REASONS("1000000000", "66000000000", "0")) ","
                                     APP(LITTLE, REASONS("136000000000", "10000000000", "0"))) ","
                         ROW("handler", "", APP(LITTLE, REASONS("0", "79000000000", "0")) ","
                                     APP(LITTLE, REASONS("0", "26000000000", "132000000000"))) ","
                         ROW("still", "",
                             APP(LITTLE, REASONS("0", "70000000000", "10000000000")) ","
                             APP(LITTLE, REASONS("0", "140000000000", "20000000000"))) ","
                         ROW("new", ",\"only\":\"b\"", "null,"
                             APP(LITTLE, REASONS("0", "20000000000", "20000000000"))) ","
                         ROW("hidden", "", APP(LITTLE, "") "," APP(LITTLE, ""))) LAST),
} };
// clang-format on

START_TEST(what_is_waited_for_is_told) {
        begin(waiting, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out, "waits     app: lock 0.10 \u2192 6.8 of 8 threads; pg: sync "
                                      "0 \u2192 0.21\n"),
                      "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, "WAIT IO      LOCK SWITCH/S"), "%s", ctl.out);
        ck_assert_ptr_null(strstr(ctl.out, "BLOCKED"));
        ck_assert_msg(strstr(ctl.out, " 0.10\u21926.80 "), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, " poll 6.6\u21920.50\n"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, " sleep 0\u21926.6, poll 7.9\u21921.3\n"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, " poll 7.0\n"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, " poll 1.0, sleep 1.0\n"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, "- -\n"), "%s", ctl.out);
        end();
}
END_TEST

// clang-format off
#define STARTERS(ended, starters)                                                                  \
        THREADS("1", "0", "0") ",\"bornAndEnded\":" ended ",\"startedBy\":" starters               \
        TIMES("1000000000", "500000000", "0", "true") REASONS("0", "8000000000", "0")              \
        WORK_DONE("20", "0", "0", "true")
#define STARTER(name, threads) "{\"name\":\"" name "\",\"threads\":" threads "}"
static const Exchange started[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000")
                ",\"b\":" SIDE("c", "d", "20000000000") ",\"sameBoot\":true,\"hostChanges\":[],"
                "\"coverage\":{\"a\":null,\"b\":null},\"host\":{\"a\":null,\"b\":" HOST "},"
                "\"limited\":{\"a\":[],\"b\":[]},\"waits\":[]},\"continues\":true}\0"
                OVERVIEW(ROW("moved", "", STARTERS("9", "[" STARTER("cron", "5") "]") ","
                             STARTERS("9", "[" STARTER("sh", "9") "]")) ","
                         ROW("same", "", STARTERS("1", "[" STARTER("make", "1") "]") ","
                             STARTERS("3", "[" STARTER("make", "2") "," STARTER("sh", "1") "]")) ","
                         ROW("half", "", STARTERS("0", "[]") ","
                             STARTERS("4", "[" STARTER("zip", "2") "," STARTER("zap", "2") "]")) ","
                         ROW("begun", "", STARTERS("0", "[]") ","
                             STARTERS("4", "[" STARTER("a\\nb", "4") "]")) ","
                         ROW("new", ",\"only\":\"b\"", "null,"
                             STARTERS("4", "[" STARTER("bash", "3") "]")) ","
                         ROW("unknown", "", STARTERS("4", "null") "," STARTERS("4", "null"))) LAST),
} };
// clang-format on

START_TEST(who_started_more_than_half_is_told) {
        begin(started, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out, " STARTED BY WAITS FOR\n"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, " cron\u2192sh    poll"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, " make       poll"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, " -\u2192a\\x0ab   poll"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, " bash       poll"), "%s", ctl.out);
        ck_assert_ptr_null(strstr(ctl.out, "zip"));
        ck_assert_ptr_null(strstr(ctl.out, "zap"));
        end();
        begin(waiting, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_ptr_null(strstr(ctl.out, "STARTED BY"));
        end();
}
END_TEST

/* It makes room after what is waited for, and before waits for a CPU. */
START_TEST(who_started_it_makes_room_in_its_turn) {
        static const struct {
                unsigned short columns;
                const char *headers;
        } rows[] = {
                { 60, "CPU      WAIT STARTED BY WAITS FOR\r\n" },
                { 50, "CPU      WAIT STARTED BY\r\n" },
                { 40, "CPU      WAIT\r\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                begin(started, 1);
                CTL_RUN_TERMINAL(&ctl, rows[i].columns, "compare", "a", "b");
                ck_assert_msg(strstr(ctl.out, rows[i].headers), "%d: %s", (int) rows[i].columns,
                              ctl.out);
                end();
        }
}
END_TEST

/* Rates make room before waits, and these for locks; what has most of a weight stays. */
START_TEST(columns_make_room_in_their_order) {
        static const struct {
                unsigned short columns;
                const char *headers;
        } rows[] = {
                { 100, "LOCK SWITCH/S READ/S WRITE/S WAITS FOR\r\n" },
                { 60, "CPU      LOCK WAITS FOR\r\n" },
                { 50, "CPU      LOCK WAITS FOR\r\n" },
                { 44, "CPU      LOCK\r\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                begin(waiting, 1);
                CTL_RUN_TERMINAL(&ctl, rows[i].columns, "compare", "a", "b");
                ck_assert_msg(strstr(ctl.out, rows[i].headers), "%d: %s", (int) rows[i].columns,
                              ctl.out);
                end();
        }
}
END_TEST

// clang-format off
#define ONE_GROUP(first, second)                                                                   \
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000") \
                ",\"b\":" SIDE("c", "d", "20000000000") ",\"sameBoot\":true,"                   \
                "\"hostChanges\":[],\"coverage\":{\"a\":null,\"b\":null},"                     \
                "\"host\":{\"a\":null,\"b\":" HOST "},"                                        \
                "\"limited\":{\"a\":[],\"b\":[]}},\"continues\":true}\0"                      \
                OVERVIEW(ROW("app", "", first "," second)) LAST)
#define WORKED(running, waiting, storage, switches, read)                                          \
        THREADS("8", "0", "0") TIMES(running, waiting, storage, "true")                            \
        WORK_DONE(switches, read, "0", "true")
/* 1.2 → 0.6 CPUs, and 0.55 that it waits, are half of its weight each; storage did not move. */
static const Exchange halves[] = { {
        ONE_GROUP(WORKED("12000000000", "0", "1000000000", "20", "0"),
                  WORKED("12000000000", "11000000000", "2000000000", "40", "0")),
} };
/* It reads instead of running, so that its share of the time is what it was: storage weighs. */
static const Exchange readers[] = { {
        ONE_GROUP(WORKED("8000000000", "1000000000", "0", "20", "0"),
                  WORKED("6000000000", "2000000000", "10000000000", "40", "800000000")),
} };
// clang-format on

START_TEST(columns_with_half_of_a_weight_outlast_those_in_which_nothing_moved) {
        begin(halves, 1);
        CTL_RUN_TERMINAL(&ctl, 33, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out, "GROUP THREADS       CPU   WAIT\r\n"), "%s", ctl.out);
        end();
        begin(readers, 1);
        CTL_RUN_TERMINAL(&ctl, 40, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out, "GROUP THREADS       CPU     IO  READ/S\r\n"), "%s", ctl.out);
        end();
}
END_TEST

START_TEST(lives_have_durations) {
        begin(totals, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        expect(0,
               "before    a, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
               "after     b, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
               "totals    of whole lives, which differ in length; one of the snapshots has no boot "
               "id\n"
               "\n"
               "GROUP THREADS      CPU        WAIT IO SWITCHES READ WRITE MAJFLT PEAK-RSS\n"
               "nginx   12\u219214 10.6s\u21921h 2.00s\u21924.00s  0 123K\u219223K    0 70MiB      "
               "0        -\n"
               "new     4 new  -\u219219.8s     -\u219220.4s  0     -\u219240    0     0      0    "
               "    -\n"
               "\n"
               "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, --sections\n",
               "");
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b");
        expect_lines(
                0,
                "before    a, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
                "after     b, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
                "totals    of whole lives, which differ in length; one of the snapshots has no\n"
                "          boot id\n"
                "\n"
                "GROUP THREADS      CPU        WAIT IO SWITCHES READ WRITE MAJFLT PEAK-RSS\n"
                "nginx   12\u219214 10.6s\u21921h 2.00s\u21924.00s  0 123K\u219223K    0 70MiB     "
                " "
                "0        -\n"
                "new     4 new  -\u219219.8s     -\u219220.4s  0     -\u219240    0     0      0   "
                " "
                "    -\n"
                "\n"
                "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, "
                "--sections\n",
                "");
        end();
        begin(state, 1);
        CTL_RUN(&ctl, "show", "a");
        expect(0,
               "snapshot  a, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
               "\n"
               "GROUP THREADS   CPU  WAIT IO SWITCHES READ WRITE MAJFLT PEAK-RSS\n"
               "nginx      12 10.6s 2.00s  0     123K    0 70MiB      0        -\n"
               "\n"
               "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, --sections\n",
               "");
        CTL_RUN_TERMINAL(&ctl, 80, "show", "a");
        expect_lines(0,
                     "snapshot  a, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
                     "\n"
                     "GROUP THREADS   CPU  WAIT IO SWITCHES READ WRITE MAJFLT PEAK-RSS\n"
                     "nginx      12 10.6s 2.00s  0     123K    0 70MiB      0        -\n"
                     "\n"
                     "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, "
                     "--sections\n",
                     "");
        CTL_RUN(&ctl, "show", "a", "--raw");
        expect(0,
               "snapshot  a, 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads, 98 processes\n"
               "\n"
               "GROUP THREADS         CPU       WAIT IO SWITCHES READ    WRITE MAJFLT PEAK-RSS\n"
               "nginx      12 10600000000 2000000000  0   123456    0 73400320      0        -\n"
               "\n"
               "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, --sections\n",
               "");
        end();
}
END_TEST

// clang-format off
#define PEAKED(peak) THREADS("3", "0", "0") TIMES("100000000", "0", "0", "true")              \
        ",\"switches\":0,\"readBytes\":0,\"writeBytes\":0,\"writeExact\":true,"                \
        "\"majorFaults\":0,\"peakRssBytes\":" peak "}"
static const Exchange levels[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000")
                ",\"b\":" SIDE("c", "d", "10000000000") ",\"sameBoot\":true,\"hostChanges\":[],"
                "\"coverage\":null},\"continues\":true}\0"
                OVERVIEW(ROW("leaky", "", MEMORY("1", "104857600", "104857600", "0") ","
                                          MEMORY("1", "104857600", "138412032", "0")) ","
                         ROW("was", "", MEMORY("1", "209715200", "104857600", "0") ","
                                        MEMORY("1", "104857600", "104857600", "0")) ","
                         ROW("heap", "", MEMORY("1", "104857600", "104857600", "0") ","
                                         MEMORY("1", "104857600", "104857600", "10485760")) ","
                         ROW("grew", "", MEMORY("1", "null", "104857600", "0") ","
                                         MEMORY("1", "104857600", "138412032", "0")) ","
                         ROW("new", ",\"only\":\"b\"", "null,"
                                        MEMORY("1", "null", "138412032", "0")) ","
                         /* between the intervals, and in neither */
                         ROW("other", "", MEMORY("1", "52428800", "52428800", "0") ","
                                          MEMORY("1", "104857600", "104857600", "0")) ","
                         ROW("peak", "", PEAKED("null") "," PEAKED("771751936")) ","
                         ROW("both", "", PEAKED("1048576") "," PEAKED("771751936"))) LAST),
} };
// clang-format on

/* Of memory that changed inside one of them, the levels at the end of each. */
START_TEST(levels_of_two_intervals_are_those_of_their_ends) {
        static const char *const chosen[] = {
                "\nleaky 100MiB\u2192132MiB             -\n",
                "\nwas          100MiB             -\n",
                "\nnew        -\u2192132MiB             -\n",
                "\nother  50MiB\u2192100MiB             -\n",
                "\npeak              -   peak 736MiB\n",
                "\nboth              - 1.0MiB\u2192736MiB\n",
        };
        /* where it changed inside */
        static const char *const usual[] = {
                " 100MiB\u2192132MiB        0             -\n",
                "       100MiB        0             -\n",
                "            -        0             -\n",
        };
        static const struct {
                const char *group;
                size_t cells;
        } rows[] = { { "\nleaky ", 0 },
                     { "\nwas ", 1 },
                     { "\nheap ", 1 },
                     { "\ngrew ", 0 },
                     { "\nother ", 2 } };

        begin(levels, 1);
        CTL_RUN(&ctl, "compare", "a..b", "c..d", "--columns", "rss,peak-rss", "--all-rows");
        for (size_t i = 0; i < ELEMENTSOF(chosen); i++)
                ck_assert_msg(strstr(ctl.out, chosen[i]) != NULL, "%s in\n%s", chosen[i], ctl.out);
        CTL_RUN(&ctl, "compare", "a..b", "c..d");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *row = strstr(ctl.out, rows[i].group), *cells = usual[rows[i].cells];
                const char *line_end;

                ck_assert_ptr_nonnull(row);
                line_end = strchr(row + 1, '\n') + 1;
                ck_assert_msg(strncmp(line_end - strlen(cells), cells, strlen(cells)) == 0,
                              "%s in\n%s", rows[i].group, ctl.out);
        }
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-overview-sides");
        TCase *kinds = tcase_create("kinds");

        (void) setenv("LC_ALL", "C.UTF-8", 1); /* so that the bar has block characters */

        tcase_add_test(kinds, two_intervals_stand_side_by_side);
        tcase_add_loop_test(kinds, what_no_source_of_a_host_told_is_a_dash, 0,
                            ELEMENTSOF(host_rows));
        tcase_add_test(kinds, threads_of_a_group_that_ended_are_not_new);
        tcase_add_test(kinds, what_contradicts_itself_is_two_sentences);
        tcase_add_loop_test(kinds, the_second_interval_is_spoken_of_first, 0,
                            ELEMENTSOF(but_lines));
        tcase_add_test(kinds, a_cell_of_two_intervals_tells_ended_and_unmeasured_from_nothing);
        tcase_add_loop_test(kinds, whatever_there_is_to_say_is_one_screen_with_some_groups, 0,
                            ELEMENTSOF(screen_rows));
        tcase_add_test(kinds, of_reads_and_writes_those_of_more_bytes_stay);
        tcase_add_test(kinds, levels_of_two_intervals_are_those_of_their_ends);
        tcase_add_test(kinds, what_is_waited_for_is_told);
        tcase_add_test(kinds, columns_make_room_in_their_order);
        tcase_add_test(kinds, columns_with_half_of_a_weight_outlast_those_in_which_nothing_moved);
        tcase_add_test(kinds, who_started_more_than_half_is_told);
        tcase_add_test(kinds, who_started_it_makes_room_in_its_turn);
        tcase_add_test(kinds, lives_have_durations);
        suite_add_tcase(suite, kinds);
        return check_main(suite);
}
