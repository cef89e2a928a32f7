/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"

/* What show prints of a recording. */

#define NAMED(name, kind) "{\"name\":\"" name "\",\"fileKind\":\"" kind "\",\"hostName\":\"h\"}"
#define OF_KIND(kind) NAMED("r", kind)
#define SHOWN                                                                                      \
        REPLIES("{\"parameters\":{\"kind\":\"interval\",\"before\":" HEAD("r") ",\"after\":" HEAD( \
                "r") ",\"sameBoot\":true,\"elapsedNs\":4000000000,\"hostChanges\":[],"             \
                     "\"sourcesBefore\":[],\"sourcesAfter\":[]},\"continues\":true}\0"             \
                     "{\"parameters\":{\"overview\":[{\"key\":\"app\",\"threadsBefore\":2,"        \
                     "\"threadsAfter\":2,\"accounts\":[{\"elapsedNs\":4000000000,\"threads\":2,"   \
                     "\"runningNs\":2000000000}]}]},\"continues\":true}\0"                         \
                     "{\"parameters\":{\"sections\":{},\"hiddenRows\":0,\"hiddenGroups\":0}}")
#define FIRST                                                                                      \
        "{\"parameters\":{\"snapshot\":" OF_KIND(                                                  \
                "recording") ",\"recording\":{\"samples\":9},"                                     \
                             "\"elapsedNs\":4000000000,\"places\":{\"sleep\":2000000000,\"lock\":" \
                             "3000000000,"                                                         \
                             "\"running\":1000000000}},\"continues\":true}\0"
#define STACK(place, ns)                                                                        \
        "{\"process\":\"app\",\"thread\":\"work\",\"place\":\"" place "\",\"ns\":" ns           \
        ",\"samples\":3,\"maxNs\":1,\"standardErrorNs\":0,\"exact\":true,\"frames\":[\"main\"," \
        "\"f\"]}"
#define STACKS                                                               \
        REPLIES(FIRST "{\"parameters\":{\"stacks\":[" STACK(                 \
                "lock", "3000000000") "]},"                                  \
                                      "\"continues\":true}\0"                \
                                      "{\"parameters\":{\"stacks\":[" STACK( \
                                              "running", "1000000000") "],"  \
                                                                       "\"hiddenStacks\":4}}")
#define ASKED_PLACES                                                                             \
        "\"places\":[\"lock\",\"futex\",\"pipe\",\"socket\",\"terminal\",\"file\",\"async_io\"," \
        "\"file_lock\",\"ipc\",\"ioctl\",\"fault\",\"other\",\"storage\",\"blocked\","           \
        "\"run_queue\",\"running\"]"
#define INFORMED(kind) \
        REPLIES("{\"parameters\":{\"snapshot\":" OF_KIND(kind) ",\"host\":null,\"sources\":[]}}")

static const Exchange first_screen[] = { { SHOWN }, { STACKS } };

START_TEST(a_first_screen_ends_with_stacks) {
        begin(first_screen, 2);
        CTL_RUN(&ctl, "show", "r");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_eq(strstr(ctl.out, "interval  r..r: 4.000s from"), ctl.out);
        /* Who waits most stands above the groups. */
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nwaits     app lock 0.75: main \u2192 f\n"));
        ck_assert_ptr_nonnull(strstr(strstr(ctl.out, "waits"), "GROUP"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\n\nstacks\n"
                                              "PROCESS  PLACE    TIME SHARE STACK\n"
                                              "app/work lock    3.00s  75 % f \u2190 main\n"
                                              "app/work running 1.00s  25 % f \u2190 main\n"
                                              "waiting for work: 2.00s in sleep\n"
                                              "4 more stacks (--stacks)\n"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "{\"method\":\"io.ctprof.Profiler.Stacks\","
                                                "\"parameters\":{\"recording\":{\"name\":\"r\"},"
                                                "\"limit\":1000," ASKED_PLACES "},\"more\":true}"));
        CTL_RUN(&ctl, "show", "r", "--limit", "1");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\n5 more stacks (--stacks)\n"));
        /* One who asks for something else gets that alone. */
        CTL_RUN(&ctl, "show", "r", "--rows");
        ck_assert_ptr_null(strstr(ctl.asked, "Stacks"));
        CTL_RUN(&ctl, "show", "r", "--json");
        ck_assert_ptr_null(strstr(ctl.asked, "Stacks"));
        end();
}
END_TEST

