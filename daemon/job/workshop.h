/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Workshop
 *
 * Every job from its start until its child is reaped, including those that nobody waits for any
 * more. No child outlives the workshop.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "job/job.h"

typedef struct Disposal Disposal;
typedef struct Workshop Workshop;

/*
 * Adopts @executable_fd on success, see spawner.h; @name becomes the children's argv[0]; @disposal
 * is borrowed. Blocks SIGCHLD for good, because the event loop handles it.
 */
_must_check_ int workshop_new(sd_event *event, Disposal *disposal, int executable_fd,
                              const char *name, Workshop **ret);
/*
 * Kills and reaps the children that still run, but waits for a moment at most. Jobs must have been
 * freed before.
 */
Workshop *workshop_free(Workshop *workshop);
DEFINE_CLEANUP(Workshop *, workshop_free);

/* RLIMIT_DATA of children that start from now on; at first the bound of wire/limits.h. */
void workshop_set_memory(Workshop *workshop, uint64_t max_bytes);

/*
 * Reports every child that was killed, by whomever, once it is gone: it may have left files behind
 * that it would have cleaned up. NULL stops the reports.
 */
typedef void (*WorkshopKilled)(const JobTerms *terms, void *userdata);
void workshop_watch_killed(Workshop *workshop, WorkshopKilled on_killed, void *userdata);

/*
 * Starts a job. The descriptors of @order are the job's on success, and closed here once sent.
 * @events is borrowed.
 */
_must_check_ int workshop_start(Workshop *workshop, const JobOrder *order, const JobEvents *events,
                                void *userdata, Job **ret);

/* Children that exist: at work, or on their way out. */
size_t workshop_n_children(const Workshop *workshop);
/* Children that were killed in vain, of everybody and of one user. */
size_t workshop_n_stuck(const Workshop *workshop);
size_t workshop_n_stuck_of(const Workshop *workshop, uid_t uid);
/* Up to @n process ids of children; returns how many. */
size_t workshop_get_pids(const Workshop *workshop, pid_t *ret_pids, size_t n);
