/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Source
 *
 * The sources of readings, and how well each could be read for one snapshot: a state, counts of
 * outcomes, one sentence that says why some readings failed and what to do about it, and through
 * what it was read where there are several ways.
 */

#include <stdbool.h>
#include <stdint.h>
#include "json/json-scanner.h"
#include "json/json-writer.h"
#include "metric/source-list.h"

// clang-format off
#define SOURCE_STATES(S)                                                                           \
        S(OK,             "ok")             /* nothing denied, unsupported, malformed or other */  \
        S(PARTIAL,        "partial")        /* some was, some was read */                          \
        S(UNAVAILABLE,    "unavailable")    /* nothing could be read */                            \
        S(NOT_REQUESTED,  "not-requested")                                                         \
        S(NOT_APPLICABLE, "not-applicable") /* this kernel or host has no such thing to read */

/* The outcome of one attempt to read a thread's file, a cgroup's file, or the answer to a query. */
#define SOURCE_OUTCOMES(O)                                                                         \
        O(ok)                                                                                      \
        O(denied)      /* EACCES, EPERM */                                                         \
        O(vanished)    /* ENOENT or ESRCH because the thread or cgroup went: normal */             \
        O(unsupported) /* this kernel does not have it */                                          \
        O(malformed)   /* read, but not in its grammar */                                          \
        O(other)       /* any other errno */
/* Through what it was read. */
#define SOURCE_BACKENDS(B)                                                                         \
        B(NONE,      "")          /* there is one way only, or the file does not tell */           \
        B(PROCFS,    "procfs")    /* files of /proc, and calls that take a thread's number */      \
        B(BPF,       "bpf")       /* a program in the kernel that goes through all threads */      \
        B(TASKSTATS, "taskstats") /* generic netlink */
// clang-format on

/*
 * The remedies, which make readable what was not: where a reason says so in these words, it is one,
 * told in the second ones where there is no room for a sentence.
 */
#define SOURCE_REMEDY_PRIVILEGED "run ctprofd as root or as ctprofd.service"
#define SOURCE_REMEDY_SCHEDSTATS "sysctl kernel.sched_schedstats=1"
#define SOURCE_REMEDY_DELAYS "sysctl kernel.task_delayacct=1"
#define SOURCE_REMEDY_DELAYS_AT_BOOT "boot with delayacct"
#define SOURCE_REMEDY_PRESSURE "boot with psi=1"
#define SOURCE_REMEDY_SMAPS "--smaps=all"
#define SOURCE_REMEDY_HEAP_TIME "HeapTime= of ctprofd.conf"
#define SOURCE_REMEDY_CGROUP "mount -t cgroup2 none /sys/fs/cgroup/unified"
// clang-format off
#define SOURCE_REMEDIES(R)                                                                         \
        R(SOURCE_REMEDY_PRIVILEGED,     "run ctprofd as root")                                     \
        R(SOURCE_REMEDY_SCHEDSTATS,     "kernel.sched_schedstats=1")                               \
        R(SOURCE_REMEDY_DELAYS,         "kernel.task_delayacct=1")                                 \
        R(SOURCE_REMEDY_DELAYS_AT_BOOT, SOURCE_REMEDY_DELAYS_AT_BOOT)                              \
        R(SOURCE_REMEDY_PRESSURE,       SOURCE_REMEDY_PRESSURE)                                    \
        R(SOURCE_REMEDY_SMAPS,          SOURCE_REMEDY_SMAPS)                                       \
        R(SOURCE_REMEDY_HEAP_TIME,      SOURCE_REMEDY_HEAP_TIME)                                   \
        R(SOURCE_REMEDY_CGROUP,         "mount -t cgroup2")
// clang-format on

#define SOURCE_STATE_ID(id, name) SOURCE_STATE_##id,
typedef enum SourceState { SOURCE_STATES(SOURCE_STATE_ID) _SOURCE_STATE_MAX } SourceState;

#define SOURCE_OUTCOME_ID(name) SOURCE_OUTCOME_##name,
typedef enum SourceOutcome { SOURCE_OUTCOMES(SOURCE_OUTCOME_ID) _SOURCE_OUTCOME_MAX } SourceOutcome;

#define SOURCE_BACKEND_ID(id, name) SOURCE_BACKEND_##id,
typedef enum SourceBackend { SOURCE_BACKENDS(SOURCE_BACKEND_ID) _SOURCE_BACKEND_MAX } SourceBackend;

#define SOURCE_REASON_BYTES 256

typedef struct Source {
        SourceState state;
        uint64_t counts[_SOURCE_OUTCOME_MAX];
        char reason[SOURCE_REASON_BYTES]; /* "" when ok */
        SourceBackend backend;
        bool switched_off; /* what is unsupported only has to be switched on, as the reason says */
        /* Values that an analysis left out as impossible; not recorded in files. */
        uint64_t implausible;
} Source;

/* The closed list, one per SourceId. */
typedef struct SourceTable {
        Source sources[_SOURCE_MAX];
} SourceTable;

extern const char *const source_state_names[_SOURCE_STATE_MAX];

/*
 * Every requested source but jemalloc, exits, waits, reasons and cmdline is ok or not applicable.
 */
bool source_table_is_complete(const SourceTable *table);

/*
 * One SOURCE of the contract: name, state, reason unless ok and the remedy that it tells,
 * switchedOff if true, six counts, backend where there are several.
 */
void source_write_json(JsonWriter *writer, SourceId id, const Source *source);
/* The array of all of them, in the order of the list. */
void source_table_write_json(JsonWriter *writer, const SourceTable *table);
/*
 * Reads that array; unknown sources, states and members are skipped. Missing sources are
 * "unavailable" with a reason, or "not-requested" where earlier versions did not know them. 0,
 * JSON_E_MALFORMED, or a negative errno.
 */
_must_check_ int source_table_scan_json(JsonScanner *scanner, SourceTable *ret);
