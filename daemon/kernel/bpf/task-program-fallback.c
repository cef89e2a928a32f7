/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/task-program.h"

#include <stdio.h>

int task_program_load(const TaskProgramOptions *options, TaskObjects *ret,
                      char ret_reason[static TASK_PROGRAM_REASON_BYTES]) {
        *ret = TASK_OBJECTS_NONE;
        (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                        "this ctprofd was built without BPF (-Dbpf=disabled)");
        return TASK_PROGRAM_E_NOT_BUILT;
}
