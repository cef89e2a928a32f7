/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <signal.h>
#include <string.h>

#include "check-lack.h"
#include "check-main.h"
#include "ctl-answers.h"

#define RECORDED(name)                                                                       \
        "{\"name\":\"" name "\",\"tagged\":true,\"fileKind\":\"recording\",\"threads\":213," \
        "\"processes\":98,\"sizeBytes\":49281,\"startBoottimeNs\":1000000000,"               \
        "\"endBoottimeNs\":5012000000,\"startRealtimeNs\":1795188901123456789}"
#define PHASE(phase, done)                                                      \
        "{\"parameters\":{\"progress\":{\"phase\":\"" phase "\",\"done\":" done \
        ",\"total\":4000000000}},\"continues\":true}"
#define LAST "{\"parameters\":{\"snapshot\":" RECORDED("r") ",\"sources\":" SOME_SOURCES "}}"
#define SAID                                                     \
        "r: 213 threads of 98 processes for 4.012s, 48.126KiB\n" \
        "missing   io: 201 of 213 threads refused (info r)\n"
#define RECORD_CALL(parameters) \
        "{\"method\":\"io.ctprof.Profiler.Record\",\"parameters\":" parameters ",\"more\":true}\n"
#define END_CALL "{\"method\":\"io.ctprof.Profiler.EndRecording\",\"parameters\":{}}\n"

static const Exchange timed[] = { { REPLIES(PHASE("threads", "1") "\0" PHASE(
        "recording", "100000000") "\0" PHASE("recording", "4000000000") "\0" LAST) } };

START_TEST(what_was_recorded_is_told) {
        begin(timed, 1);
        CTL_RUN(&ctl, "record", "--tag", "r", "--replace", "--for", "4s");
        expect(0, SAID, "");
        ck_assert_str_eq(ctl.asked,
                         RECORD_CALL("{\"tag\":\"r\",\"replace\":true,\"forNs\":4000000000}"));
        CTL_RUN(&ctl, "record", "--json", "--for", "4s");
        expect(0, "{\"snapshot\":" RECORDED("r") ",\"sources\":" SOME_SOURCES "}\n", "");
        end();
}
END_TEST

static const struct {
        const char *words[5];
        const char *parameters;
} wishes[] = {
        { { "--for", "1min 500ms" }, "{\"forNs\":60500000000}" },
        { { "--period", "10ms" }, "{\"periodNs\":10000000}" },
        { { "--user-stack", "16K" }, "{\"stackBytes\":16384}" },
        { { "--user-stack=none" }, "{\"stackBytes\":0}" },
        { { "--user-stack", "fp" }, "{\"framePointers\":true}" },
        { { "--user-stack", "fp", "--stack-kinds", "user" },
          "{\"framePointers\":true,\"kernelStacks\":false}" },
        { { "--stack-kinds", "both" }, "{\"kernelStacks\":true}" },
        { { "--stack-kinds", "kernel" }, "{\"stackBytes\":0,\"kernelStacks\":true}" },
        { { "--stack-kinds", "user" }, "{\"kernelStacks\":false}" },
        { { "--stack-kinds", "none" }, "{\"stackBytes\":0,\"kernelStacks\":false}" },
        { { "--stack-kinds", "user", "--user-stack", "8K" },
          "{\"stackBytes\":8192,\"kernelStacks\":false}" },
        { { "--on-cpu" }, "{\"onCpu\":true,\"offCpu\":false}" },
        { { "--off-cpu" }, "{\"onCpu\":false,\"offCpu\":true}" },
        { { "--wakers" }, "{\"wakers\":true}" },
        { { "--lines", "--stack-kinds", "user" }, "{\"kernelStacks\":false,\"lines\":true}" },
        { { "--every", "500ms" }, "{\"everyNs\":500000000}" },
        { { "--verbose" }, "{}" },
        { { "--all" }, "{}" },
        { { "--min", "1ms", "--max=1s" }, "{\"minNs\":1000000,\"maxNs\":1000000000}" },
        { { "--pid", "12,13", "--pid=4" }, "{\"filter\":{\"pids\":[12,13,4]}}" },
        { { "--uid", "7,root" }, "{\"filter\":{\"uids\":[7,0]}}" },
        { { "--comm", "ng*", "--cgroup", "/a b", "--user-threads" },
          "{\"filter\":{\"comm\":\"ng*\",\"cgroup\":\"/a b\",\"threads\":\"user\"}}" },
        { { "--kernel-threads" }, "{\"filter\":{\"threads\":\"kernel\"}}" },
};

START_TEST(only_what_is_asked_for_is_sent) {
        const char *words[ELEMENTSOF(wishes[0].words) + 2] = { "record" };
        char call[256];

        memcpy(words + 1, wishes[_i].words, sizeof(wishes[_i].words));
        begin(timed, 1);
        ctl_run(&ctl, words);
        ck_assert_str_eq(ctl.err, "");
        (void) snprintf(call, sizeof(call), RECORD_CALL("%s"), wishes[_i].parameters);
        ck_assert_str_eq(ctl.asked, call);
        end();
}
END_TEST

