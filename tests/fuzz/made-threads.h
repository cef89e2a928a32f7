/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MadeThreads
 *
 * Threads made of a few bytes each: which life it is, names out of a short list or bytes as they
 * come, some metrics or, from a seed, most of them. A life is at most once in a set, as the kernel
 * has it. The same byte gives the same life, so that two sets share some.
 */

#include <string.h>

#include "fuzz.h"
#include "metric/metric.h"
#include "snapshot/thread-sample.h"

#define MADE_MAX_THREADS 24
#define MADE_LIVES 32
#define MADE_MAX_NAME 15

typedef struct MadeThreads {
        ThreadSample samples[MADE_MAX_THREADS]; /* their names are of the input or constant */
        size_t n;
        uint32_t lives; /* a bit each */
} MadeThreads;

/* splitmix64, for what need not be chosen byte by byte. */
static inline uint64_t made_next(uint64_t *state) {
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

/* The kernel's names end at a NUL. */
static inline Span made_bytes(FuzzInput *input, size_t n) {
        Span bytes = fuzz_take(input, n);

        return (Span){ bytes.bytes, bytes.n > 0 ? strnlen(bytes.bytes, bytes.n) : 0 };
}

static inline Span made_name(FuzzInput *input) {
        static const char *const names[] = { "worker-1", "worker-2", "worker-{N}",  "python3",
                                             "",         "\xff\xfe", "kworker/0:1", "kworker/1:0",
                                             "a b",      "Thread 7", "io_uring",    "x" };
        uint8_t choice = fuzz_take_u8(input);

        if (choice < ELEMENTSOF(names))
                return span_of(names[choice]);
        if (choice == UINT8_MAX) /* not known */
                return (Span){};
        return made_bytes(input, choice % (MADE_MAX_NAME + 1));
}

static inline Span made_cgroup(FuzzInput *input) {
        static const char *const paths[] = { "/",
                                             "/a.slice/b-1.service",
                                             "/a.slice/b-2.service",
                                             "/old/x",
                                             "/new/x",
                                             "/old/y",
                                             "/new/y",
                                             "/user.slice/user-1000.slice/session-3.scope" };
        uint8_t choice = fuzz_take_u8(input);

        if (choice < ELEMENTSOF(paths))
                return span_of(paths[choice]);
        return choice & 1 ? (Span){} : made_bytes(input, choice % (4 * MADE_MAX_NAME));
}

/* What a reader could have read: states are letters, lists of CPUs count as many as they say. */
static inline void made_put(ThreadSample *sample, MetricId id, uint64_t value) {
        static const char *const lists[] = { "0", "0-1", "0-2", "0-3", "5,7" };
        static const uint64_t n_cpus[] = { 1, 2, 3, 4, 2 };

        switch (metric_table[id].shape) {
        case METRIC_SHAPE_RANGE:
                value = (uint64_t) ((int64_t) (value % 241) - 120);
                break;
        case METRIC_SHAPE_MODE:
                value = metric_table[id].rule == METRIC_RULE_ModeChar ? (uint64_t) "RSD"[value % 3]
                                                                      : value % 8;
                break;
        case METRIC_SHAPE_AFFINITY:
                sample->cpus = span_of(lists[value % ELEMENTSOF(lists)]);
                value = n_cpus[value % ELEMENTSOF(lists)];
                break;
        case METRIC_SHAPE_SUM:
        case METRIC_SHAPE_MAX:
        case METRIC_SHAPE_MIN:
                break;
        }
        thread_sample_put(sample, id, value);
}

static inline void made_values(FuzzInput *input, ThreadSample *sample) {
        uint8_t how = fuzz_take_u8(input);
        uint64_t state = how & 0x80 ? fuzz_take_u8(input) : 0;

        for (unsigned id = 0; how & 0x80 && id < _METRIC_MAX; id++)
                if (made_next(&state) % 4 != 0)
                        made_put(sample, (MetricId) id,
                                 made_next(&state) >> made_next(&state) % 64);
        for (unsigned i = 0; i < (how & 7u); i++) {
                MetricId id = (MetricId) (fuzz_take_u8(input) % _METRIC_MAX);
                unsigned shift = fuzz_take_u8(input) % 57;

                made_put(sample, id, (uint64_t) fuzz_take_u8(input) << shift);
        }
        thread_sample_put(sample, METRIC_thread_count, 1);
}

static inline void made_thread(FuzzInput *input, MadeThreads *threads) {
        uint8_t life = fuzz_take_u8(input);
        unsigned index = life % MADE_LIVES;
        ThreadSample *sample = &threads->samples[threads->n++];

        while (threads->lives >> index & 1)
                index = (index + 1) % MADE_LIVES;
        threads->lives |= UINT32_C(1) << index;
        thread_sample_clear(sample);
        /* Two lives of each id, four threads of each process. */
        sample->tid = (pid_t) (100 + index / 2);
        sample->tgid = sample->tid / 4 * 4;
        sample->start_ticks = 50 * index;
        sample->self = life >= 0xf8;
        sample->pcomm = sample->command_name = made_name(input);
        sample->comm = made_name(input);
        sample->cgroup = made_cgroup(input);
        made_values(input, sample);
}

static inline void made_threads(FuzzInput *input, size_t n, MadeThreads *ret) {
        *ret = (MadeThreads){};
        for (size_t i = 0; i < MIN_OF(n, (size_t) MADE_MAX_THREADS); i++)
                made_thread(input, ret);
}

/* The same life; NULL when it is not in the set. */
static inline const ThreadSample *made_find(const MadeThreads *threads, const ThreadSample *life) {
        for (size_t i = 0; i < threads->n; i++)
                if (threads->samples[i].tid == life->tid &&
                    threads->samples[i].start_ticks == life->start_ticks)
                        return &threads->samples[i];
        return NULL;
}

static inline MadeThreads made_reversed(const MadeThreads *threads) {
        MadeThreads reversed = { .n = threads->n, .lives = threads->lives };

        for (size_t i = 0; i < threads->n; i++)
                reversed.samples[i] = threads->samples[threads->n - 1 - i];
        return reversed;
}
