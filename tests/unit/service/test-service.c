/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"
#include "bench.h"

#include <grp.h>
#include <sys/wait.h>
#include "interface/error-list.h"
#include "interface/interface.h"
#include "service/method/method.h"

#define CALL(name, parameters) \
        "{\"method\":\"" PROFILER_INTERFACE "." name "\",\"parameters\":" parameters "}"
#define CALL_MORE(name, parameters)                                                  \
        "{\"method\":\"" PROFILER_INTERFACE "." name "\",\"parameters\":" parameters \
        ",\"more\":true}"

static Bench bench;
static FrameStream *caller;

static void setup(void) {
        bench_init(&bench);
        caller = bench_connect(&bench);
}

static void teardown(void) {
        caller = frame_stream_free(caller);
        bench_done(&bench);
}

static const char *call(const char *text) {
        return bench_call(&bench, caller, text);
}

#define ck_assert_has(text, part) \
        ck_assert_msg(strstr((text), (part)) != NULL, "no %s in %s", (part), (text))
#define ck_assert_has_not(text, part) \
        ck_assert_msg(strstr((text), (part)) == NULL, "%s in %s", (part), (text))

/* the interface */

START_TEST(every_method_of_the_interface_is_there_and_no_other) {
        static const char *const names[] = {
#define METHOD_NAME(name, ...) #name,
                PROFILER_METHODS(METHOD_NAME)
#undef METHOD_NAME
        };
        const char *text = profiler_interface_text;
        size_t n = 0;

        while ((text = strstr(text, "\nmethod "))) {
                text += strlen("\nmethod ");
                ck_assert_uint_lt(n, ELEMENTSOF(names));
                ck_assert_msg(strncmp(text, names[n], strlen(names[n])) == 0 &&
                                      text[strlen(names[n])] == '(',
                              "%s is not method %zu of the interface", names[n], n);
                n++;
        }
        ck_assert_uint_eq(n, ELEMENTSOF(names));
}
END_TEST

START_TEST(the_service_tells_about_itself) {
        ck_assert_has(call("{\"method\":\"org.varlink.service.GetInfo\"}"),
                      "\"interfaces\":[\"org.varlink.service\",\"io.ctprof.Profiler\"]");
        ck_assert_has(call("{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                           "\"parameters\":{\"interface\":\"io.ctprof.Profiler\"}}"),
                      "method Capture(");
        ck_assert_has(call("{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                           "\"parameters\":{\"interface\":\"org.varlink.service\"}}"),
                      "error ExpectedMore");
        ck_assert_str_eq(call("{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                              "\"parameters\":{\"interface\":\"a.b\"}}"),
                         "{\"error\":\"org.varlink.service.InterfaceNotFound\","
                         "\"parameters\":{\"interface\":\"a.b\"}}");
}
END_TEST

