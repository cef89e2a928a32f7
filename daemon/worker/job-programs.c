/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/bpf/ledger.h"
#include "kernel/bpf/task-program.h"

/* Jobs that load BPF programs and keep the table of their ledger from filling. */

/*
 * Answers with kernel objects, and with @reason why there are not more, unless that is "".
 */
static int answer_objects(Work *work, const TaskObjects *objects, const char *reason) {
        ObjectsResult result = {};
        int fds[_TASK_OBJECT_MAX];

        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++) {
                if (objects->fds[i] < 0)
                        continue;
                fds[result.n] = objects->fds[i];
                result.objects[result.n++] = i;
        }
        (void) snprintf(result.reason, sizeof(result.reason), "%s", reason);
        return answer_packet(&work->answer, PACKET_RESULT,
                             (Span){ (const char *) &result, sizeof(result) }, fds, result.n);
}

int work_load(Work *work) {
        const TaskProgramOptions options = { .ledger = work->order->load.ledger,
                                             .waits = work->order->load.waits };
        _cleanup_(task_objects_done) TaskObjects objects;
        char reason[TASK_PROGRAM_REASON_BYTES];
        int r;

        objects = TASK_OBJECTS_NONE;
        r = task_program_load(&options, &objects, reason);
        return r < 0 ? r : answer_objects(work, &objects, reason);
}

/* Answers with the file that takes the place of the earlier one, or with none. */
int work_fold(Work *work) {
        _cleanup_(task_objects_done) TaskObjects given, made;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        LedgerFoldOptions options = LEDGER_FOLD_DEFAULTS;
        uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);
        int r;

        /* Rows that have not grown since are old. */
        options.idle_since_ns = now_ns - MIN_OF(now_ns, LEDGER_IDLE_NS);
        options.is_forced = work->order->fold.is_forced;
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++)
                given.fds[i] = work_take_fd(work, work->order->fold.tasks[i]);
        made = TASK_OBJECTS_NONE;
        r = ledger_open(&given, &ledger);
        if (r == 0 && (!ledger || ledger_origin(ledger) != LEDGER_FROM_PROGRAMS))
                r = -ENOENT;
        if (r == 0)
                r = ledger_fold(ledger, &options, &made.fds[TASK_OBJECT_FOLDED]);
        return r < 0 ? r : answer_objects(work, &made, "");
}
