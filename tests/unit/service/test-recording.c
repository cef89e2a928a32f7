/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A recording is four jobs of one call, beside captures of others: a capture, samples, a capture,
 * and what makes them one file; then it is published as a capture is.
 */

#include "service-fixture.h"
#include "service/method/loading.h"

#define RECORD(parameters) CALL_MORE("Record", parameters)
#define END CALL("EndRecording", "{}")

static void put(const char *name) {
        int fd = dup(2);

        ck_assert_int_eq(fd_store_put(bench.fd_store, name, fd), FD_STORE_OK);
        fd_close(fd);
}

/* With programs that an earlier process loaded; @what: how the job that records behaves. */
static void start(const char *what) {
        static const char *const objects[] = { "tasks", "samples", "control", "goon", "rest" };
        ManagerSettings settings;

        ck_assert_int_eq(setenv("FAKE_RECORD", what, 1), 0);
        setup();
        settings = bench.manager->settings;
        settings.backend = BACKEND_CHOICE_AUTO;
        settings.commands = COMMAND_LINES_NO;
        service_configure(bench.manager, &settings);
        for (size_t i = 0; i < ELEMENTSOF(objects); i++)
                put(objects[i]);
        service_load_programs(bench.manager);
}

/* Replies up to one that has @part; "" when the last one came before. */
static const char *await(FrameStream *stream, const char *part) {
        const char *text;

        for (;;) {
                text = bench_receive(&bench, stream);
                if (strstr(text, part))
                        return text;
                if (!strstr(text, "\"continues\":true"))
                        ck_abort_msg("no %s before %s", part, text);
        }
}

static void spin(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
}

START_TEST(its_jobs_follow_each_other) {
        const char *answer;

        start("");
        bench_send(caller, RECORD("{\"tag\":\"r\",\"forNs\":50000000,\"stackBytes\":0}"), NULL, 0);
        ck_assert_has(await(caller, "\"phase\""), "\"threads\"");
        answer = await(caller, "\"recording\"");
        /* What it was told: 50 ms, no stacks of user mode, of both kinds, the clock's period. */
        ck_assert_has(answer, "50000000 10000000 0 1 1 1");
        (void) await(caller, "\"threads\"");
        answer = await(caller, "\"snapshot\"");
        ck_assert_has(answer, "{\"name\":\"r\"}");
        ck_assert_has(answer, "\"sources\":");
        ck_assert_has(answer, "\"recording\":{\"endedBy\":\"time\",\"samples\":70,\"lost\":7}");
        ck_assert_has_not(answer, "continues");
        ck_assert_ptr_null(bench.manager->recording);
        bench_await(&bench, 0, 0);
        /* And again: nothing of the first is in the way. */
        bench_send(caller, RECORD("{\"forNs\":1000000,\"onCpu\":false,\"periodNs\":200000}"), NULL,
                   0);
        ck_assert_has(await(caller, "\"recording\""), "1000000 200000 16384 1 0 1");
        (void) await(caller, "\"snapshot\"");
        teardown();
}
END_TEST

START_TEST(the_job_that_unwinds_gets_the_socket) {
        start("unwind");
        bench_send(caller, RECORD("{\"forNs\":50000000}"), NULL, 0);
        /* The one answers the other. */
        ck_assert_has(await(caller, "\"recording\""), "[ping]");
        (void) await(caller, "\"snapshot\"");
        while (bench_n_children(&bench) > 0)
                spin(1);
        teardown();
}
END_TEST

START_TEST(it_says_why_it_ended) {
        FrameStream *second;

        start("full");
        bench_send(caller, RECORD("{\"tag\":\"r\",\"forNs\":1000000}"), NULL, 0);
        ck_assert_has(await(caller, "\"snapshot\""), "\"recording\":{\"endedBy\":\"bytes\",");
        teardown();
        start("");
        second = bench_connect(&bench);
        bench_send(caller, RECORD("{\"tag\":\"r\"}"), NULL, 0);
        (void) await(caller, "\"recording\"");
        ck_assert_has(bench_call(&bench, second, END), "{}");
        ck_assert_has(await(caller, "\"snapshot\""), "\"recording\":{\"endedBy\":\"call\",");
        frame_stream_free(second);
        teardown();
}
END_TEST

