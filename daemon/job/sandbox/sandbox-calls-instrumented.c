/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For builds with sanitizers: their run time makes these calls, also to report its findings. */
#include "job/sandbox/sandbox-calls.h"

// clang-format off
const SandboxCall sandbox_calls_instrumented[] = {
        { .name = "sigaltstack" }, { .name = "rt_sigaction" }, { .name = "prctl" },
        { .name = "readlink" }, { .name = "readlinkat" }, { .name = "getrlimit" },
        /* of itself */
        { .name = "prlimit64",
          .n_conditions = 1,
          .conditions = { { .arg = 0, .op = SCMP_CMP_EQ, .datum_a = 0 } } },
        { .name = "sched_getaffinity" }, { .name = "tgkill" },
        {},
};
// clang-format on
const bool sandbox_keeps_stderr = true;