static const struct {
        const char *words[6];
        const char *complaint;
} refusals[] = {
        { { "--for", "0" }, "--for \"0\" is no amount of time above 0: write 10s, 2min or 500ms." },
        { { "--for", "infinity" }, "--for \"infinity\" is no amount of time above 0" },
        { { "--period", "x" }, "--period \"x\" is no amount of time above 0" },
        { { "--user-stack", "0" }, "--user-stack \"0\" is no size: write 16K, fp, or none." },
        { { "--stack-kinds", "mine" },
          "--stack-kinds \"mine\" does not say whose: it is both, kernel, user or none." },
        { { "--stack-kinds", "kernel", "--user-stack", "8K" }, "contradict each other" },
        { { "--stack-kinds", "user", "--user-stack", "none" }, "contradict each other" },
        { { "--stack-kinds", "kernel", "--user-stack", "fp" }, "contradict each other" },
        { { "--on-cpu", "--off-cpu" }, "--on-cpu and --off-cpu exclude each other" },
        { { "--on-cpu", "--wakers" }, "--wakers is about waits, which --on-cpu leaves out" },
        { { "--lines", "--stack-kinds", "kernel" }, "--lines is about stacks of user mode" },
        { { "--user-stack=none", "--lines" }, "--lines is about stacks of user mode" },
        { { "--replace" }, "--replace needs the name to replace" },
        { { "--for", "4s", "--", "true" }, "--for and COMMAND both say when" },
        { { "--host", "h", "--", "true" }, "takes no COMMAND with --host" },
        { { "--local" }, "\"record --local\" needs --for TIME" },
        { { "--host", "a,b" }, "\"record\" needs --for TIME with several hosts" },
        { { "--host", "a,b", "--for", "4s", "--output", "x" }, "--output names one file" },
        { { "--all", "--uid", "0" }, "--all takes all threads" },
        { { "--user-threads", "--kernel-threads" }, "exclude each other" },
        { { "--pid", "1,x" }, "--pid \"x\" is no number of a process." },
        { { "--pid", "" }, "--pid \"\" is no number of a process." },
        { { "--pid", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" }, "--pid takes at most 16." },
        { { "--uid", "no such" }, "--uid \"no such\" is no user of this host." },
        { { "--comm", "[" }, "--comm \"[\" is no glob: " },
        { { "--cgroup", "a" }, "--cgroup takes a path as in /proc/PID/cgroup" },
        { { "--min", "2s", "--max", "1s" }, "--min is above --max" },
        { { "--output", "-", "--json" }, "--output - and --json both want stdout" },
};

START_TEST(contradictions_are_refused) {
        const char *words[ELEMENTSOF(refusals[0].words) + 2] = { "record" };

        memcpy(words + 1, refusals[_i].words, sizeof(refusals[_i].words));
        begin(timed, 1);
        /* It asks another daemon, or none. */
        ctl_run(&ctl, words);
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_ptr_nonnull(strstr(ctl.err, refusals[_i].complaint));
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

static const Exchange asked_to_end[] = {
        { REPLIES(PHASE("recording", "100000000") "\0" PHASE("writing", "1") "\0" LAST),
          .waits = true },
        { REPLIES("{\"parameters\":{}}") },
};

START_TEST(a_command_is_recorded_to_its_end) {
        begin(asked_to_end, 2);
        CTL_RUN(&ctl, "record", "--tag", "r", "--", "sh", "-c", "echo out; exit 3");
        expect(3, "out\n" SAID, "");
        /* It is what is recorded, unless something else is said. */
        ck_assert_str_eq(ctl.asked,
                         RECORD_CALL("{\"tag\":\"r\",\"filter\":{\"descendants\":true}}") END_CALL);
        CTL_RUN(&ctl, "record", "--all", "--", "true");
        ck_assert_str_eq(ctl.asked, RECORD_CALL("{}") END_CALL);
        CTL_RUN(&ctl, "record", "--uid=7", "--", "true");
        ck_assert_str_eq(ctl.asked, RECORD_CALL("{\"filter\":{\"uids\":[7]}}") END_CALL);
        CTL_RUN(&ctl, "record", "--json", "--", "sh", "-c", "echo out; kill -KILL $$");
        ck_assert_int_eq(ctl.status, 137);
        ck_assert_str_eq(ctl.err, "out\n");
        ck_assert_ptr_eq(strstr(ctl.out, "{\"snapshot\":{\"name\":\"r\""), ctl.out);
        end();
}
END_TEST

START_TEST(a_command_that_takes_longer_is_waited_for) {
        /* Without one the recording is ended at once. */
        if (check_skips(check_lacks_pidfds()))
                return;
        begin(timed, 1);
        CTL_RUN(&ctl, "record", "--", "sh", "-c", "sleep 0.2; echo out");
        expect(0, "out\n" SAID, "");
        end();
}
END_TEST

START_TEST(what_cannot_run_is_not_recorded) {
        begin(timed, 1);
        CTL_RUN(&ctl, "record", "--", "/nonexistent/program");
        expect(127, "", "\"/nonexistent/program\" cannot be run: there is no such program.\n");
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

static const Exchange over_already[] = {
        { REPLIES(PHASE("recording", "100000000") "\0" LAST), .waits = true },
        { REPLIES("{\"error\":\"io.ctprof.Profiler.NoRecording\"}") },
};

START_TEST(an_end_that_came_by_itself_is_one) {
        begin(over_already, 2);
        CTL_RUN(&ctl, "record", "--", "true");
        expect(0, SAID, "");
        end();
}
END_TEST

static const Exchange not_ended[] = {
        { REPLIES(PHASE("recording", "100000000") "\0" LAST), .waits = true },
        { REPLIES("{\"error\":\"org.varlink.service.MethodNotFound\",\"parameters\":{\"method\":"
                  "\"EndRecording\"}}") },
};

START_TEST(what_cannot_be_ended_fails_once) {
        begin(not_ended, 2);
        CTL_RUN(&ctl, "record", "--", "true");
        expect(1, "", "This ctprofd does not know \"EndRecording\": it is older than ctprofctl.\n");
        end();
}
END_TEST

static const Exchange interrupted[] = {
        { REPLIES(PHASE("recording", "100000000") "\0" LAST), .signal = SIGINT, .waits = true },
        { REPLIES("{\"parameters\":{}}") },
};

START_TEST(the_first_signal_ends_and_keeps) {
        begin(interrupted, 2);
        CTL_RUN(&ctl, "record", "--tag", "r");
        expect(0, SAID, "");
        ck_assert_str_eq(ctl.asked, RECORD_CALL("{\"tag\":\"r\"}") END_CALL);
        end();
}
END_TEST

START_TEST(a_terminal_is_told_how_it_ends) {
        begin(interrupted, 2);
        CTL_RUN_TERMINAL(&ctl, 80, "record");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "Ctrl-C ends the recording and keeps it."));
        CTL_RUN_TERMINAL(&ctl, 80, "record", "--for", "4s");
        ck_assert_ptr_null(strstr(ctl.out, "Ctrl-C"));
        end();
}
END_TEST

static const Exchange interrupted_early[] = {
        { REPLIES(PHASE("threads", "1") "\0" LAST), .signal = SIGINT, .waits = true },
        { REPLIES("{\"parameters\":{}}") },
};

START_TEST(a_signal_before_it_begins_cancels) {
        begin(interrupted_early, 2);
        CTL_RUN(&ctl, "record");
        expect(1, "", "Cancelled.\n");
        end();
}
END_TEST

static const Exchange interrupted_twice[] = {
        { REPLIES(PHASE("recording", "100000000") "\0" LAST), .signal = SIGINT, .waits = true },
        { REPLIES(PHASE("working", "0") "\0"
                                        "{\"parameters\":{}}"),
          .signal = SIGTERM, .waits = true },
        { REPLIES("{\"parameters\":{}}") },
};

START_TEST(the_second_signal_cancels) {
        begin(interrupted_twice, 3);
        CTL_RUN(&ctl, "record");
        ck_assert_int_ne(ctl.status, 0);
        ck_assert_str_eq(ctl.out, "");
        end();
}
END_TEST

static const Exchange taken[] = { { REPLIES(
        "{\"error\":\"io.ctprof.Profiler.RecordingRuns\",\"parameters\":{\"uid\":0,"
        "\"sinceRealtimeNs\":1795188901000000000,\"untilRealtimeNs\":1795192501000000000}}") } };

START_TEST(another_recording_is_told) {
        begin(taken, 1);
        CTL_RUN(&ctl, "record", "--", "touch", "ran");
        expect(1, "",
               "There is one recording at a time: root (uid 0) has recorded since 2026-11-20 "
               "15:35:01 UTC, and will until 2026-11-20 16:35:01 UTC at the latest.\n");
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-record");
        TCase *take = tcase_create("take");

        tcase_add_test(take, what_was_recorded_is_told);
        tcase_add_loop_test(take, only_what_is_asked_for_is_sent, 0, ELEMENTSOF(wishes));
        tcase_add_loop_test(take, contradictions_are_refused, 0, ELEMENTSOF(refusals));
        tcase_add_test(take, a_command_is_recorded_to_its_end);
        tcase_add_test(take, a_command_that_takes_longer_is_waited_for);
        tcase_add_test(take, what_cannot_run_is_not_recorded);
        tcase_add_test(take, an_end_that_came_by_itself_is_one);
        tcase_add_test(take, what_cannot_be_ended_fails_once);
        tcase_add_test(take, the_first_signal_ends_and_keeps);
        tcase_add_test(take, a_terminal_is_told_how_it_ends);
        tcase_add_test(take, a_signal_before_it_begins_cancels);
        tcase_add_test(take, the_second_signal_cancels);
        tcase_add_test(take, another_recording_is_told);
        suite_add_tcase(suite, take);
        return check_main(suite);
}
