/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"

// clang-format off
#define LIVES(survived, born, ended)                                                          \
        "{\"survived\":" survived ",\"born\":" born ",\"ended\":" ended ",\"bornAndEnded\":null}"

/* An account: @threads, then the times, then what was read and written. */
#define THREADS(threads, born, ended) \
        "{\"threads\":" threads ",\"born\":" born ",\"ended\":" ended ",\"aliveNs\":40000000000"
#define TIMES(running, waiting, storage, exact)                                               \
        ",\"runningNs\":" running ",\"waitingNs\":" waiting ",\"storageNs\":" storage           \
        ",\"blockedNs\":null,\"asleepNs\":10000000000,\"exact\":" exact
#define WORK_DONE(switches, read, written, exact)                                             \
        ",\"switches\":" switches ",\"readBytes\":" read ",\"writeBytes\":" written             \
        ",\"writeExact\":" exact ",\"majorFaults\":0,\"peakRssBytes\":null}"
#define ROW(key, more, accounts)                                                              \
        "{\"key\":\"" key "\",\"process\":\"" key "\"" more                                    \
        ",\"weight\":0.5,\"accounts\":[" accounts "]}"
#define OVERVIEW(rows) "{\"parameters\":{\"overview\":[" rows "]},\"continues\":true}\0"

#define NGINX                                                 \
        THREADS("12", "3", "1")                               \
        TIMES("8400000000", "2000000000", "0", "true")        \
        WORK_DONE("123456", "0", "73400320", "true")
#define STRESS                                                \
        THREADS("4", "4", "0")                                \
        TIMES("9800000000", "10200000000", "0", "true")       \
        WORK_DONE("40", "0", "0", "true")
#define CRON                                                  \
        THREADS("0", "0", "2")                                \
        TIMES("null", "null", "null", "null")                 \
        WORK_DONE("null", "null", "null", "null")
#define POSTGRES                                              \
        THREADS("5", "0", "0")                                \
        TIMES("0", "1000", "2700000000", "false")             \
        WORK_DONE("9", "7340032", "8619294720", "false")
#define NGINX_A                                               \
        THREADS("12", "3", "1")                               \
        TIMES("10600000000", "2000000000", "0", "true")       \
        WORK_DONE("123456", "0", "73400320", "true")
#define NGINX_B                                               \
        THREADS("12", "3", "1")                               \
        TIMES("11800000000", "4000000000", "0", "true")       \
        WORK_DONE("23456", "0", "73400320", "true")
#define NGINX_LATER                                           \
        THREADS("14", "null", "null")                         \
        TIMES("3611800000000", "4000000000", "0", "true")     \
        WORK_DONE("23456", "0", "73400320", "true")
#define STRESS_B                                              \
        THREADS("4", "4", "0")                                \
        TIMES("19800000000", "20400000000", "0", "true")      \
        WORK_DONE("40", "0", "0", "true")
#define SYSBENCH_A                                            \
        THREADS("3", "3", "1")                                \
        TIMES("19800000000", "0", "0", "true")                \
        WORK_DONE("9", "0", "73400320", "true")
#define SYSBENCH_B                                            \
        THREADS("2", "3", "1")                                \
        TIMES("12800000000", "4000000000", "29400000000", "false") \
        WORK_DONE("10", "4571791360", "73400320", "true")
#define CRON_A                                                \
        THREADS("1", "0", "1")                                \
        TIMES("1000000", "0", "0", "true")                    \
        WORK_DONE("0", "0", "0", "true")

#define COVERAGE                                                                               \
        "{\"cpuUsedNs\":16200000000,\"attributedNs\":6642000000,\"survivedNs\":6000000000,"    \
        "\"bornNs\":642000000,\"endedNs\":null,\"bornAndEndedNs\":null,\"kernelThreadsNs\":0," \
        "\"notAttributedNs\":9558000000,\"boundNs\":60000000,\"storageUsedBytes\":104857600,"  \
        "\"storageAttributedBytes\":104857600}"
