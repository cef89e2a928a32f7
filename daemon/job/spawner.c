/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/spawner.h"

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

#include "base/number.h"
#include "job/descriptor/child.h"
#include "job/sandbox/sandbox.h"

#define SPAWNER_SOCKET_FD 3
/*
 * The executable and the slot are the last descriptors that children get, because the table can be
 * cut off behind them. In a child the executable must not have the number of the socket.
 */
#define SPAWNER_LOWEST_FD (CHILD_TABLE_GRAIN - 2)

/*
 * The sanitizers' shadow memory is terabytes of private mappings, all of which count as data: any
 * limit below them forbids the first allocation.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SPAWNER_LIMITS_DATA false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SPAWNER_LIMITS_DATA false
#endif
#endif
#ifndef SPAWNER_LIMITS_DATA
#define SPAWNER_LIMITS_DATA true
#endif

struct Spawner {
        int executable_fd;
        int slot_fd; /* a duplicate of the child's socket while the child starts */
        int n_low;   /* children get the descriptors below this number */
        int old_fd;  /* the number that the executable came with; it stays occupied */
        int *fillers;
        size_t n_fillers;
        char *name;
        char **environment;
};

/* The convention of varlink's "exec:" addresses; the process id is only known after fork(2). */
static const char *const socket_variables[] = {
        "LISTEN_FDS=1",
        "LISTEN_FDNAMES=varlink",
};

static const char pid_prefix[] = "LISTEN_PID=";

/* life */

int spawner_new(int executable_fd, const char *name, Spawner **ret) {
        /* With one of these a child would speak to the service manager in our name. */
        static const char *const ours[] = { "LISTEN_", "NOTIFY_SOCKET=", "WATCHDOG_" };
        _cleanup_(spawner_freep) Spawner *spawner = NULL;
        size_t n = 0, n_kept = 0;

        spawner = malloc(sizeof(*spawner));
        if (!spawner)
                return -ENOMEM;
        *spawner = (Spawner){ .executable_fd = -EBADF, .slot_fd = -EBADF, .old_fd = -EBADF };

        spawner->name = strdup(name);
        if (!spawner->name)
                return -ENOMEM;
        while (environ && environ[n])
                n++;
        spawner->environment = calloc(n + ELEMENTSOF(socket_variables) + 2, sizeof(char *));
        if (!spawner->environment)
                return -ENOMEM;
        /* The first entry is LISTEN_PID, with room for any number. */
        spawner->environment[n_kept] = calloc(1, sizeof(pid_prefix) + NUMBER_U64_CHARS);
        if (!spawner->environment[n_kept])
                return -ENOMEM;
        memcpy(spawner->environment[n_kept++], pid_prefix, sizeof(pid_prefix));

        for (size_t i = 0; i < n + ELEMENTSOF(socket_variables); i++) {
                const char *variable = i < n ? environ[i] : socket_variables[i - n];

                for (size_t k = 0; k < ELEMENTSOF(ours) && i < n && variable; k++)
                        if (strncmp(variable, ours[k], strlen(ours[k])) == 0)
                                variable = NULL;
                if (!variable)
                        continue;
                spawner->environment[n_kept] = strdup(variable);
                if (!spawner->environment[n_kept++])
                        return -ENOMEM;
        }

        spawner->executable_fd = fcntl(executable_fd, F_DUPFD_CLOEXEC, SPAWNER_LOWEST_FD);
        if (spawner->executable_fd < 0)
                return -errno;
        spawner->slot_fd = fcntl(executable_fd, F_DUPFD_CLOEXEC, SPAWNER_LOWEST_FD);
        if (spawner->slot_fd < 0)
                return -errno;
        spawner->n_low = MAX_OF(spawner->executable_fd, spawner->slot_fd) + 1;
        spawner->n_low +=
                (CHILD_TABLE_GRAIN - spawner->n_low % CHILD_TABLE_GRAIN) % CHILD_TABLE_GRAIN;
        spawner->fillers = calloc((size_t) spawner->n_low, sizeof(int));
        if (!spawner->fillers)
                return -ENOMEM;
        /* Occupies every free descriptor number that children would get. */
        for (;;) {
                int fd = fcntl(spawner->slot_fd, F_DUPFD_CLOEXEC, 0);

                if (fd < 0)
                        return -errno;
                if (fd >= spawner->n_low) {
                        (void) fd_close(fd);
                        break;
                }
                spawner->fillers[spawner->n_fillers++] = fd;
        }
        /* @executable_fd may be one of the low numbers, which have to stay occupied. */
        if (dup3(spawner->slot_fd, executable_fd, O_CLOEXEC) < 0)
                return -errno;
        spawner->old_fd = executable_fd;

        *ret = TAKE_PTR(spawner);
        return 0;
}

