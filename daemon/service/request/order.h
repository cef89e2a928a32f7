/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Order
 *
 * The call that a request makes of its job: parameters are written, descriptors are added, and the
 * whole is put into a queue, from which the request gets its turn.
 */

#include "base/macro.h"
#include "interface/job-interface.h"
#include "json/json-writer.h"
#include "service/request/request.h"

/* Starts the parameters of the job's call: an open object. */
void request_begin_order(Request *request, JsonWriter *writer);
/* Writes "@key": index. @fd is taken over in any case. */
_must_check_ int request_add_fd(Request *request, JsonWriter *writer, const char *key, int fd);
/* The spool's directory, and its path for messages: "directory", "spoolPath". */
_must_check_ int request_add_spool(Request *request, JsonWriter *writer);
/* What is in it, "roll", for a job that makes room there; nothing while that is not known. */
_must_check_ int request_add_roll(Request *request, JsonWriter *writer);
void request_write_limits(const Request *request, JsonWriter *writer);
/* Ends the parameters. @method: of the job, in full. */
_must_check_ int request_end_order(Request *request, JsonWriter *writer, const char *method,
                                   JobKind kind);
_must_check_ int request_enqueue(Request *request, QueueKind queue, const Stage *stage);
/* Both. */
_must_check_ int request_submit(Request *request, JsonWriter *writer, const char *method,
                                QueueKind queue, JobKind kind, const Stage *stage);
/* Both again, at once and in the place of the job that has ended: of a stage that keeps it. */
_must_check_ int request_continue(Request *request, JsonWriter *writer, const char *method,
                                  JobKind kind, const Stage *stage);
