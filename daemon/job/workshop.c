/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/workshop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "job/child.h"
#include "job/job.h"
#include "wire/limits.h"

/* In a child the executable must not lie where the socket goes. */
#define WORKSHOP_LOWEST_FD 10
/* For killed children to be gone when the workshop closes; the kernel reaps the rest. */
#define WORKSHOP_FAREWELL_MS 1000
#define WORKSHOP_FAREWELL_STEP_MS 10

struct Workshop {
        sd_event *event;
        int executable_fd;
        char *name;
        char **environment;
        Job **jobs;
        size_t n_jobs, n_allocated;
        uint64_t max_data_bytes;
};

int workshop_new(sd_event *event, int executable_fd, const char *name, Workshop **ret) {
        _cleanup_(workshop_freep) Workshop *workshop = NULL;
        sigset_t child;
        int r;

        workshop = malloc(sizeof(*workshop));
        if (!workshop)
                return -ENOMEM;
        *workshop = (Workshop){
                .event = sd_event_ref(event),
                .executable_fd = -EBADF,
                .max_data_bytes = LIMIT_JOB_MEMORY_BYTES,
        };

        workshop->name = strdup(name);
        if (!workshop->name)
                return -ENOMEM;
        r = child_environment_new(&workshop->environment);
        if (r < 0)
                return r;
        (void) sigemptyset(&child);
        (void) sigaddset(&child, SIGCHLD);
        if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
                return -errno;
        workshop->executable_fd = fcntl(executable_fd, F_DUPFD_CLOEXEC, WORKSHOP_LOWEST_FD);
        if (workshop->executable_fd < 0)
                return -errno;
        (void) fd_close(executable_fd);

        *ret = TAKE_PTR(workshop);
        return 0;
}

/*
 * The last wait of the process, and a bounded one: the first child that hangs uses it up. One that
 * is traced (by a leak checker at its exit, say) has ended some time before it can be reaped.
 */
static void await_end(const Job *job, int *timeout_ms) {
        siginfo_t status = {};

        for (; *timeout_ms > 0; *timeout_ms -= WORKSHOP_FAREWELL_STEP_MS) {
                if (waitid(P_PID, (id_t) job_pid(job), &status, WEXITED | WNOHANG) < 0 ||
                    status.si_pid != 0)
                        return;
                (void) poll(NULL, 0, WORKSHOP_FAREWELL_STEP_MS);
        }
}

Workshop *workshop_free(Workshop *workshop) {
        int timeout_ms = WORKSHOP_FAREWELL_MS;

        if (!workshop)
                return NULL;

        for (size_t i = 0; i < workshop->n_jobs; i++)
                job_kill(workshop->jobs[i]);
        while (workshop->n_jobs > 0) {
                await_end(workshop->jobs[0], &timeout_ms);
                (void) job_destroy(workshop->jobs[0]); /* which removes it */
        }
        free(workshop->jobs);
        (void) child_environment_free(workshop->environment);
        (void) fd_close(workshop->executable_fd);
        free(workshop->name);
        sd_event_unref(workshop->event);
        free(workshop);
        return NULL;
}

void workshop_set_memory(Workshop *workshop, uint64_t max_bytes) {
        workshop->max_data_bytes = max_bytes;
}

size_t workshop_n_children(const Workshop *workshop) {
        return workshop->n_jobs;
}

size_t workshop_get_pids(const Workshop *workshop, pid_t *ret_pids, size_t n) {
        size_t n_pids = MIN_OF(n, workshop->n_jobs);

        for (size_t i = 0; i < n_pids; i++)
                ret_pids[i] = job_pid(workshop->jobs[i]);
        return n_pids;
}

sd_event *workshop_event(const Workshop *workshop) {
        return workshop->event;
}

int workshop_spawn(Workshop *workshop, const char *kind, int socket_fd, uint64_t max_file_bytes,
                   pid_t *ret_pid) {
        char option[64];
        const char *arguments[] = { workshop->name, option, NULL };
        const ChildSetup setup = {
                .executable_fd = workshop->executable_fd,
                .socket_fd = socket_fd,
                .arguments = arguments,
                .max_data_bytes = workshop->max_data_bytes,
                .max_file_bytes = max_file_bytes,
        };

        (void) snprintf(option, sizeof(option), "--job=%s", kind);
        return child_start(&setup, workshop->environment, ret_pid);
}

int workshop_add(Workshop *workshop, Job *job) {
        if (workshop->n_jobs == workshop->n_allocated) {
                size_t n = workshop->n_allocated > 0 ? 2 * workshop->n_allocated : 8;
                Job **jobs = realloc(workshop->jobs, n * sizeof(Job *));

                if (!jobs)
                        return -ENOMEM;
                workshop->jobs = jobs;
                workshop->n_allocated = n;
        }
        workshop->jobs[workshop->n_jobs++] = job;
        return 0;
}

void workshop_remove(Workshop *workshop, const Job *job) {
        size_t i = 0;

        while (workshop->jobs[i] != job)
                i++;
        workshop->jobs[i] = workshop->jobs[--workshop->n_jobs];
}
