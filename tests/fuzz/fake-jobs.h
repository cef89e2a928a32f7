/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FakeJobs
 *
 * The jobs of a service without processes: this stands in for daemon/job at the link. What starts
 * waits here until it is told what to answer, so that every order of events can be had.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/span.h"
#include "job/job.h"

typedef enum FakeJobAct {
        FAKE_JOB_PART,   /* a reply that others follow */
        FAKE_JOB_RESULT, /* the last reply */
        FAKE_JOB_FILE,   /* the same with a descriptor */
        FAKE_JOB_ERROR,
        FAKE_JOB_END,          /* without a last reply */
        FAKE_JOB_YOUNGEST_END, /* the same of the last that started */
        FAKE_JOB_NOTE,         /* it asks for a job that parses files */
} FakeJobAct;

/* What a new service starts them in. */
JobPool *fake_jobs_pool(void);
/* Jobs that have neither ended nor been freed. */
size_t fake_jobs_n(void);
/*
 * The first of them that is not paused and for which @act makes sense does it; @parameters: of the
 * reply, empty for what suits its method. False when there is none.
 */
bool fake_jobs_act(FakeJobAct act, Span parameters);
/* From now on the next @n do not start. */
void fake_jobs_fail_next(unsigned n);