static const Exchange idle[] = {
        { SHOWN },
        { REPLIES(FIRST "{\"parameters\":{\"hiddenStacks\":0}}") },
        { REPLIES(FIRST "{\"parameters\":{\"stacks\":[" STACK(
                "sleep", "2000000000") "],\"hiddenStacks\":0}}") },
};

START_TEST(where_nobody_works_those_who_wait_are_shown) {
        begin(idle, 3);
        CTL_RUN(&ctl, "show", "r");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "app/work sleep 2.00s  33 % f \u2190 main\n"));
        ck_assert_ptr_null(strstr(ctl.out, "waiting for work"));
        ck_assert_ptr_nonnull(
                strstr(ctl.asked, "{\"recording\":{\"name\":\"r\"},\"limit\":1000},\"more\""));
        end();
}
END_TEST

static const Exchange alone[] = { { INFORMED("recording") }, { STACKS } };

START_TEST(stacks_are_trees) {
        begin(alone, 2);
        CTL_RUN(&ctl, "show", "r", "--stacks");
        expect(0,
               "stacks\n"
               " TIME SHARE STACK\n"
               "4.00s 100 % app\n"
               "4.00s 100 %   main\n"
               "              f\n"
               "3.00s  75 %     [lock]\n"
               "1.00s  25 %     [running]\n"
               "waiting for work: 2.00s in sleep (--all-rows)\n"
               "4 more stacks (--limit 0)\n",
               "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":40," ASKED_PLACES));
        CTL_RUN(&ctl, "show", "r", "--stacks", "--all-rows", "--limit", "0");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "{\"recording\":{\"name\":\"r\"}},\"more\""));
        CTL_RUN(&ctl, "show", "r", "--stacks", "--no-legend");
        ck_assert_ptr_null(strstr(ctl.out, "TIME"));
        ck_assert_ptr_null(strstr(ctl.out, "--limit 0"));
        end();
}
END_TEST

#define ROW_HEAD "r,h,,,,,,4000000000,app,work,"

static const struct {
        const char *words[6];
        const char *out; /* begins like this */
} forms[] = {
        { { "show", "r", "--stacks", "--format", "csv" },
          "recording,host,machine_id,boot_id,kernel_release,start_realtime_ns,end_realtime_ns,"
          "elapsed_ns,process,thread,place,ns,samples,max_ns,standard_error_ns,exact,"
          "frames\r\n" ROW_HEAD "lock,3000000000,3,1,0,true,main;f\r\n" ROW_HEAD
          "running,1000000000,3,1,0,true,main;f\r\n" },
        { { "show", "r", "--stacks", "--format", "ndjson" },
          "{\"recording\":\"r\",\"host\":\"h\",\"machine_id\":null,\"boot_id\":null,"
          "\"kernel_release\":null,\"start_realtime_ns\":null,\"end_realtime_ns\":null,"
          "\"elapsed_ns\":4000000000,\"process\":\"app\",\"thread\":\"work\",\"place\":\"lock\","
          "\"ns\":3000000000,\"samples\":3,\"max_ns\":1,\"standard_error_ns\":0,\"exact\":true,"
          "\"frames\":\"main;f\"}\n" },
        { { "show", "r", "--stacks", "--json" },
          "{\"snapshot\":" OF_KIND(
                  "recording") ",\"recording\":{\"samples\":9},\"elapsedNs\":"
                               "4000000000,\"places\":{\"sleep\":2000000000,\"lock\":3000000000,"
                               "\"running\":1000000000},"
                               "\"stacks\":[" STACK("lock", "3000000000") "," STACK(
                                       "running", "1000000000") "],"
                                                                "\"hiddenStacks\":4}\n" },
        { { "show", "r", "--format", "folded" },
          "app;main;f;[lock] 3000000\napp;main;f;[running] 1000000\n" },
        { { "show", "r", "--format", "folded", "--standard-errors" },
          "app;main;f;[lock] 3000000 0\napp;main;f;[running] 1000000 0\n" },
        { { "show", "r", "--format", "speedscope" },
          "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":\"r\"," },
};

#define FIRST_WITH_OBJECTS                                        \
        "{\"parameters\":{\"snapshot\":" OF_KIND(                 \
                "recording") ",\"recording\":{\"objects\":true}," \
                             "\"elapsedNs\":4000000000,\"places\":{}},\"continues\":true}\0"
