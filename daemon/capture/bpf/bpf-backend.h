/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The bpf backend: the threads of the host as one pass of the task iterator found them
 * (kernel/bpf/task-table.h), before the walk. It reads files only for what a task does not tell:
 * the path of a cgroup, the long names of some threads of the kernel.
 */

#include "capture/batch/backend.h"

extern const Backend bpf_backend;