#define HOST                                                                                      \
        "{\"cpus\":2,\"cpuUsedNs\":16200000000,\"userNs\":1,\"niceNs\":0,\"systemNs\":1,"         \
        "\"idleNs\":1,\"iowaitNs\":0,\"irqNs\":0,\"softirqNs\":800000000,\"stealNs\":100000000,"  \
        "\"perCpu\":[{\"cpu\":0,\"usedNs\":9900000000},{\"cpu\":1,\"usedNs\":6300000000}],"       \
        "\"waitingNs\":8400000000,\"processesCreated\":984,\"pressure\":{\"cpu\":{\"someNs\":"    \
        "1200000000,\"fullNs\":0},\"memory\":{\"someNs\":0,\"fullNs\":0},\"io\":null},"           \
        "\"disks\":[{\"name\":\"vda\",\"busyNs\":4500000000,\"readBytes\":0,\"writeBytes\":"      \
        "104857600,\"requests\":3400,\"requestNs\":4080000000},{\"name\":\"vdb\",\"busyNs\":0}]," \
        "\"memory\":{\"usedBytes\":3435973837,\"totalBytes\":8160437862,\"swapUsedBytes\":0,"     \
        "\"swapTotalBytes\":0,\"swapInBytes\":0,\"swapOutBytes\":0},\"network\":"                 \
        "{\"receivedBytes\":10,\"sentBytes\":524288000,\"tcpRetransmits\":120,\"listenDrops\":0}}"
#define LIMITED                                                                             \
        "[{\"cgroup\":\"/web.slice\",\"what\":\"cpu.max\",\"count\":80,\"ns\":3200000000}," \
        "{\"cgroup\":\"/db\",\"what\":\"memory.max\",\"count\":1204,\"ns\":null},"          \
        "{\"cgroup\":\"/db\",\"what\":\"oom_kill\",\"count\":1,\"ns\":null},"               \
        "{\"cgroup\":\"\",\"what\":\"oom_kill\",\"count\":2,\"ns\":null},"                  \
        "{\"cgroup\":\"/x\",\"what\":\"pids.max\",\"count\":1,\"ns\":null}]"
#define INTERVAL_HEAD                                                                      \
        "{\"parameters\":{\"kind\":\"interval\",\"before\":" HEAD("a") ",\"after\":" HEAD( \
                "b") ",\"sameBoot\":true,\"elapsedNs\":10000000000,"                       \
                     "\"lives\":" LIVES("200", "13", "9") ",\"hostChanges\":[{\"key\":"    \
                                                          "\"kernel.x\",\"before\":"       \
                                                          "\"0\",\"after\":\"1\"}],"       \
                                                          "\"sourcesBefore\":[],"          \
                                                          "\"sourcesAfter\":[],"           \
                                                          "\"coverage\":" COVERAGE         \
                                                          ",\"host\":" HOST                \
                                                          ",\"limited\":" LIMITED          \
                                                          "},\"continues\":true}\0"
#define LAST "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":3}}"

static const Exchange interval[] = { {
        REPLIES(INTERVAL_HEAD
                OVERVIEW(ROW("nginx", "", NGINX) ","
                         ROW("stress", ",\"only\":\"after\"", STRESS))
                OVERVIEW(ROW("cron", ",\"only\":\"before\"", CRON) ","
                         ROW("postgres", "", POSTGRES)) LAST),
} };
// clang-format on

#define INTERVAL_LINES                                                                          \
        "interval  a..b: 10.000s from 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads: 200 lived " \
        "on, 13 "                                                                               \
        "born, 9 ended\n"                                                                       \
        "host      1.62 of 2 CPUs (interrupts 4 %, CPU 0 99 %, CPU 1 63 %), 0.84 waiting, "     \
        "pressure cpu 12 %, 98 new threads/s; ctprof saw 41 % of it: 0.96 went to "             \
        "threads that ended, and interrupts\n"                                                  \
        "          vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms, memory 3.2GiB of 7.6GiB, "  \
        "network out 50MiB/s, 12 TCP retransmits/s\n"                                           \
        "limited   /web.slice: CPU throttled 3.20s in 80 periods\n"                             \
        "limited   /db: memory.max reached 1.2K times, 1 process killed for lack of memory\n"   \
        "limited   the host: 2 processes killed for lack of memory; 1 more (--verbose)\n"       \
        "changed   kernel.x: 0 \u2192 1\n"