#define STACK_ON(objects)                                                                     \
        "{\"process\":\"app\",\"thread\":\"work\",\"place\":\"lock\",\"ns\":3,\"samples\":3," \
        "\"maxNs\":1,\"standardErrorNs\":0,\"exact\":true,\"frames\":[\"f\"]" objects "}"
static const Exchange with_objects[] = {
        { INFORMED("recording") },
        { REPLIES(FIRST_WITH_OBJECTS "{\"parameters\":{\"stacks\":[" STACK_ON(
                ",\"objects\":[{\"kind\":\"file\",\"name\":\"/a;b\",\"ns\":2},"
                "{\"kind\":\"futex\",\"name\":\"m in app\",\"ns\":1}]") "," STACK_ON("") "],"
                                                                                         "\"hiddenS"
                                                                                         "tacks\":"
                                                                                         "0}}") },
};

/* Tables of recordings that tell it have one more column; where it is not known, that is empty. */
START_TEST(rows_have_what_waits_were_on) {
        begin(with_objects, 2);
        CTL_RUN(&ctl, "show", "r", "--stacks", "--format", "csv");
        expect(0,
               "recording,host,machine_id,boot_id,kernel_release,start_realtime_ns,end_realtime_ns,"
               "elapsed_ns,process,thread,place,ns,samples,max_ns,standard_error_ns,exact,frames,"
               "objects\r\n" ROW_HEAD "lock,3,3,1,0,true,f,\"/a,b 2;m in app 1\"\r\n" ROW_HEAD
               "lock,3,3,1,0,true,f,\r\n",
               "");
        CTL_RUN(&ctl, "show", "r", "--stacks", "--format", "ndjson");
        ck_assert_ptr_nonnull(strstr(ctl.out, ",\"objects\":\"/a,b 2;m in app 1\"}\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, ",\"objects\":null}\n"));
        end();
}
END_TEST

START_TEST(programs_get_all_of_it) {
        const char *words[ELEMENTSOF(forms[0].words) + 1] = {};

        memcpy(words, forms[_i].words, sizeof(forms[_i].words));
        begin(alone, 2);
        ctl_run(&ctl, words);
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_msg(strncmp(ctl.out, forms[_i].out, strlen(forms[_i].out)) == 0, "%s", ctl.out);
        ck_assert_ptr_nonnull(strstr(ctl.asked, "{\"recording\":{\"name\":\"r\"}},\"more\""));
        end();
}
END_TEST

START_TEST(a_page_of_a_recording_is_a_flame_graph) {
        begin(first_screen, 2);
        CTL_RUN(&ctl, "show", "r", "--format", "html");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_eq(strstr(ctl.out, "<!DOCTYPE html>\n"), ctl.out);
        ck_assert_ptr_null(strstr(ctl.out + 1, "<!DOCTYPE html>\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "[{\"functions\":[\"main\",\"f\"]}]"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "[{\"stacks\":[0,1,0,3000000000,3,0,0,2,0,1,0,1,1,"
                                              "1000000000,3,0,2,0]}]"));
        end();
}
END_TEST

/* Two of them: the later one is twice as long. */
#define SIDE_OF(name, kind)                                            \
        "{\"before\":" NAMED(name, kind) ",\"after\":" NAMED(name,     \
                                                             kind) "," \
                                                                   "\"elapsedNs\":4000000000}"
#define TWO(a, b)                                                                           \
        REPLIES("{\"parameters\":{\"kind\":\"intervals\",\"a\":" SIDE_OF(                   \
                "r", a) ",\"b\":" SIDE_OF("s", b) ",\"sameBoot\":true,\"hostChanges\":[]}," \
                                                  "\"continues\":true}\0"                   \
                                                  "{\"parameters\":{\"overview\":[],"       \
                                                  "\"hiddenRows\":0,\"hiddenGroups\":0}}")
#define LATER                                                                              \
        REPLIES("{\"parameters\":{\"snapshot\":" OF_KIND(                                  \
                "recording") ",\"elapsedNs\":8000000000"                                   \
                             "},\"continues\":true}\0{\"parameters\":{\"stacks\":[" STACK( \
                                     "running", "6000000000") "],\"hiddenStacks\":0}}")

static const Exchange compared[] = { { TWO("recording", "recording") }, { STACKS }, { LATER } };

START_TEST(two_recordings_end_with_what_changed) {
        begin(compared, 3);
        CTL_RUN(&ctl, "compare", "r", "s");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out,
                                     "\n\nstacks: how many threads were in each on average\n"
                                     "PROCESS  PLACE      A    B CHANGE STACK\n"
                                     "app/work lock    0.75    -  \u22120.75 f \u2190 main\n"
                                     "app/work running 0.25 0.75  +0.50 f \u2190 main\n"));
        /* What is light in both may have changed most: all are asked for. */
        ck_assert_ptr_nonnull(strstr(ctl.asked, "{\"recording\":{\"name\":\"s\"}," ASKED_PLACES));
        CTL_RUN(&ctl, "compare", "r", "s", "--rows");
        ck_assert_ptr_null(strstr(ctl.asked, "Stacks"));
        CTL_RUN(&ctl, "compare", "r", "s", "--format", "html");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.out, "[0,1,0,3000000000,3,0,0,0,0,0,2,0,1,"
                                              "0,1,1,1000000000,3,0,6000000000,3,0,2,0]"));
        CTL_RUN(&ctl, "compare", "r", "s", "--format", "html", "--threshold", "5");
        ck_assert_str_eq(ctl.err, "--threshold is for groups of threads, of which the page of a "
                                  "recording shows none: leave it out.\n");
        ck_assert_int_eq(ctl.status, 2);
        end();
}
END_TEST