static const struct {
        const char *call;
        const char *error;
        const char *parameter;
} refusal_rows[] = {
        { "{\"method\":\"io.ctprof.Profiler.Nothing\"}", "MethodNotFound",
          "\"method\":\"io.ctprof.Profiler.Nothing\"" },
        { "{\"method\":\"io.ctprof.Profiler.List.x\"}", "InterfaceNotFound",
          "\"interface\":\"io.ctprof.Profiler.List\"" },
        { "{\"method\":\"io.ctprof.Job.Capture\"}", "InterfaceNotFound",
          "\"interface\":\"io.ctprof.Job\"" },
        { "{\"method\":\"List\"}", "InterfaceNotFound", "\"interface\":\"List\"" },
        { CALL("List", "{\"other\":1}"), "InvalidParameter", "\"parameter\":\"other\"" },
        { CALL("List", "{\"sinceRealtimeNs\":-1}"), "InvalidParameter", "\"sinceRealtimeNs\"" },
        { CALL("MetricList", "{\"x\":1}"), "InvalidParameter", "\"parameter\":\"x\"" },
        { CALL("Status", "{\"x\":1}"), "InvalidParameter", "\"parameter\":\"x\"" },
        { CALL("Capture", "{\"replace\":true}"), "InvalidParameter", "\"parameter\":\"replace\"" },
        { CALL("Capture", "{\"tag\":\"a/b\"}"), "InvalidName", "\"reason\":\"contains a slash\"" },
        { CALL("Capture", "{\"tag\":1}"), "InvalidParameter", "\"parameter\":\"tag\"" },
        { CALL("Capture", "{\"smaps\":\"all\"}"), "InvalidParameter", "\"parameter\":\"smaps\"" },
        { CALL("Capture", "{\"smapsMode\":\"some\"}"), "InvalidParameter",
          "\"parameter\":\"smapsMode\"" },
        { CALL("Capture", "{\"smaps\":false,\"smapsMode\":\"all\"}"), "InvalidParameter",
          "It contradicts the parameter" },
        { CALL("Capture", "{\"smaps\":true,\"smapsMode\":\"none\"}"), "InvalidParameter",
          "\"parameter\":\"smapsMode\"" },
        { CALL("Show", "{}"), "InvalidParameter", "\"parameter\":\"snapshot\"" },
        { CALL("Show", "{\"snapshot\":{\"name\":\"a\"}}"), "ExpectedMore", "{}" },
        { CALL("Compare", "{\"before\":{\"name\":\"a\"},\"after\":{\"name\":\"a\"}}"),
          "ExpectedMore", "{}" },
        { CALL("CompareSets", "{\"before\":[{\"name\":\"a\"}],\"after\":[{\"name\":\"a\"}]}"),
          "ExpectedMore", "{}" },
        { CALL_MORE("CompareSets", "{\"before\":{\"name\":\"a\"},\"after\":[]}"),
          "InvalidParameter", "\"parameter\":\"before\"" },
        { CALL_MORE("CompareSets", "{\"before\":[],\"after\":[],\"alpha\":\"x\"}"),
          "InvalidParameter", "\"parameter\":\"alpha\"" },
        { CALL_MORE("CompareSets", "{\"before\":[{\"name\":\"nobody\"}],\"after\":[]}"),
          "NoSuchSnapshot", "\"name\":\"nobody\"" },
        { CALL_MORE("Show", "{\"snapshot\":{\"name\":\"a\",\"fileDescriptor\":0}}"),
          "InvalidParameter", "\"parameter\":\"snapshot\"" },
        { CALL_MORE("Show", "{\"snapshot\":{}}"), "InvalidParameter",
          "\"parameter\":\"snapshot\"" },
        { CALL_MORE("Show", "{\"snapshot\":{\"fileDescriptor\":0}}"), "InvalidParameter",
          "\"parameter\":\"fileDescriptor\"" },
        { CALL_MORE("Show", "{\"snapshot\":{\"path\":\"/etc/shadow\"}}"), "InvalidParameter",
          "\"parameter\":\"path\"" },
        { CALL_MORE("Show", "{\"snapshot\":{\"name\":\"nobody\",\"to\":{\"name\":\"b\"}}}"),
          "NoSuchSnapshot", "\"name\":\"nobody\"" },
        { CALL_MORE("Show", "{\"snapshot\":{\"to\":{\"name\":\"b\"}}}"), "InvalidParameter",
          "\"parameter\":\"snapshot\"" },
        { CALL("Info", "{\"snapshot\":{\"name\":\"a\",\"to\":{\"name\":\"b\"}}}"),
          "InvalidParameter", "\"parameter\":\"to\"" },
        { CALL("Info", "{\"snapshot\":{\"name\":\"../a\"}}"), "NoSuchSnapshot", "\"../a\"" },
        { CALL("Info", "{\"snapshot\":{\"name\":\"a\"}}"), "NoSuchSnapshot", "\"name\":\"a\"" },
        { CALL("Export", "{\"snapshot\":{\"name\":\"a\"}}"), "NoSuchSnapshot", "\"name\":\"a\"" },
        { CALL("Verify", "{\"snapshots\":[{\"name\":\"a\"}]}"), "NoSuchSnapshot",
          "\"name\":\"a\"" },
        { CALL("Verify", "{\"snapshots\":[1]}"), "InvalidParameter", "\"snapshots\"" },
        { CALL("Import", "{\"fileDescriptor\":0}"), "InvalidParameter", "\"fileDescriptor\"" },
        { CALL("Import", "{\"fileDescriptor\":0,\"tag\":\"latest\"}"), "InvalidName", "reserved" },
        { CALL("Remove", "{\"names\":\"a\"}"), "InvalidParameter", "\"names\"" },
        { CALL("Rename", "{\"name\":\"a\"}"), "InvalidParameter", "\"newName\"" },
};

START_TEST(what_is_wrong_with_a_call_is_named) {
        const char *answer = call(refusal_rows[_i].call);

        ck_assert_has(answer, refusal_rows[_i].error);
        ck_assert_has(answer, refusal_rows[_i].parameter);
        /* The connection stays open. */
        ck_assert_has(call(CALL("MetricList", "{}")), "\"run_time_ns\"");
}
END_TEST

/* capture */

START_TEST(a_capture_becomes_an_order_for_a_job) {
        char expected[64];
        const char *answer;

        answer = call(CALL("Capture", "{\"tag\":\"x\",\"smaps\":false}"));
        ck_assert_has(answer, "\"snapshot\":{\"name\":\"x\"}");
        ck_assert_has(answer, "\"name\":\"x\",\"tagged\":true,\"replace\":false");
        ck_assert_has(answer, "\"smapsMode\":\"none\",\"anonymous\":false");
        ck_assert_has(answer, "\"limits\":{\"maxBytes\":1048576,\"keepFreeBytes\":0,"
                              "\"keepFreeFiles\":0,\"maxAgeNs\":5,\"reservedBytes\":0,"
                              "\"maxSnapshots\":0,\"maxSnapshotsPerUid\":0}");
        ck_assert_has(answer, "\"directory\":0,\"output\":1");
        ck_assert_has(answer, "\"fds\":2");
        ck_assert_has(answer, "\"more\":false");
        (void) snprintf(expected, sizeof(expected), "\"selfPids\":[%d", getpid());
        ck_assert_has(answer, expected);
        (void) snprintf(expected, sizeof(expected), "\"uid\":%u", getuid());
        ck_assert_has(answer, expected);
        ck_assert_has(answer, strrchr(bench.path, '/') + 1); /* JSON escapes slashes */
}
END_TEST

static const struct {
        const char *parameters, *mode;
} smaps_rows[] = {
        { "{}", "small" },
        { "{\"smaps\":null,\"smapsMode\":null}", "small" },
        { "{\"smaps\":true}", "all" },
        { "{\"smaps\":false}", "none" },
        { "{\"smapsMode\":\"all\"}", "all" },
        { "{\"smapsMode\":\"small\"}", "small" },
        { "{\"smapsMode\":\"none\"}", "none" },
        { "{\"smaps\":true,\"smapsMode\":\"small\"}", "small" },
        { "{\"smaps\":false,\"smapsMode\":\"none\"}", "none" },
};

