/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/descriptor/child.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CHILD_EXIT_STEP_MS 1

/* glibc has no name for a child that shares descriptors and nothing else; see clone(2), NOTES. */
pid_t child_fork(bool executes) {
        unsigned long flags = CLONE_FILES | (executes ? CLONE_VFORK : 0) | SIGCHLD;

#if defined(__s390__)
        return (pid_t) syscall(SYS_clone, NULL, flags, NULL, NULL, NULL);
#else
        return (pid_t) syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
#endif
}

int child_split_table(int n_kept) {
        if (close_range((unsigned) n_kept, ~0u, CLOSE_RANGE_UNSHARE) == 0)
                return 0;
        /* Linux before 5.9 can only copy the whole table. */
        return errno == ENOSYS && unshare(CLONE_FILES) == 0 ? 0 : -errno;
}

int child_exit_watch(sd_event *event, sd_event_source **ret, pid_t pid,
                     sd_event_child_handler_t on_exit, void *userdata) {
        _cleanup_(sd_event_source_disable_unrefp) sd_event_source *source = NULL;
        int r;

        r = sd_event_add_child(event, &source, pid, WEXITED, on_exit, userdata);
        if (r < 0)
                return r;
        /*
         * A child that is traced at its end is announced once before it can be reaped, so a
         * one-shot source would miss its end. Switching it off and on again ends one-shot mode.
         */
        r = sd_event_source_set_enabled(source, SD_EVENT_OFF);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(source, SD_EVENT_ON);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(source);
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