START_TEST(it_can_be_ended_from_anywhere) {
        FrameStream *second;

        start("");
        second = bench_connect(&bench);
        ck_assert_has(bench_call(&bench, second, END), "io.ctprof.Profiler.NoRecording");
        bench_send(caller, RECORD("{\"tag\":\"r\"}"), NULL, 0);
        (void) await(caller, "\"recording\"");
        ck_assert_has(bench_call(&bench, second, END), "{}");
        ck_assert_has(await(caller, "\"snapshot\""), "{\"name\":\"r\"}");
        ck_assert_has(bench_call(&bench, second, END), "io.ctprof.Profiler.NoRecording");
        frame_stream_free(second);
        teardown();
}
END_TEST

/* Before its samples have begun, by another call or by its caller: then it records for no time. */
START_TEST(it_can_be_ended_before_it_begins) {
        char gate[] = "/tmp/ctprof-gate-XXXXXX";
        FrameStream *second;

        make_gate(gate);
        ck_assert_int_eq(setenv("FAKE_CAPTURE", gate, 1), 0);
        start("");
        second = bench_connect(&bench);
        bench_send(caller, RECORD("{\"tag\":\"r\"}"), NULL, 0);
        while (!bench.manager->recording)
                spin(1);
        if (_i == 0)
                ck_assert_has(bench_call(&bench, second, END), "{}");
        else
                ck_assert_int_eq(shutdown(caller->fd, SHUT_WR), 0);
        while (!bench.manager->recording->is_stopping)
                spin(1);
        ck_assert_int_eq(unlink(gate), 0);
        ck_assert_has(await(caller, "\"recording\""), "\"0 10000000");
        (void) await(caller, "\"snapshot\"");
        frame_stream_free(second);
        teardown();
}
END_TEST

/*
 * The capture of its end waits behind as many others as may wait. It is not refused, and does not
 * mind that its caller closes its side: it ends by itself.
 */
START_TEST(its_end_waits_behind_others) {
        char gate[] = "/tmp/ctprof-gate-XXXXXX";
        FrameStream *others[LIMIT_CAPTURES_WAITING_PER_UID + 1], *second;
        unsigned n = 0;

        start("");
        second = bench_connect(&bench);
        bench_send(caller, RECORD("{\"tag\":\"r\"}"), NULL, 0);
        (void) await(caller, "\"recording\"");
        make_gate(gate);
        ck_assert_int_eq(setenv("FAKE_CAPTURE", gate, 1), 0);
        for (; n < ELEMENTSOF(others); n++) {
                others[n] = bench_connect(&bench);
                bench_send(others[n], CALL("Capture", "{\"backend\":\"procfs\"}"), NULL, 0);
                bench_await(&bench, 2, n);
        }
        ck_assert_has(bench_call(&bench, second, CALL("Capture", "{}")), "Busy");
        ck_assert_has(bench_call(&bench, second, END), "{}");
        ck_assert_has(await(caller, "\"phase\":\"waiting\""), "continues");
        ck_assert_int_eq(shutdown(caller->fd, SHUT_WR), 0);
        spin(3);
        ck_assert_int_eq(unlink(gate), 0);
        ck_assert_has(await(caller, "\"snapshot\""), "{\"name\":\"r\"}");
        while (n > 0)
                frame_stream_free(others[--n]);
        frame_stream_free(second);
        teardown();
}
END_TEST

/* A file that somebody executes may be one in which they hang for ever. */
START_TEST(its_jobs_do_not_pile_up) {
        static const JobKind kinds[] = { JOB_RECORD, JOB_UNWIND };
        Job *jobs[LIMIT_RECORD_JOBS];

        start("");
        start_hanging_jobs(kinds[_i], ORDER_MEMORY, jobs, ELEMENTSOF(jobs));
        bench_send(caller, RECORD("{\"forNs\":1000000}"), NULL, 0);
        ck_assert_has(await(caller, "\"error\""), "hang in the kernel");
        jobs[0] = job_free(jobs[0]);
        while (job_pool_count_kind(bench.pool, kinds[_i]) == LIMIT_RECORD_JOBS)
                spin(1);
        bench_send(caller, RECORD("{\"forNs\":1000000}"), NULL, 0);
        (void) await(caller, "\"snapshot\"");
        for (size_t i = 1; i < ELEMENTSOF(jobs); i++)
                jobs[i] = job_free(jobs[i]);
        while (bench_n_children(&bench) > 0)
                spin(1);
        teardown();
}
END_TEST