#define WAYS "by metric: --rows, --filter, --metrics, --sections\n"

/* A terminal puts a carriage return in front of each line feed. */
static void expect_lines(int status, const char *out, const char *err) {
        char *to = ctl.out;

        for (const char *from = ctl.out; *from != '\0'; from++)
                if (*from != '\r')
                        *to++ = *from;
        *to = '\0';
        expect(status, out, err);
}

START_TEST(an_interval_begins_with_the_answer) {
        begin(interval, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        expect(0,
               INTERVAL_LINES
               "\n"
               "GROUP     THREADS  CPU WAIT    IO SWITCH/S READ/S WRITE/S MAJFLT/S PEAK-RSS\n"
               "nginx    12 +3 \u22121 0.84 0.20     0      12K      0  7.0MiB        0        -\n"
               "stress      4 new 0.98 1.02     0        4      0       0        0        -\n"
               "cron       2 gone    -    -     -        -      -       -        0        -\n"
               "postgres        5    0 0.00 ~0.27      0.9 717KiB ~822MiB        0        -\n"
               "\n"
               "~ approximate: IO by delay accounting since Linux 6.12, WRITE in whole "
               "pages\n"
               "3 more groups (--limit 0); " WAYS,
               "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"overview\":true,\"rows\":false"));
        end();
}
END_TEST

