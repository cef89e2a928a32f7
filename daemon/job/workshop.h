/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Workshop
 *
 * Keeps every job from its start until its child is reaped, also when nobody waits for the job any
 * more. No child outlives the workshop.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "job/job.h"
#include "wire/limits.h"

typedef struct Disposal Disposal;
typedef struct Workshop Workshop;

/*
 * Adopts @executable_fd on success, see spawner.h; @name becomes the children's argv[0]; @disposal
 * is borrowed. Blocks SIGCHLD for good, because the event loop handles it.
 */
_must_check_ int workshop_new(sd_event *event, Disposal *disposal, int executable_fd,
                              const char *name, Workshop **ret);
/*
 * Kills and reaps the children that still run, but waits a moment at most. The caller must have
 * freed all jobs before.
 */
Workshop *workshop_free(Workshop *workshop);
DEFINE_CLEANUP(Workshop *, workshop_free);

/* Sets RLIMIT_DATA of children that start from now on. The default is LIMIT_JOB_MEMORY_BYTES. */
void workshop_set_memory(Workshop *workshop, uint64_t max_bytes);

/*
 * Reports every child that a signal ended, ours or another, once it is gone: it may have left files
 * behind that it would have removed. NULL stops the reports.
 */
typedef void (*WorkshopKilled)(const JobTerms *terms, void *userdata);
void workshop_watch_killed(Workshop *workshop, WorkshopKilled on_killed, void *userdata);

/*
 * Starts a job. On success the descriptors of @order belong to the job, which closes them once they
 * are sent. @events is borrowed.
 */
_must_check_ int workshop_start(Workshop *workshop, const JobOrder *order, const JobEvents *events,
                                void *userdata, Job **ret);

/* How many children exist, whether they work or are about to end. */
size_t workshop_n_children(const Workshop *workshop);

/* Numbers of children: of all users, and of one. */
typedef struct WorkshopCounts {
        /* They were killed and did not die. */
        size_t n_stuck, n_stuck_of_user;
        /*
         * They hang or could come to hang in a file that a caller sent, because they read such
         * files: also those that were killed or have answered and are not gone yet.
         */
        size_t n_hangable, n_hangable_of_user;
} WorkshopCounts;

/* Without those that count by themselves. */
WorkshopCounts workshop_count(const Workshop *workshop, uid_t uid);
/* Those of a kind, also those that were killed and are not gone yet. */
size_t workshop_count_kind(const Workshop *workshop, JobKind kind);
/* Whether there is a child @pid, and then whether it was killed in vain. */
bool workshop_look(const Workshop *workshop, pid_t pid, bool *ret_is_stuck);
/* The next child that was killed in vain, from *@at on, 0 at first; NULL: there is none. */
const Job *workshop_next_stuck(const Workshop *workshop, size_t *at);
/*
 * Whether a user gets a further job. Jobs hang in files of their user, so they count for that one:
 * of all users together so many are borne that a few cannot lock out the others, who are refused
 * only when the memory that hanging jobs keep is too much for the host.
 */
typedef enum WorkshopVerdict {
        WORKSHOP_SERVES,
        WORKSHOP_REFUSES_USER, /* it has hanging jobs, too many or among too many */
        WORKSHOP_REFUSES_ALL,
} WorkshopVerdict;

static inline WorkshopVerdict workshop_judge(const WorkshopCounts *counts) {
        if (counts->n_stuck_of_user >= LIMIT_STUCK_JOBS_PER_UID ||
            (counts->n_stuck >= LIMIT_STUCK_JOBS && counts->n_stuck_of_user > 0))
                return WORKSHOP_REFUSES_USER;
        return counts->n_stuck >= LIMIT_STUCK_JOBS_OF_ALL ? WORKSHOP_REFUSES_ALL : WORKSHOP_SERVES;
}

/* Tells, in events of the children, when these numbers may have changed. NULL stops that. */
typedef void (*WorkshopChanged)(void *userdata);
void workshop_watch_changed(Workshop *workshop, WorkshopChanged on_changed, void *userdata);
/* Writes up to @n process ids of children and returns their number. */
size_t workshop_get_pids(const Workshop *workshop, pid_t *ret_pids, size_t n);