START_TEST(one_records_at_a_time) {
        FrameStream *second;

        start("");
        second = bench_connect(&bench);
        bench_send(caller, RECORD("{\"tag\":\"r\"}"), NULL, 0);
        (void) await(caller, "\"recording\"");
        bench_send(second, RECORD("{\"tag\":\"s\"}"), NULL, 0);
        {
                const char *answer = bench_receive(&bench, second);

                ck_assert_has(answer, "io.ctprof.Profiler.RecordingRuns");
                ck_assert_has(answer, "\"sinceRealtimeNs\":");
                ck_assert_has(answer, "\"untilRealtimeNs\":");
        }
        /* Captures go on beside it. */
        ck_assert_has(bench_call(&bench, second, CALL("Capture", "{\"tag\":\"x\"}")), "\"given\"");
        ck_assert_ptr_nonnull(bench.manager->recording);
        ck_assert_has(bench_call(&bench, second, END), "{}");
        (void) await(caller, "\"snapshot\"");
        frame_stream_free(second);
        teardown();
}
END_TEST

/* One without a name is of no use to anybody else. */
START_TEST(a_caller_that_hangs_up_cancels_it) {
        FrameStream *second;

        start("");
        bench_send(caller, RECORD("{}"), NULL, 0);
        (void) await(caller, "\"recording\"");
        caller = frame_stream_free(caller);
        while (bench.manager->recording || bench_n_children(&bench) > 0)
                spin(1);
        second = bench_connect(&bench);
        ck_assert_has(bench_call(&bench, second, END), "io.ctprof.Profiler.NoRecording");
        /* The next one begins. */
        bench_send(second, RECORD("{\"forNs\":1000000}"), NULL, 0);
        (void) await(second, "\"snapshot\"");
        frame_stream_free(second);
        teardown();
}
END_TEST

static const struct {
        const char *what; /* of the job that records */
        const char *call, *error;
} failures[] = {
        { "die", "{}", "The record job ended with status 7" },
        { "denied", "{}", "PermissionDenied" },
        { "", "{\"tag\":\"die\"}", "The capture job ended with status 7" },
        { "", "{\"tag\":\"die-late\"}", "The spool job ended with status 7" },
};

START_TEST(a_job_that_fails_ends_it) {
        FrameStream *second;
        char text[256];

        start(failures[_i].what);
        second = bench_connect(&bench);
        (void) snprintf(text, sizeof(text),
                        "{\"method\":\"" PROFILER_INTERFACE
                        ".Record\",\"parameters\":%s,\"more\":true}",
                        failures[_i].call);
        bench_send(caller, text, NULL, 0);
        if (failures[_i].what[0] == '\0' && strstr(failures[_i].call, "late")) {
                (void) await(caller, "\"recording\"");
                (void) bench_call(&bench, second, END);
        }
        ck_assert_has(await(caller, "\"error\""), failures[_i].error);
        while (bench_n_children(&bench) > 0)
                spin(1);
        ck_assert_ptr_null(bench.manager->recording);
        frame_stream_free(second);
        teardown();
}
END_TEST

static const struct {
        const char *parameters, *part;
} refused[] = {
        { "{\"replace\":true}", "Only a named recording can replace another." },
        { "{\"tag\":\"a/b\"}", "InvalidName" },
        { "{\"periodNs\":99999}", "It is from 100 microseconds to 1 second." },
        { "{\"periodNs\":1000000001}", "It is from 100 microseconds to 1 second." },
        { "{\"stackBytes\":32769}", "At most 32768 bytes of a stack are copied." },
        { "{\"stackBytes\":0,\"framePointers\":true}", "no stacks of user mode are recorded" },
        { "{\"onCpu\":false,\"offCpu\":false}", "Then nothing would be recorded." },
        { "{\"offCpu\":false,\"wakers\":true}", "They are of waits, which are not recorded then." },
        { "{\"forNs\":-1}", "\"forNs\"" },
        { "{\"forNs\":0}", "lasts for some time" },
        { "{\"kernelStacks\":1}", "\"kernelStacks\"" },
        { "{\"what\":1}", "\"what\"" },
        { "{\"forNs\":3600000000001}", "at most: ctprofd.conf(5) has RecordingTime=" },
        { "{\"minNs\":2,\"maxNs\":1}", "It is above \\\"maxNs\\\"." },
        { "{\"maxNs\":0}", "Then no wait would be left." },
        { "{\"filter\":[]}", "\"filter\"" },
        { "{\"filter\":{\"mood\":1}}", "It has a wrong member, \\\"mood\\\"." },
        { "{\"filter\":{\"pids\":[]}}", "1 to 16 processes" },
        { "{\"filter\":{\"pids\":[-1]}}", "1 to 16 processes" },
        { "{\"filter\":{\"uids\":[4294967296]}}", "1 to 16 processes" },
        { "{\"filter\":{\"uids\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}}",
          "1 to 16 processes" },
        { "{\"filter\":{\"comm\":\"[\"}}", "The name is no glob" },
        { "{\"filter\":{\"cgroup\":\"a\"}}", "A cgroup is a path" },
        { "{\"filter\":{\"threads\":\"some\"}}", "Threads are " },
};

