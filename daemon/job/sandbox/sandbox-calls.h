/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SandboxCalls
 *
 * The system calls that a process in the sandbox may make. The lists hold the names of all
 * architectures; names that this one or libseccomp does not know are skipped.
 */

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

#define SANDBOX_CALL_MAX_CONDITIONS 3

typedef struct SandboxCall {
        const char *name;
        unsigned n_conditions;
        /* On an argument each; the call is refused where one of them does not hold. */
        struct scmp_arg_cmp conditions[SANDBOX_CALL_MAX_CONDITIONS];
} SandboxCall;

typedef struct SandboxCallGroup {
        unsigned grant; /* the SandboxGrant that allows these calls; 0: always allowed */
        const SandboxCall *calls;
} SandboxCallGroup;

/* All lists end with a NULL name. */
extern const SandboxCallGroup sandbox_call_groups[];
/* Refused with ENOSYS, so that the C library uses an older call whose arguments can be checked. */
extern const char *const sandbox_calls_unknown[];

/* Empty except in instrumented builds. */
extern const SandboxCall sandbox_calls_instrumented[];
/* True when stderr stays open, for reports of sanitizers. */
extern const bool sandbox_keeps_stderr;
