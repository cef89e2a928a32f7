/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemoryAid
 *
 * What the main process does so that a capture can have memory of processes read: it lends the file
 * in memory in which captures keep for each other what they found out, starts a job that reads
 * memory when the capture asks for one, and one that parses files when that asks. It looks into
 * nothing of theirs. Without them a capture reads less, and does not fail.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "service/request/request.h"

typedef struct MemoryAid {
        Request *request;                       /* borrowed: whose job has asked */
        Job *memory;                            /* owned; NULL: there is none, yet or any more */
        Job *files;                             /* likewise */
        bool memory_was_asked, files_was_asked; /* once is enough */
} MemoryAid;

/*
 * Makes the files, unless the vault has them from an earlier process. For the start: the vault
 * tells the service manager, and may wait for it.
 */
void memory_aid_prepare(Vault *vault);

void memory_aid_done(MemoryAid *aid);

/*
 * Says in the order of a capture what it is to read there: the counters of allocators, if @heap,
 * and what is set of commands.
 */
_must_check_ int memory_aid_add_wishes(Request *request, CaptureOrder *order, bool heap);
/* Says in the order of any job that may ask why nobody will come, if that is so. */
void memory_aid_add(Request *request, CaptureOrder *order);

/* Starts the job if @note, of the request's job, asks for it. */
void memory_aid_take(MemoryAid *aid, Request *request, const JobReply *note);
