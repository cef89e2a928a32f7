/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call of a test method whose job runs until its caller ends it. */
#include "check-lack.h"
#include "check-main.h"

#include "bench.h"
#include "service/request/request.h"

#define RECORD "{\"method\":\"x.Record\",\"more\":true}"
/* The job confirms that it was asked to end, but goes on. */
#define DEAF "{\"method\":\"x.Deaf\",\"more\":true}"

static Bench bench;
static FrameStream *caller;
static const char *job_method;
static const Stage *stage;
static bool reserves;
static unsigned n_results, n_parts, n_drained;

static const JobTerms record_terms = {
        .word = "made-up",
        .clock = JOB_CLOCK_SILENCE,
        .time_ns = 60 * NSEC_PER_SEC,
        .max_data_bytes = JOB_ANY_MEMORY,
};

static int on_result(Request *request, const JobReply *reply) {
        n_results++;
        return request_forward(request, reply);
}

static int on_part(Request *request, Span parameters) {
        n_parts++;
        connection_continue(request->connection, parameters);
        return 0;
}

static const Stage plain_stage = { .on_result = on_result };
static const Stage parts_stage = { .on_part = on_part, .on_result = on_result };
static const Stage kept_stage = { .on_result = on_result, .outlives_caller = true };

/* Uses the queue that runs one job at a time. */
static int record(Request *request) {
        int r = buffer_append_text(&request->order, job_method);

        if (r < 0)
                return r;
        request->terms = &record_terms;
        request->can_stop = true;
        if (reserves) {
                r = request_reserve_half(request, -EBADF);
                if (r != 0)
                        return r;
        }
        return request_submit(request, NULL, QUEUE_CHANGING, stage);
}

static const Method record_method = { "x.Record", record, RECORD_NOTHING, false };

static void on_call(Connection *connection, const Call *call, void *userdata) {
        Request *request;

        job_method = strcmp(call->method, "x.Deaf") == 0 ? "Deaf" : "Record";
        ck_assert_int_eq(request_new(userdata, &record_method, connection, call, &request), 0);
        request_settle(request, record_method.handle(request));
}

static void on_drained(Connection *connection, void *userdata) {
        n_drained++;
        service_events.on_drained(connection, userdata);
}

static ConnectionEvents events;

static void setup(void) {
        ConnectionLimits limits = server_default_limits();

        /* The first reply fills a connection, until it is written. */
        limits.pause_bytes = 1;
        stage = &plain_stage;
        reserves = false;
        n_results = n_parts = n_drained = 0;
        events = service_events;
        events.on_call = on_call;
        events.on_drained = on_drained;
        bench_init(&bench);
        server_free(bench.server);
        ck_assert_int_eq(server_new(bench.event, bench.users, bench.disposal, &limits, &events,
                                    bench.manager, &bench.server),
                         0);
        caller = bench_connect(&bench);
}

static void teardown(void) {
        caller = frame_stream_free(caller);
        bench_done(&bench);
}

static void stop(FrameStream *stream) {
        ck_assert_int_eq(shutdown(stream->fd, SHUT_WR), 0);
}

/* The last reply; earlier ones are skipped. */
static const char *receive_last(FrameStream *stream) {
        const char *text;

        do
                text = bench_receive(&bench, stream);
        while (strstr(text, "\"continues\":true"));
        return text;
}

/* What is free in the file system of the spool. */
static uint64_t free_bytes(void) {
        SpoolFree space;

        ck_assert_int_eq(spool_free_space(bench.spool->dir_fd, &space), 0);
        return space.n_bytes;
}

static void await_no_children(void) {
        while (bench_n_children(&bench) > 0)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
}

START_TEST(a_caller_that_closes_its_writing_side_gets_what_there_is) {
        bench_send(caller, RECORD, NULL, 0);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_str_eq(bench_receive(&bench, caller),
                                 "{\"parameters\":{\"progress\":{}},\"continues\":true}");
        stop(caller);
        ck_assert_str_eq(receive_last(caller), "{\"parameters\":{\"stopped\":true}}");
        bench_await(&bench, 0, 0);
}
END_TEST

static void record_until_stopped(void) {
        bench_send(caller, RECORD, NULL, 0);
        for (unsigned i = 0; i < 3; i++)
                (void) bench_receive(&bench, caller);
        stop(caller);
        ck_assert_str_eq(receive_last(caller), "{\"parameters\":{\"stopped\":true}}");
}

START_TEST(a_job_pauses_until_its_caller_has_room) {
        record_until_stopped();
        ck_assert_uint_ge(n_drained, 3);
        ck_assert_uint_eq(n_parts, 0);
}
END_TEST

START_TEST(a_job_whose_stage_takes_the_parts_does_not_pause) {
        stage = &parts_stage;
        record_until_stopped();
        ck_assert_uint_eq(n_drained, 0);
        ck_assert_uint_ge(n_parts, 3);
}
END_TEST