START_TEST(the_boolean_and_the_mode_of_smaps_become_one) {
        char text[256], expected[96];
        const char *answer;

        (void) snprintf(text, sizeof(text),
                        "{\"method\":\"" PROFILER_INTERFACE ".Capture\",\"parameters\":%s}",
                        smaps_rows[_i].parameters);
        answer = call(text);

        (void) snprintf(expected, sizeof(expected), "\"smapsMode\":\"%s\"", smaps_rows[_i].mode);
        ck_assert_has(answer, expected);
        ck_assert_has(answer, "\"smapsMaxRssBytes\":268435456");
}
END_TEST

/* What the first job said of the sources is part of the second order. */
START_TEST(a_capture_is_kept_by_a_second_job) {
        const char *answer = call(CALL("Capture", "{\"tag\":\"x\"}"));

        ck_assert_has(answer, "\"given\":{");
        ck_assert_has(answer, "\"file\":1");
        ck_assert_has(answer, "\"sources\":[{\"given\":{");
        ck_assert_has(call(CALL("Capture", "{\"tag\":\"die-late\"}")),
                      "The spool job ended with status 7");
}
END_TEST

/* Between its two jobs a capture keeps its turn. */
START_TEST(a_capture_is_kept_before_the_next_begins) {
        FrameStream *second = bench_connect(&bench);

        bench_send(caller, CALL_MORE("Capture", "{\"tag\":\"hang-late\"}"), NULL, 0);
        ck_assert_has(bench_receive(&bench, caller), "\"phase\":\"threads\"");
        bench_send(second, CALL_MORE("Capture", "{\"tag\":\"x\"}"), NULL, 0);
        ck_assert_has(bench_receive(&bench, second), "\"phase\":\"waiting\"");
        for (unsigned i = 0; i < 20; i++)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        ck_assert_uint_eq(bench.n_running, 1);
        ck_assert_uint_eq(bench.n_waiting, 1);
        caller = frame_stream_free(caller);
        ck_assert_has(bench_receive(&bench, second), "\"phase\":\"threads\"");
        ck_assert_has(bench_receive(&bench, second), "\"snapshot\"");
        frame_stream_free(second);
}
END_TEST

START_TEST(progress_is_for_those_who_asked_for_more) {
        bench_send(caller, CALL_MORE("Capture", "{}"), NULL, 0);
        ck_assert_has(bench_receive(&bench, caller), "\"phase\":\"threads\"");
        ck_assert_has(bench_receive(&bench, caller), "\"tagged\":false");
}
END_TEST