static const Exchange half[] = { { TWO("snapshot", "recording") } };

START_TEST(a_recording_and_an_interval_have_no_stacks) {
        begin(half, 1);
        CTL_RUN(&ctl, "compare", "a..b", "r");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "\nno stacks: \"r\" has some, and \"a..b\" was not recorded\n"));
        ck_assert_ptr_null(strstr(ctl.asked, "Stacks"));
        end();
}
END_TEST

static const Exchange pair[] = {
        { INFORMED("recording") }, { INFORMED("recording") }, { STACKS }, { LATER }
};

START_TEST(what_changed_is_for_programs_too) {
        begin(pair, 4);
        CTL_RUN(&ctl, "compare", "r", "s", "--format", "folded");
        expect(0, "app;main;f;[lock] 6000000 0\napp;main;f;[running] 2000000 6000000\n", "");
        CTL_RUN(&ctl, "compare", "r", "s", "--stacks", "--json");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(
                ctl.out,
                "\"stacks\":[{\"process\":\"app\",\"place\":\"lock\",\"a\":{\"ns\":3000000000,"
                "\"samples\":3,\"maxNs\":1,\"standardErrorNs\":0,\"exact\":true},\"b\":null,"
                "\"changePerSecondNs\":-750000000,\"standardErrorPerSecondNs\":0,"
                "\"frames\":[\"main\",\"f\"]},{\"process\":\"app\",\"place\":\"running\","));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"changePerSecondNs\":500000000,"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "],\"hiddenStacks\":4}\n"));
        CTL_RUN(&ctl, "compare", "r", "s", "--stacks", "--limit", "1");
        ck_assert_ptr_nonnull(strstr(ctl.out, "0.75 -  \u22120.75 app\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "5 more stacks (--limit 0)\n"));
        end();
}
END_TEST

/* Rows of many stacks are one line, and a lock on the first screen says who gave it back. */

#define WOKEN_IN(leaf, place, ns, error, exact, waker)                                \
        "{\"process\":\"app\",\"thread\":\"work\",\"place\":\"" place "\",\"ns\":" ns \
        ",\"samples\":3,\"maxNs\":1,\"standardErrorNs\":" error ",\"exact\":" exact   \
        ",\"frames\":[\"main\",\"" leaf "\"]," waker "}"
#define WOKEN(place, ns, error, exact, waker) WOKEN_IN("f", place, ns, error, exact, waker)
#define HELD "\"held\":{\"place\":\"sleep\",\"frames\":[\"write_all\",\"usleep\"]}"
#define BY_WRITER                                                                             \
        "\"waker\":{\"kind\":\"thread\",\"process\":\"app\",\"thread\":\"writer\"," HELD "}," \
        "\"wakerFrames\":[\"write_all\",\"pthread_mutex_unlock\",\"entry_SYSCALL_64\","       \
        "\"futex_wake\",\"wake_up_q\",\"try_to_wake_up\"]"
#define BY_TIMER                                                                                   \
        "\"waker\":{\"kind\":\"interrupt\"},\"wakerFrames\":[\"asm_sysvec_apic_timer_interrupt\"," \
        "\"hrtimer_interrupt\",\"hrtimer_wakeup\",\"try_to_wake_up\"]"
#define FIRST_WOKEN WOKEN("lock", "2000000000", "300000000", "false", BY_WRITER)
#define SECOND_WOKEN WOKEN("lock", "1000000000", "400000000", "false", BY_WRITER)
#define THIRD_WOKEN WOKEN("lock", "1000000000", "0", "true", BY_TIMER)
#define LAST_WOKEN WOKEN("pipe", "500000000", "0", "true", "\"waker\":{\"kind\":\"later\"}")
#define WAKERS                                                                           \
        "{\"stacks\":[" FIRST_WOKEN "," SECOND_WOKEN "," THIRD_WOKEN "," LAST_WOKEN "]," \
        "\"hiddenStacks\":0}"
#define WAKERS_FIRST                                                                       \
        "{\"parameters\":{\"snapshot\":" OF_KIND(                                          \
                "recording") ",\"recording\":{\"wakers\":true,"                            \
                             "\"wakes\":50,"                                               \
                             "\"lostWakes\":2},"                                           \
                             "\"elapsedNs\":4000000000,\"places\":{\"lock\":4000000000}}," \
                             "\"continues\":true}\0"

static const Exchange of_wakers[] = {
        { INFORMED("recording") },
        { REPLIES(WAKERS_FIRST "{\"parameters\":" WAKERS "}") },
};

START_TEST(who_ended_waits) {
        begin(of_wakers, 2);
        CTL_RUN(&ctl, "show", "r", "--wakers");
        expect(0,
               "PROCESS  PLACE WAKER          TIME  ERROR SHARE SAMPLES STACK                      "
               "        HELD IN\n"
               "app/work lock  app/writer    3.00s \u00b1500ms  75 %       6 pthread_mutex_unlock "
               "\u2190 write_all   [sleep] usleep \u2190 write_all\n"
               "app/work lock  [interrupt]   1.00s         25 %       3 hrtimer_wakeup \u2190 "
               "hrtimer_interrupt\n"
               "app/work pipe  [still waits] 500ms        100 %       3 -\n"
               "2 of 50 wake-ups were lost\n"
               "waits for work are not among these (--all-rows)\n",
               "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "{\"name\":\"r\"},\"wakers\":true," ASKED_PLACES));
        CTL_RUN(&ctl, "show", "r", "--wakers", "--all-rows", "--limit", "1");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "{\"name\":\"r\"},\"wakers\":true},\"more\""));
        ck_assert_ptr_nonnull(strstr(ctl.out, "2 more wakers (--limit 0)\n"));
        ck_assert_ptr_null(strstr(ctl.out, "[interrupt]"));
        CTL_RUN(&ctl, "show", "r", "--wakers", "--json", "--limit", "9");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"wakers\":true,\"limit\":9},\"more\""));
        ck_assert_ptr_nonnull(strstr(ctl.out, ",\"stacks\":[" FIRST_WOKEN ","));
        ck_assert_int_eq(ctl.status, 0);
        CTL_RUN(&ctl, "show", "r", "--wakers", "--format", "csv", "--limit", "9");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"wakers\":true,\"limit\":9},\"more\""));
        ck_assert_ptr_nonnull(strstr(ctl.out, ",exact,frames,waker,waker_process,waker_thread,"
                                              "waker_frames,held_place,held_frames\r\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out,
                                     "lock,2000000000,3,1,300000000,false,main;f,thread,app,writer,"
                                     "write_all;pthread_mutex_unlock;entry_SYSCALL_64;futex_wake;"
                                     "wake_up_q;try_to_wake_up,sleep,write_all;usleep\r\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, ",main;f,later,,,,,\r\n"));
        end();
}
END_TEST

static const Exchange nobody_waits[] = {
        { INFORMED("recording") },
        { REPLIES(WAKERS_FIRST "{\"parameters\":{\"hiddenStacks\":0}}") },
};

START_TEST(nobody_has_waited) {
        begin(nobody_waits, 2);
        CTL_RUN(&ctl, "show", "r", "--wakers");
        expect(0, "no waits\n", "");
        end();
}
END_TEST

/* How long waits were. */

#define CELLS_2 "\u2588\u2588"
#define BAR                                                                                    \
        "\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588" \
        "\u2588"

#define BUCKET(begin, end, n, ns) \
        "{\"atLeastNs\":" begin ",\"belowNs\":" end ",\"count\":" n ",\"ns\":" ns "}"
#define LOCK_LENGTHS                                                                            \
        "{\"process\":\"app\",\"thread\":\"work\",\"place\":\"lock\",\"count\":104,"            \
        "\"ns\":3000000000,\"buckets\":[" BUCKET(                                               \
                "2048000", "4096000", "100",                                                    \
                "300000000") "," BUCKET("4096000", "8192000", "3",                              \
                                        "16000000") "," BUCKET("1048576000", "2097152000", "1", \
                                                               "2684000000") "]}"
#define QUEUE_LENGTHS                                                                \
        "{\"process\":\"db\",\"thread\":\"db\",\"place\":\"run_queue\",\"count\":1," \
        "\"ns\":1000000000,\"buckets\":[" BUCKET("1073741824000", "null", "1", "1000000000") "]}"
#define LENGTHS_FIRST                                                                     \
        "{\"parameters\":{\"snapshot\":" OF_KIND(                                         \
                "recording") ",\"recording\":{\"histogram\":true,\"lostLengths\":1,"      \
                             "\"unknownLengths\":2,\"filter\":{\"pids\":[71]}},"          \
                             "\"elapsedNs\":4000000000,\"places\":{\"sleep\":2000000000," \
                             "\"lock\":3000000000,\"run_queue\":1000000000}},"            \
                             "\"continues\":true}\0"

static const Exchange of_lengths[] = {
        { INFORMED("recording") },
        { REPLIES(LENGTHS_FIRST
                  "{\"parameters\":{\"histograms\":[" LOCK_LENGTHS "]},\"continues\":true}\0"
                  "{\"parameters\":{\"histograms\":[" QUEUE_LENGTHS "],\"hiddenHistograms\":4}}") },
};

START_TEST(how_long_waits_were) {
        begin(of_lengths, 2);
        CTL_RUN(&ctl, "show", "r", "--histogram");
        expect(0,
               "waits of process 71, by length\n"
               "\n"
               "app/work lock: 104 waits, 3.00s, 75 %, p50 2.0ms..4.1ms, p99 4.1ms..8.2ms\n"
               "       2.0ms..4.1ms      100 " BAR "   300ms  10 % " CELLS_2 "\n"
               "       4.1ms..8.2ms        3                    16ms   1 %\n"
               "       8.2ms..1.05s        0                       0   0 %\n"
               "       1.05s..2.10s        1                   2.68s  89 % " BAR "\n"
               "\n"
               "db run_queue: 1 wait, 1.00s, 25 %, p50 17min 54s.., p99 17min 54s..\n"
               "        17min 54s..        1 " BAR "   1.00s 100 % " BAR "\n"
               "\n"
               "1 wait is not among these: there were too many names\n"
               "2 waits are not among these: nobody knows when they began\n"
               "waits for work are not among these (--all-rows)\n"
               "4 more (--limit 0)\n",
               "");
        ck_assert_ptr_nonnull(strstr(
                ctl.asked, "{\"name\":\"r\"},\"histogram\":true,\"limit\":40," ASKED_PLACES));
        CTL_RUN(&ctl, "show", "r", "--histogram", "--all-rows", "--limit", "0", "--no-legend");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "{\"name\":\"r\"},\"histogram\":true},\"more\""));
        ck_assert_ptr_eq(strstr(ctl.out, "app/work lock: 104 waits, 3.00s, 50 %, "), ctl.out);
        ck_assert_ptr_null(strstr(ctl.out, "--limit"));
        CTL_RUN(&ctl, "show", "r", "--histogram", "--json", "--limit", "9");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"histogram\":true,\"limit\":9},\"more\""));
        ck_assert_ptr_nonnull(strstr(ctl.out, ",\"histograms\":[" LOCK_LENGTHS "," QUEUE_LENGTHS
                                              "],\"hiddenHistograms\":4}\n"));
        ck_assert_int_eq(ctl.status, 0);
        CTL_RUN(&ctl, "show", "r", "--histogram", "--format", "csv");
        expect(0,
               "recording,host,machine_id,boot_id,kernel_release,start_realtime_ns,end_realtime_ns,"
               "elapsed_ns,process,thread,place,at_least_ns,below_ns,count,ns\r\n"
               "r,h,,,,,,4000000000,app,work,lock,2048000,4096000,100,300000000\r\n"
               "r,h,,,,,,4000000000,app,work,lock,4096000,8192000,3,16000000\r\n"
               "r,h,,,,,,4000000000,app,work,lock,1048576000,2097152000,1,2684000000\r\n"
               "r,h,,,,,,4000000000,db,db,run_queue,1073741824000,,1,1000000000\r\n",
               "");
        CTL_RUN(&ctl, "show", "r", "--histogram", "--format", "ndjson");
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"place\":\"run_queue\",\"at_least_ns\":"
                                              "1073741824000,\"below_ns\":null,\"count\":1,"
                                              "\"ns\":1000000000}\n"));
        end();
}
END_TEST

