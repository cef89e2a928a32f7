/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapReader
 *
 * The heap step of one worker: asks for the counters of a batch's threads and puts them into the
 * samples. Findings about a process are good until it executes another program or maps more
 * code; of all processes that do not use jemalloc, which are most, that is a look into a table.
 */

#include "base/macro.h"
#include "capture/heap/heap.h"
#include "capture/scene/scene.h"

typedef struct HeapReader HeapReader;

/*
 * Belongs to the worker with @scene and counts in @summary, which are borrowed. free() releases it.
 * -ENOMEM.
 */
_must_check_ int heap_reader_new(Heap *heap, Scene *scene, HeapSummary *summary, HeapReader **ret);

/*
 * After all else that is read of the processes of the scene's batch: first of each of them, then
 * once of the batch, which waits for it.
 */
void heap_reader_add(HeapReader *reader, const BatchProcess *process);
void heap_reader_read(HeapReader *reader);
