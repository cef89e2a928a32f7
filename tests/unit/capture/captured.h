/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Captured
 *
 * A capture of a tree and its result, read back through the reader of snapshots; and a
 * system whose answers the test sets.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "capture/capture.h"
#include "metric/host-part.h"
#include "snapshot/thread-sample.h"
#include "tree.h"

/* The fake system's answers about one thread. */
typedef struct FakeThread {
        pid_t tid;
        int affinity_error, stats_error; /* -errno */
        unsigned long cpus;              /* mask; 0: CPUs 0-3 and 7 */
        uint64_t age_us;                 /* 0: as old as the hills */
        uint16_t version;                /* of struct taskstats; 0: 16 */
        uint64_t delay_count;            /* of blkio */
        uint64_t irq_count;
        bool no_space; /* high-water marks of 0 */
} FakeThread;

typedef struct FakeSystem {
        CaptureSystem system;
        const Tree *tree;
        const FakeThread *threads; /* others answer as { 0 } says */
        size_t n_threads;
        bool without_delays; /* a kernel without CONFIG_TASK_DELAY_ACCT */
        int open_error;      /* of opening taskstats */
        int own_error;       /* the result of querying the calling thread */
        uint64_t now_ns;     /* grows by step_ns with each look */
        uint64_t step_ns;
        uint64_t n_queries;
} FakeSystem;

#define FAKE_OWN_TID 999

/* Affinity and taskstats answer for every tid; the cgroup hierarchy is the tree's. */
void fake_system_init(FakeSystem *fake, const Tree *tree);

typedef struct CapturedThread {
        ThreadSample sample; /* spans point into texts */
        Span smaps;
        Buffer texts;
} CapturedThread;

typedef struct Captured {
        CaptureOptions options;
        int result;
        Buffer document;
        Head head;
        SourceTable sources;
        CapturedThread *threads;
        size_t n_threads, n_allocated;
        Buffer cgroups; /* paths, each followed by a newline, in the order of the document */
        Buffer psi, sched_ext, probe_summary, host_parts[_HOST_PART_MAX];
        int sink_error; /* the sink's error once it has taken sink_bytes */
        size_t sink_bytes;
} Captured;

/* Options for @tree with the fake system, no workers, smaps wanted; a test may change them. */
void captured_init(Captured *captured, const Tree *tree, FakeSystem *fake);
void captured_done(Captured *captured);
/* Captures and, when that succeeds, reads back. */
void captured_run(Captured *captured);

/* NULL when there is no such row. */
const CapturedThread *captured_find(const Captured *captured, pid_t tid);
/* The row must be there and have the metric. */
uint64_t captured_value(const Captured *captured, pid_t tid, MetricId id);
bool captured_has(const Captured *captured, pid_t tid, MetricId id);
void captured_check_source(const Captured *captured, SourceId id, SourceState state, uint64_t ok,
                           uint64_t denied, uint64_t vanished, uint64_t unsupported,
                           uint64_t other);
