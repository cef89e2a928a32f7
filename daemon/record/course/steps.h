/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Steps
 *
 * Takes the steps of a recording: reads the accounts of all threads at the end of each, and finds
 * what each group has done since the reading before. Nothing of it is sampled:
 *
 *     a thread that is there at both ends   the difference of its accounts
 *     one that was born in the step         all of its accounts
 *     one that ended in it                  what it added to its row of the ledger of exits, less
 *                                           what it had at the reading before
 *
 * So the steps add up to what is between the first reading and the last one. A thread that does not
 * live long enough to be read is in its row. A row is that of the names with which a thread ends,
 * and has all of its life: whoever takes another name and ends within one step takes with it what
 * it did before, from the steps of the old name.
 *
 * The programs go on while they are read. A reading during which no thread ends is exact; one of
 * several is tried until that is so, and otherwise counted: a thread that ended meanwhile may be in
 * both. The next reading finds that its group would have done less than nothing, and takes what is
 * too much out of the step before, which is kept back for that.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/bpf/ledger.h"
#include "kernel/bpf/task-object.h"
#include "kernel/bpf/task-table.h"
#include "record/course/course.h"
#include "record/course/sampled-times.h"

/* The receiver of the steps; its functions return 0 or -errno. */
typedef struct StepsSink {
        int (*group)(void *userdata, const CourseGroup *group); /* numbered as they come */
        int (*step)(void *userdata, const CourseStep *step);
        int (*cells)(void *userdata, const CourseCell *cells, size_t n); /* of the last step */
        void *userdata;
} StepsSink;

typedef struct StepsFacts {
        uint64_t n_unsettled; /* readings during which threads ended */
        uint64_t n_missed;    /* readings that failed: the step goes on until the next one */
        uint64_t places;      /* a bit for each RecordPlace that is counted */
} StepsFacts;

typedef struct Steps Steps;

/*
 * @main_pid: its threads and children are ctprof's own, as is the process @caller_pid (0: there is
 * none). -ENOMEM.
 */
_must_check_ int steps_new(const StepsSink *sink, pid_t main_pid, pid_t caller_pid, Steps **ret);
Steps *steps_free(Steps *steps);
DEFINE_CLEANUP(Steps *, steps_free);

/*
 * Reads the accounts, which ends a step; the first reading begins the first step. @control is the
 * page of TASK_OBJECT_CONTROL. A reading that fails is counted, and is no error. Returns -errno if
 * the sink fails.
 */
_must_check_ int steps_take(Steps *steps, const TaskObjects *objects, LedgerControl *control);
/* Tells of the last step. */
_must_check_ int steps_end(Steps *steps);
void steps_get_facts(const Steps *steps, StepsFacts *ret);

/* A reading, in parts; one that is begun anew forgets what was added. */

void steps_begin_reading(Steps *steps, const SampledTerms *terms);
_must_check_ int steps_add_tasks(Steps *steps, const TaskTable *tasks);
/* This is a LedgerVisit; @userdata is the Steps. */
_must_check_ int steps_add_row(void *userdata, const LedgerKey *key, const LedgerValues *values);
_must_check_ int steps_end_reading(Steps *steps, uint64_t now_boottime_ns);
