/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Worker
 *
 * What a job does once it is started: it reads one call from the socket it was born with, with the
 * descriptors that came along, does that, answers, and is gone. Whatever it meets ends in a reply
 * or in silence towards a peer that hung up; nothing outlives it.
 */

#include <stdbool.h>

/*
 * The process as a job of @kind ("capture", "analysis", "spool"): serves the call on descriptor 3
 * and returns the exit status. A job that entered the sandbox does not return but ends here.
 */
int worker_main(const char *kind);

typedef enum WorkerConfinement {
        WORKER_CONFINED, /* gives up what its kind of job does not need */
        WORKER_FREE,     /* keeps everything: for tests, which live in the same process */
} WorkerConfinement;

typedef struct FrameStream FrameStream;

/* Whether there are jobs of @kind. */
bool worker_has_kind(const char *kind);
/*
 * Serves one call of @stream as a job of @kind, which there is. 0 when it was answered or the peer
 * hung up; a negative errno when not even an error could be sent.
 */
int worker_serve(const char *kind, FrameStream *stream, WorkerConfinement confinement);
