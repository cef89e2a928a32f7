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

// clang-format off
/*        id                     name in snapshots        outcome      benign */
#define HEAP_FAILURES(F)                                                                           \
        /* of a process */                                                                         \
        F(PID_MISSING,           "pid-missing",           vanished,    true)                       \
        F(PERMISSION,            "permission",            denied,      false)                      \
        F(MAPS_READ,             "maps-read-failure",     other,       false)                      \
        F(FILE_OPEN,             "file-open-failure",     other,       false)                      \
        F(FILE_UNREADABLE,       "file-unreadable",       malformed,   false)                      \
        F(FILE_JOB,              "file-job-failure",      other,       false)                      \
        F(ARCH_MISMATCH,         "arch-mismatch",         unsupported, false)                      \
        F(LAYOUT_UNKNOWN,        "layout-unknown",        unsupported, false)                      \
        F(LAYOUT_CONFLICT,       "layout-conflict",       malformed,   false)                      \
        F(TLS_POSITION_UNKNOWN,  "tls-position-unknown",  unsupported, false)                      \
        F(TLS_MODEL_UNSUPPORTED, "tls-model-unsupported", unsupported, false)                      \
        F(COUNTERS_DISABLED,     "counters-disabled",     unsupported, false)                      \
        F(IDENTITY_CHANGED,      "identity-changed",      vanished,    false)                      \
        F(TIMED_OUT,             "timed-out",             other,       false)                      \
        F(HUNG,                  "hung-before",           other,       false)                      \
        F(OWNER_HUNG,            "owner-hung-before",     other,       false)                      \
        F(MEMORY_JOB,            "memory-job-failure",    other,       false)                      \
        F(TIME_BUDGET,           "time-budget",           other,       false)                      \
        /* of a thread */                                                                          \
        F(NO_THREAD_POINTER,     "no-thread-pointer",     unsupported, false)                      \
        F(THREAD_EXITED,         "thread-exited",         vanished,    true)                       \
        F(TID_MISMATCH,          "tid-mismatch",          other,       false)                      \
        F(PROCESS_VM_READV,      "process-vm-readv",      other,       false)                      \
        F(TLS_ARITHMETIC,        "tls-arithmetic",        malformed,   false)
// clang-format on

#define HEAP_FAILURE_ID(id, ...) HEAP_FAILURE_##id,
/* HEAP_FAILURE_NONE is one past the last. */
typedef enum HeapFailure { HEAP_FAILURES(HEAP_FAILURE_ID) _HEAP_FAILURE_MAX } HeapFailure;
#define HEAP_FAILURE_NONE _HEAP_FAILURE_MAX

const char *heap_failure_name(HeapFailure failure);
SourceOutcome heap_failure_outcome(HeapFailure failure);
bool heap_failure_is_benign(HeapFailure failure);

/* The failure that a verdict is; NONE for HEAP_READY and HEAP_NOT_JEMALLOC. */
HeapFailure heap_failure_of_verdict(HeapVerdict verdict);

/* What was counted. */
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
/* Failures that are not benign. */
uint64_t heap_summary_n_failed(const HeapSummary *summary);
/* The most frequent one of them, the first by name of several; NONE when nothing failed. */
HeapFailure heap_summary_dominant(const HeapSummary *summary);

/*
 * {"tgids_walked", "jemalloc_detected", "probed_ok", "failed", "dominant_failure": name or null,
 *  "privilege_dominant": at least half of what failed was not permitted,
 *  "failures": {name: count, ...}}, of those that are not benign and not 0.
 */
void heap_summary_write_json(JsonWriter *writer, const HeapSummary *summary);