Spawner *spawner_free(Spawner *spawner) {
        if (!spawner)
                return NULL;
        for (char **entry = spawner->environment; entry && *entry; entry++)
                free(*entry);
        free(spawner->environment);
        for (size_t i = 0; i < spawner->n_fillers; i++)
                (void) fd_close(spawner->fillers[i]);
        free(spawner->fillers);
        (void) fd_close(spawner->old_fd);
        (void) fd_close(spawner->slot_fd);
        (void) fd_close(spawner->executable_fd);
        free(spawner->name);
        free(spawner);
        return NULL;
}

/* in the child */

static _noreturn_ void become(const Spawner *spawner, const char *argument, uint64_t max_data_bytes,
                              uint64_t max_file_bytes, pid_t parent) {
        char *digits = spawner->environment[0] + sizeof(pid_prefix) - 1;
        const char *const arguments[] = { spawner->name, argument, NULL };
        sigset_t none;

        /* The signal covers a parent that dies later, getppid() one that is dead already. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(SPAWNER_EXIT_EXEC);

        /* Until now the child shared the parent's descriptor table. */
        if (child_split_table(spawner->n_low) < 0 || dup2(spawner->slot_fd, SPAWNER_SOCKET_FD) < 0)
                _exit(SPAWNER_EXIT_EXEC);
        /*
         * The executable is one of these descriptors, so they cannot be closed before execve(2).
         * Our own are close-on-exec already; inherited ones may not be.
         */
        if (close_range(SPAWNER_SOCKET_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                for (int fd = SPAWNER_SOCKET_FD + 1; fd < sysconf(_SC_OPEN_MAX); fd++)
                        (void) fcntl(fd, F_SETFD, FD_CLOEXEC);

        if (SPAWNER_LIMITS_DATA)
                (void) !sandbox_limit(RLIMIT_DATA, max_data_bytes);
        if (max_file_bytes > 0)
                (void) !sandbox_limit(RLIMIT_FSIZE, max_file_bytes);

        /* This includes the real-time signals; it fails for the two that cannot be changed. */
        for (int number = 1; number < NSIG; number++)
                (void) signal(number, SIG_DFL);
        /* Writing past the limit of a file is then an error of write(2), which can be reported. */
        (void) signal(SIGXFSZ, SIG_IGN);
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);

        digits[number_format_u64((uint64_t) getpid(), digits)] = '\0';
        (void) fexecve(spawner->executable_fd, (char *const *) (uintptr_t) arguments,
                       spawner->environment);
        _exit(SPAWNER_EXIT_EXEC);
}

/* in the parent */

int spawner_start(Spawner *spawner, const char *argument, int socket_fd, uint64_t max_data_bytes,
                  uint64_t max_file_bytes, pid_t *ret_pid) {
        pid_t parent = getpid(), child;
        int r = 0;

        if (dup3(socket_fd, spawner->slot_fd, O_CLOEXEC) < 0)
                return -errno;
        child = child_fork(true);
        if (child == 0)
                become(spawner, argument, max_data_bytes, max_file_bytes, parent);
        if (child < 0)
                r = -errno;
        else
                *ret_pid = child;
        /* Closes our duplicate of the socket. Overwriting a number that is in use cannot fail. */
        (void) dup3(spawner->executable_fd, spawner->slot_fd, O_CLOEXEC);
        return r;
}
