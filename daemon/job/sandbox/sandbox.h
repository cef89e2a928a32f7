/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sandbox
 *
 * Gives up the privileges that a job does not need before it reads bytes that somebody else wrote.
 * Inside the sandbox a process can compute, allocate memory and use the descriptors it already has;
 * it cannot get another one, start a program, or learn about the host. There is no way back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/capability.h>
#include "base/macro.h"

enum {
        SANDBOX_OK,
        SANDBOX_E_NO_FILTER, /* the kernel has no seccomp filters; everything else is in place */
};

/* Whether this process is root or has any capability that an attacker could use. */
bool sandbox_is_privileged(void);

/* A capability as one bit of a set: SANDBOX_CAPABILITY(SYS_PTRACE). */
#define SANDBOX_CAPABILITY(name) (UINT64_C(1) << CAP_##name)

typedef enum SandboxFilter {
        SANDBOX_OPEN, /* no filter: only capabilities are given up */
        /*
         * No core dump, no new descriptor, no file longer than the bound, and only the system calls
         * of sandbox_calls. A refused call fails with EPERM.
         */
        SANDBOX_DESCRIPTORS_ONLY,
} SandboxFilter;

/*
 * Enters the sandbox. Drops every capability that is not in the set @keep; programs started from
 * here cannot gain any. This applies to the calling thread only, so call it before there are other
 * threads. 0, SANDBOX_E_NO_FILTER, or the negative errno of the step that failed.
 */
_must_check_ int sandbox_enter(SandboxFilter filter, uint64_t keep, uint64_t max_file_bytes);

/*
 * Ends a process inside the sandbox: flushes streams but runs no exit handlers, because the
 * handlers of instrumented builds make calls that are refused.
 */
_noreturn_ void sandbox_exit(int status);
