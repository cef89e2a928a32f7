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
 * Adopts @executable_fd on success, see spawner.h; @name becomes the children's argv[0]; @users and
 * @disposal are borrowed. Blocks SIGCHLD for good, because the event loop handles it.
 */
_must_check_ int workshop_new(sd_event *event, Users *users, Disposal *disposal, int executable_fd,
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

/* Those of a kind, also those that were killed and are not gone yet. */
size_t workshop_count_kind(const Workshop *workshop, JobKind kind);
/* Whether there is a child @pid, and then whether it was killed in vain. */
bool workshop_look(const Workshop *workshop, pid_t pid, bool *ret_is_stuck);
/* The next child that was killed in vain, from *@at on, 0 at first; NULL: there is none. */
const Job *workshop_next_stuck(const Workshop *workshop, size_t *at);
/* Tells, in events of the children, when one was freed or got stuck. NULL stops that. */
typedef void (*WorkshopChanged)(void *userdata);
void workshop_watch_changed(Workshop *workshop, WorkshopChanged on_changed, void *userdata);
/* Writes up to @n process ids of children and returns their number. */
size_t workshop_get_pids(const Workshop *workshop, pid_t *ret_pids, size_t n);
