/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"
#include "overview-answers.h"

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
               "~ approximate: IO by delay accounting since Linux 6.12, WRITE above "
               "the disks\n"
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
                "~ approximate: IO by delay accounting since Linux 6.12, WRITE above the disks\n"
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
                "~ approximate: IO by delay accounting since Linux 6.12, WRITE above "
                "the disks\n"
                "3 more groups (--limit 0); by metric: --rows, --filter, --metrics, "
                "--sections\n",
                "");
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
                OVERVIEW(ROW("ran", "", STILL("50000000", "0", "0", "0")) ","
                         ROW("switched", "", STILL("0", "0", "1", "0")) ","
                         ROW("wrote", "", STILL("0", "0", "0", "6")) ","
                         ROW("hardly", "", STILL("49000000", "0", "0", "4")) ","
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
                ck_assert_ptr_null(strstr(ctl.out, "hardly ")); /* each cell would read 0 */
                ck_assert_ptr_nonnull(strstr(ctl.out, "3 more groups (--limit 0); 3 idle groups "
                                                      "(--all-rows); by metric: "));
        }
        /* a user who names groups gets them */
        CTL_RUN(&ctl, "compare", "a", "b", "--filter=*");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nstill "));
        ck_assert_ptr_null(strstr(ctl.out, "idle group"));
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
        ck_assert_ptr_nonnull(strstr(ctl.out, "2 idle groups"));
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

// clang-format off
#define COMMAND(name) "{\"name\":\"" name "\",\"threads\":1}"
#define COMMANDS(list) ",\"commands\":[" list "]"
static const Exchange started_as[] = { {
        REPLIES("{\"parameters\":{\"kind\":\"interval\",\"before\":" HEAD("a")
                ",\"after\":" HEAD("b")
                ",\"sameBoot\":true,\"elapsedNs\":10000000000},\"continues\":true}\0"
                OVERVIEW(ROW("python3", COMMANDS(COMMAND("python3 worker.py")), NGINX) ","
                         ROW("java", COMMANDS(COMMAND("java a.jar") "," COMMAND("java b.jar")),
                             NGINX) ","
                         ROW("perl", COMMANDS(COMMAND("perl") "," COMMAND("perl x.pl") ","
                                              COMMAND("other")), NGINX) ","
                         ROW("node", COMMANDS(COMMAND("node 1.js") ","
                                              COMMAND("node a-long-name-of-a-program.js")),
                             NGINX) ","
                         ROW("Web Content", COMMANDS(COMMAND("firefox")), NGINX) ","
                         ROW("systemd-journal", COMMANDS(COMMAND("systemd-journald")), NGINX) ","
                         ROW("ruby", COMMANDS(COMMAND("ruby 1.rb")) ",\"commandsOmitted\":7",
                             NGINX) ","
                         ROW("cron", COMMANDS(COMMAND("cron")), NGINX) ","
                         ROW("gunicorn", COMMANDS(COMMAND("python3 gunicorn")), NGINX) ","
                         ROW("networkd-dispat", COMMANDS(COMMAND("python3 networkd-dispatcher")),
                             NGINX) ","
                         CGROUP_ROW("/web", COMMANDS(COMMAND("python3 worker.py")), NGINX))
                LAST),
} };
// clang-format on

START_TEST(groups_say_what_was_started) {
        static const char *const whole[] = {
                "\npython3 worker.py ",
                "\njava (a.jar, b.jar) ",
                "\nperl \u00d73 ",
                "\nnode (1.js, a-long-name-of-a-program.js) ",
                "\nWeb Content (firefox) ",
                "\nsystemd-journal  ",
                "\nruby  ",
                "\ncron  ",
                "\ngunicorn  ",
                "\nnetworkd-dispat  ",
                "\n/web  ",
        };

        begin(started_as, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        for (size_t i = 0; i < ELEMENTSOF(whole); i++)
                ck_assert_msg(strstr(ctl.out, whole[i]), "%s in\n%s", whole[i], ctl.out);
        /* On a terminal what has no room is counted. */
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out, "\nnode \u00d72 "), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, "\njava (a.jar, b.jar) "), "%s", ctl.out);
        CTL_RUN_TERMINAL(&ctl, 140, "compare", "a", "b");
        ck_assert_msg(strstr(ctl.out, whole[3]), "%s", ctl.out);
        end();
}
END_TEST

