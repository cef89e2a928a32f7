/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Two sets of captures that the tests of comparing them fill with threads. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "set-run.h"
#include "thread.h"
#include "view/view-part.h"

#define END (const char *) NULL
#define N_SIDE 5u /* captures per side */
#define N_SHOTS (2 * N_SIDE)
#define MAX_THREADS 8u

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };

/* All captures of a test, ten seconds apart: before, then after. */
static ThreadSample samples[N_SHOTS][MAX_THREADS];
static Shot shots[N_SHOTS];

static inline void setup(void) {
        memset(samples, 0, sizeof(samples));
        for (unsigned i = 0; i < N_SHOTS; i++)
                shots[i] =
                        (Shot){ .side = i / N_SIDE, .at_s = 1000 + 10 * i, .samples = samples[i] };
}

/* A thread in one capture; it started with the host. */
static inline ThreadSample *put_thread(unsigned shot, const char *name, pid_t tid) {
        ThreadSample *sample = &samples[shot][shots[shot].n_samples++];

        ck_assert_uint_le(shots[shot].n_samples, MAX_THREADS);
        *sample = thread_of(name, name, tid);
        return sample;
}

/* A thread of all captures with one metric, which is @values[i] in each. */
static inline void put_values(const char *name, pid_t tid, MetricId id,
                              const uint64_t values[static N_SHOTS]) {
        for (unsigned i = 0; i < N_SHOTS; i++)
                thread_sample_put(put_thread(i, name, tid), id, values[i]);
}

static inline View view_on(ViewAxis axis) {
        View view;

        view_init(&view);
        view.axis = axis;
        view.limit = 0;
        return view;
}

static inline View view_of(const char *metrics) {
        View view = view_on(VIEW_AXIS_PCOMM);
        char complaint[VIEW_COMPLAINT_BYTES];

        ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of(metrics), complaint), VIEW_OK);
        return view;
}

static inline SetRun run_of(const View *view) {
        return set_run_of(view, 0.05, shots, N_SHOTS, no_sources);
}

static inline double number_at(const SetRun *run, const char *group, const char *list,
                               const char *metric, const char *key) {
        return atof(json_at(set_run_group(run, group), list, metric, key, END));
}

/* 100, 110 ... a second before, 200, 210 ... a second after, over windows of ten seconds. */
static const uint64_t rising[N_SHOTS] = { 5000,  6000,  7100,  8300,  9600,
                                          20000, 22000, 24100, 26300, 28600 };