/* A sign of life each time, for the call that runs and the one that waits. */
START_TEST(callers_hear_of_a_call_that_takes_long) {
        FrameStream *second = bench_connect(&bench), *third = bench_connect(&bench);
        const char *answer;

        service_set_heartbeat(bench.service, NSEC_PER_SEC / 50);
        bench_send(caller, CALL_MORE("Capture", "{\"tag\":\"hang\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        /* On a busy machine it may have waited before it ran. */
        do
                answer = bench_receive(&bench, caller);
        while (strstr(answer, "\"phase\":\"waiting\""));
        for (unsigned i = 0; i < 3; i++) {
                ck_assert_str_eq(answer, "{\"parameters\":{\"progress\":{\"phase\":\"working\","
                                         "\"done\":0}},\"continues\":true}");
                answer = bench_receive(&bench, caller);
        }
        bench_send(second, CALL_MORE("Capture", "{}"), NULL, 0);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_str_eq(bench_receive(&bench, second),
                                 "{\"parameters\":{\"progress\":{\"phase\":\"waiting\","
                                 "\"done\":0}},\"continues\":true}");
        /* Who did not ask for more hears the answer only. */
        bench_send(third, CALL("Capture", "{\"tag\":\"x\"}"), NULL, 0);
        bench_await(&bench, 1, 2);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_has(bench_receive(&bench, second), "\"phase\":\"waiting\"");
        caller = frame_stream_free(caller);
        ck_assert_has(bench_receive(&bench, third), "\"snapshot\":{\"name\":\"x\"}");
        frame_stream_free(second);
        frame_stream_free(third);
}
END_TEST

START_TEST(an_anonymous_snapshot_comes_as_a_descriptor) {
        ck_assert_has(call(CALL("Capture", "{\"anonymous\":true}")), "\"fileDescriptor\":0");
        ck_assert_uint_eq(frame_stream_n_fds(caller), 1);
}
END_TEST

START_TEST(a_job_that_dies_is_an_error_of_the_call) {
        ck_assert_str_eq(call(CALL("Capture", "{\"tag\":\"die\"}")),
                         "{\"error\":\"io.ctprof.Profiler.JobFailed\",\"parameters\":{\"reason\":"
                         "\"The capture job ended with status 7 and without an answer.\"}}");
        ck_assert_has(call(CALL("Capture", "{\"tag\":\"denied\"}")), "PermissionDenied");
}
END_TEST

START_TEST(captures_run_one_at_a_time) {
        FrameStream *second = bench_connect(&bench);

        bench_send(caller, CALL("Capture", "{\"tag\":\"hang\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        bench_send(second, CALL_MORE("Capture", "{\"tag\":\"x\"}"), NULL, 0);
        ck_assert_has(bench_receive(&bench, second), "\"phase\":\"waiting\"");
        bench_await(&bench, 1, 1);

        /* A caller that hangs up makes room. */
        caller = frame_stream_free(caller);
        ck_assert_has(bench_receive(&bench, second), "\"phase\":\"threads\"");
        ck_assert_has(bench_receive(&bench, second), "\"snapshot\"");
        bench_await(&bench, 0, 0);
        frame_stream_free(second);
}
END_TEST

START_TEST(hanging_up_kills_the_job) {
        bench_send(caller, CALL("Capture", "{\"tag\":\"hang-late\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        while (workshop_n_children(bench.workshop) > 1) /* wait for the job that cleans first */
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        caller = frame_stream_free(caller);
        while (workshop_n_children(bench.workshop) > 0)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        bench_await(&bench, 0, 0);
}
END_TEST

/* Runs the event loop until it is idle and one job is left. */
static void await_one_job(void) {
        int r;

        do {
                r = sd_event_run(bench.event, 50000);
                ck_assert_int_ge(r, 0);
        } while (r > 0 || workshop_n_children(bench.workshop) != 1);
}

/* The cleaning job belongs to root: root's waiting calls run before it, other users' after. */
START_TEST(the_spool_is_cleaned_once_for_several_killed_jobs) {
        const unsigned n_cleaning = getuid() == 0;
        FrameStream *second = bench_connect(&bench), *third = bench_connect(&bench),
                    *fourth = bench_connect(&bench);

        bench_send(caller, CALL("Capture", "{\"tag\":\"hang-late\"}"), NULL, 0);
        await_one_job();
        bench_send(second, CALL("Capture", "{\"tag\":\"hang-late\"}"), NULL, 0);
        bench_send(third, CALL("Capture", "{\"tag\":\"hang-late\"}"), NULL, 0);
        await_one_job();
        ck_assert_uint_eq(bench.n_waiting, 2);
        caller = frame_stream_free(caller);
        await_one_job();
        ck_assert_uint_eq(bench.n_waiting, 1 + n_cleaning);
        frame_stream_free(second);
        await_one_job();
        ck_assert_uint_eq(bench.n_waiting, n_cleaning);
        bench_send(fourth, CALL("Capture", "{}"), NULL, 0);
        await_one_job();
        ck_assert_uint_eq(bench.n_waiting, 1 + n_cleaning);
        frame_stream_free(third);
        frame_stream_free(fourth);
}
END_TEST

START_TEST(hanging_up_while_waiting_leaves_the_line) {
        FrameStream *second = bench_connect(&bench);

        bench_send(caller, CALL("Capture", "{\"tag\":\"hang\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        bench_send(second, CALL("Capture", "{}"), NULL, 0);
        bench_await(&bench, 1, 1);
        frame_stream_free(second);
        bench_await(&bench, 1, 0);
}
END_TEST

START_TEST(a_user_may_have_so_many_captures_waiting) {
        FrameStream *waiting[LIMIT_CAPTURES_WAITING_PER_UID];
        FrameStream *late;

        bench_send(caller, CALL("Capture", "{\"tag\":\"hang\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        for (unsigned i = 0; i < ELEMENTSOF(waiting); i++) {
                waiting[i] = bench_connect(&bench);
                bench_send(waiting[i], CALL("Capture", "{}"), NULL, 0);
        }
        bench_await(&bench, 1, ELEMENTSOF(waiting));
        late = bench_connect(&bench);
        ck_assert_has(bench_call(&bench, late, CALL("Capture", "{}")), "io.ctprof.Profiler.Busy");
        /* The limit on captures does not hold for other calls. */
        ck_assert_has(bench_call(&bench, late, CALL("List", "{}")), "\"snapshots\":[]");
        frame_stream_free(late);
        for (unsigned i = 0; i < ELEMENTSOF(waiting); i++)
                frame_stream_free(waiting[i]);
}
END_TEST

START_TEST(a_oneway_capture_is_taken_although_its_caller_left) {
        bench_send(caller,
                   "{\"method\":\"io.ctprof.Profiler.Capture\",\"oneway\":true,\"more\":true}",
                   NULL, 0);
        caller = frame_stream_free(caller);
        while (server_n_connections(bench.server) > 0)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        bench_await(&bench, 0, 0);
}
END_TEST

START_TEST(stopping_answers_what_is_in_flight) {
        FrameStream *second = bench_connect(&bench);

        bench_send(caller, CALL("Capture", "{\"tag\":\"hang\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        bench_send(second, CALL("Capture", "{}"), NULL, 0);
        bench_await(&bench, 1, 1);
        service_stop(bench.service);
        ck_assert_has(bench_receive(&bench, caller), "is stopping");
        ck_assert_has(bench_receive(&bench, second), "is stopping");
        frame_stream_free(second);
}
END_TEST

/* reading */

START_TEST(an_analysis_gets_descriptors_and_the_view) {
        const char *answer;

        bench_add(&bench, "a", 1);
        bench_send(caller,
                   CALL_MORE("Show", "{\"snapshot\":{\"name\":\"latest\"},\"view\":{\"limit\":3}}"),
                   NULL, 0);
        ck_assert_has(bench_receive(&bench, caller), "\"groups\"");
        ck_assert_has(bench_receive(&bench, caller), "\"groups\"");
        answer = bench_receive(&bench, caller);
        ck_assert_has(answer, "\"given\":{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"a\"},"
                              "\"view\":{\"limit\":3}},\"fds\":1,\"more\":true");
}
END_TEST

START_TEST(both_ends_of_an_interval_are_resolved) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        const char *answer;

        bench_add(&bench, "a", 1);
        bench_add(&bench, "b", 2);
        bench_send(caller,
                   CALL_MORE("Show", "{\"snapshot\":{\"name\":\"latest~1\",\"to\":{\"name\":"
                                     "\"latest\"}}}"),
                   NULL, 0);
        for (answer = ""; !strstr(answer, "\"given\"");)
                answer = bench_receive(&bench, caller);
        ck_assert_has(answer, "\"given\":{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"a\","
                              "\"to\":{\"fileDescriptor\":1,\"label\":\"b\"}}},\"fds\":2");
        bench_send(caller,
                   CALL_MORE("Compare",
                             "{\"before\":{\"name\":\"a\",\"to\":{\"fileDescriptor\":0,\"label\":"
                             "\"mine\"}},\"after\":{\"name\":\"b\"}}"),
                   &fd, 1);
        ck_assert_has(bench_receive(&bench, caller),
                      "{\"before\":{\"fileDescriptor\":0,\"label\":\"a\",\"to\":{"
                      "\"fileDescriptor\":1,\"label\":\"mine\"}},\"after\":{\"fileDescriptor\":2,"
                      "\"label\":\"b\"}},\"fds\":3");
}
END_TEST

START_TEST(an_interval_has_snapshots_at_its_ends) {
        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL_MORE("Show", "{\"snapshot\":{\"name\":\"a\",\"to\":{\"name\":"
                                             "\"nobody\"}}}")),
                      "\"name\":\"nobody\"");
        ck_assert_has(call(CALL_MORE("Show", "{\"snapshot\":{\"name\":\"a\",\"to\":{\"name\":\"a\","
                                             "\"to\":{\"name\":\"a\"}}}}")),
                      "InvalidParameter\",\"parameters\":{\"parameter\":\"to\"");
        ck_assert_has(call(CALL_MORE("Show", "{\"snapshot\":{\"name\":\"a\",\"to\":{}}}")),
                      "InvalidParameter\",\"parameters\":{\"parameter\":\"to\"");
}
END_TEST

START_TEST(a_file_of_the_caller_is_passed_on) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        bench_send(caller, CALL("Info", "{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"mine\"}}"),
                   &fd, 1);
        ck_assert_has(bench_receive(&bench, caller),
                      "\"given\":{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"mine\"}},"
                      "\"fds\":1");
}
END_TEST

START_TEST(a_name_near_one_that_is_there_is_suggested) {
        bench_add(&bench, "before", 1);
        ck_assert_str_eq(call(CALL("Info", "{\"snapshot\":{\"name\":\"befroe\"}}")),
                         "{\"error\":\"io.ctprof.Profiler.NoSuchSnapshot\","
                         "\"parameters\":{\"name\":\"befroe\",\"nearest\":\"before\"}}");
}
END_TEST

START_TEST(a_slow_reader_holds_up_its_own_job_only) {
        FrameStream *other = bench_connect(&bench);
        unsigned n_frames = 0;

        bench_add(&bench, "flood", 1);
        bench_send(caller, CALL_MORE("Show", "{\"snapshot\":{\"name\":\"flood\"}}"), NULL, 0);
        for (unsigned i = 0; i < 20; i++) {
                ck_assert_has(bench_call(&bench, other, CALL("List", "{}")), "\"flood\"");
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        }
        ck_assert_uint_eq(bench.n_running, 1);
        /* All entries arrive once the caller reads. */
        while (!strstr(bench_receive(&bench, caller), "\"sections\""))
                n_frames++;
        ck_assert_uint_eq(n_frames, 3000);
        frame_stream_free(other);
}
END_TEST

START_TEST(one_user_leaves_one_analysis_to_others) {
        FrameStream *callers[LIMIT_ANALYSES];

        bench_add(&bench, "hang", 1);
        for (unsigned i = 0; i < ELEMENTSOF(callers); i++) {
                callers[i] = bench_connect(&bench);
                bench_send(callers[i], CALL("Info", "{\"snapshot\":{\"name\":\"hang\"}}"), NULL, 0);
        }
        bench_await(&bench, LIMIT_ANALYSES - 1, 1);
        for (unsigned i = 0; i < ELEMENTSOF(callers); i++)
                frame_stream_free(callers[i]);
}
END_TEST

START_TEST(the_list_is_newest_first_and_bounded_in_time) {
        char path[128];
        int fd;

        bench_add(&bench, "old", 100);
        bench_add(&bench, "new", 300);
        bench_add(&bench, "middle", 200);
        ck_assert_has(call(CALL("List", "{\"sinceRealtimeNs\":200,\"untilRealtimeNs\":200}")),
                      "{\"snapshots\":[{\"name\":\"middle\"");
        ck_assert_has_not(call(CALL("List", "{\"sinceRealtimeNs\":200}")), "old");
        ck_assert_has_not(call(CALL("List", "{\"untilRealtimeNs\":299}")), "new");

        (void) snprintf(path, sizeof(path), "%s/broken" SNAPSHOT_FILE_SUFFIX, bench.path);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_eq(write(fd, "broken", 6), 6);
        fd_close(fd);
        ck_assert_has(call(CALL("List", "{}")),
                      "\"unreadable\":[{\"name\":\"broken\",\"ok\":false,");
        ck_assert_has(call(CALL("Export", "{\"snapshot\":{\"name\":\"broken\"}}")),
                      "io.ctprof.Profiler.SnapshotUnreadable");
}
END_TEST

START_TEST(a_list_counts_for_who_asked) {
        ServerLimits limits = server_default_limits();
        char name[16];

        for (unsigned i = 0; i < 20; i++) {
                (void) snprintf(name, sizeof(name), "s%u", i);
                bench_add(&bench, name, i);
        }
        /* Less than the heads of twenty snapshots take. */
        limits.max_bytes_per_uid = 8192;
        ck_assert_int_eq(server_set_limits(bench.server, &limits), 0);
        ck_assert_has(call(CALL("List", "{}")), "takes more memory");
        limits.max_bytes_per_uid = 1 << 20;
        ck_assert_int_eq(server_set_limits(bench.server, &limits), 0);
        ck_assert_has(call(CALL("List", "{}")), "\"s19\"");
}
END_TEST

START_TEST(all_of_the_spool_is_verified_a_few_at_a_time) {
        const unsigned n = LIMIT_SNAPSHOTS_PER_CALL + 3;
        unsigned n_results = 0;
        const char *answer;
        char name[16];

        ck_assert_str_eq(call(CALL("Verify", "{\"snapshots\":[]}")),
                         "{\"parameters\":{\"results\":[]}}");
        for (unsigned i = 0; i < n; i++) {
                (void) snprintf(name, sizeof(name), "s%u", i);
                bench_add(&bench, name, i + 1);
        }
        answer = call(CALL("Verify", "{\"snapshots\":[]}"));
        ck_assert_has(answer, "{\"parameters\":{\"results\":[{\"name\":\"s66\",\"ok\":true}");
        for (const char *at = answer; (at = strstr(at, "\"ok\":true")); at++)
                n_results++;
        ck_assert_uint_eq(n_results, n);

        bench_send(caller, CALL_MORE("Verify", "{\"snapshots\":[]}"), NULL, 0);
        ck_assert_has(bench_receive(&bench, caller), "\"continues\":true");
        answer = bench_receive(&bench, caller);
        ck_assert_has(answer, "\"s0\"");
        ck_assert_has_not(answer, "\"continues\":true");
}
END_TEST

START_TEST(named_ones_are_verified_in_one_call) {
        bench_add(&bench, "a", 1);
        bench_add(&bench, "b", 2);
        ck_assert_str_eq(
                call(CALL("Verify", "{\"snapshots\":[{\"name\":\"a\"},{\"name\":\"b\"}]}")),
                "{\"parameters\":{\"results\":[{\"name\":\"a\",\"ok\":true},"
                "{\"name\":\"b\",\"ok\":true}]}}");
}
END_TEST

/* changing, leaving and entering */

START_TEST(changes_are_ordered_with_the_uid_of_the_caller) {
        char uid[32];

        (void) snprintf(uid, sizeof(uid), "\"uid\":%u", getuid());
        bench_add(&bench, "older", 2);
        bench_add(&bench, "newer", 1);
        ck_assert_has(call(CALL("Remove", "{\"names\":[\"a\",\"latest\",\"latest~1\"]}")),
                      "\"given\":{\"names\":[\"a\",\"newer\",\"older\"]");
        ck_assert_has(call(CALL("Rename", "{\"name\":\"latest~1\",\"newName\":\"b\"}")),
                      "\"given\":{\"name\":\"older\",\"newName\":\"b\"");
        ck_assert_has(call(CALL("Remove", "{\"names\":[\"latest~2\"]}")),
                      "NoSuchSnapshot\",\"parameters\":{\"name\":\"latest~2\"");
        ck_assert_has(call(CALL("Remove", "{\"names\":[]}")), uid);
        ck_assert_has(call(CALL("Rename", "{\"name\":\"a\",\"newName\":\"b\"}")),
                      "\"given\":{\"name\":\"a\",\"newName\":\"b\"");
}
END_TEST

/* the index */

static void setup_with(const char *variable) {
        teardown();
        ck_assert_int_eq(setenv(variable, "1", 1), 0);
        setup();
        ck_assert_int_eq(unsetenv(variable), 0);
}

/* The main process reads no file: it waits for the job, and serves others meanwhile. */
START_TEST(who_needs_the_index_waits_and_nobody_else_does) {
        static const char *const waiting[] = {
                CALL("List", "{}"),
                CALL("Info", "{\"snapshot\":{\"name\":\"latest\"}}"),
                CALL("Verify", "{\"snapshots\":[]}"),
                CALL("Export", "{\"snapshot\":{\"name\":\"a\"}}"),
                CALL("Status", "{}"),
        };
        FrameStream *callers[ELEMENTSOF(waiting)], *other;

        setup_with("FAKE_SURVEY_HANGS");
        bench_add(&bench, "a", 1);
        for (size_t i = 0; i < ELEMENTSOF(waiting); i++) {
                callers[i] = bench_connect(&bench);
                bench_send(callers[i], waiting[i], NULL, 0);
        }
        other = bench_connect(&bench);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_has(
                        bench_call(&bench, other, "{\"method\":\"org.varlink.service.GetInfo\"}"),
                        "\"interfaces\"");
        ck_assert_has(bench_call(&bench, other, CALL("Capture", "{\"tag\":\"b\"}")),
                      "\"snapshot\":{\"name\":\"b\"}");
        /*
         * One survey is for all of them. The two children of the capture, which reads and which
         * publishes, may not be reaped yet.
         */
        ck_assert_uint_le(workshop_n_children(bench.workshop), 3);
        for (size_t i = 0; i < ELEMENTSOF(waiting); i++)
                frame_stream_free(callers[i]);
        frame_stream_free(other);
}
END_TEST

START_TEST(without_a_survey_there_is_an_error) {
        setup_with("FAKE_SURVEY_FAILS");
        for (unsigned i = 0; i < 2; i++)
                ck_assert_has(call(CALL("List", "{}")),
                              "\"error\":\"io.ctprof.Profiler.JobFailed\"");
        ck_assert_has(call("{\"method\":\"org.varlink.service.GetInfo\"}"), "\"interfaces\"");
}
END_TEST

START_TEST(what_others_put_into_the_spool_is_seen) {
        char path[128];

        ck_assert_has(call(CALL("List", "{}")), "\"snapshots\":[]");
        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL("List", "{}")), "\"snapshots\":[{\"name\":\"a\"");
        (void) snprintf(path, sizeof(path), "%s/a" SNAPSHOT_FILE_SUFFIX, bench.path);
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_has(call(CALL("Info", "{\"snapshot\":{\"name\":\"a\"}}")), "NoSuchSnapshot");
}
END_TEST

/* Its descriptors wait with it. */
START_TEST(a_call_with_files_may_wait_for_the_survey) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        bench_add(&bench, "a", 1); /* the first call finds an index that is not filled */
        bench_send(caller,
                   CALL_MORE("Compare", "{\"before\":{\"name\":\"latest\"},"
                                        "\"after\":{\"fileDescriptor\":0,\"label\":\"mine\"}}"),
                   &fd, 1);
        ck_assert_has(bench_receive(&bench, caller),
                      "\"after\":{\"fileDescriptor\":1,\"label\":\"mine\"}}");
}
END_TEST

/* Whether a process of another user, which got @fd, opens it again to write. Only root can try. */
static bool another_user_opens_to_write(int fd) {
        char path[64];
        int status;
        pid_t pid;

        if (geteuid() != 0)
                return false;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        pid = fork();
        if (pid == 0) {
                if (setgroups(0, NULL) < 0 || setresgid(65533, 65533, 65533) < 0 ||
                    setresuid(65533, 65533, 65533) < 0)
                        _exit(2);
                _exit(open(path, O_RDWR | O_CLOEXEC) >= 0 || open(path, O_WRONLY | O_TRUNC) >= 0);
        }
        ck_assert_int_gt(pid, 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        return WEXITSTATUS(status) == 1;
}

START_TEST(an_export_is_the_file_itself_and_cannot_be_written) {
        char path[128], ours[4096], theirs[4096];
        ssize_t n;
        int fd, exported;

        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL("Export", "{\"snapshot\":{\"name\":\"a\"}}")),
                      "{\"parameters\":{\"snapshot\":{\"name\":\"a\"");
        exported = frame_stream_take_fd(caller, 0);
        ck_assert_int_ge(exported, 0);
        ck_assert_int_eq(write(exported, "x", 1), -1);
        ck_assert(!another_user_opens_to_write(exported));
        (void) snprintf(path, sizeof(path), "%s/a" SNAPSHOT_FILE_SUFFIX, bench.path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = read(fd, ours, sizeof(ours));
        ck_assert_int_gt(n, 0);
        ck_assert_int_eq(pread(exported, theirs, sizeof(theirs), 0), n);
        ck_assert_mem_eq(ours, theirs, (size_t) n);
        fd_close(fd);
        fd_close(exported);
}
END_TEST

START_TEST(a_conversion_is_a_file_that_cannot_be_written) {
        char text[8] = "";
        int fd;

        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL("Export", "{\"snapshot\":{\"name\":\"a\"},\"format\":\"ndjson\"}")),
                      "\"fileDescriptor\":0");
        fd = frame_stream_take_fd(caller, 0);
        ck_assert_int_eq(pread(fd, text, sizeof(text), 0), 7);
        ck_assert_str_eq(text, "written");
        ck_assert_int_eq(write(fd, "x", 1), -1);
        fd_close(fd);
}
END_TEST

static const char *import(const char *text) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        bench_send(caller, text, &fd, 1);
        return bench_receive(&bench, caller);
}

