/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/workshop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/descriptor/child-exit.h"
#include "job/descriptor/table.h"
#include "job/child.h"
#include "job/job.h"
#include "wire/limits.h"

/*
 * The last of those that children get, where tables can be cut off; in a child the executable must
 * not lie where the socket goes.
 */
#define WORKSHOP_LOWEST_FD (TABLE_GRAIN - 2)
/* For killed children to be gone when the workshop closes; the kernel reaps the rest. */
#define WORKSHOP_FAREWELL_MS 1000

struct Workshop {
        sd_event *event;
        Disposal *disposal; /* borrowed */
        int executable_fd;
        int slot_fd; /* where the socket of a child lies while it starts */
        int n_low;   /* descriptors that a child gets, these two included */
        int old_fd;  /* where the executable was */
        int *fillers;
        size_t n_fillers;
        char *name;
        char **environment;
        Job **jobs;
        size_t n_jobs, n_allocated;
        uint64_t max_data_bytes;
        WorkshopKilled on_killed;
        void *userdata;
};

/* Takes every free number among those that children get. */
static int fill_low(Workshop *workshop) {
        workshop->fillers = calloc((size_t) workshop->n_low, sizeof(int));
        if (!workshop->fillers)
                return -ENOMEM;
        for (;;) {
                int fd = fcntl(workshop->slot_fd, F_DUPFD_CLOEXEC, 0);

                if (fd < 0)
                        return -errno;
                if (fd >= workshop->n_low) {
                        (void) fd_close(fd);
                        return 0;
                }
                workshop->fillers[workshop->n_fillers++] = fd;
        }
}

int workshop_new(sd_event *event, Disposal *disposal, int executable_fd, const char *name,
                 Workshop **ret) {
        _cleanup_(workshop_freep) Workshop *workshop = NULL;
        int r;

        workshop = malloc(sizeof(*workshop));
        if (!workshop)
                return -ENOMEM;
        *workshop = (Workshop){
                .event = sd_event_ref(event),
                .disposal = disposal,
                .executable_fd = -EBADF,
                .slot_fd = -EBADF,
                .old_fd = -EBADF,
                .max_data_bytes = LIMIT_JOB_MEMORY_BYTES,
        };

        workshop->name = strdup(name);
        if (!workshop->name)
                return -ENOMEM;
        r = child_environment_new(&workshop->environment);
        if (r < 0)
                return r;
        r = child_exit_prepare();
        if (r < 0)
                return r;
        workshop->executable_fd = fcntl(executable_fd, F_DUPFD_CLOEXEC, WORKSHOP_LOWEST_FD);
        if (workshop->executable_fd < 0)
                return -errno;
        workshop->slot_fd = fcntl(executable_fd, F_DUPFD_CLOEXEC, WORKSHOP_LOWEST_FD);
        if (workshop->slot_fd < 0)
                return -errno;
        workshop->n_low = MAX_OF(workshop->executable_fd, workshop->slot_fd) + 1;
        workshop->n_low += (TABLE_GRAIN - workshop->n_low % TABLE_GRAIN) % TABLE_GRAIN;
        r = fill_low(workshop);
        if (r < 0)
                return r;
        /* Its number may be one of them. */
        if (dup3(workshop->slot_fd, executable_fd, O_CLOEXEC) < 0)
                return -errno;
        workshop->old_fd = executable_fd;

        *ret = TAKE_PTR(workshop);
        return 0;
}

Workshop *workshop_free(Workshop *workshop) {
        int timeout_ms = WORKSHOP_FAREWELL_MS;
        siginfo_t status;

        if (!workshop)
                return NULL;

        for (size_t i = 0; i < workshop->n_jobs; i++)
                job_kill(workshop->jobs[i]);
        while (workshop->n_jobs > 0) {
                (void) child_exit_await(job_pid(workshop->jobs[0]), &status, &timeout_ms);
                (void) job_destroy(workshop->jobs[0]); /* which removes it */
        }
        free(workshop->jobs);
        (void) child_environment_free(workshop->environment);
        for (size_t i = 0; i < workshop->n_fillers; i++)
                (void) fd_close(workshop->fillers[i]);
        free(workshop->fillers);
        (void) fd_close(workshop->old_fd);
        (void) fd_close(workshop->slot_fd);
        (void) fd_close(workshop->executable_fd);
        free(workshop->name);
        sd_event_unref(workshop->event);
        free(workshop);
        return NULL;
}

void workshop_set_memory(Workshop *workshop, uint64_t max_bytes) {
        workshop->max_data_bytes = max_bytes;
}

void workshop_watch_killed(Workshop *workshop, WorkshopKilled on_killed, void *userdata) {
        workshop->on_killed = on_killed;
        workshop->userdata = userdata;
}

void workshop_tell_killed(const Workshop *workshop, JobKind kind) {
        if (workshop->on_killed)
                workshop->on_killed(kind, workshop->userdata);
}

size_t workshop_n_children(const Workshop *workshop) {
        return workshop->n_jobs;
}

size_t workshop_n_stuck(const Workshop *workshop) {
        size_t n = 0;

        for (size_t i = 0; i < workshop->n_jobs; i++)
                n += job_is_stuck(workshop->jobs[i]);
        return n;
}

size_t workshop_n_stuck_of(const Workshop *workshop, uid_t uid) {
        size_t n = 0;

        for (size_t i = 0; i < workshop->n_jobs; i++)
                n += job_is_stuck(workshop->jobs[i]) && job_uid(workshop->jobs[i]) == uid;
        return n;
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

Disposal *workshop_disposal(const Workshop *workshop) {
        return workshop->disposal;
}

int workshop_spawn(Workshop *workshop, const char *kind, int socket_fd, uint64_t max_file_bytes,
                   pid_t *ret_pid) {
        char option[64];
        const char *arguments[] = { workshop->name, option, NULL };
        const ChildSetup setup = {
                .executable_fd = workshop->executable_fd,
                .socket_fd = workshop->slot_fd,
                .n_descriptors = workshop->n_low,
                .arguments = arguments,
                .max_data_bytes = workshop->max_data_bytes,
                .max_file_bytes = max_file_bytes,
        };
        int r;

        (void) snprintf(option, sizeof(option), "--job=%s", kind);
        if (dup3(socket_fd, workshop->slot_fd, O_CLOEXEC) < 0)
                return -errno;
        r = child_start(&setup, workshop->environment, ret_pid);
        /* Not to be held open here; a number that is in use cannot fail to be used again. */
        (void) dup3(workshop->executable_fd, workshop->slot_fd, O_CLOEXEC);
        return r;
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
