/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/workshop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "job/descriptor/child.h"
#include "job/spawner.h"
#include "wire/limits.h"

/* How long workshop_free() waits for the children it killed. */
#define WORKSHOP_FAREWELL_MS 1000

struct Workshop {
        Spawner *spawner;
        JobSetup setup;
        Job **jobs;
        size_t n_jobs, n_allocated;
        uint64_t max_data_bytes;
        WorkshopKilled on_killed;
        void *userdata;
        WorkshopChanged on_changed;
        void *changed_userdata;
};

static void on_exit_job(const Job *job, const siginfo_t *status, void *owner) {
        Workshop *workshop = owner;

        if (status->si_code != CLD_EXITED && workshop->on_killed)
                workshop->on_killed(job_terms_of(job), workshop->userdata);
}

static void tell_changed(const Workshop *workshop) {
        if (workshop->on_changed)
                workshop->on_changed(workshop->changed_userdata);
}

static void on_stuck(const Job *job, void *owner) {
        tell_changed(owner);
}

static void on_gone(const Job *job, void *owner) {
        Workshop *workshop = owner;
        size_t i = 0;

        while (workshop->jobs[i] != job)
                i++;
        workshop->jobs[i] = workshop->jobs[--workshop->n_jobs];
        tell_changed(workshop);
}

int workshop_new(sd_event *event, Users *users, Disposal *disposal, int executable_fd,
                 const char *name, Workshop **ret) {
        _cleanup_(workshop_freep) Workshop *workshop = NULL;
        int r;

        workshop = malloc(sizeof(*workshop));
        if (!workshop)
                return -ENOMEM;
        *workshop = (Workshop){ .max_data_bytes = LIMIT_JOB_MEMORY_BYTES };

        r = child_exit_prepare();
        if (r < 0)
                return r;
        r = spawner_new(executable_fd, name, &workshop->spawner);
        if (r < 0)
                return r;
        workshop->setup = (JobSetup){
                .event = sd_event_ref(event),
                .users = users,
                .disposal = disposal,
                .spawner = workshop->spawner,
                .on_exit = on_exit_job,
                .on_stuck = on_stuck,
                .on_gone = on_gone,
                .owner = workshop,
        };
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
                (void) job_destroy(workshop->jobs[0]); /* on_gone() removes it */
        }
        free(workshop->jobs);
        (void) spawner_free(workshop->spawner);
        sd_event_unref(workshop->setup.event);
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

void workshop_watch_changed(Workshop *workshop, WorkshopChanged on_changed, void *userdata) {
        workshop->on_changed = on_changed;
        workshop->changed_userdata = userdata;
}

int workshop_start(Workshop *workshop, const JobOrder *order, const JobEvents *events,
                   void *userdata, Job **ret) {
        int r;

        /* Makes room first, because adding the job must not fail once its child runs. */
        r = ARRAY_RESERVE(workshop->jobs, workshop->n_allocated, workshop->n_jobs + 1);
        if (r != 0)
                return r;
        r = job_new(&workshop->setup, order, workshop->max_data_bytes, events, userdata, ret);
        if (r != 0)
                return r;
        workshop->jobs[workshop->n_jobs++] = *ret;
        return 0;
}

size_t workshop_n_children(const Workshop *workshop) {
        return workshop->n_jobs;
}

size_t workshop_count_kind(const Workshop *workshop, JobKind kind) {
        size_t n = 0;

        for (size_t i = 0; i < workshop->n_jobs; i++)
                n += job_terms_of(workshop->jobs[i]) == job_terms(kind);
        return n;
}

bool workshop_look(const Workshop *workshop, pid_t pid, bool *ret_is_stuck) {
        for (size_t i = 0; i < workshop->n_jobs; i++)
                if (job_pid(workshop->jobs[i]) == pid) {
                        *ret_is_stuck = job_is_stuck(workshop->jobs[i]);
                        return true;
                }
        return false;
}

const Job *workshop_next_stuck(const Workshop *workshop, size_t *at) {
        while (*at < workshop->n_jobs) {
                const Job *job = workshop->jobs[(*at)++];

                if (job_is_stuck(job))
                        return job;
        }
        return NULL;
}

size_t workshop_get_pids(const Workshop *workshop, pid_t *ret_pids, size_t n) {
        size_t n_pids = MIN_OF(n, workshop->n_jobs);

        for (size_t i = 0; i < n_pids; i++)
                ret_pids[i] = job_pid(workshop->jobs[i]);
        return n_pids;
}
