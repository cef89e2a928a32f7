/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Answers with an overview, of one interval and of two, and what is printed of them. */

#include <check.h>

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
/* The same, with memory at the ends and a heap that grew. */
#define MEMORY(threads, before, after, heap)                                                  \
        THREADS(threads, "0", "0") TIMES("50000000", "0", "0", "true")                        \
        ",\"switches\":0,\"readBytes\":0,\"writeBytes\":0,\"writeExact\":true,"                \
        "\"majorFaults\":0,\"peakRssBytes\":null,\"rssBeforeBytes\":" before                   \
        ",\"rssBytes\":" after ",\"heapGrowthBytes\":" heap "}"
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
static inline void expect_lines(int status, const char *out, const char *err) {
        char *to = ctl.out;

        for (const char *from = ctl.out; *from != '\0'; from++)
                if (*from != '\r')
                        *to++ = *from;
        *to = '\0';
        expect(status, out, err);
}

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
