/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job-exit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "job/spawner.h"

/* Signals that say more than their name. */
static const struct {
        int number;
        const char *text;
} signal_rows[] = {
        { SIGKILL, "was killed, most likely because memory ran out" },
        { SIGSYS, "was stopped by its sandbox: it made a system call it may not make" },
        { SIGXCPU, "used more CPU time than it may" },
        { SIGXFSZ, "wrote a larger file than it may" },
};

static const char *find_signal_text(int number) {
        for (size_t i = 0; i < ELEMENTSOF(signal_rows); i++)
                if (signal_rows[i].number == number)
                        return signal_rows[i].text;
        return NULL;
}

void job_exit_text(const char *kind, JobKill kill, uint64_t timeout_ns, const siginfo_t *status,
                   char ret[static JOB_EXIT_TEXT_BYTES]) {
        int n = snprintf(ret, JOB_EXIT_TEXT_BYTES, "The %s job ", kind);
        size_t left = JOB_EXIT_TEXT_BYTES - (size_t) n;
        const char *text;

        ret += n;
        switch (kill) {
        case JOB_KILL_DEADLINE:
                (void) snprintf(ret, left, "took longer than %" PRIu64 " s and was stopped.",
                                timeout_ns / NSEC_PER_SEC);
                return;
        case JOB_KILL_SILENT:
                (void) snprintf(ret, left,
                                "gave no sign of life for %" PRIu64 " s and was stopped.",
                                timeout_ns / NSEC_PER_SEC);
                return;
        case JOB_KILL_LINGERING:
                (void) snprintf(ret, left,
                                "was asked to end, did not within %" PRIu64 " s and was stopped.",
                                timeout_ns / NSEC_PER_SEC);
                return;
        case JOB_KILL_CANCELLED:
                (void) snprintf(ret, left, "was stopped before it could answer.");
                return;
        case JOB_KILL_STUCK:
                (void) snprintf(ret, left,
                                "took longer than %" PRIu64 " s and hangs in the kernel, where "
                                "nothing can stop it.",
                                timeout_ns / NSEC_PER_SEC);
                return;
        case JOB_KILL_NONSENSE:
                (void) snprintf(ret, left, "gave a malformed reply and was stopped.");
                return;
        case JOB_KILL_UNHEARD:
                (void) snprintf(ret, left, "was stopped: the daemon could not talk to it.");
                return;
        case JOB_KILL_NONE:
                break;
        }
        if (status->si_code == CLD_EXITED) {
                if (status->si_status == SPAWNER_EXIT_EXEC)
                        (void) snprintf(ret, left, "could not be started.");
                else
                        (void) snprintf(ret, left, "ended with status %d and without an answer.",
                                        status->si_status);
                return;
        }
        text = find_signal_text(status->si_status);
        if (text)
                (void) snprintf(ret, left, "%s.", text);
        else
                (void) snprintf(ret, left, "crashed (signal %d, %s).", status->si_status,
                                strsignal(status->si_status));
}
