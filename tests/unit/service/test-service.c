/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the service says of itself, and captures. What is in the spool: test-service-spool.c */
#include "service-fixture.h"

#include "service/method/method.h"

#define LINES_NAME(id, name) name,
static const char *const command_lines[] = { COMMAND_LINES(LINES_NAME) };

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
        { CALL("Capture", "{\"heap\":\"yes\"}"), "InvalidParameter", "\"parameter\":\"heap\"" },
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
        ck_assert_has(answer, "\"heap\":true,\"commandLines\":\"short\",\"heapLimitNs\":100000000,"
                              "\"heapCache\":2");
        ck_assert_has(answer, "\"fds\":3");
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
        ck_assert_has(answer, "\"smapsMaxRssBytes\":268435456,\"smapsMaxProcesses\":64");
}
END_TEST

/* What the first job said of the sources is part of the second order. */
START_TEST(a_capture_is_kept_by_a_second_job) {
        const char *answer = call(CALL("Capture", "{\"tag\":\"x\"}"));

        ck_assert_has(answer, "\"given\":{");
        ck_assert_has(answer, "\"file\":1");
        ck_assert_has(answer, "\"sources\":[{\"note\":\"\",\"given\":{");
        ck_assert_has(call(CALL("Capture", "{\"tag\":\"die-late\"}")),
                      "The spool job ended with status 7");
}
END_TEST

/* Between its two jobs a capture keeps its turn. */
START_TEST(a_capture_is_kept_before_the_next_begins) {
        bench_send(caller, CALL_MORE("Capture", "{\"tag\":\"hang-late\"}"), NULL, 0);
        ck_assert_has(bench_receive(&bench, caller), "\"phase\":\"threads\"");
        ck_assert_has(capture_behind(CALL_MORE("Capture", "{\"tag\":\"x\"}")), "\"snapshot\"");
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

        bench.manager->heartbeat_ns = NSEC_PER_SEC / 50;
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
        ck_assert_uint_eq(caller->n_fds, 1);
}
END_TEST

/* counters of allocators */

static const struct {
        bool setting;
        const char *parameters;
        bool is_read;
} heap_rows[] = {
        { true, "{\"tag\":\"x\"}", true },
        { true, "{\"tag\":\"x\",\"heap\":true}", true },
        { true, "{\"tag\":\"x\",\"heap\":null}", true },
        { true, "{\"tag\":\"x\",\"heap\":false}", false },
        { false, "{\"tag\":\"x\"}", false },
        { false, "{\"tag\":\"x\",\"heap\":true}", true },
        { false, "{\"tag\":\"x\",\"heap\":false}", false },
};

/* What captures keep for each other is lent where any of it is wanted. */
START_TEST(commands_are_read_as_the_setting_says) {
        ManagerSettings settings = bench.manager->settings;
        bool is_read = _i != COMMAND_LINES_NO;
        char text[64];
        const char *answer;

        settings.commands = (CommandLines) _i;
        service_configure(bench.manager, &settings);
        answer = call(CALL("Capture", "{\"tag\":\"x\",\"heap\":false}"));
        (void) snprintf(text, sizeof(text), "\"heap\":false,\"commandLines\":\"%s\"",
                        command_lines[settings.commands]);
        ck_assert_has(answer, text);
        ck_assert_has(answer, is_read ? "\"fds\":3" : "\"fds\":2");
        answer = call(CALL("Capture", "{\"tag\":\"y\"}"));
        ck_assert_has(answer, "\"heapCache\":2");
}
END_TEST

START_TEST(counters_of_allocators_are_read_as_the_caller_or_the_setting_says) {
        ManagerSettings settings = bench.manager->settings;
        char text[256];
        const char *answer;

        settings.heap = heap_rows[_i].setting;
        settings.heap_ns = 123;
        settings.commands = COMMAND_LINES_NO;
        service_configure(bench.manager, &settings);
        (void) snprintf(text, sizeof(text),
                        "{\"method\":\"" PROFILER_INTERFACE ".Capture\",\"parameters\":%s}",
                        heap_rows[_i].parameters);
        answer = call(text);
        if (heap_rows[_i].is_read) {
                ck_assert_has(answer, "\"heap\":true,\"commandLines\":\"no\",\"heapLimitNs\":123,"
                                      "\"heapCache\":2");
        } else {
                ck_assert_has(answer, "\"heap\":false,");
                ck_assert_has_not(answer, "\"heapCache");
                ck_assert_has(answer, "\"fds\":2");
        }
}
END_TEST

START_TEST(captures_keep_a_file_for_each_other) {
        const char *fixed = "of 8388608, fixed\"";
        const char *answer = call(CALL("Capture", "{\"tag\":\"cache\"}"));

        ck_assert_has(answer, "\"note\":\"[]");
        ck_assert_has(answer, fixed);
        answer = call(CALL("Capture", "{\"tag\":\"cache\"}"));
        ck_assert_has(answer, "\"note\":\"[kept]");
        ck_assert_has(answer, fixed);
        ck_assert_has(call(CALL("Capture", "{\"tag\":\"cache\",\"heap\":false}")),
                      "\"note\":\"[kept]");
}
END_TEST

