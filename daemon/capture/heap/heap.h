/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Heap
 *
 * The counters of memory allocators, which stand in the memory of each process: how many bytes each
 * thread has allocated and freed, where its process uses jemalloc. They are read without stopping
 * anything, by a memory job, which is asked (memory-question.h), also for the command of each
 * process, which lies there, too. What the workers of one capture share is here: what is known of
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

/* Why nothing is read. */
typedef enum HeapState {
        HEAP_STATE_READING,
        HEAP_STATE_NOT_WANTED,
        HEAP_STATE_FOREIGN_PIDS, /* /proc has numbers that system calls do not know */
        HEAP_STATE_NO_MEMORY,    /* nobody reads memory of processes */
        HEAP_STATE_NO_MACHINE,   /* threads of this machine are not known how to find */
} HeapState;

typedef struct Heap Heap;

/*
 * @host, borrowed, has its gates. Before the workers start, because they get descriptor tables of
 * their own. -ENOMEM.
 */
_must_check_ int heap_new(const HeapOptions *options, const CaptureHost *host, Heap **ret);
Heap *heap_free(Heap *heap);
DEFINE_CLEANUP(Heap *, heap_free);

const CaptureHost *heap_host(const Heap *heap);
const HeapOptions *heap_options(const Heap *heap);
HeapState heap_state(const Heap *heap);
HeapCache *heap_cache(Heap *heap);
/* What is read of commands; NO also where nobody can be asked for them. */
CommandLines heap_commands(const Heap *heap);

/*
 * Asks the memory job, and waits for its answer. False when there is none: what it costs has no
 * readings. @asked and @ret are of the type of the question, @n_asked and @n_answered bytes long.
 */
_must_check_ bool heap_ask(Heap *heap, MemoryQuestion question, const void *asked, size_t n_asked,
                           MemoryAnswered *ret, size_t n_answered);

/*
 * After the workers: adds their counts, and at last finishes them and keeps what is known for the
 * next capture.
 */
void heap_add_summary(Heap *heap, const HeapSummary *summary);
const HeapSummary *heap_summary(const Heap *heap);
void heap_keep(Heap *heap);
