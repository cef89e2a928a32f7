/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chosen for builds with sanitizers: what their run time calls, also to report what it found. */
#include "job/sandbox/sandbox-calls.h"

// clang-format off
const SandboxCall sandbox_calls_instrumented[] = {
        { .name = "sigaltstack" }, { .name = "rt_sigaction" }, { .name = "prctl" },
        { .name = "readlink" }, { .name = "readlinkat" }, { .name = "prlimit64" },
        { .name = "getrlimit" }, { .name = "sched_getaffinity" }, { .name = "tgkill" },
        {},
};
// clang-format on
