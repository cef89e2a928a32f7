/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RandomThreads
 *
 * Makes threads from a seed, random_state, with names that share patterns and with values at the
 * limits.
 */

#include "analysis/compare/comparison.h"
#include "thread.h"

static uint64_t random_state;

/* splitmix64 */
static inline uint64_t random_u64(void) {
        uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

static inline Span random_name(void) {
        static const char *const names[] = { "worker-1", "worker-2", "worker-{N}",  "python3",
                                             "",         "\xff\xfe", "kworker/0:1", "kworker/1:0",
                                             "a b" };

        return span_of(names[random_u64() % ELEMENTSOF(names)]);
}

static inline uint64_t random_value(MetricId id) {
        switch (metric_table[id].shape) {
        case METRIC_SHAPE_SUM:
                /* Sometimes so large that the sum of two overflows. */
                return random_u64() % 40 == 0 ? UINT64_MAX / 2 : random_u64() >> random_u64() % 64;
        case METRIC_SHAPE_RANGE:
                return random_u64() % 40 - 20 /* may be negative */;
        case METRIC_SHAPE_MODE:
                if (metric_table[id].rule == METRIC_RULE_ModeChar)
                        return (uint64_t) "RSD"[random_u64() % 3];
                break;
        case METRIC_SHAPE_MAX:
        case METRIC_SHAPE_MIN:
        case METRIC_SHAPE_AFFINITY:
                break;
        }
        return random_u64() % 5;
}

static inline ThreadSample random_thread(pid_t tid) {
        static const char *const lists[] = { "", "0", "0-1", "0-2", "0-3" };
        ThreadSample sample = thread_of("", "", tid);

        sample.pcomm = random_name();
        sample.comm = random_name();
        sample.cgroup = random_u64() % 5 == 0 ? (Span){ NULL, 0 } : random_name();
        sample.self = random_u64() % 10 == 0;
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (random_u64() % 4 != 0)
                        thread_sample_put(&sample, (MetricId) id, random_value((MetricId) id));
        if (thread_sample_has(&sample, METRIC_cpu_affinity))
                sample.cpus = span_of(lists[thread_sample_get(&sample, METRIC_cpu_affinity)]);
        return sample;
}

static inline void threads_reverse(ThreadSample *samples, size_t n) {
        for (size_t i = 0; i < n / 2; i++) {
                ThreadSample sample = samples[i];

                samples[i] = samples[n - 1 - i];
                samples[n - 1 - i] = sample;
        }
}
