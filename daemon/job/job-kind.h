/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JobKind
 *
 * The kinds of jobs and the terms under which each runs. The parent enforces the limits; the child
 * gives up the privileges it does not need. To add a kind, add a row here and its methods to
 * order/order.h.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/capability.h>
#include "base/macro.h"
#include "job/sandbox/sandbox.h"
#include "wire/limits.h"

/* No bound beside the administrator's, [Jobs] MemoryMax=. */
#define JOB_ANY_MEMORY UINT64_MAX

/*
 * A capture needs these for other users' processes and for taskstats. Before, under sudo,
 * DAC_OVERRIDE opens a spool that does not belong to root.
 */
#define JOB_READING_CAPABILITIES                                          \
        (SANDBOX_CAPABILITY(NET_ADMIN) | SANDBOX_CAPABILITY(SYS_PTRACE) | \
         SANDBOX_CAPABILITY(DAC_READ_SEARCH))
#define JOB_CAPTURE_CAPABILITIES (JOB_READING_CAPABILITIES | SANDBOX_CAPABILITY(DAC_OVERRIDE))
/* For memory of other users' processes, and to open the very files that a process has mapped. */
#define JOB_MEMORY_CAPABILITIES                                                 \
        (SANDBOX_CAPABILITY(SYS_PTRACE) | SANDBOX_CAPABILITY(DAC_READ_SEARCH) | \
         SANDBOX_CAPABILITY(CHECKPOINT_RESTORE))
#define JOB_LOADING_CAPABILITIES (SANDBOX_CAPABILITY(BPF) | SANDBOX_CAPABILITY(PERFMON))
/* To register for exits; to receive them takes none. */
#define JOB_LISTENING_CAPABILITIES SANDBOX_CAPABILITY(NET_ADMIN)
/* For a spool, or files in it, of somebody else; a job gives up those that it does not need. */
#define JOB_SPOOL_CAPABILITIES \
        (SANDBOX_CAPABILITY(DAC_READ_SEARCH) | SANDBOX_CAPABILITY(DAC_OVERRIDE))

/* The columns are the members of JobTerms. */
// clang-format off
#define JOB_KINDS(K)                                                                               \
        K(CAPTURE,  "capture",  WHOLE, LIMIT_CAPTURE_NS,  JOB_ANY_MEMORY,                          \
          JOB_CAPTURE_CAPABILITIES, WHEN_READY,                                                    \
          SANDBOX_READ_FILES | SANDBOX_OBSERVE | SANDBOX_ASK | SANDBOX_ITERATE,                    \
          JOB_READING_CAPABILITIES, false, false, false, JOB_WAITS_ALWAYS)                         \
        K(MEMORY,   "memory",   WHOLE, LIMIT_CAPTURE_NS,  LIMIT_MEMORY_JOB_BYTES,                  \
          JOB_MEMORY_CAPABILITIES,  AT_ONCE,                                                       \
          SANDBOX_READ_FILES | SANDBOX_OBSERVE | SANDBOX_ASK | SANDBOX_READ_MEMORY,                \
          JOB_MEMORY_CAPABILITIES,  false, false, true, JOB_WAITS_NEVER)                           \
        K(LOAD,     "load",     WHOLE, LIMIT_LOAD_NS,     JOB_ANY_MEMORY,                          \
          JOB_LOADING_CAPABILITIES, AT_ONCE,    SANDBOX_READ_FILES | SANDBOX_LOAD_PROGRAMS,        \
          JOB_LOADING_CAPABILITIES, false, false, false, JOB_WAITS_NEVER)                          \
        K(FOLD,     "fold",     WHOLE, LIMIT_FOLD_NS,     LIMIT_FOLD_JOB_BYTES,                    \
          0,                        AT_ONCE,    SANDBOX_FOLD_ROWS,                                 \
          0,                        false, false, false, JOB_WAITS_NEVER)                          \
        K(LISTEN,   "listen",   NONE,  0,                 LIMIT_LISTEN_JOB_BYTES,                  \
          JOB_LISTENING_CAPABILITIES, WHEN_READY, SANDBOX_READ_FILES | SANDBOX_LISTEN,             \
          0,                        false, false, false, JOB_WAITS_NEVER)                          \
        K(FILES,    "files",    WHOLE, LIMIT_CAPTURE_NS,  LIMIT_FILE_JOB_BYTES,                    \
          0,                        AT_ONCE,    SANDBOX_RECEIVE_FILES,                             \
          0,                        true,  false, true, JOB_WAITS_NEVER)                           \
        K(RECORD,   "record",   SILENCE, LIMIT_RECORD_SILENCE_NS, LIMIT_RECORD_JOB_BYTES,          \
          JOB_MEMORY_CAPABILITIES, WHEN_READY,                                                     \
          SANDBOX_READ_FILES | SANDBOX_ASK | SANDBOX_ITERATE | SANDBOX_RECORD,                     \
          JOB_MEMORY_CAPABILITIES,  false, false, true, JOB_WAITS_NEVER)                           \
        K(UNWIND,   "unwind",   NONE,  0,                 LIMIT_UNWIND_JOB_BYTES,                  \
          0,                        AT_ONCE,    SANDBOX_RECEIVE_MANY,                              \
          0,                        true,  false, true, JOB_WAITS_NEVER)                           \
        K(ANALYSIS, "analysis", WHOLE, LIMIT_ANALYSIS_NS, JOB_ANY_MEMORY,                          \
          0,                        AT_ONCE,    0,                                                 \
          0,                        true,  false, false, JOB_WAITS_FOR_FILE)                       \
        K(SPOOL,    "spool",    WHOLE, LIMIT_ANALYSIS_NS, JOB_ANY_MEMORY,                          \
          JOB_SPOOL_CAPABILITIES,   WHEN_READY, SANDBOX_READ_FILES | SANDBOX_CHANGE_NAMES,         \
          JOB_SPOOL_CAPABILITIES,   false, true,  false, JOB_WAITS_NEVER)