static void await_no_children(void) {
        while (bench_n_children(&bench) > 0)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
}

static const struct {
        const char *words;
        const char *note; /* what the capture heard; "[]" when nobody answers */
} memory_rows[] = {
        { "ask.hello", "[hello]" },
        { "ask.one.two.three", "[one][two][three]" },
        { "ask.die.again", "[][]" },
        { "ask.fail.again", "[][]" },
        { "ask.hang", "[hang]" }, /* and it goes with the capture */
        { "bare", "" },           /* without a socket nobody comes, also not later */
        { "bare.ask.late", "[]" },
        { "ask.one.ask.two", "[one][]" }, /* once is enough */
        { "ask", "" },
        { "ask.one.far", "[one][far]" }, /* what a memory job asks a file job */
        { "ask.fail.far", "[][]" },
        { "ask.left.order", "[left][0 hung, 0 barred]" },
};

START_TEST(a_capture_gets_jobs_that_read_memory_and_files) {
        char text[256], expected[64];
        const char *answer;

        (void) snprintf(text, sizeof(text),
                        _i % 2 == 0 ? CALL("Capture", "{\"tag\":\"memory-%s\"}")
                                    : CALL_MORE("Capture", "{\"tag\":\"memory-%s\"}"),
                        memory_rows[_i / 2].words);
        bench_send(caller, text, NULL, 0);
        /* What is for the main process alone does not come here. */
        if (_i % 2 == 1)
                ck_assert_has(bench_receive(&bench, caller), "\"phase\":\"threads\"");
        answer = bench_receive(&bench, caller);
        (void) snprintf(expected, sizeof(expected), "\"note\":\"%s\"", memory_rows[_i / 2].note);
        ck_assert_has(answer, expected);
        ck_assert_has_not(answer, "\"memory\"");
        ck_assert_has_not(answer, "\"left\"");
        await_no_children();
}
END_TEST

