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
#include "snapshot/source.h"

/*
 * X(failure, name in snapshots, outcome, is benign, reason): users read the reason, if any, behind
 * how many there are.
 */
// clang-format off
#define HEAP_FAILURES(X) \
        /* of a process */ \
        X(PID_MISSING, "pid-missing", vanished, true, NULL) \
        X(PERMISSION, "permission", denied, false, NULL) \
        X(MAPS_READ, "maps-read-failure", other, false, \
          "/proc/PID/maps could not be read, or has more than fits") \
        X(FILE_OPEN, "file-open-failure", other, false, \
          "a file that they execute could not be opened: deleted files need " \
          "CAP_CHECKPOINT_RESTORE and, of other users, CAP_DAC_READ_SEARCH") \
        X(FILE_UNREADABLE, "file-unreadable", malformed, false, \
          "a file that they execute could not be read, or is damaged") \
        X(FILE_JOB, "file-job-failure", other, false, \
          "the job that looks into files did not answer") \
        X(ARCH_MISMATCH, "arch-mismatch", unsupported, false, "they are of another architecture") \
        X(LAYOUT_UNKNOWN, "layout-unknown", unsupported, false, \
          "their jemalloc does not show where its counters are") \
        X(LAYOUT_CONFLICT, "layout-conflict", malformed, false, \
          "their jemalloc contradicts itself about where its counters are") \
        X(TLS_POSITION_UNKNOWN, "tls-position-unknown", unsupported, false, \
          "their jemalloc does not show where a thread keeps its counters") \
        X(TLS_MODEL_UNSUPPORTED, "tls-model-unsupported", unsupported, false, \
          "their jemalloc keeps its counters in a way that is not supported") \
        X(COUNTERS_DISABLED, "counters-disabled", unsupported, false, \
          "their jemalloc was built without statistics") \
        X(IDENTITY_CHANGED, "identity-changed", vanished, false, NULL) \
        X(TIMED_OUT, "timed-out", other, false, \
          "they keep the lock of their memory taken, or need more time than HeapTime= of " \
          "ctprofd.conf gives; --no-heap skips all") \
        X(HUNG, "hung-before", other, false, \
          "a job that read their memory hung in the kernel, so they are not touched again; " \
          "ctprofctl status lists jobs that hang") \
        X(OWNER_HUNG, "owner-hung-before", other, false, \
          "jobs hung in the memory of other processes of their users, so none of these " \
          "are read; ctprofctl status lists jobs that hang") \
        X(MEMORY_JOB, "memory-job-failure", other, false, \
          "the job that reads memory failed, or did not answer") \
        X(TIME_BUDGET, "time-budget", other, false, NULL) \
        /* of a thread */ \
        X(NO_THREAD_POINTER, "no-thread-pointer", unsupported, false, \
          "the kernel was not told where they keep their data: of musl they are read with " \
          "the bpf backend only, and those of vfork() or a bare clone() never") \
        X(THREAD_EXITED, "thread-exited", vanished, true, NULL) \
        X(TID_MISMATCH, "tid-mismatch", other, false, \
          "what was found in their memory is of another thread") \
        X(PROCESS_VM_READV, "process-vm-readv", other, false, "their memory could not be read") \
        X(TLS_ARITHMETIC, "tls-arithmetic", malformed, false, \
          "what was found in their memory cannot be an address")
// clang-format on

typedef enum HeapFailure {
#define X(failure_, ...) HEAP_FAILURE_##failure_,
        HEAP_FAILURES(X)
#undef X
                _HEAP_FAILURE_MAX,
        HEAP_FAILURE_NONE = _HEAP_FAILURE_MAX,
        /* A verdict on a file or a process is NONE, one of the failures, or one of these. */
        HEAP_NOT_JEMALLOC,
        HEAP_NOT_SETTLED, /* nothing is known that would last */
} HeapFailure;

typedef struct HeapFailureRow {
        const char *name;
        SourceOutcome outcome;
        bool is_benign;
        const char *reason; /* may be NULL */
} HeapFailureRow;

extern const HeapFailureRow heap_failures[_HEAP_FAILURE_MAX];

/* True for all that looking into a file can lead to. */
static inline bool heap_verdict_is_of_file(uint32_t verdict) {
        return (verdict >= HEAP_FAILURE_ARCH_MISMATCH &&
                verdict <= HEAP_FAILURE_COUNTERS_DISABLED) ||
               verdict == HEAP_FAILURE_FILE_UNREADABLE || verdict == HEAP_FAILURE_NONE ||
               verdict == HEAP_NOT_JEMALLOC;
}
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
