/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SandboxCalls
 *
 * The system calls a process in the sandbox may make, by name: a name that this architecture or
 * libseccomp does not know is left out, so the list holds the spellings of all of them. None gives
 * access to anything that the process did not have open when it entered.
 */

#include <seccomp.h>
#include <stddef.h>

typedef struct SandboxCall {
        const char *name;
        unsigned n_conditions;
        struct scmp_arg_cmp
                condition; /* on one argument; the call is refused where it does not hold */
} SandboxCall;

/* The first part everywhere, the second only in instrumented builds; both end in a NULL name. */
extern const SandboxCall sandbox_calls[];
extern const SandboxCall sandbox_calls_instrumented[];
