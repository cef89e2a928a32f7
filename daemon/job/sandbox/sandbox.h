/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sandbox
 *
 * Gives up the privileges that a job does not need before it reads bytes that somebody else wrote.
 * Inside the sandbox a process can compute, allocate memory and use the descriptors it already has,
 * and what its grants allow; it cannot start a program or get a socket. There is no way back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/capability.h>
#include <sys/stat.h>
#include "base/macro.h"
#include "job/sandbox/sandbox-grant.h"

enum {
        SANDBOX_OK,
        SANDBOX_E_NO_FILTER, /* the kernel has no seccomp filters; everything else is in place */
};

/* The number of descriptors that a process with SANDBOX_RECEIVE_MANY may have. */
#define SANDBOX_RECEIVED_MANY_MAX 4096

/* True when this process is root or has any capability that an attacker could use. */
bool sandbox_is_privileged(void);

/* True when this kernel has seccomp filters. */
bool sandbox_has_filters(void);

/* A capability as one bit of a set: SANDBOX_CAPABILITY(SYS_PTRACE). */
#define SANDBOX_CAPABILITY(name) (UINT64_C(1) << CAP_##name)

/* Drops every capability that is not in the set @keep; programs started from here gain none. */
_must_check_ int sandbox_limit_capabilities(uint64_t keep);

/* Sets the soft and hard limit of @resource to @bound, or to the hard one if that is lower. */
_must_check_ int sandbox_limit(int resource, uint64_t bound);

/* True when this process has all of them. */
bool sandbox_has_capabilities(uint64_t set);
/*
 * Gives up the capabilities in @drop for ever, also for programs that are started from here, and
 * keeps all others. The capabilities in @drop leave the bounding set, too, if that is allowed: it
 * takes CAP_SETPCAP. If it is not allowed, they stay gone because no program gains privileges any
 * more (PR_SET_NO_NEW_PRIVS).
 */
_must_check_ int sandbox_drop_capabilities(uint64_t drop);

/*
 * Enters the sandbox: no core dump, no output to what were stdin, stdout and stderr, no file longer
 * than @max_file_bytes (0: as before), the capabilities @keep and no other, and only the system
 * calls that @grants (SandboxGrant) allow. Without grants there is no new descriptor either, and
 * with SANDBOX_RECEIVE_FILES alone there are a few that somebody sends. A refused call fails with
 * EPERM, or with ENOSYS where the C library then makes one that is allowed.
 *
 * This applies to the calling thread and those it starts, so call it before there are others.
 * 0, SANDBOX_E_NO_FILTER, or the negative errno of the step that failed.
 */
_must_check_ int sandbox_enter(unsigned grants, uint64_t keep, uint64_t max_file_bytes);

/*
 * fstat(2) of a process in the sandbox. The C library makes another system call of it, which takes
 * a path too, and is therefore refused. -errno.
 */
_must_check_ int sandbox_fstat(int fd, struct stat *ret);

/*
 * Ends a process inside the sandbox: flushes streams but runs no exit handlers, because the
 * handlers of instrumented builds make calls that are refused.
 */
_noreturn_ void sandbox_exit(int status);