START_TEST(a_terminal_gets_what_fits) {
        begin(interval, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b");
        expect_lines(
                0,
                "interval  a..b: 10.000s from 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads:\n"
                "          200 lived on, 13 born, 9 ended\n"
                "host      1.62 of 2 CPUs (interrupts 4 %, CPU 0 99 %, CPU 1 63 %), 0.84 waiting,\n"
                "          pressure cpu 12 %, 98 new threads/s; ctprof saw 41 % of it: 0.96 went\n"
                "          to threads that ended, and interrupts\n"
                "          vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms, memory 3.2GiB of\n"
                "          7.6GiB, network out 50MiB/s, 12 TCP retransmits/s\n"
                "limited   /web.slice: CPU throttled 3.20s in 80 periods; /db: memory.max reached\n"
                "          1.2K times, 1 process killed for lack of memory; 2 more (--verbose)\n"
                "changed   kernel.x: 0 \u2192 1\n"
                "\n"
                "GROUP     THREADS  CPU WAIT    IO SWITCH/S READ/S WRITE/S MAJFLT/S TIME\n"
                "nginx    12 +3 \u22121 0.84 0.20     0      12K      0  7.0MiB        0 "
                "\u2588\u2588\u2588\u2588\u2588\u2593\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\n"
                "stress      4 new 0.98 1.02     0        4      0       0        0 "
                "\u2588\u2588\u2588\u2588\u2593\u2593\u2593\u2593\u00b7\u00b7\u00b7\u00b7\n"
                "cron       2 gone    -    -     -        -      -       -        0 "
                "\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\n"
                "postgres        5    0 0.00 ~0.27      0.9 717KiB ~822MiB        0 "
                "\u2592\u2592\u2592\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\n"
                "\n"
                "TIME: \u2588 running, \u2593 waiting for a CPU, \u2592 storage, \u2591 blocked, "
                "\u00b7 asleep\n"
                "~ approximate: IO by delay accounting since Linux 6.12, WRITE in whole pages\n"
                "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, "
                "--sections\n",
                "");
        CTL_RUN_TERMINAL(&ctl, 120, "compare", "a", "b");
        expect_lines(
                0,
                "interval  a..b: 10.000s from 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads: 200 "
                "lived "
                "on, 13 born, 9 ended\n"
                "host      1.62 of 2 CPUs (interrupts 4 %, CPU 0 99 %, CPU 1 63 %), 0.84 waiting, "
                "pressure cpu 12 %, 98 new threads/s;\n"
                "          ctprof saw 41 % of it: 0.96 went to threads that ended, and "
                "interrupts\n"
                "          vda busy 45 %, 10MiB/s, 340 requests/s of 1.2ms, memory 3.2GiB of "
                "7.6GiB, network out 50MiB/s, 12 TCP\n"
                "          retransmits/s\n"
                "limited   /web.slice: CPU throttled 3.20s in 80 periods; /db: memory.max "
                "reached 1.2K times, 1 process killed for lack\n"
                "          of memory; the host: 2 processes killed for lack of memory; /x: "
                "pids.max reached 1 time\n"
                "changed   kernel.x: 0 \u2192 1\n"
                "\n"
                "GROUP     THREADS  CPU WAIT    IO SWITCH/S READ/S WRITE/S MAJFLT/S PEAK-RSS TIME\n"
                "nginx    12 +3 \u22121 0.84 0.20     0      12K      0  7.0MiB        0        - "
                "\u2588\u2588\u2588\u2588\u2588\u2593\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\n"
                "stress      4 new 0.98 1.02     0        4      0       0        0        - "
                "\u2588\u2588\u2588\u2588\u2593\u2593\u2593\u2593\u00b7\u00b7\u00b7\u00b7\n"
                "cron       2 gone    -    -     -        -      -       -        0        - "
                "\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\n"
                "postgres        5    0 0.00 ~0.27      0.9 717KiB ~822MiB        0        - "
                "\u2592\u2592\u2592\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\n"
                "\n"
                "TIME: \u2588 running, \u2593 waiting for a CPU, \u2592 storage, \u2591 blocked, "
                "\u00b7 asleep\n"
                "~ approximate: IO by delay accounting since Linux 6.12, WRITE in whole "
                "pages\n"
                "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, "
                "--sections\n",
                "");
        end();
}
END_TEST

// clang-format off
#define SIDE(first, last, elapsed)                                                            \
        "{\"before\":" HEAD(first) ",\"after\":" HEAD(last) ",\"elapsedNs\":" elapsed           \
        ",\"lives\":" LIVES("200", "13", "9") ",\"sourcesBefore\":[],\"sourcesAfter\":[]}"
static const Exchange intervals[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE("a", "b", "10000000000")
                ",\"b\":" SIDE("c", "d", "20000000000") ",\"sameBoot\":true,\"hostChanges\":[],"
                "\"coverage\":{\"a\":" COVERAGE ",\"b\":" COVERAGE "},\"host\":{\"a\":" HOST
                ",\"b\":" HOST "},\"limited\":{\"a\":[],\"b\":" LIMITED "}},\"continues\":true}\0"
                OVERVIEW(ROW("nginx", "", NGINX_A "," NGINX_B) ","
                         ROW("stress-ng-cpu", ",\"only\":\"b\"", "null," STRESS_B) ","
                         ROW("sysbench", "", SYSBENCH_A "," SYSBENCH_B) ","
                         ROW("cron", ",\"only\":\"a\"", CRON_A ",null")) LAST),
} };
// clang-format on

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
/* @running, and how many threads were born. */
#define STILL(running, born, switches, written) \
        THREADS("3", born, "0") TIMES(running, "0", "0", "true") \
        WORK_DONE(switches, "null", written, "true")
#define PAIR_HEAD                                                                          \
        "{\"parameters\":{\"kind\":\"interval\",\"before\":" HEAD("a") ",\"after\":" HEAD( \
                "b") ",\"sameBoot\":true,\"elapsedNs\":10000000000,"                       \
                     "\"sourcesBefore\":[],\"sourcesAfter\":[]},\"continues\":true}\0"

static const Exchange idle[] = { {
        REPLIES(PAIR_HEAD
                OVERVIEW(ROW("nginx", "", NGINX) "," ROW("still", "", STILL("0", "0", "0", "0")))
                OVERVIEW(ROW("ran", "", STILL("1", "0", "0", "0")) ","
                         ROW("switched", "", STILL("0", "0", "1", "0")) ","
                         ROW("wrote", "", STILL("0", "0", "0", "1")) ","
                         ROW("born", "", STILL("0", "1", "0", "0")) ","
                         ROW("new", ",\"only\":\"after\"", STILL("0", "0", "0", "0")) ","
                         ROW("unknown", "", STILL("null", "0", "0", "0")) ","
                         ROW("asleep", "", STILL("0", "0", "0", "null"))) LAST),
} };
static const Exchange all_idle[] = { {
        REPLIES(PAIR_HEAD
                OVERVIEW(ROW("still", "", STILL("0", "0", "0", "0")))
                "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}"),
} };
// clang-format on

