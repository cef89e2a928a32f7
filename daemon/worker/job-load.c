/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include "base/cleanup.h"
#include "kernel/bpf/task-program.h"

typedef struct LoadParameters {
        bool ledger, waits;
} LoadParameters;

static int work_load(Work *work) {
        static const Parameter table[] = {
                { JOB_KEY_LEDGER, PARAMETER_BOOL, false, offsetof(LoadParameters, ledger) },
                { JOB_KEY_WAITS, PARAMETER_BOOL, false, offsetof(LoadParameters, waits) },
        };
        _cleanup_(task_objects_done) TaskObjects objects;
        LoadParameters parameters = { .ledger = true, .waits = true };
        char reason[TASK_PROGRAM_REASON_BYTES];
        int r;

        task_objects_init(&objects);
        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r == 0)
                r = task_program_load(&(TaskProgramOptions){ .ledger = parameters.ledger,
                                                             .waits = parameters.waits },
                                      &objects, reason);
        return r < 0 ? r : work_answer_objects(work, &objects, reason);
}

const WorkMethod work_load_methods[] = {
        { JOB_METHOD_LOAD, work_load, WORK_NEEDS_NOTHING, 0 },
        {},
};
