/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "job/descriptor/table.h"
#include "job/job-exit.h"

#define CHILD_SOCKET_FD 3

/*
 * The sanitizers' shadow memory is terabytes of private mappings, all of which count as data: any
 * limit below them forbids the first allocation.
 */
#if defined(__SANITIZE_ADDRESS__)
#define CHILD_LIMITS_DATA false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define CHILD_LIMITS_DATA false
#endif
#endif
#ifndef CHILD_LIMITS_DATA
#define CHILD_LIMITS_DATA true
#endif

/* environment */

/* The convention of varlink's "exec:" addresses; the process id is only known after fork(2). */
static const char *const socket_variables[] = {
        "LISTEN_FDS=1",
        "LISTEN_FDNAMES=varlink",
};

static const char pid_prefix[] = "LISTEN_PID=";

/* Not for children: they would speak in our name, or take our sockets for theirs. */
static bool is_ours(const char *variable) {
        static const char *const prefixes[] = { "LISTEN_", "NOTIFY_SOCKET=", "WATCHDOG_" };

        for (size_t i = 0; i < ELEMENTSOF(prefixes); i++)
                if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
                        return true;
        return false;
}

/* The first entry is the place of LISTEN_PID, with room for any number. */
int child_environment_new(char ***ret) {
        size_t n = 0, n_kept = 0;
        char **environment, *pid_entry;

        while (environ && environ[n])
                n++;
        environment = calloc(n + ELEMENTSOF(socket_variables) + 2, sizeof(char *));
        pid_entry = calloc(1, sizeof(pid_prefix) + NUMBER_U64_CHARS);
        if (!environment || !pid_entry) {
                free(environment);
                free(pid_entry);
                return -ENOMEM;
        }
        memcpy(pid_entry, pid_prefix, sizeof(pid_prefix));
        environment[n_kept++] = pid_entry;

        for (size_t i = 0; i < n + ELEMENTSOF(socket_variables); i++) {
                const char *variable = i < n ? environ[i] : socket_variables[i - n];

                if (i < n && is_ours(variable))
                        continue;
                environment[n_kept] = strdup(variable);
                if (!environment[n_kept]) {
                        child_environment_free(environment);
                        return -ENOMEM;
                }
                n_kept++;
        }
        *ret = environment;
        return 0;
}

char **child_environment_free(char **environment) {
        if (!environment)
                return NULL;
        for (char **entry = environment; *entry; entry++)
                free(*entry);
        free(environment);
        return NULL;
}

/* in the child */

static void reset_signals(void) {
        sigset_t none;

        /* Real-time signals too; those that cannot be changed say EINVAL. */
        for (int number = 1; number < NSIG; number++)
                (void) signal(number, SIG_DFL);
        /* A file past its limit is an error of write(2), which can be reported. */
        (void) signal(SIGXFSZ, SIG_IGN);
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
}

static void limit(int resource, uint64_t value) {
        struct rlimit current;

        if (getrlimit((__rlimit_resource_t) resource, &current) < 0)
                return;
        current.rlim_cur = MIN_OF((rlim_t) value, current.rlim_max);
        current.rlim_max = current.rlim_cur;
        (void) setrlimit((__rlimit_resource_t) resource, &current);
}

/*
 * Not now, because the executable is one of them. Ours are so already; who knows what we inherited.
 */
static void close_others_on_exec(void) {
        long n = sysconf(_SC_OPEN_MAX);

        if (close_range(CHILD_SOCKET_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
                return;
        for (int fd = CHILD_SOCKET_FD + 1; fd < n; fd++)
                (void) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static _noreturn_ void become(const ChildSetup *setup, char *const *environment, pid_t parent) {
        pid_t self = getpid();
        char *digits = environment[0] + sizeof(pid_prefix) - 1;

        /*
         * The signal comes when the parent dies from now on; had it died before, we are orphaned.
         */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(JOB_EXIT_EXEC);

        /* Until here it is the parent's own table. */
        if (table_split(setup->n_descriptors) < 0)
                _exit(JOB_EXIT_EXEC);
        if (setup->socket_fd == CHILD_SOCKET_FD) {
                if (fcntl(CHILD_SOCKET_FD, F_SETFD, 0) < 0)
                        _exit(JOB_EXIT_EXEC);
        } else if (dup2(setup->socket_fd, CHILD_SOCKET_FD) < 0) {
                _exit(JOB_EXIT_EXEC);
        }
        close_others_on_exec();

        if (CHILD_LIMITS_DATA)
                limit(RLIMIT_DATA, setup->max_data_bytes);
        if (setup->max_file_bytes > 0)
                limit(RLIMIT_FSIZE, setup->max_file_bytes);
        reset_signals();

        digits[number_format_u64((uint64_t) self, digits)] = '\0';
        (void) fexecve(setup->executable_fd, (char *const *) (uintptr_t) setup->arguments,
                       environment);
        _exit(JOB_EXIT_EXEC);
}

/* in the parent */

int child_start(const ChildSetup *setup, char *const *environment, pid_t *ret_pid) {
        pid_t parent = getpid(), child;

        /*
         * Until the child has executed its program the number of its socket cannot be used for
         * another; that is the time of a few system calls.
         */
        child = table_fork_exec();
        if (child < 0)
                return -errno;
        if (child == 0)
                become(setup, environment, parent);
        *ret_pid = child;
        return 0;
}
