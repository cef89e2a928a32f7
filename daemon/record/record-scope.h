/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordScope
 *
 * What a recording takes samples of: which threads, and intervals of which length. Programs decide
 * nearly all of it, so that what is left out costs nothing more; names are looked at by who reads
 * the ring, as there is no glob in the kernel.
 *
 * RecordEnd is why it took no more, and UnclockedTime what ran on CPUs without a clock.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "json/json-writer.h"
#include "kernel/bpf/ledger-record.h"

#define RECORD_COMM_BYTES 256u
#define RECORD_CGROUP_BYTES 4096u

typedef struct RecordScope {
        RecordFilter filter;
        uint64_t min_ns, max_ns;          /* of intervals that are no running time; 0: any */
        char comm[RECORD_COMM_BYTES];     /* a glob for a thread or its process; "": any */
        char cgroup[RECORD_CGROUP_BYTES]; /* its path, while @filter has its id; "": any */
} RecordScope;

typedef enum RecordEnd {
        RECORD_END_UNKNOWN, /* an earlier version has not noted it */
        RECORD_END_TIME,    /* it had lasted for as long as it was to, or may */
        RECORD_END_CALL,    /* somebody asked for it, or the caller hung up */
        RECORD_END_BYTES,   /* a file with more would be larger than it may be */
        RECORD_END_MEMORY,  /* the job that adds samples up may have no more memory */
        _RECORD_END_MAX,
} RecordEnd;
/* As they are called in files and in replies; the first is left out there. */
#define RECORD_END_NAMES \
        { "unknown", "time", "call", "bytes", "memory" }

#define UNCLOCKED_CPUS_BYTES 256u

typedef struct UnclockedTime {
        uint64_t ns;
        char cpus[UNCLOCKED_CPUS_BYTES]; /* "1,8-15", and ",..." behind it if there are more; "" */
} UnclockedTime;

static inline bool unclocked_time_is_valid(const UnclockedTime *time) {
        return memchr(time->cpus, '\0', sizeof(time->cpus)) &&
               time->cpus[strspn(time->cpus, "0123456789-,.")] == '\0';
}

/* Two members of an open object, where there is something to say. */
static inline void unclocked_time_write(JsonWriter *json, const UnclockedTime *time) {
        if (time->cpus[0] == '\0')
                return;
        json_write_member_text(json, "cpusWithoutClock", time->cpus);
        json_write_member_u64(json, "withoutClockNs", time->ns);
}

/* All of its conditions are there: says whether there is one for threads. */
static inline void record_scope_settle(RecordScope *scope) {
        RecordFilter *filter = &scope->filter;

        filter->is_on = filter->threads != RECORD_THREADS_ALL || filter->starter != 0 ||
                        filter->n_pids > 0 || filter->n_uids > 0 || scope->comm[0] != '\0' ||
                        scope->cgroup[0] != '\0';
}

static inline bool record_scope_has_lengths(const RecordScope *scope) {
        return scope->min_ns > 0 || scope->max_ns > 0;
}
