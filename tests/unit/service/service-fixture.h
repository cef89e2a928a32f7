/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ServiceFixture
 *
 * One service on a bench with one caller, for each test, and calls as text.
 */

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

#define ck_assert_has(text, part) \
        ck_assert_msg(strstr((text), (part)) != NULL, "no %s in %s", (part), (text))
#define ck_assert_has_not(text, part) \
        ck_assert_msg(strstr((text), (part)) == NULL, "%s in %s", (part), (text))
