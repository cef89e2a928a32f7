/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include "base/cleanup.h"
#include "capture/heap/file-job.h"

/* Answers questions of a capture job until that is done. The files do not come with the call. */
static int work_files(Work *work) {
        _cleanup_(fd_closep) int socket = -EBADF;
        const Parameter table[] = {
                { JOB_KEY_SOCKET, PARAMETER_DESCRIPTOR, true, 0 },
        };
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &socket);
        if (r != 0)
                return r;
        r = file_server_run(socket);
        if (r != 0)
                return r;
        (void) answer_begin(&work->answer);
        return answer_final(&work->answer);
}

const WorkMethod work_files_methods[] = {
        { JOB_METHOD_FILES, work_files, WORK_NEEDS_NOTHING, 0 },
        {},
};