START_TEST(a_host_at_rest_has_no_table) {
        begin(all_idle, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        expect(0,
               "interval  a..b: 10.000s from 2026-11-20 15:35:01 UTC, h, 6.1, 213 threads\n"
               "\n"
               "1 idle group (--all-rows); " WAYS,
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

/* In their order, behind the group, and none is left out for lack of room. */
START_TEST(columns_of_the_overview_can_be_chosen) {
        begin(interval, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--columns", "WRITE/S, cpu,threads");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"overview\":true,\"rows\":false"));
        ck_assert_msg(strstr(ctl.out, "\n\n"
                                      "GROUP    WRITE/S  CPU  THREADS\n"
                                      "nginx     7.0MiB 0.84 12 +3 \u22121\n"
                                      "stress         0 0.98    4 new\n"
                                      "cron           -    -   2 gone\n"
                                      "postgres ~822MiB    0        5\n"),
                      "%s", ctl.out);
        CTL_RUN_TERMINAL(&ctl, 24, "compare", "a", "b", "--columns", "group,read,write,peak-rss");
        ck_assert_ptr_nonnull(strstr(ctl.out, "READ/S WRITE/S PEAK-RSS\r\n"));
        CTL_RUN_TERMINAL(&ctl, 80, "compare", "a", "b", "--columns", "+peak-rss");
        ck_assert_ptr_nonnull(strstr(ctl.out, " PEAK-RSS"));
        CTL_RUN(&ctl, "compare", "a", "b", "--columns", "cpu,metric");
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_msg(strstr(ctl.err, "\"metric\" is no column of the overview"), "%s", ctl.err);
        CTL_RUN(&ctl, "compare", "a", "b", "--columns", "cpu,CPU");
        ck_assert_msg(strstr(ctl.err, "\"CPU\" is named twice"), "%s", ctl.err);
        CTL_RUN(&ctl, "compare", "a", "b", "--columns", "group,threads");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"rows\":true")); /* as rows have them */
        end();
}
END_TEST

// clang-format off
static const Exchange memory[] = { {
        REPLIES(PAIR_HEAD
                OVERVIEW(ROW("leaky", "", MEMORY("1", "104857600", "138412032", "33554432")) ","
                         ROW("shrinks", "", MEMORY("1", "104857600", "52428800", "0")) ","
                         ROW("little", "", MEMORY("1", "10485760", "17825792", "0")) ","
                         ROW("large", "", MEMORY("1", "1073741824", "1090519040", "0")) ","
                         ROW("heap", "", MEMORY("1", "104857600", "104857600", "10485760")) ","
                         ROW("born", "", MEMORY("1", "null", "12582912", "null")) ","
                         ROW("ended", "", MEMORY("0", "12582912", "null", "null")) ","
                         ROW("unread", "", MEMORY("1", "null", "null", "null"))) LAST),
} };
static const Exchange claims[] = { {
        REPLIES(PAIR_HEAD
                OVERVIEW(ROW("maps", "", THREADS("5", "0", "0") TIMES("0", "1000", "0", "true")
                         ",\"switches\":9,\"readBytes\":0,\"writeBytes\":8619294720,"
                         "\"writeExact\":false,\"writeAtMostBytes\":73400320,\"majorFaults\":0,"
                         "\"peakRssBytes\":null}")) LAST),
} };
// clang-format on

