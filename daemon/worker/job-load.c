/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include "base/cleanup.h"
#include "kernel/bpf/task-program.h"

typedef struct LoadParameters {
        bool ledger, waits;
} LoadParameters;

/*
 * Answers with the names of the objects that were loaded, whose descriptors are those of the reply
 * in the same order, and with the reason why there are not more.
 */
static int answer_objects(Work *work, TaskObjects *objects, const char *reason) {
        static const char *const names[] = TASK_OBJECT_NAMES;
        JsonWriter *writer = answer_begin(&work->answer);
        int fds[_TASK_OBJECT_MAX];
        size_t n = 0;

        json_write_key(writer, JOB_KEY_TASKS);
        json_write_array(writer);
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++) {
                if (objects->fds[i] < 0)
                        continue;
                json_write_text(writer, names[i]);
                fds[n++] = TAKE_FD(objects->fds[i]);
        }
        json_write_end(writer);
        if (reason[0] != '\0')
                json_write_member_text(writer, JOB_KEY_REASON, reason);
        return answer_final_descriptors(&work->answer, fds, n);
}

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
        return r < 0 ? r : answer_objects(work, &objects, reason);
}

const WorkMethod work_load_methods[] = {
        { JOB_METHOD_LOAD, work_load, WORK_NEEDS_NOTHING, 0 },
        {},
};
