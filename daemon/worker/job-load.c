/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include "base/cleanup.h"
#include "kernel/bpf/task-program.h"

/* Answers with a descriptor of what was loaded, or with the reason why nothing was. */
static int work_load(Work *work) {
        char reason[TASK_PROGRAM_REASON_BYTES];
        int r, fd = -EBADF;

        r = work_decode(work, NULL, 0, NULL);
        if (r == 0)
                r = task_program_load(&fd, reason);
        if (r < 0)
                return r;
        if (r > 0) {
                json_write_member_text(answer_begin(&work->answer), JOB_KEY_REASON, reason);
                return answer_final(&work->answer);
        }
        json_write_member_u64(answer_begin(&work->answer), JOB_KEY_TASKS, 0);
        return answer_final_descriptor(&work->answer, TAKE_FD(fd));
}

const WorkMethod work_load_methods[] = {
        { JOB_METHOD_LOAD, work_load, WORK_NEEDS_NOTHING, 0 },
        {},
};
