/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SandboxCalls
 *
 * The system calls that a process in the sandbox may make. The list holds the names of all
 * architectures; names that this one or libseccomp does not know are skipped. None of the calls
 * gives access to anything that the process did not have open when it entered.
 */

#include <seccomp.h>
#include <stddef.h>

typedef struct SandboxCall {
        const char *name;
        unsigned n_conditions;
        struct scmp_arg_cmp
                condition; /* on one argument; the call is refused where it does not hold */
} SandboxCall;

/* The second list is empty except in instrumented builds. Both end with a NULL name. */
extern const SandboxCall sandbox_calls[];
extern const SandboxCall sandbox_calls_instrumented[];
