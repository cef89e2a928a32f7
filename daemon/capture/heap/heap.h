/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Heap
 *
 * The counters of memory allocators, which stand in the memory of each process: how many bytes each
 * thread has allocated and freed, where its process uses jemalloc. They are read without stopping
 * anything, by a memory job, which is asked (memory-question.h), also for the command of each
 * process, which lies there, too. The workers of one capture share what is here: what is known of
 * processes from earlier captures, the way to that job, and the counts.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/heap/heap-cache.h"
#include "capture/heap/heap-failure.h"
#include "capture/heap/memory-question.h"
#include "capture/scene/scene.h"
#include "room/room.h"

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

/* The reasons for which nothing is read. */
typedef enum HeapState {
        HEAP_STATE_READING,
        HEAP_STATE_NOT_WANTED,
        HEAP_STATE_NOT_BUILT,    /* -Dheap=disabled */
        HEAP_STATE_FOREIGN_PIDS, /* /proc has numbers that system calls do not know */
        HEAP_STATE_NO_MEMORY,    /* nobody reads memory of processes */
        HEAP_STATE_NO_MACHINE,   /* threads of this machine are not known how to find */
} HeapState;

/* Read it; only the functions below, and those of the cache, change it. */
typedef struct Heap {
        HeapOptions options;
        const CaptureHost *host; /* borrowed */
        HeapState state;
        CommandLines commands; /* what is read; NO also where nobody can be asked for them */
        HeapCache *cache;      /* owned: of processes */
        HeapSummary summary;
        Room *room;             /* owned; NULL: nobody can be asked */
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
 * Asks the memory job, and waits for its answer. False when there is none: what it costs has no
 * readings. @asked and @ret are of the type of the question, @n_asked and @n_answered bytes long.
 */
_must_check_ bool heap_ask(Heap *heap, MemoryQuestion question, const void *asked, size_t n_asked,
                           MemoryAnswered *ret, size_t n_answered);

/* After the workers: finishes the counts, and keeps what is known for the next capture. */
void heap_keep(Heap *heap);

/*
 * Says in the words of users why counters of allocators could not be read. @source has its counts
 * and a general judgement of them, which is replaced.
 */
void heap_explain(const Heap *heap, Source *source);
/* Says the same of commands. */
void heap_explain_commands(const Heap *heap, Source *source);