START_TEST(parameters_of_no_sense_are_refused) {
        start("");
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                char text[256];

                (void) snprintf(text, sizeof(text),
                                "{\"method\":\"" PROFILER_INTERFACE
                                ".Record\",\"parameters\":%s,\"more\":true}",
                                refused[i].parameters);
                ck_assert_has(call(text), refused[i].part);
                ck_assert_ptr_null(bench.manager->recording);
        }
        ck_assert_has(call(CALL("Record", "{}")), "ExpectedMore");
        teardown();
}
END_TEST

/* What the job is told of the filter; the caller itself is who starts what is recorded. */
START_TEST(the_filter_is_told) {
        char wanted[128];

        start("");
        bench_send(caller,
                   RECORD("{\"forNs\":1000000,\"minNs\":7,\"maxNs\":9,\"filter\":{\"pids\":[12,13],"
                          "\"uids\":[4],\"comm\":\"ng*\",\"cgroup\":\"/x\",\"threads\":\"user\"}}"),
                   NULL, 0);
        ck_assert_has(await(caller, "\"recording\""), "[1 0 13 2 4 1 1 ng* /x 7 9]");
        (void) await(caller, "\"snapshot\"");
        bench_send(caller, RECORD("{\"forNs\":1000000,\"filter\":{\"descendants\":true}}"), NULL,
                   0);
        (void) snprintf(wanted, sizeof(wanted), "[1 %u 0 0 0 0 0   0 0]", (unsigned) getpid());
        ck_assert_has(await(caller, "\"recording\""), wanted);
        (void) await(caller, "\"snapshot\"");
        teardown();
}
END_TEST

