/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/bpf/clock-event.h"
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

/* A host can have more CPUs than one message has descriptors, or this job may open. */
static int tell_clocks(Work *work, int program) {
        int fds[LIMIT_CLOCKS_AT_ONCE], opened = 0, r = 0;
        unsigned cpu = 0;
        size_t n;

        do {
                opened = clock_events_open(program, &cpu, fds, LIMIT_CLOCKS_AT_ONCE, &n);
                if (n > 0)
                        r = answer_packet(&work->answer, PACKET_CLOCKS, (Span){}, fds, n);
                for (size_t i = 0; i < n; i++)
                        (void) close(fds[i]);
        } while (r == 0 && opened == 0 && n > 0);
        return r;
}

/* Programs that were loaded by an earlier process need new clocks: nothing keeps those. */
int work_load(Work *work) {
        _cleanup_(task_objects_done) TaskObjects objects;
        _cleanup_(fd_closep) int clock = work_take_fd(work, work->order->load.clock);
        char reason[TASK_PROGRAM_REASON_BYTES] = "";
        int program, r = 0;

        objects = TASK_OBJECTS_NONE;
        if (clock < 0)
                r = task_program_load(&work->order->load.programs, &objects, reason);
        program = clock >= 0 ? clock : objects.fds[TASK_OBJECT_CLOCK];
        /* Without them running time has no stacks: a recording says so. */
        if (r >= 0 && program >= 0)
                r = tell_clocks(work, program);
        return r >= 0 ? answer_objects(work, &objects, reason) : r;
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
