/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapReader
 *
 * The heap step of one worker: finds out which modules of a process have counters, reads those of
 * its threads, and puts them into the samples. What was found out of a process is good until it
 * executes another program or maps more code; of all processes that do not use jemalloc, which are
 * most, that is a look into a table.
 */

#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/heap/heap.h"
#include "capture/scene/scene.h"

typedef struct HeapReader HeapReader;

/* Of the worker with @scene, which is borrowed as @heap is. -ENOMEM. */
_must_check_ int heap_reader_new(Heap *heap, Scene *scene, HeapReader **ret);
/* Ends its thread; its counts stay. */
void heap_reader_close(HeapReader *reader);
HeapReader *heap_reader_free(HeapReader *reader);
DEFINE_CLEANUP(HeapReader *, heap_reader_free);

/* After all else that is read of @process; the processes behind it in the batch wait for it. */
void heap_reader_read(HeapReader *reader, const BatchProcess *process);

const HeapSummary *heap_reader_summary(const HeapReader *reader);
