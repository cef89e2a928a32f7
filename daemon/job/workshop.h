/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Workshop
 *
 * Where jobs come from and end: it holds the executable they are made of, opened once at the start,
 * so that an upgrade on disk does not mix versions, and every child until it is reaped, also those
 * nobody waits for any more. No child outlives the workshop.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "job/job.h"

typedef struct Disposal Disposal;

/*
 * Adopts @executable_fd (O_PATH will do) on success; @name becomes the children's argv[0];
 * @disposal is borrowed. Blocks SIGCHLD for good: the event loop takes it instead. Descriptors
 * below those of the workshop are taken by now, so that what peers send lies above, where no child
 * gets it.
 */
_must_check_ int workshop_new(sd_event *event, Disposal *disposal, int executable_fd,
                              const char *name, Workshop **ret);
/*
 * Kills what still runs and reaps it, waiting a moment at most. Jobs must have been freed before.
 */
Workshop *workshop_free(Workshop *workshop);
DEFINE_CLEANUP(Workshop *, workshop_free);

/* What a child started from now on may use for data; at first the bound of wire/limits.h. */
void workshop_set_memory(Workshop *workshop, uint64_t max_bytes);

/*
 * Tells of every child that was killed, by whomever, once it is gone: what it would have cleaned up
 * is left. NULL: nobody.
 */
typedef void (*WorkshopKilled)(JobKind kind, void *userdata);
void workshop_watch_killed(Workshop *workshop, WorkshopKilled on_killed, void *userdata);

/* Children that exist: at work, or on their way out. */
size_t workshop_n_children(const Workshop *workshop);
/* Those among them that were killed in vain. */
size_t workshop_n_stuck(const Workshop *workshop);
size_t workshop_n_stuck_of(const Workshop *workshop, uid_t uid);
/* Up to @n of their process ids; returns how many. */
size_t workshop_get_pids(const Workshop *workshop, pid_t *ret_pids, size_t n);

/* for jobs */

sd_event *workshop_event(const Workshop *workshop);
Disposal *workshop_disposal(const Workshop *workshop);
/* A child of @kind with the other end of @socket_fd; see child.h. */
_must_check_ int workshop_spawn(Workshop *workshop, const char *kind, int socket_fd,
                                uint64_t max_file_bytes, pid_t *ret_pid);
_must_check_ int workshop_add(Workshop *workshop, Job *job);
void workshop_remove(Workshop *workshop, const Job *job);
void workshop_tell_killed(const Workshop *workshop, JobKind kind);
