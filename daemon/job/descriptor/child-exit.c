/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/descriptor/child-exit.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>

#define CHILD_EXIT_STEP_MS 1

int child_exit_prepare(void) {
        sigset_t child;

        (void) sigemptyset(&child);
        (void) sigaddset(&child, SIGCHLD);
        return sigprocmask(SIG_BLOCK, &child, NULL) < 0 ? -errno : 0;
}

int child_exit_watch(sd_event *event, sd_event_source **ret, pid_t pid,
                     sd_event_child_handler_t on_exit, void *userdata) {
        sd_event_source *source = NULL;
        int r;

        r = sd_event_add_child(event, &source, pid, WEXITED, on_exit, userdata);
        if (r < 0)
                return r;
        /*
         * A child that is traced at its end is announced once before it can be reaped, so a
         * one-shot source would miss its end. Switching it off and on again ends one-shot mode.
         */
        r = sd_event_source_set_enabled(source, SD_EVENT_OFF);
        if (r == 0)
                r = sd_event_source_set_enabled(source, SD_EVENT_ON);
        if (r < 0) {
                sd_event_source_disable_unref(source);
                return r;
        }
        *ret = source;
        return 0;
}

bool child_exit_take(pid_t pid, siginfo_t *ret_status) {
        *ret_status = (siginfo_t){};
        return waitid(P_PID, (id_t) pid, ret_status, WEXITED | WNOHANG) < 0 ||
               ret_status->si_pid != 0;
}

bool child_exit_await(pid_t pid, siginfo_t *ret_status, int *timeout_ms) {
        for (; *timeout_ms > 0; *timeout_ms -= CHILD_EXIT_STEP_MS) {
                if (child_exit_take(pid, ret_status))
                        return true;
                (void) poll(NULL, 0, CHILD_EXIT_STEP_MS);
        }
        return false;
}