// clang-format on

#define JOB_KIND_ID(id, ...) JOB_##id,
typedef enum JobKind { JOB_KINDS(JOB_KIND_ID) _JOB_KIND_MAX } JobKind;

/* How the time limit of a job is measured. */
typedef enum JobClock {
        JOB_CLOCK_WHOLE,   /* the time to the last reply */
        JOB_CLOCK_SILENCE, /* the time to the next reply: the job ends when its caller wants */
        JOB_CLOCK_NONE,    /* there is none: it waits, for as long as its caller wants */
} JobClock;

/* When a job enters its sandbox. */
typedef enum JobEntry {
        JOB_ENTERS_AT_ONCE,    /* before its method starts */
        JOB_ENTERS_WHEN_READY, /* its method enters once it has opened what it needs */
} JobEntry;

/*
 * Whether the last reply of a job counts only when its child has ended. Nobody changes a file then
 * that it has written, whoever took the child over.
 */
typedef enum JobWait {
        JOB_WAITS_NEVER,
        JOB_WAITS_FOR_FILE, /* if its order bounds the file that it writes */
        JOB_WAITS_ALWAYS,   /* it writes one, and finds the bound itself */
} JobWait;

typedef struct JobTerms {
        const char *word;
        JobClock clock;
        uint64_t time_ns;
        uint64_t max_data_bytes; /* RLIMIT_DATA, where the administrator's bound is not lower */
        uint64_t capabilities;   /* SANDBOX_CAPABILITY() of each it may keep; it drops all others */
        JobEntry entry;
        unsigned grants;      /* SandboxGrant of each, inside the sandbox */
        uint64_t kept_inside; /* of the capabilities */
        bool reads_foreign;   /* reads bytes of others: never both privileged and unfiltered */
        bool writes_spool;    /* may leave temporary files in the spool when it is killed */
        /*
         * It reads what belongs to nobody who called: one that hangs counts for no user and for no
         * other kind.
         */
        bool counts_alone;
        JobWait wait;
} JobTerms;

extern const JobTerms job_terms[_JOB_KIND_MAX];
_must_check_ bool job_kind_find(const char *word, JobKind *ret);