/* By 5 % of itself and 8 MiB; where nobody's did there is no column. */
START_TEST(memory_that_changed_by_much_has_a_column) {
        begin(memory, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_msg(
                strstr(ctl.out,
                       "\n\n"
                       "GROUP   THREADS  CPU WAIT IO SWITCH/S READ/S WRITE/S           RSS "
                       "MAJFLT/S PEAK-RSS\n"
                       "leaky         1 0.01    0  0        0      0       0 100MiB\u2192132MiB "
                       "       0        -\n"
                       "shrinks       1 0.01    0  0        0      0       0  100MiB\u219250MiB "
                       "       0        -\n"
                       "little        1 0.01    0  0        0      0       0             - "
                       "       0        -\n"
                       "large         1 0.01    0  0        0      0       0             - "
                       "       0        -\n"
                       "heap          1 0.01    0  0        0      0       0   heap +10MiB "
                       "       0        -\n"
                       "born          1 0.01    0  0        0      0       0       0\u219212MiB "
                       "       0        -\n"
                       "ended         0 0.01    0  0        0      0       0       12MiB\u21920 "
                       "       0        -\n"
                       "unread        1 0.01    0  0        0      0       0             - "
                       "       0        -\n"),
                "%s", ctl.out);
        CTL_RUN(&ctl, "compare", "a", "b", "--columns", "rss");
        ck_assert_msg(strstr(ctl.out, "\nlarge          1.0GiB\n"), "%s", ctl.out);
        ck_assert_msg(strstr(ctl.out, "\nlittle    10MiB\u219217MiB\n"), "%s", ctl.out);
        end();
        begin(interval, 1);
        CTL_RUN(&ctl, "compare", "a", "b");
        ck_assert_ptr_null(strstr(ctl.out, " RSS"));
        end();
}
END_TEST

START_TEST(more_than_the_disks_moved_is_what_calls_were_handed) {
        begin(claims, 1);
        CTL_RUN(&ctl, "compare", "a", "b", "--columns", "write");
        ck_assert_msg(strstr(ctl.out, "GROUP WRITE/S\nmaps  ~7.0MiB\n"), "%s", ctl.out);
        ck_assert_ptr_nonnull(strstr(ctl.out, "~ approximate: WRITE above the disks\n"));
        end();
}
END_TEST

START_TEST(what_fits_is_not_paged) {
        char last[64] = "";

        begin(interval, 1);
        ctl.pager = "sed s/^/PAGED:/";
        CTL_RUN_TERMINAL(&ctl, 200, "compare", "a", "b");
        ck_assert_ptr_nonnull(strstr(ctl.out, "nginx"));
        ck_assert_ptr_null(strstr(ctl.out, "PAGED:"));
        CTL_RUN_TERMINAL(&ctl, 80, "metric-list");
        for (const char *line = ctl.out, *end; (end = strchr(line, '\n')); line = end + 1) {
                ck_assert_int_eq(strncmp(line, "PAGED:", 6), 0);
                (void) snprintf(last, sizeof(last), "%.40s", line + 6);
        }
        ctl.pager = NULL;
        CTL_RUN_TERMINAL(&ctl, 80, "metric-list");
        ck_assert_ptr_nonnull(strstr(ctl.out, last)); /* all of it came */
        end();
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
        tcase_add_test(kinds, groups_without_activity_are_counted);
        tcase_add_test(kinds, what_was_set_anew_is_told_and_is_no_rest);
        tcase_add_test(kinds, groups_say_what_was_started);
        tcase_add_test(kinds, a_host_at_rest_has_no_table);
        tcase_add_test(kinds, the_bar_has_letters_in_other_locales);
        tcase_add_test(kinds, rows_come_when_they_are_asked_for);
        tcase_add_test(kinds, columns_of_the_overview_can_be_chosen);
        tcase_add_test(kinds, memory_that_changed_by_much_has_a_column);
        tcase_add_test(kinds, more_than_the_disks_moved_is_what_calls_were_handed);
        tcase_add_test(kinds, what_fits_is_not_paged);
        tcase_add_test(kinds, rows_of_an_interval_are_about_the_work);
        tcase_add_test(kinds, columns_of_two_sides_are_refused_of_an_interval);
        suite_add_tcase(suite, kinds);
        return check_main(suite);
}
