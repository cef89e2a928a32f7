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

/* Root, or with any capability: what a job that was taken over could still do matters more then. */
bool sandbox_is_privileged(void);

/*
 * Drops every capability but those of @keep, which stay where they are present, and forbids
 * programs that would be started to gain any. Of the calling thread: to be called before there are
 * others.
 */
_must_check_ int sandbox_keep_capabilities(const cap_value_t *keep, size_t n_keep);

/*
 * Enters: no capability, no core dump, no new descriptor, no file longer than @max_file_bytes, and
 * only the system calls of sandbox_calls. A refused call answers EPERM. 0, SANDBOX_E_NO_FILTER, or
 * a negative errno of what could not be given up.
 */
_must_check_ int sandbox_enter(uint64_t max_file_bytes);

/*
 * How a process inside ends, streams flushed but without exit handlers: those of instrumented
 * builds need calls that are refused.
 */
_noreturn_ void sandbox_exit(int status);