static const Exchange no_lengths[] = {
        { INFORMED("recording") },
        { REPLIES(FIRST "{\"parameters\":{\"hiddenHistograms\":0}}") },
};

START_TEST(no_wait_has_ended) {
        begin(no_lengths, 2);
        CTL_RUN(&ctl, "show", "r", "--histogram", "--quiet");
        ck_assert_ptr_nonnull(strstr(ctl.out, "no waits\n"));
        end();
}
END_TEST

#define BY(kind, ns) \
        "\"wokenBy\":{\"kind\":\"" kind "\",\"process\":\"app\",\"thread\":\"writer\"," ns "}"
#define HELD_LOCK WOKEN("lock", "3000000000", "0", "true", BY("thread", "\"ns\":2000000000," HELD))
#define WOKEN_LOCK \
        WOKEN_IN("g", "lock", "2000000000", "0", "true", BY("thread", "\"ns\":1000000000"))
#define WOKEN_FUTEX WOKEN("futex", "1000000000", "0", "true", BY("thread", "\"ns\":1000000000"))

static const Exchange woken[] = {
        { SHOWN },
        { REPLIES(FIRST "{\"parameters\":{\"stacks\":[" HELD_LOCK "," WOKEN_LOCK "," WOKEN_FUTEX
                        "],\"hiddenStacks\":0}}") },
};

