/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ServiceFixture
 *
 * One service on a bench with one caller, for each test, and calls as text.
 */

#include "check-lack.h"
#include "check-main.h"
#include "bench.h"
#include "interface/interface.h"

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
