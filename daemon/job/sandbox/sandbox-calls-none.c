/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For builds without sanitizers, which need no further calls. */
#include "job/sandbox/sandbox-calls.h"

const SandboxCall sandbox_calls_instrumented[] = { {} };
const bool sandbox_keeps_stderr = false;