START_TEST(locks_say_who_gave_them_back) {
        begin(woken, 2);
        CTL_RUN(&ctl, "show", "r");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "f \u2190 main, held by app/writer 67 % in [sleep] "
                                              "usleep \u2190 write_all\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "g \u2190 main, woken by app/writer 50 %\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "futex 1.00s  25 % f \u2190 main\n"));
        /* What is cut off the list takes its waker with it. */
        CTL_RUN(&ctl, "show", "r", "--limit", "1");
        ck_assert_ptr_nonnull(strstr(ctl.out, "held by app/writer 67 %"));
        ck_assert_ptr_null(strstr(ctl.out, "woken by"));
        end();
}
END_TEST

static const struct {
        const char *words[6];
        const char *complaint;
} refusals[] = {
        { { "show", "r", "--wakers" },
          "\"r\" is a snapshot, and has no stacks: --wakers is for what \"ctprofctl record\" has "
          "made.\n" },
        { { "show", "r", "--wakers", "--stacks" },
          "--wakers is a view of its own: give it without --stacks.\n" },
        { { "show", "r", "--wakers", "--format", "folded" },
          "--wakers is text, JSON, csv or ndjson: give --format folded alone.\n" },
        { { "show", "r", "--wakers", "--format", "csv", "--json" },
          "--format and --json are two forms of one result: give either.\n" },
        { { "show", "r", "--histogram" },
          "\"r\" is a snapshot, and has no stacks: --histogram is for what \"ctprofctl record\" "
          "has made.\n" },
        { { "show", "r", "--histogram", "--wakers" },
          "--histogram is a view of its own: give it without --wakers.\n" },
        { { "show", "r", "--histogram", "--format", "html" },
          "--histogram is text, JSON, csv or ndjson: give --format html alone.\n" },
        { { "show", "r", "--histogram", "--format", "csv", "--json" },
          "--format and --json are two forms of one result: give either.\n" },
        { { "show", "r", "--standard-errors" }, "--standard-errors is for --format folded.\n" },
        { { "compare", "r", "r", "--stacks", "--standard-errors" },
          "--standard-errors is for --format folded.\n" },
        { { "show", "r", "--stacks", "--filter", "app" },
          "--filter is for groups of threads, of which --stacks shows none: leave it out.\n" },
        { { "show", "r", "--format", "folded", "--group-by", "thread" },
          "--group-by is for groups of threads, of which --format folded shows none: leave it "
          "out.\n" },
        { { "compare", "r", "r", "--stacks", "--threshold", "5" },
          "--threshold is for groups of threads, of which --stacks shows none: leave it out.\n" },
        { { "show", "r", "--wakers", "--self" },
          "--self is for groups of threads, of which --wakers shows none: leave it out.\n" },
        { { "show", "r", "--lines" }, "--lines is for --stacks, as a table or JSON.\n" },
        { { "show", "r", "--stacks", "--lines", "--format", "csv" },
          "--lines is for --stacks, as a table or JSON.\n" },
        { { "show", "r", "--stacks" },
          "\"r\" is a snapshot, and has no stacks: --stacks is for what \"ctprofctl record\" has "
          "made.\n" },
        { { "show", "r", "--format", "folded" },
          "\"r\" is a snapshot, and has no stacks: --format folded is for what \"ctprofctl "
          "record\" has made.\n" },
        { { "show", "a..b", "--format", "speedscope" },
          "\"a..b\" is an interval, and has no stacks: --format speedscope is for what "
          "\"ctprofctl record\" has made.\n" },
        { { "show", "r", "--stacks", "--format", "html" },
          "--stacks is a table, JSON, csv or ndjson: give --format html alone.\n" },
        { { "show", "r", "--json", "--format", "folded" },
          "--format and --json are two forms of one result: give either.\n" },
        { { "compare", "r", "r", "--format", "folded" },
          "\"r\" is a snapshot, and has no stacks: --format folded is for what \"ctprofctl "
          "record\" has made.\n" },
        { { "compare", "a..b", "r", "--stacks" },
          "\"a..b\" is an interval, and has no stacks: --stacks is for what \"ctprofctl record\" "
          "has made.\n" },
        { { "compare", "r", "r", "--stacks", "--format", "csv" },
          "--stacks is a table or JSON: give --format csv alone.\n" },
        { { "compare", "r", "r", "--format", "speedscope" },
          "\"compare\" has no --format speedscope: there are table, csv, folded, html, ndjson.\n" },
};