START_TEST(a_job_that_reads_memory_goes_with_its_caller) {
        bench_send(caller, CALL("Capture", "{\"tag\":\"memory-ask.hang.hang\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        while (job_pool_count_kind(bench.pool, JOB_MEMORY) == 0)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        /* It is no job of its own to those who wait for a turn. */
        ck_assert_uint_eq(bench.n_running, 1);
        caller = frame_stream_free(caller);
        await_no_children();
        bench_await(&bench, 0, 0);
}
END_TEST

static bool is_suspect(void) {
        for (size_t i = 0; i < bench.pool->n_jobs; i++)
                if (hung_next_of(&bench.manager->hung, bench.pool->jobs[i]->pid, &(size_t){ 0 }))
                        return true;
        return false;
}

START_TEST(a_process_is_suspect_for_as_long_as_its_job_is_there) {
        bench_send(caller, CALL("Capture", "{\"tag\":\"memory-ask.left.hang.hang\"}"), NULL, 0);
        while (!is_suspect())
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        caller = frame_stream_free(caller);
        await_no_children();
        caller = bench_connect(&bench);
        /* The job could be killed, so that it only took its time. */
        ck_assert_has(call(CALL("Capture", "{\"tag\":\"memory-ask.order\"}")),
                      "\"note\":\"[0 hung, 0 barred]\"");
}
END_TEST

static const struct {
        JobKind kind;
        OrderMethod method;
        unsigned limit;
        const char *without, *with; /* what a capture hears that asks for both */
        bool is_told;
} alone[] = {
        { JOB_FILES, ORDER_FILES, LIMIT_FILE_JOBS, "[one][-]", "[one][far]", false },
        { JOB_MEMORY, ORDER_MEMORY, LIMIT_MEMORY_JOBS, "[][]", "[one][far]", true },
};

START_TEST(jobs_that_read_for_captures_do_not_pile_up) {
        const JobKind kind = alone[_i].kind;
        Job *jobs[LIMIT_MEMORY_JOBS];
        const char *answer;
        char text[256];

        start_hanging_jobs(kind, alone[_i].method, jobs, alone[_i].limit);
        /* The capture goes on without, and knows why. */
        answer = call(CALL("Capture", "{\"tag\":\"memory-ask.one.far\"}"));
        (void) snprintf(text, sizeof(text), "\"note\":\"%s\"", alone[_i].without);
        ck_assert_has(answer, text);
        ck_assert_int_eq(strstr(answer, "\"noMemory\":\"too many jobs hang") != NULL,
                         alone[_i].is_told);
        ck_assert_uint_eq(job_pool_count_kind(bench.pool, kind), alone[_i].limit);
        jobs[0] = job_free(jobs[0]);
        while (job_pool_count_kind(bench.pool, kind) == alone[_i].limit)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        answer = call(CALL("Capture", "{\"tag\":\"memory-ask.one.far\"}"));
        (void) snprintf(text, sizeof(text), "\"note\":\"%s\"", alone[_i].with);
        ck_assert_has(answer, text);
        ck_assert_has_not(answer, "\"noMemory\"");
        for (size_t i = 1; i < alone[_i].limit; i++)
                jobs[i] = job_free(jobs[i]);
        await_no_children();
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
        while (bench_n_children(&bench) > 1) /* wait for the job that cleans first */
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        caller = frame_stream_free(caller);
        while (bench_n_children(&bench) > 0)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        bench_await(&bench, 0, 0);
}
END_TEST

/*
 * Runs the event loop until it is idle and one job is left. On a busy host a job waits for a
 * processor for a while.
 */
static void await_one_job(void) {
        int r;

        do {
                r = sd_event_run(bench.event, 300000);
                ck_assert_int_ge(r, 0);
        } while (r > 0 || bench_n_children(&bench) != 1);
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
        while (bench.users->n[USE_CONNECTIONS] > 0)
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
        service_stop(bench.manager);
        ck_assert_has(bench_receive(&bench, caller), "is stopping");
        ck_assert_has(bench_receive(&bench, second), "is stopping");
        frame_stream_free(second);
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
        ck_assert_has(answer,
                      "\"jobs\":{\"running\":1,\"waiting\":0,\"hanging\":[],\"barredOwners\":[]}");
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

static unsigned n_opened;

static void on_spool(void *userdata) {
        Bench *late = userdata;

        n_opened++;
        late->manager->settings.spool.keep_free_bytes = 7;
}

START_TEST(a_spool_that_comes_late_is_made_known_before_it_is_used) {
        Bench late = { .path = "" };
        FrameStream *stream;
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/late", bench.path);
        n_opened = 0;
        bench_open(&late, path);
        late.manager->on_spool = on_spool;
        stream = bench_connect(&late);
        ck_assert_has(bench_call(&late, stream, CALL("Capture", "{}")),
                      "io.ctprof.Profiler.SpoolUnavailable");
        ck_assert_uint_eq(n_opened, 0);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_has(bench_call(&late, stream, CALL("Capture", "{\"tag\":\"x\"}")),
                              "\"keepFreeBytes\":7,");
                ck_assert_uint_eq(n_opened, 1);
        }
        frame_stream_free(stream);
        bench_close(&late);
        ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("service");
        TCase *interface = tcase_create("interface"), *capture = tcase_create("capture");

        tcase_add_checked_fixture(interface, setup, teardown);
        tcase_add_test(interface, every_method_of_the_interface_is_there_and_no_other);
        tcase_add_test(interface, the_service_tells_about_itself);
        tcase_add_loop_test(interface, what_is_wrong_with_a_call_is_named, 0,
                            ELEMENTSOF(refusal_rows));
        tcase_add_test(interface, status_counts_everything_but_itself);
        tcase_add_test(interface, status_answers_also_when_nothing_can_be_probed);
        tcase_add_test(interface, without_a_spool_the_daemon_lives_and_says_why);
        tcase_add_test(interface, a_spool_that_comes_late_is_made_known_before_it_is_used);
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
        tcase_add_loop_test(capture,
                            counters_of_allocators_are_read_as_the_caller_or_the_setting_says, 0,
                            ELEMENTSOF(heap_rows));
        tcase_add_loop_test(capture, commands_are_read_as_the_setting_says, 0, _COMMAND_LINES_MAX);
        tcase_add_test(capture, captures_keep_a_file_for_each_other);
        tcase_add_loop_test(capture, a_capture_gets_jobs_that_read_memory_and_files, 0,
                            2 * ELEMENTSOF(memory_rows));
        tcase_add_test(capture, a_job_that_reads_memory_goes_with_its_caller);
        tcase_add_test(capture, a_process_is_suspect_for_as_long_as_its_job_is_there);
        tcase_add_loop_test(capture, jobs_that_read_for_captures_do_not_pile_up, 0,
                            ELEMENTSOF(alone));
        tcase_add_test(capture, captures_run_one_at_a_time);
        tcase_add_test(capture, hanging_up_kills_the_job);
        tcase_add_test(capture, the_spool_is_cleaned_once_for_several_killed_jobs);
        tcase_add_test(capture, hanging_up_while_waiting_leaves_the_line);
        tcase_add_test(capture, a_user_may_have_so_many_captures_waiting);
        tcase_add_test(capture, a_oneway_capture_is_taken_although_its_caller_left);
        tcase_add_test(capture, stopping_answers_what_is_in_flight);
        suite_add_tcase(suite, interface);
        suite_add_tcase(suite, capture);
        return check_main_unless(check_lacks_shared_tables(), suite);
}
