/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapAid
 *
 * What the main process does so that a capture can read the counters of allocators: it lends the
 * file in memory in which captures keep for each other what they found out, and starts a job that
 * parses files when the capture asks for one. It looks into neither. Without them a capture reads
 * less, and does not fail.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "service/request/order.h"

typedef struct HeapAid {
        Job *job;       /* owned; NULL: there is none, yet or any more */
        bool was_asked; /* once is enough */
} HeapAid;

/*
 * Makes the file, unless the vault has it from an earlier process. For the start: the vault tells
 * the service manager, and may wait for it.
 */
void heap_aid_prepare(Vault *vault);

void heap_aid_done(HeapAid *aid);

/* The members of the order of a capture that is to read the counters. */
_must_check_ int heap_aid_write(Request *request, JsonWriter *writer);

/*
 * Starts the job if @frame, a reply of the request's capture job, asks for it. False when the reply
 * says something else.
 */
bool heap_aid_take(HeapAid *aid, Request *request, Span frame);
