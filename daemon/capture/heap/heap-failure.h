/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapFailure
 *
 * Every way in which the counters of an allocator cannot be had, by the name that snapshots give
 * it, and what a capture counted of them. Failures of a process are counted once a process, those
 * of a thread once a thread. A benign one is no defect of the reading: the process or thread ended.
 */

#include <stdbool.h>
#include <stdint.h>
#include "json/json-writer.h"
#include "kernel/memory/heap-layout.h"
#include "snapshot/source.h"

typedef enum HeapFailure {
        /* of a process */
        HEAP_FAILURE_PID_MISSING,
        HEAP_FAILURE_PERMISSION,
        HEAP_FAILURE_MAPS_READ,
        HEAP_FAILURE_FILE_OPEN,
        HEAP_FAILURE_FILE_UNREADABLE,
        HEAP_FAILURE_FILE_JOB,
        HEAP_FAILURE_ARCH_MISMATCH,
        HEAP_FAILURE_LAYOUT_UNKNOWN,
        HEAP_FAILURE_LAYOUT_CONFLICT,
        HEAP_FAILURE_TLS_POSITION_UNKNOWN,
        HEAP_FAILURE_TLS_MODEL_UNSUPPORTED,
        HEAP_FAILURE_COUNTERS_DISABLED,
        HEAP_FAILURE_IDENTITY_CHANGED,
        HEAP_FAILURE_TIMED_OUT,
        HEAP_FAILURE_HUNG,
        HEAP_FAILURE_OWNER_HUNG,
        HEAP_FAILURE_MEMORY_JOB,
        HEAP_FAILURE_TIME_BUDGET,
        /* of a thread */
        HEAP_FAILURE_NO_THREAD_POINTER,
        HEAP_FAILURE_THREAD_EXITED,
        HEAP_FAILURE_TID_MISMATCH,
        HEAP_FAILURE_PROCESS_VM_READV,
        HEAP_FAILURE_TLS_ARITHMETIC,
        _HEAP_FAILURE_MAX,
        HEAP_FAILURE_NONE = _HEAP_FAILURE_MAX,
} HeapFailure;

typedef struct HeapFailureRow {
        const char *name; /* in snapshots */
        SourceOutcome outcome;
        bool is_benign;
        const char *reason; /* what users read behind how many there are; may be NULL */
} HeapFailureRow;

extern const HeapFailureRow heap_failures[_HEAP_FAILURE_MAX];

/* The failure that a verdict is; NONE for HEAP_READY and HEAP_NOT_JEMALLOC. */
HeapFailure heap_failure_of_verdict(HeapVerdict verdict);
/* The failure that a reading of the process ended in, TEXT_E_* or -errno; NONE for 0. */
HeapFailure heap_failure_of_reading(int r, HeapFailure otherwise);
/* Such a failure is counted once a thread, and the others once a process. */
static inline bool heap_failure_is_of_thread(HeapFailure failure) {
        return failure >= HEAP_FAILURE_NO_THREAD_POINTER;
}

/* The counts of one capture, or of one of its workers. */
typedef struct HeapSummary {
        uint64_t n_walked;   /* processes but our own */
        uint64_t n_detected; /* that use jemalloc, so that their threads could be read */
        uint64_t n_ok;       /* threads that were read */
        uint64_t failures[_HEAP_FAILURE_MAX];
        /* Batches of processes that failed without their leader, which is what counts a process. */
        uint64_t parts[_HEAP_FAILURE_MAX];
        uint64_t commands[_HEAP_FAILURE_MAX]; /* processes whose command could not be read */
} HeapSummary;

void heap_summary_merge(HeapSummary *summary, const HeapSummary *other);
/*
 * After the last one: a failure that only parts of processes had is one of a process at least, so
 * that none goes without a reason.
 */
void heap_summary_finish(HeapSummary *summary);

/*
 * {"tgids_walked", "jemalloc_detected", "probed_ok", "failed",
 *  "dominant_failure": name of the most frequent one, the first of several, or null,
 *  "privilege_dominant": at least half of what failed was not permitted,
 *  "failures": {name: count, ...}}, of those that are not benign and not 0.
 */
void heap_summary_write_json(JsonWriter *writer, const HeapSummary *summary);
