/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JobExit
 *
 * Why a child ended, as one sentence for people. Pure.
 */

#include <signal.h>
#include <stdint.h>

#define JOB_EXIT_TEXT_BYTES 256

/* What the parent itself did to the child. */
typedef enum JobKill {
        JOB_KILL_NONE,
        JOB_KILL_DEADLINE,
        JOB_KILL_SILENT,    /* it gave no reply for too long */
        JOB_KILL_LINGERING, /* it was asked to come to an end and did not */
        JOB_KILL_CANCELLED, /* it was asked twice */
        JOB_KILL_NONSENSE,  /* it sent something other than a reply */
        JOB_KILL_STUCK,     /* past its deadline, and killed in vain */
        JOB_KILL_UNHEARD,   /* its socket failed: most likely memory ran out */
} JobKill;

/* @status: of waitid(2), si_code and si_status. */
void job_exit_text(const char *kind, JobKill kill, uint64_t timeout_ns, const siginfo_t *status,
                   char ret[static JOB_EXIT_TEXT_BYTES]);