/* A recording that nobody names is a file of its caller, and not of the spool. */
START_TEST(one_without_a_name_is_handed_over) {
        char text[16] = "";
        int fd;

        start("");
        bench_send(caller, RECORD("{\"forNs\":1000000,\"anonymous\":true}"), NULL, 0);
        ck_assert_has(await(caller, "\"sources\""), "\"fileDescriptor\":0");
        fd = frame_stream_take_fd(caller, 0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(pread(fd, text, sizeof(text), 0), 6);
        ck_assert_str_eq(text, "joined");
        ck_assert_int_lt(write(fd, "x", 1), 0);
        fd_close(fd);
        teardown();
}
END_TEST

START_TEST(the_status_tells_of_it) {
        FrameStream *second;
        const char *answer;

        start("");
        second = bench_connect(&bench);
        ck_assert_has(bench_call(&bench, second, CALL("Status", "{}")), "\"recording\":null");
        bench_send(caller, RECORD("{\"tag\":\"r\"}"), NULL, 0);
        (void) await(caller, "\"recording\"");
        answer = bench_call(&bench, second, CALL("Status", "{}"));
        ck_assert_has(answer, "\"recording\":{\"uid\":");
        ck_assert_has(answer, "\"tag\":\"r\",\"sinceRealtimeNs\":");
        /* Its programs are fakes, which count nothing. */
        ck_assert_has_not(answer, "\"samples\"");
        ck_assert_has(bench_call(&bench, second, END), "{}");
        (void) await(caller, "\"snapshot\"");
        frame_stream_free(second);
        teardown();
}
END_TEST

/* A recording that has begun keeps the bounds of then; the next one has those of now. */
START_TEST(settings_bound_it) {
        ManagerSettings settings;

        start("");
        settings = bench.manager->settings;
        settings.recording_ns = 5000000;
        service_configure(bench.manager, &settings);
        ck_assert_has(call(RECORD("{\"forNs\":5000001}")), "RecordingTime=");
        bench_send(caller, RECORD("{}"), NULL, 0);
        ck_assert_has(await(caller, "\"recording\""), "\"5000000 10000000 ");
        (void) await(caller, "\"snapshot\"");
        /* Its ends have a part of that, and samples what is left. */
        settings.recording_bytes = 0;
        service_configure(bench.manager, &settings);
        bench_send(caller, RECORD("{}"), NULL, 0);
        ck_assert_has(await(caller, "\"error\""), "leaves no room for samples");
        ck_assert_ptr_null(bench.manager->recording);
        teardown();
}
END_TEST

/* A kernel may refuse the program for wakers, and take all others. */
START_TEST(wakers_take_a_program_of_their_own) {
        start("");
        bench_send(caller, RECORD("{\"forNs\":1000000}"), NULL, 0);
        ck_assert_has(await(caller, "\"recording\""), "1000000 10000000 16384 1 1 1\"");
        (void) await(caller, "\"snapshot\"");
        bench_send(caller, RECORD("{\"wakers\":true}"), NULL, 0);
        ck_assert_has(await(caller, "\"error\""), "no wakers can be recorded");
        ck_assert_ptr_null(bench.manager->recording);
        put("waking");
        bench_send(caller, RECORD("{\"wakers\":true,\"forNs\":1000000}"), NULL, 0);
        ck_assert_has(await(caller, "\"recording\""), "1000000 10000000 16384 1 1 1 w");
        (void) await(caller, "\"snapshot\"");
        /* Of waits for locks it is told in any case, but where waits are not recorded. */
        bench_send(caller, RECORD("{\"forNs\":1000000}"), NULL, 0);
        ck_assert_has(await(caller, "\"recording\""), "1000000 10000000 16384 1 1 1 l");
        (void) await(caller, "\"snapshot\"");
        bench_send(caller, RECORD("{\"offCpu\":false,\"forNs\":1000000}"), NULL, 0);
        ck_assert_has(await(caller, "\"recording\""), "1000000 10000000 16384 0 1 1\"");
        (void) await(caller, "\"snapshot\"");
        teardown();
}
END_TEST

/* Without programs there is nothing to record with, and whoever asks is told why. */
START_TEST(it_takes_programs) {
        setup();
        service_load_programs(bench.manager);
        bench_send(caller, RECORD("{}"), NULL, 0);
        ck_assert_has(await(caller, "\"error\""), "because it was started with Backend=procfs");
        ck_assert_ptr_null(bench.manager->recording);
        teardown();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("recording");
        TCase *tcase = tcase_create("recording");

        tcase_add_test(tcase, its_jobs_follow_each_other);
        tcase_add_test(tcase, the_job_that_unwinds_gets_the_socket);
        tcase_add_test(tcase, it_says_why_it_ended);
        tcase_add_test(tcase, it_can_be_ended_from_anywhere);
        tcase_add_loop_test(tcase, it_can_be_ended_before_it_begins, 0, 2);
        tcase_add_test(tcase, its_end_waits_behind_others);
        tcase_add_loop_test(tcase, its_jobs_do_not_pile_up, 0, 2);
        tcase_add_test(tcase, one_records_at_a_time);
        tcase_add_test(tcase, a_caller_that_hangs_up_cancels_it);
        tcase_add_loop_test(tcase, a_job_that_fails_ends_it, 0, ELEMENTSOF(failures));
        tcase_add_test(tcase, the_filter_is_told);
        tcase_add_test(tcase, one_without_a_name_is_handed_over);
        tcase_add_test(tcase, the_status_tells_of_it);
        tcase_add_test(tcase, settings_bound_it);
        tcase_add_test(tcase, parameters_of_no_sense_are_refused);
        tcase_add_test(tcase, wakers_take_a_program_of_their_own);
        tcase_add_test(tcase, it_takes_programs);
        suite_add_tcase(suite, tcase);
        return check_main_unless(check_lacks_shared_tables(), suite);
}
