/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Thread
 *
 * A ThreadSample in one line, for tests.
 */

#include "snapshot/thread-sample.h"

static inline ThreadSample thread_of(const char *pcomm, const char *comm, pid_t tid) {
        ThreadSample sample = {
                .tid = tid,
                .tgid = tid / 100 * 100, /* as if threads of one process were numbered so */
                .start_ticks = (uint64_t) tid + 7,
                .pcomm = span_of(pcomm),
                .comm = span_of(comm),
                .command_name = span_of(pcomm), /* as of a process without a command */
                .cgroup = SPAN_LITERAL("/"),
        };

        thread_sample_put(&sample, METRIC_thread_count, 1);
        return sample;
}

static inline ThreadSample thread_with(MetricId id, uint64_t value) {
        ThreadSample sample = thread_of("p", "t", 1);

        thread_sample_put(&sample, id, value);
        return sample;
}
