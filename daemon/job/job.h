/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Job
 *
 * One call served by a child process of its own: this executable again, as "NAME --job=KIND", with
 * a socketpair as descriptor 3 and nothing else open. It gets one call and gives replies, the last
 * of which ends it. Whatever happens to the child (crash, deadline, memory, nonsense on the socket)
 * becomes one sentence; it never becomes a wait or a failure of the parent.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "job/job-kind.h"

typedef struct Disposal Disposal;
typedef struct Job Job;
typedef struct Spawner Spawner;

typedef struct JobOrder {
        const JobTerms *terms;
        Span call;      /* the frame, without terminator */
        const int *fds; /* sent with it */
        size_t n_fds;
        uid_t uid;               /* the user it is for: descriptors it sends back may be theirs */
        uint64_t timeout_ns;     /* 0: that of the terms */
        uint64_t max_file_bytes; /* of any file it writes (RLIMIT_FSIZE); 0: no bound */
} JobOrder;

typedef struct JobEvents {
        /*
         * A reply, checked to be one. Its descriptors may be taken until this returns. When
         * @continues is false it is the last, and nothing comes after it.
         */
        void (*on_reply)(Job *job, Span frame, bool continues, bool is_error, void *userdata);
        /* It ended without a last reply. @reason: "The capture job was killed ..." */
        void (*on_end)(Job *job, const char *reason, void *userdata);
} JobEvents;

/*
 * No event comes after this, and a child that has not given its last reply is killed. May be called
 * inside the events.
 */
Job *job_free(Job *job);
DEFINE_CLEANUP(Job *, job_free);

/*
 * Asks a job whose clock is JOB_CLOCK_SILENCE to come to an end and answer with what there is; it
 * has its time limit once more for that. Asking a second time kills it, and on_end follows.
 */
_must_check_ int job_stop(Job *job);

/* Stop and resume reading replies; the child waits when its socket is full. */
void job_pause(Job *job);
void job_resume(Job *job);

/* Descriptors of the reply at hand, inside on_reply. */
size_t job_n_fds(const Job *job);
int job_take_fd(Job *job, size_t index);

/* for the owner of all jobs */

typedef struct JobSetup {
        sd_event *event;
        Disposal *disposal;
        Spawner *spawner;
        /* The child has ended; @status is of waitid(2). */
        void (*on_exit)(const Job *job, const siginfo_t *status, void *owner);
        /* The child was reaped and the job was freed: this is the last time it is heard of. */
        void (*on_gone)(const Job *job, void *owner);
        void *owner;
} JobSetup;

/*
 * All is borrowed but the descriptors of @order, which are the job's on success and closed here
 * once sent.
 */
_must_check_ int job_new(const JobSetup *setup, const JobOrder *order, uint64_t max_data_bytes,
                         const JobEvents *events, void *userdata, Job **ret);

const JobTerms *job_terms_of(const Job *job);
pid_t job_pid(const Job *job);
uid_t job_uid(const Job *job);
/* It was killed some time ago, and is still there. */
bool job_is_stuck(const Job *job);
void job_kill(Job *job);
/* Forgets a job that was freed, and its child with it. */
Job *job_destroy(Job *job);
