/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Worker
 *
 * What a job does once it is started: it reads one call from the socket it was born with, with the
 * descriptors that came along, does that, answers, and is gone. Whatever it meets ends in a reply
 * or in silence towards a peer that hung up; nothing outlives it.
 */

#include "job/job-kind.h"

/*
 * The process as a job of the kind @word (job-kind.h): serves the call on descriptor 3 and returns
 * the exit status. A job with a filter does not return but ends here.
 */
int worker_main(const char *word);

typedef enum WorkerConfinement {
        WORKER_CONFINED, /* gives up what its kind of job does not need */
        WORKER_FREE,     /* keeps everything: for tests, which live in the same process */
} WorkerConfinement;

typedef struct FrameStream FrameStream;

/*
 * Serves one call of @stream as a job of @kind. 0 when it was answered or the peer hung up; a
 * negative errno when not even an error could be sent.
 */
int worker_serve(JobKind kind, FrameStream *stream, WorkerConfinement confinement);