START_TEST(what_has_no_stacks_is_refused) {
        static const Exchange informed[] = { { INFORMED("snapshot") } };
        const char *words[ELEMENTSOF(refusals[0].words) + 1] = {};

        memcpy(words, refusals[_i].words, sizeof(refusals[_i].words));
        begin(informed, 1);
        ctl_run(&ctl, words);
        expect(2, "", refusals[_i].complaint);
        ck_assert_ptr_null(strstr(ctl.asked, "Stacks"));
        end();
}
END_TEST

/* Between two calls another snapshot may be the latest. */
START_TEST(the_latest_stays_what_it_was) {
        static const struct {
                const Exchange *exchanges;
                size_t n;
                const char *words[4];
        } views[] = {
                { first_screen, ELEMENTSOF(first_screen), { "show", "latest" } },
                { first_screen,
                  ELEMENTSOF(first_screen),
                  { "show", "latest", "--format", "html" } },
                { alone, ELEMENTSOF(alone), { "show", "latest~1", "--stacks" } },
                { of_lengths, ELEMENTSOF(of_lengths), { "show", "latest", "--histogram" } },
        };

        for (size_t i = 0; i < ELEMENTSOF(views); i++) {
                begin(views[i].exchanges, views[i].n);
                CTL_RUN(&ctl, views[i].words[0], views[i].words[1], views[i].words[2],
                        views[i].words[3]);
                ck_assert_str_eq(ctl.err, "");
                ck_assert_ptr_nonnull(strstr(ctl.asked, "{\"recording\":{\"name\":\"r\"},"));
                end();
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-stacks");
        TCase *view = tcase_create("view");

        tcase_add_test(view, a_first_screen_ends_with_stacks);
        tcase_add_test(view, where_nobody_works_those_who_wait_are_shown);
        tcase_add_test(view, stacks_are_trees);
        tcase_add_test(view, rows_have_what_waits_were_on);
        tcase_add_loop_test(view, programs_get_all_of_it, 0, ELEMENTSOF(forms));
        tcase_add_test(view, a_page_of_a_recording_is_a_flame_graph);
        tcase_add_test(view, the_latest_stays_what_it_was);
        tcase_add_test(view, two_recordings_end_with_what_changed);
        tcase_add_test(view, a_recording_and_an_interval_have_no_stacks);
        tcase_add_test(view, what_changed_is_for_programs_too);
        tcase_add_test(view, who_ended_waits);
        tcase_add_test(view, nobody_has_waited);
        tcase_add_test(view, how_long_waits_were);
        tcase_add_test(view, no_wait_has_ended);
        tcase_add_test(view, locks_say_who_gave_them_back);
        tcase_add_loop_test(view, what_has_no_stacks_is_refused, 0, ELEMENTSOF(refusals));
        suite_add_tcase(suite, view);
        return check_main(suite);
}
