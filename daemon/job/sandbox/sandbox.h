/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sandbox
 *
 * What a job gives up before it touches bytes that somebody else wrote. Inside the sandbox a
 * process can compute, allocate, and use the descriptors it already has; it cannot get another one,
 * start a program, or learn about the host. There is no way back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/capability.h>
#include "base/macro.h"

enum {
        SANDBOX_OK,
        SANDBOX_E_NO_FILTER, /* the kernel has no seccomp filter: all the rest is in place */
};

/* Root, or with any capability: an attacker who took over such a process could do more. */
bool sandbox_is_privileged(void);

/* As a bit of a set: SANDBOX_CAPABILITY(SYS_PTRACE). */
#define SANDBOX_CAPABILITY(name) (UINT64_C(1) << CAP_##name)

typedef enum SandboxFilter {
        SANDBOX_OPEN, /* none: only capabilities are given up */
        /*
         * No core dump, no new descriptor, no file longer than the bound, and only the system calls
         * of sandbox_calls. A refused call fails with EPERM.
         */
        SANDBOX_DESCRIPTORS_ONLY,
} SandboxFilter;

/*
 * Enters. Every capability but those in the set @keep is dropped; those stay where they are
 * present. Programs started from here cannot gain any. This concerns the calling thread, so it has
 * to come before there are others. 0, SANDBOX_E_NO_FILTER, or the negative errno of what could not
 * be given up.
 */
_must_check_ int sandbox_enter(SandboxFilter filter, uint64_t keep, uint64_t max_file_bytes);

/*
 * Ends a process inside the sandbox: flushes streams but runs no exit handlers, because the
 * handlers of instrumented builds make calls that are refused.
 */
_noreturn_ void sandbox_exit(int status);