/* What is not known to have done nothing may have done something. */
START_TEST(groups_without_activity_are_counted) {
        static const char *const rows[] = { "nginx ", "ran ", "switched ", "wrote ",
                                            "born ",  "new ", "unknown " };

        begin(idle, 1);
        for (unsigned on_terminal = 0; on_terminal < 2; on_terminal++) {
                if (on_terminal)
                        CTL_RUN_TERMINAL(&ctl, 120, "compare", "a", "b");
                else
                        CTL_RUN(&ctl, "compare", "a", "b");
                for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                        ck_assert_ptr_nonnull(strstr(ctl.out, rows[i]));
                ck_assert_ptr_null(strstr(ctl.out, "still "));
                ck_assert_ptr_null(strstr(ctl.out, "asleep "));
                ck_assert_ptr_nonnull(strstr(ctl.out, "3 more groups (--limit 0); 2 groups without "
                                                      "activity (--all-rows); by metric: "));
        }
        /* a user who names groups gets them */
        CTL_RUN(&ctl, "compare", "a", "b", "--filter=*");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nstill "));
        ck_assert_ptr_null(strstr(ctl.out, "without activity"));
        CTL_RUN(&ctl, "compare", "a", "b", "--all-rows");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nstill "));
        end();
}
END_TEST

// clang-format off
#define SET_ANEW \
        "\"changes\":[{\"cgroup\":\"/web\",\"what\":\"cpu.max\",\"before\":2,\"after\":0.5}," \
        "{\"cgroup\":\"/web\",\"what\":\"pids.max\",\"before\":20,\"after\":\"max\"}," \
        "{\"cgroup\":\"/system.slice/a-database-with-a-long-name.service\"," \
        "\"what\":\"memory.max\",\"before\":\"max\",\"after\":2147483648}," \
        "{\"key\":\"still\",\"process\":\"still\",\"what\":\"policy\"," \
        "\"before\":\"SCHED_OTHER\",\"after\":\"SCHED_FIFO\"}]," \
        "\"hostChanges\":[{\"key\":\"kernel.x\",\"before\":\"0\",\"after\":\"1\"}]"
#define CGROUP_ROW(key, more, accounts) \
        "{\"key\":\"" key "\",\"cgroup\":\"" key "\"" more \
        ",\"weight\":0,\"accounts\":[" accounts "]}"
static const Exchange set_anew[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"interval\",\"before\":" HEAD("a")
                ",\"after\":" HEAD("b")
                ",\"sameBoot\":true,\"elapsedNs\":10000000000," SET_ANEW "},\"continues\":true}\0"
                OVERVIEW(ROW("still", "", STILL("0", "0", "0", "0")) ","
                         ROW("web", "", STILL("0", "0", "0", "0")) ","
                         CGROUP_ROW("/web", "", STILL("0", "0", "0", "0")) ","
                         CGROUP_ROW("/we{N}", ",\"members\":[{\"name\":\"/web\",\"threads\":3}]",
                                    STILL("0", "0", "0", "0")) ","
                         CGROUP_ROW("/asleep", "", STILL("0", "0", "0", "0"))) LAST),
} };
// clang-format on

START_TEST(what_was_set_anew_is_told_and_is_no_rest) {
        static const char *const rows[] = { "\nstill ", "\n/web ", "\n/we{N} " };

        begin(set_anew, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out,
                             "changed   /web cpu.max: 2.00 CPUs \u2192 0.50 CPUs, pids.max: 20 "
                             "\u2192 max, /system.slice/a-database-with-a-long-name.service "
                             "memory.max: max \u2192 2.0GiB, still policy: SCHED_OTHER \u2192 "
                             "SCHED_FIFO, kernel.x: 0 \u2192 1\n"),
                      "%s", ctl.out);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                ck_assert_msg(strstr(ctl.out, rows[i]), "%s in\n%s", rows[i], ctl.out);
        ck_assert_ptr_nonnull(strstr(ctl.out, "2 groups without activity"));
        CTL_RUN_TERMINAL(&ctl, 140, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out,
                             "changed   /web cpu.max: 2.00 CPUs \u2192 0.50 CPUs, pids.max: 20 "
                             "\u2192 max, \u2026tabase-with-a-long-name.service memory.max: max "
                             "\u2192 2.0GiB, \u2026 +2\r\n"),
                      "%s", ctl.out);
        CTL_RUN(&ctl, "compare", "a", "b", "--verbose");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nchanged   /web pids.max: 20 \u2192 max\n"));
        end();
}
END_TEST