START_TEST(an_import_is_copied_by_one_job_and_published_by_another) {
        bench_add(&bench, "taken", 1);
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"tag\":\"x\"}")),
                      "{\"parameters\":{\"snapshots\":[],\"given\":{");
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"tag\":\"taken\"}")),
                      "io.ctprof.Profiler.SnapshotExists");
        /* Without a tag the label becomes the name and must be a valid one. */
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"label\":\"own\"}")),
                      "{\"parameters\":{\"snapshots\":[],\"given\":{");
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"label\":\"taken\"}")),
                      "io.ctprof.Profiler.SnapshotExists");
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"label\":\"no/name\"}")),
                      "io.ctprof.Profiler.InvalidName");
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0}")), "InvalidParameter");
}
END_TEST

/* status */

START_TEST(status_counts_everything_but_itself) {
        FrameStream *second = bench_connect(&bench);
        const char *answer;

        bench_add(&bench, "a", 1);
        bench_send(caller, CALL("Capture", "{\"tag\":\"hang\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        answer = bench_call(&bench, second, CALL("Status", "{}"));
        ck_assert_has(answer, "\"daemon\":{\"version\":\"");
        ck_assert_has(answer, "\"sources\":[{\"name\":\"stat\"}]");
        ck_assert_has(answer, "\"snapshots\":1,\"bytes\":");
        ck_assert_has(answer, "\"maxBytes\":1048576,\"keepFreeBytes\":0,\"freeBytes\":");
        ck_assert_has(answer, "\"freeFiles\":");
        ck_assert_has(answer, "\"jobs\":{\"running\":1,\"waiting\":0}");
        frame_stream_free(second);
}
END_TEST

START_TEST(status_answers_also_when_nothing_can_be_probed) {
        teardown();
        ck_assert_int_eq(setenv("FAKE_PROBE_FAILS", "1", 1), 0);
        setup();
        ck_assert_int_eq(unsetenv("FAKE_PROBE_FAILS"), 0);
        ck_assert_has(call(CALL("Status", "{}")),
                      "{\"name\":\"stat\",\"state\":\"unavailable\",\"reason\":\"the job that");
}
END_TEST

START_TEST(without_a_spool_the_daemon_lives_and_says_why) {
        Bench lost = { .path = "" };
        FrameStream *stream;

        bench_open(&lost, "/nonexistent/ctprof");
        stream = bench_connect(&lost);
        ck_assert_has(bench_call(&lost, stream, CALL("List", "{}")),
                      "io.ctprof.Profiler.SpoolUnavailable");
        ck_assert_has(bench_call(&lost, stream, CALL("Capture", "{}")),
                      "io.ctprof.Profiler.SpoolUnavailable");
        ck_assert_has(bench_call(&lost, stream, CALL("Remove", "{\"names\":[\"a\"]}")),
                      "io.ctprof.Profiler.SpoolUnavailable");
        ck_assert_has(bench_call(&lost, stream, CALL("Capture", "{\"anonymous\":true}")),
                      "\"fileDescriptor\":0");
        ck_assert_has(bench_call(&lost, stream, CALL("Status", "{}")),
                      "\"snapshots\":null,\"bytes\":null,\"reason\":\"Spool ");
        frame_stream_free(stream);
        bench_close(&lost);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("service");
        TCase *interface = tcase_create("interface"), *capture = tcase_create("capture");
        TCase *reading = tcase_create("reading"), *files = tcase_create("files");

        tcase_add_checked_fixture(interface, setup, teardown);
        tcase_add_test(interface, every_method_of_the_interface_is_there_and_no_other);
        tcase_add_test(interface, the_service_tells_about_itself);
        tcase_add_loop_test(interface, what_is_wrong_with_a_call_is_named, 0,
                            ELEMENTSOF(refusal_rows));
        tcase_add_test(interface, status_counts_everything_but_itself);
        tcase_add_test(interface, status_answers_also_when_nothing_can_be_probed);
        tcase_add_test(interface, without_a_spool_the_daemon_lives_and_says_why);
        tcase_add_checked_fixture(capture, setup, teardown);
        tcase_add_test(capture, a_capture_becomes_an_order_for_a_job);
        tcase_add_test(capture, a_capture_is_kept_by_a_second_job);
        tcase_add_test(capture, a_capture_is_kept_before_the_next_begins);
        tcase_add_loop_test(capture, the_boolean_and_the_mode_of_smaps_become_one, 0,
                            ELEMENTSOF(smaps_rows));
        tcase_add_test(capture, progress_is_for_those_who_asked_for_more);
        tcase_add_test(capture, callers_hear_of_a_call_that_takes_long);
        tcase_add_test(capture, an_anonymous_snapshot_comes_as_a_descriptor);
        tcase_add_test(capture, a_job_that_dies_is_an_error_of_the_call);
        tcase_add_test(capture, captures_run_one_at_a_time);
        tcase_add_test(capture, hanging_up_kills_the_job);
        tcase_add_test(capture, the_spool_is_cleaned_once_for_several_killed_jobs);
        tcase_add_test(capture, hanging_up_while_waiting_leaves_the_line);
        tcase_add_test(capture, a_user_may_have_so_many_captures_waiting);
        tcase_add_test(capture, a_oneway_capture_is_taken_although_its_caller_left);
        tcase_add_test(capture, stopping_answers_what_is_in_flight);
        tcase_add_checked_fixture(reading, setup, teardown);
        tcase_add_test(reading, an_analysis_gets_descriptors_and_the_view);
        tcase_add_test(reading, both_ends_of_an_interval_are_resolved);
        tcase_add_test(reading, an_interval_has_snapshots_at_its_ends);
        tcase_add_test(reading, a_file_of_the_caller_is_passed_on);
        tcase_add_test(reading, a_name_near_one_that_is_there_is_suggested);
        tcase_add_test(reading, a_slow_reader_holds_up_its_own_job_only);
        tcase_add_test(reading, one_user_leaves_one_analysis_to_others);
        tcase_add_test(reading, the_list_is_newest_first_and_bounded_in_time);
        tcase_add_test(reading, a_list_counts_for_who_asked);
        tcase_add_test(reading, all_of_the_spool_is_verified_a_few_at_a_time);
        tcase_add_test(reading, named_ones_are_verified_in_one_call);
        tcase_add_checked_fixture(files, setup, teardown);
        tcase_add_test(files, changes_are_ordered_with_the_uid_of_the_caller);
        tcase_add_test(files, who_needs_the_index_waits_and_nobody_else_does);
        tcase_add_test(files, without_a_survey_there_is_an_error);
        tcase_add_test(files, what_others_put_into_the_spool_is_seen);
        tcase_add_test(files, a_call_with_files_may_wait_for_the_survey);
        tcase_add_test(files, an_export_is_the_file_itself_and_cannot_be_written);
        tcase_add_test(files, a_conversion_is_a_file_that_cannot_be_written);
        tcase_add_test(files, an_import_is_copied_by_one_job_and_published_by_another);
        suite_add_tcase(suite, interface);
        suite_add_tcase(suite, capture);
        suite_add_tcase(suite, reading);
        suite_add_tcase(suite, files);
        return check_main(suite);
}