START_TEST(stopped_while_it_waits_it_ends_when_it_starts) {
        FrameStream *second = bench_connect(&bench);

        bench_send(caller, RECORD, NULL, 0);
        bench_await(&bench, 1, 0);
        bench_send(second, RECORD, NULL, 0);
        stop(second);
        bench_await(&bench, 1, 1);
        stop(caller);
        ck_assert_str_eq(receive_last(caller), "{\"parameters\":{\"stopped\":true}}");
        ck_assert_str_eq(receive_last(second), "{\"parameters\":{\"stopped\":true}}");
        frame_stream_free(second);
}
END_TEST

START_TEST(hanging_up_cancels_also_what_was_asked_to_end) {
        const char *text;

        stage = _i > 1 ? &kept_stage : &plain_stage;
        bench_send(caller, _i > 0 ? DEAF : RECORD, NULL, 0);
        text = bench_receive(&bench, caller);
        if (_i > 0) {
                stop(caller);
                while (!strstr(text, "deaf"))
                        text = bench_receive(&bench, caller);
        }
        caller = frame_stream_free(caller);
        await_no_children();
        bench_await(&bench, 0, 0);
        ck_assert_uint_eq(n_results, 0);
}
END_TEST

START_TEST(what_outlives_its_caller_is_asked_to_end_and_kept) {
        stage = &kept_stage;
        bench_send(caller, RECORD, NULL, 0);
        (void) bench_receive(&bench, caller);
        caller = frame_stream_free(caller);
        bench_await(&bench, 0, 0);
        await_no_children();
        ck_assert_uint_eq(n_results, 1);
}
END_TEST

START_TEST(what_waits_does_not_outlive_its_caller) {
        FrameStream *second = bench_connect(&bench);

        stage = &kept_stage;
        bench_send(caller, RECORD, NULL, 0);
        bench_await(&bench, 1, 0);
        bench_send(second, RECORD, NULL, 0);
        bench_await(&bench, 1, 1);
        frame_stream_free(second);
        bench_await(&bench, 1, 0);
        stop(caller);
        (void) receive_last(caller);
        ck_assert_uint_eq(n_results, 1);
}
END_TEST

START_TEST(jobs_that_run_together_leave_free_what_must_stay_free) {
        Manager *manager = bench.manager;
        uint64_t room = free_bytes() / 2;
        FrameStream *callers[3];
        SpoolFree space;

        reserves = true;
        manager->settings.spool.max_bytes = 0;
        manager->settings.spool.keep_free_bytes = room;
        for (size_t i = 0; i < ELEMENTSOF(callers); i++) {
                callers[i] = bench_connect(&bench);
                bench_send(callers[i], RECORD, NULL, 0);
        }
        bench_await(&bench, 1, 2);
        /* Each may write half of what the others leave; other files come and go meanwhile. */
        ck_assert_uint_gt(request_sum_reserved(manager, NULL), room / 8 * 6);
        ck_assert_uint_lt(request_sum_reserved(manager, NULL), room);
        for (const Request *request = manager->requests; request; request = request->next) {
                ck_assert_uint_gt(request->max_file_bytes, room / 16);
                ck_assert_uint_eq(request->max_file_bytes, request->reserved_bytes);
        }
        for (size_t i = 0; i < ELEMENTSOF(callers); i++)
                frame_stream_free(callers[i]);
        await_no_children();
        bench_await(&bench, 0, 0);
        ck_assert_uint_eq(request_sum_reserved(manager, NULL), 0);

        /* Nobody can keep a snapshot that is larger than the budget. */
        manager->settings.spool.max_bytes = 4711;
        bench_send(caller, RECORD, NULL, 0);
        bench_await(&bench, 1, 0);
        ck_assert_uint_eq(request_sum_reserved(manager, NULL), 4711);
        frame_stream_free(caller);
        bench_await(&bench, 0, 0);

        caller = bench_connect(&bench);
        manager->settings.spool.keep_free_bytes = UINT64_MAX / 2;
        ck_assert_ptr_nonnull(strstr(bench_call(&bench, caller, RECORD), "KeepFree="));
        manager->settings.spool.keep_free_bytes = 0;
        manager->settings.spool.keep_free_files = UINT64_MAX;
        ck_assert_int_eq(spool_free_space(bench.spool->dir_fd, &space), 0);
        if (space.has_files)
                ck_assert_ptr_nonnull(strstr(bench_call(&bench, caller, RECORD), "inodes"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("request");
        TCase *stops = tcase_create("stops");

        tcase_add_checked_fixture(stops, setup, teardown);
        tcase_add_test(stops, a_caller_that_closes_its_writing_side_gets_what_there_is);
        tcase_add_test(stops, a_job_pauses_until_its_caller_has_room);
        tcase_add_test(stops, a_job_whose_stage_takes_the_parts_does_not_pause);
        tcase_add_test(stops, stopped_while_it_waits_it_ends_when_it_starts);
        tcase_add_loop_test(stops, hanging_up_cancels_also_what_was_asked_to_end, 0, 3);
        tcase_add_test(stops, what_outlives_its_caller_is_asked_to_end_and_kept);
        tcase_add_test(stops, what_waits_does_not_outlive_its_caller);
        tcase_add_test(stops, jobs_that_run_together_leave_free_what_must_stay_free);
        suite_add_tcase(suite, stops);
        return check_main_unless(check_lacks_shared_tables(), suite);
}
