/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ServiceFixture
 *
 * One service on a bench with one caller, for each test, and calls as text.
 */

#include <sys/socket.h>
#include <unistd.h>
#include "check-lack.h"
#include "check-main.h"
#include "bench.h"
#include "interface/interface.h"
#include "job/job.h"
#include "order/order.h"

#define CALL(name, parameters) \
        "{\"method\":\"" PROFILER_INTERFACE "." name "\",\"parameters\":" parameters "}"
#define CALL_MORE(name, parameters)                                                  \
        "{\"method\":\"" PROFILER_INTERFACE "." name "\",\"parameters\":" parameters \
        ",\"more\":true}"

static Bench bench;
static FrameStream *caller;

static inline void setup(void) {
        bench_init(&bench);
        caller = bench_connect(&bench);
}

static inline void teardown(void) {
        caller = frame_stream_free(caller);
        bench_done(&bench);
}

static inline const char *call(const char *text) {
        return bench_call(&bench, caller, text);
}

/* A file that a fake job waits for until it is gone. */
static inline void make_gate(char *path) {
        int fd = mkstemp(path);

        ck_assert_int_ge(fd, 0);
        fd_close(fd);
}

static inline void on_stray_reply(Job *job, const JobReply *reply, void *userdata) {
}

/* Jobs of no request, that never end. @method: of one of the fake jobs that can be told to hang. */
static inline void start_hanging_jobs(JobKind kind, OrderMethod method, Job *jobs[], size_t n) {
        _cleanup_(freep) Order *given = order_new(method);
        _cleanup_(buffer_done) Buffer body = {};

        given->files.socket = 1; /* the first member of both */
        ck_assert_int_eq(order_pack(given, &body), 0);
        for (size_t i = 0; i < n; i++) {
                JobOrder order = { .terms = &job_terms[kind], .body = buffer_span(&body) };
                int pair[2];

                ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
                order.fds = &pair[1];
                order.n_fds = 1;
                ck_assert_int_eq(job_pool_start(bench.pool, &order, on_stray_reply, NULL, &jobs[i]),
                                 0);
                ck_assert_int_eq(send(pair[0], "hang", 4, 0), 4);
                (void) close(pair[0]);
        }
}

/* @text is often a call whose answer it is, and made once. */
#define ck_assert_has(text, part)                                                           \
        do {                                                                                \
                const char *_text = (text);                                                 \
                                                                                            \
                ck_assert_msg(strstr(_text, (part)) != NULL, "no %s in %s", (part), _text); \
        } while (0)
#define ck_assert_has_not(text, part)                                                    \
        do {                                                                             \
                const char *_text = (text);                                              \
                                                                                         \
                ck_assert_msg(strstr(_text, (part)) == NULL, "%s in %s", (part), _text); \
        } while (0)

/*
 * Makes the call @next, a capture, from another connection: it waits as long as the capture of
 * @caller hangs, and begins when @caller hangs up. Returns its answer.
 */
static inline const char *capture_behind(const char *next) {
        FrameStream *second = bench_connect(&bench);
        const char *answer;

        bench_send(second, next, NULL, 0);
        ck_assert_has(bench_receive(&bench, second), "\"phase\":\"waiting\"");
        for (unsigned i = 0; i < 20; i++)
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        ck_assert_uint_eq(bench.n_running, 1);
        ck_assert_uint_eq(bench.n_waiting, 1);
        caller = frame_stream_free(caller);
        ck_assert_has(bench_receive(&bench, second), "\"phase\":\"threads\"");
        answer = bench_receive(&bench, second);
        frame_stream_free(second);
        return answer;
}
