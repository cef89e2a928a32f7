/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CommandReader
 *
 * The step of one worker that tells what processes were started as. Their arguments lie in their
 * memory, which may be one that never answers, so a memory job is asked for them, once in the life
 * of a process: what is known from an earlier capture is found in a table.
 */

#include "base/macro.h"
#include "capture/heap/heap.h"
#include "capture/scene/scene.h"

/* Commands in the scene's texts; not set where there is none, or it is not known. */
typedef struct CommandPlace {
        TextPlace command, line;
} CommandPlace;

typedef struct CommandReader CommandReader;

/*
 * Belongs to the worker with @scene and counts in @summary, which are borrowed. free() releases it.
 * -ENOMEM.
 */
_must_check_ int command_reader_new(Heap *heap, Scene *scene, HeapSummary *summary,
                                    CommandReader **ret);

/*
 * First of each process of the scene's batch, then once of the batch, which waits for it. *ret is
 * set by the second at the latest.
 */
void command_reader_add(CommandReader *reader, const BatchProcess *process, CommandPlace *ret);
void command_reader_read(CommandReader *reader);
