/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemoryJobs
 *
 * Lets a capture have memory of processes read: passes it the file in memory in which captures keep
 * for each other what they found out, starts a job that reads memory when the capture asks for one,
 * and one that parses files when that asks. The main process looks into nothing of theirs. Without
 * them a capture reads less, and does not fail.
 */

#include "base/macro.h"
#include "service/request/request.h"

/*
 * Makes the files, unless the descriptor store has them from an earlier process. For the start: the
 * descriptor store tells the service manager, and may wait for it.
 */
void memory_jobs_prepare(FdStore *fd_store);

/*
 * Adds to the order of any job that may ask why nobody will come, if that is so, and to that of a
 * capture that reads counters of allocators or commands what captures know of them.
 */
_must_check_ int memory_jobs_add(Request *request, CaptureOrder *order);

/* Ends what was started for the request, whose next stage may ask anew. */
void memory_jobs_end(Request *request);

/* Is the on_note() of a stage: starts the job if @note asks for it. */
int memory_jobs_take(Request *request, const JobReply *note);
