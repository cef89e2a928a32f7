/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Worker
 *
 * Runs a job: reads one order and its descriptors from the socket the job was started with, obeys,
 * answers and exits. Every failure becomes a reply, unless the peer has hung up. Nothing
 * outlives the job.
 */

#include "job/job-kind.h"

/*
 * Runs this process as a job of the kind @word (job-kind.h): serves the call on descriptor 3 and
 * ends the process: inside a sandbox no exit handlers may run.
 */
_noreturn_ void worker_main(const char *word);

typedef enum WorkerConfinement {
        WORKER_CONFINED, /* gives up the privileges that its kind of job does not need */
        WORKER_FREE,     /* keeps all privileges: for tests, which run in the same process */
} WorkerConfinement;

/*
 * Serves one order of the main process as a job of @kind, or, where @socket is a stream, one call
 * of a client that has started an analysis job itself. Takes over @socket. 0 when it was answered
 * or the peer hung up; a negative errno when not even an error could be sent.
 */
int worker_serve(JobKind kind, int socket, WorkerConfinement confinement);
