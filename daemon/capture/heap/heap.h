/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Heap
 *
 * The counters of memory allocators, which stand in the memory of each process: how many bytes each
 * thread has allocated and freed, where its process uses jemalloc. They are read without stopping
 * anything, by a memory job, which is asked (memory-job.h), also for the command of each
 * process, which lies there, too. The workers of one capture share what is here: what is known of
 * processes from earlier captures, the way to that job, and the counts.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/heap/heap-cache.h"
#include "capture/heap/heap-failure.h"
#include "capture/heap/memory-job.h"
#include "capture/batch/readings.h"
#include "helper/helper.h"

typedef struct HeapOptions {
        bool wanted;
        CommandLines commands; /* what is read of what processes were started as */
        uint64_t limit_ns;     /* of all workers together */
        int cache_fd;          /* borrowed; negative: none */
        /* As CaptureOptions has them. */
        int (*open_memory)(void *userdata, int peer_fd);
        void *userdata;
        const char *no_memory; /* borrowed */
        /*
         * Only finds out whether threads could be read: of a few processes, whether or not they use
         * jemalloc.
         */
        bool is_trial;
} HeapOptions;

/* Read it; only the functions below, and those of the cache, change it. */
typedef struct Heap {
        HeapOptions options;
        const CaptureHost *host; /* borrowed */
        const char *absence;     /* why no counters are read; NULL: they are. Borrowed */
        const char *no_memory;   /* why nobody can be asked; NULL: somebody can. Borrowed */
        CommandLines commands;   /* what is read; NO also where nobody can be asked for them */
        HeapCache *cache;        /* owned: of processes */
        HeapSummary summary;
        Helper *helper;         /* owned; NULL: nobody can be asked */
        _Atomic bool was_asked; /* somebody has been */
        _Atomic bool is_silent; /* did not answer in time, and is not waited for again */
} Heap;

/*
 * @host has its gates. Before the workers start, because they get descriptor tables of their own.
 * -ENOMEM.
 */
_must_check_ int heap_new(const HeapOptions *options, const CaptureHost *host, Heap **ret);
Heap *heap_free(Heap *heap);
DEFINE_CLEANUP(Heap *, heap_free);

/*
 * Asks the memory job about @n processes, and waits for its answer. False when there is none: what
 * it costs has no readings. @asked is of the type of the question.
 */
_must_check_ bool heap_ask(Heap *heap, MemoryQuestion question, const void *asked, size_t n,
                           MemoryAnswered *ret);

/* After the workers: finishes the counts, and keeps what is known for the next capture. */
void heap_keep(Heap *heap);

/*
 * Says in the words of users why counters of allocators could not be read. @source has its counts
 * and a general judgement of them, which is replaced.
 */
void heap_explain(const Heap *heap, Source *source);
/* Says the same of commands. */
void heap_explain_commands(const Heap *heap, Source *source);

/* the step of one worker */

typedef struct HeapReader HeapReader;

/* Commands in readings->texts; not set where there is none, or it is not known. */
typedef struct CommandPlace {
        TextPlace command, line;
} CommandPlace;

/*
 * Belongs to the worker with @readings and counts in @summary, which are borrowed. free() releases
 * it. -ENOMEM.
 */
_must_check_ int heap_reader_new(Heap *heap, Readings *readings, HeapSummary *summary,
                                 HeapReader **ret);

/*
 * Call these after everything else was read of the processes of a batch: heap_reader_add() for each
 * process, then heap_reader_read() once for the batch, which waits for the answers. *ret is set by
 * heap_reader_read() at the latest. The findings about a process are valid until it executes
 * another program; those about its counters also become invalid when it maps more code. For
 * commands, and for all processes that do not use jemalloc, which are most, a valid finding is only
 * looked up in a table.
 */
void heap_reader_add(HeapReader *reader, const BatchProcess *process, CommandPlace *ret);
void heap_reader_read(HeapReader *reader);
