/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadSample
 *
 * The readings of one thread. A metric whose presence bit is clear has no value, and no number
 * stands for that. Spans are borrowed from the code that filled the sample, until it fills it
 * again.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/bits.h"
#include "base/span.h"
#include "metric/metric.h"

#define THREAD_SAMPLE_MEMBER(member, type, ...) type member;

typedef struct ThreadSample {
        pid_t tid;
        pid_t tgid;
        uint64_t start_ticks; /* since boot, in USER_HZ (stat field 22) */

        Span pcomm;  /* the process's name: its leader's comm */
        Span comm;   /* raw bytes */
        Span cgroup; /* cgroup v2 path as /proc/PID/cgroup has it; empty bytes == NULL: unknown */
        /* Commands (command.h) of the process; bytes == NULL: not known, and empty: it has none. */
        Span command, command_line;
        /* Set by readers: what groups call the command; where that is not known, the process. */
        Span command_name;
        Span cpus; /* of cpu_affinity, as a list "0-3,7"; only when that is present */

        bool has_ppid, has_owner, has_kthread, has_exe;
        bool kthread;
        bool self; /* a thread of ctprofd, its jobs or the client that asked */
        /* The capture did not ask for the rollup of the process: others have more memory. */
        bool smaps_unasked;
        pid_t ppid;
        uid_t uid;        /* real */
        gid_t gid;        /* real */
        uint64_t exe_dev; /* as stat(2) encodes st_dev */
        uint64_t exe_inode;

        /*
         * Set by analyses only (analysis/group/judge.h): values that were recorded but contradict
         * arithmetic, which are not present; and present values that were corrected.
         */
        uint64_t implausible[BITS_WORDS(_METRIC_MAX)];
        uint64_t corrected[BITS_WORDS(_METRIC_MAX)];

        uint64_t present[BITS_WORDS(_METRIC_MAX)]; /* absent is not zero */
        METRICS(THREAD_SAMPLE_MEMBER)
} ThreadSample;

/* Byte offset of each metric's 64-bit member. */
extern const uint16_t thread_sample_slots[_METRIC_MAX];

static inline bool thread_sample_has(const ThreadSample *sample, MetricId id) {
        return bits_has(sample->present, id);
}

/* Only for a metric for which thread_sample_has() is true. */
static inline uint64_t thread_sample_get(const ThreadSample *sample, MetricId id) {
        assert(thread_sample_has(sample, id));
        return *(const uint64_t *) (const void *) ((const char *) sample + thread_sample_slots[id]);
}

static inline void thread_sample_put(ThreadSample *sample, MetricId id, uint64_t value) {
        *(uint64_t *) (void *) ((char *) sample + thread_sample_slots[id]) = value;
        bits_set(sample->present, id);
}

static inline void thread_sample_drop(ThreadSample *sample, MetricId id) {
        bits_clear(sample->present, id);
}

/* Drops a value because it contradicts arithmetic. */
static inline void thread_sample_refute(ThreadSample *sample, MetricId id) {
        thread_sample_drop(sample, id);
        bits_clear(sample->corrected, id);
        bits_set(sample->implausible, id);
}

/* Replaces a value by what is left of it without an event that cannot have happened. */
static inline void thread_sample_correct(ThreadSample *sample, MetricId id, uint64_t value) {
        thread_sample_put(sample, id, value);
        bits_set(sample->corrected, id);
}

/*
 * The memory of the process, resident of all kinds and in swap, in bytes: as much as its page
 * tables speak of. False unless all of it is present.
 */
bool thread_sample_memory(const ThreadSample *sample, uint64_t *ret_bytes);

/* A sample with nothing present. */
void thread_sample_clear(ThreadSample *sample);

#define POLICY_NAME_CHARS 32
/* "SCHED_OTHER" ... or "SCHED_UNKNOWN(n)" into @ret_name; returns its length. */
size_t policy_format(int64_t policy, char ret_name[static POLICY_NAME_CHARS]);
/* The inverse; false for text that policy_format() does not write. */
bool policy_parse(Span name, int64_t *ret);
