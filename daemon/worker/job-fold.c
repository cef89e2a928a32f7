/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "kernel/bpf/ledger.h"

typedef struct FoldParameters {
        TaskObjects tasks; /* owned */
        bool is_forced;
} FoldParameters;

#define TASK_OBJECT_PARAMETER(id, name)      \
        { name, PARAMETER_DESCRIPTOR, false, \
          offsetof(FoldParameters, tasks.fds[TASK_OBJECT_##id]) },

/* Rows that have not grown since are old. */
static uint64_t find_idle_since(void) {
        uint64_t now_ns;

        now_ns = clock_now_ns(CLOCK_BOOTTIME);
        return now_ns - MIN_OF(now_ns, LEDGER_IDLE_NS);
}

/* Answers with the file that takes the place of the earlier one, or with none. */
static int fold(Work *work, const FoldParameters *parameters) {
        _cleanup_(task_objects_done) TaskObjects made;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        LedgerFoldOptions options = LEDGER_FOLD_DEFAULTS;
        int r;

        options.idle_since_ns = find_idle_since();
        options.is_forced = parameters->is_forced;
        task_objects_init(&made);
        r = ledger_open(&parameters->tasks, &ledger);
        if (r == 0 && (!ledger || ledger_origin(ledger) != LEDGER_FROM_PROGRAMS))
                r = -ENOENT;
        if (r == 0)
                r = ledger_fold(ledger, &options, &made.fds[TASK_OBJECT_FOLDED]);
        return r < 0 ? r : work_answer_objects(work, &made, "");
}

static int work_fold(Work *work) {
        static const Parameter table[] = {
                TASK_OBJECTS(TASK_OBJECT_PARAMETER){ JOB_KEY_FORCED, PARAMETER_BOOL, false,
                                                     offsetof(FoldParameters, is_forced) },
        };
        FoldParameters parameters = {};
        int r;

        task_objects_init(&parameters.tasks);
        r = work_decode(work, table, ELEMENTSOF(table), &parameters);
        if (r == 0)
                r = fold(work, &parameters);
        task_objects_done(&parameters.tasks);
        return r;
}

const WorkMethod work_fold_methods[] = {
        { JOB_METHOD_FOLD, work_fold, WORK_NEEDS_NOTHING, LIMIT_FOLD_FILE_BYTES },
        {},
};
