/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/descriptor/table.h"

#include <errno.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc has no name for a child that shares descriptors and nothing else; see clone(2), NOTES. */
static pid_t clone_with(unsigned long flags) {
#if defined(__s390__)
        return (pid_t) syscall(SYS_clone, NULL, flags | SIGCHLD, NULL, NULL, NULL);
#else
        return (pid_t) syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
#endif
}

pid_t table_fork(void) {
        return clone_with(CLONE_FILES);
}

pid_t table_fork_exec(void) {
        return clone_with(CLONE_FILES | CLONE_VFORK);
}

int table_split(int n_kept) {
        if (close_range((unsigned) n_kept, ~0u, CLOSE_RANGE_UNSHARE) == 0)
                return 0;
        /* Before Linux 5.9: a whole copy after all. */
        return errno == ENOSYS && unshare(CLONE_FILES) == 0 ? 0 : -errno;
}