START_TEST(a_host_at_rest_has_no_table) {
        begin(all_idle, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        expect(0,
               "interval  a..b: 10.000s from 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads\n"
               "\n"
               "1 group without activity (--all-rows); " WAYS,
               "");
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
                ",\"limited\":" FULL_LIMITED "},\"continues\":true}\0"
                THIRTY(POSTGRES) FULL_LAST),
} };
static const Exchange full_intervals[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" FULL_SIDE("a", "b")
                ",\"b\":" FULL_SIDE("c", "d") ",\"sameBoot\":true," CHANGES ","
                "\"coverage\":{\"a\":" COVERAGE ",\"b\":" COVERAGE "},\"host\":{\"a\":"
                FULL_HOST("2") ",\"b\":" FULL_HOST("3") "},\"limited\":{\"a\":" FULL_LIMITED
                ",\"b\":" FULL_LIMITED "}},\"continues\":true}\0"
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
        { full_interval, 80, 4 },  { full_interval, 120, 7 },  { full_interval, 200, 6 },
        { full_intervals, 80, 3 }, { full_intervals, 120, 4 }, { full_intervals, 200, 5 },
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
        ck_assert_ptr_nonnull(strstr(ctl.out, "WRITE in"));
        end();
        begin(intervals, 1);
        CTL_RUN_TERMINAL(&ctl, 66, "compare", "a", "b");
        ck_assert_ptr_nonnull(strstr(ctl.out, "no room for SWITCH/S, WRITE/S:"));
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

START_TEST(the_bar_has_letters_in_other_locales) {
        (void) setenv("LC_ALL", "C", 1);
        begin(interval, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b");
        ck_assert_ptr_nonnull(strstr(ctl.out, " 0 RRRRRW......\r\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "TIME: R running, W waiting for a CPU, I storage"));
        end();
        (void) setenv("LC_ALL", "C.UTF-8", 1);
}
END_TEST

START_TEST(rows_come_when_they_are_asked_for) {
        static const char *const asking[] = {
                "--rows",           "--all-rows",         "--filter=x",
                "--metrics=minflt", "--sections=primary", "--columns=metric,work"
        };

        begin(interval, 1);
        for (size_t i = 0; i < ELEMENTSOF(asking); i++) {
                CTL_RUN(&ctl, "compare", "a", "b", asking[i]);
                ck_assert_int_eq(ctl.status, 0);
                ck_assert_ptr_nonnull(strstr(ctl.asked, "\"overview\":true,\"rows\":true"));
        }
        CTL_RUN(&ctl, "compare", "a", "b", "--json");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"overview\":false,\"rows\":true"));
        end();
}
END_TEST

// clang-format off
#define WORK(work, rate, before, after)                                                       \
        "{\"before\":" before ",\"after\":" after ",\"delta\":" work ",\"work\":" work            \
        ",\"perSecond\":" rate ",\"changed\":true,\"reset\":false}"
#define LEVEL(before, after)                                                                  \
        "{\"before\":" before ",\"after\":" after ",\"delta\":null,\"percent\":null,"             \
        "\"perSecond\":null,\"changed\":true,\"reset\":false}"
#define EXTREME(before, after, inside)                                                        \
        "{\"before\":" before ",\"after\":" after ",\"delta\":null,\"percent\":null,"             \
        "\"perSecond\":null,\"changed\":true,\"inside\":" inside ",\"reset\":false}"
#define NICE "{\"min\":0,\"max\":0}"
static const Exchange interval_rows[] = { {
        REPLIES(INTERVAL_HEAD
                "{\"parameters\":{\"groups\":[{\"key\":\"p\",\"process\":\"p\",\"threadsBefore\":2,"
                "\"threadsAfter\":3,\"metrics\":{"
                "\"run_time_ns\":" WORK("8400000000", "840000000", "1", "8400000001")
                ",\"wait_time_ns\":" WORK("2000000000", "200000000", "0", "2000000000")
                ",\"cpu_delay_total_ns\":" WORK("2000000000", "200000000", "0", "2000000000")
                ",\"utime_clock_ticks\":" WORK("570", "57", "0", "570")
                ",\"voluntary_csw\":" WORK("1500", "150", "0", "1500")
                ",\"thread_count\":{\"before\":2,\"after\":3,\"delta\":1,\"percent\":50,"
                "\"perSecond\":null,\"changed\":true,\"reset\":false}"
                ",\"nr_threads\":" LEVEL("2", "3") ",\"wait_max\":" EXTREME("7", "7", "false")
                ",\"sleep_max\":" EXTREME("7", "9", "true") ",\"nice\":" LEVEL(NICE, NICE)
                "},\"derived\":{}}]},\"continues\":true}\0" LAST),
} };
// clang-format on

START_TEST(rows_of_an_interval_are_about_the_work) {
        const char *table;

        begin(interval_rows, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--rows");
        ck_assert_str_eq(ctl.err, "");
        table = strstr(ctl.out, "process threads");
        ck_assert_ptr_nonnull(table);
        ck_assert_str_eq(table, "process threads metric           work per second\n"
                                "p           2\u21923 run_time       8.400s 0.840 CPUs\n"
                                "p           2\u21923 wait_time      2.000s 0.200 CPUs\n"
                                "p           2\u21923 utime          5.700s 0.570 CPUs\n"
                                "p           2\u21923 voluntary_csw  1.500K   150.00/s\n"
                                "p           2\u21923 thread_count      2\u21923          -\n"
                                "p           2\u21923 nr_threads        2\u21923          -\n"
                                "p           2\u21923 sleep_max     7ns\u21929ns          -\n"
                                "p           2\u21923 nice                0          -\n"
                                "\n"
                                "3 more groups (--limit 0)\n");
        end();
}
END_TEST

START_TEST(columns_of_two_sides_are_refused_of_an_interval) {
        begin(interval_rows, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--columns", "metric,before");
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_ptr_nonnull(strstr(ctl.err, "\"before\""));
        ck_assert_ptr_nonnull(strstr(ctl.err, "--totals"));
        ck_assert_ptr_nonnull(strstr(ctl.err, "A..B C..D"));
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-overview");
        TCase *kinds = tcase_create("kinds");

        (void) setenv("LC_ALL", "C.UTF-8", 1); /* so that the bar has block characters */

        tcase_add_test(kinds, an_interval_begins_with_the_answer);
        tcase_add_test(kinds, a_terminal_gets_what_fits);
        tcase_add_test(kinds, two_intervals_stand_side_by_side);
        tcase_add_loop_test(kinds, what_no_source_of_a_host_told_is_a_dash, 0,
                            ELEMENTSOF(host_rows));
        tcase_add_test(kinds, threads_of_a_group_that_ended_are_not_new);
        tcase_add_test(kinds, a_cell_of_two_intervals_tells_ended_and_unmeasured_from_nothing);
        tcase_add_test(kinds, groups_without_activity_are_counted);
        tcase_add_test(kinds, what_was_set_anew_is_told_and_is_no_rest);
        tcase_add_test(kinds, a_host_at_rest_has_no_table);
        tcase_add_loop_test(kinds, whatever_there_is_to_say_is_one_screen_with_some_groups, 0,
                            ELEMENTSOF(screen_rows));
        tcase_add_test(kinds, of_reads_and_writes_those_of_more_bytes_stay);
        tcase_add_test(kinds, lives_have_durations);
        tcase_add_test(kinds, the_bar_has_letters_in_other_locales);
        tcase_add_test(kinds, rows_come_when_they_are_asked_for);
        tcase_add_test(kinds, rows_of_an_interval_are_about_the_work);
        tcase_add_test(kinds, columns_of_two_sides_are_refused_of_an_interval);
        suite_add_tcase(suite, kinds);
        return check_main(suite);
}
