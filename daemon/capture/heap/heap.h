/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Heap
 *
 * The counters of memory allocators, which stand in the memory of each process: how many bytes each
 * thread has allocated and freed, where its process uses jemalloc. They are read without stopping
 * anything. What the workers of one capture share is here: what is known of files and processes
 * from earlier captures, the job that parses files, the time that may be spent, and the counts.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/heap/heap-cache.h"
#include "capture/heap/heap-failure.h"
#include "capture/scene/scene.h"
#include "file/file-question.h"

typedef struct HeapOptions {
        bool wanted;
        uint64_t limit_ns; /* of all workers together */
        int cache_fd;      /* borrowed; negative: none */
        /* As CaptureOptions has it; NULL: no file can be parsed. */
        int (*open_files)(void *userdata, int peer_fd);
        void *userdata;
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
        HEAP_STATE_NO_MEMORY,    /* the system has no memory of processes to read */
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
HeapState heap_state(const Heap *heap);
bool heap_is_trial(const Heap *heap);
HeapCache *heap_cache(Heap *heap);

/* time */

uint64_t heap_limit_ns(const Heap *heap);
void heap_spend(Heap *heap, uint64_t ns);
/*
 * How long to wait for one process: half of what is left, so that somebody who makes us wait for a
 * process of his costs that and not the readings of all others. Files are parsed one after the
 * other, so one that takes long costs those behind it, too, of which nothing is known yet. A
 * quarter of the time is only for processes of which everything is known. 0: nothing more is begun.
 */
uint64_t heap_patience_ns(const Heap *heap, bool is_known);

/* What is known of a file already, from this capture or another. */
bool heap_recall(Heap *heap, FileQuestion question, const FileIdentity *identity, FileAnswer *ret);
/*
 * Asks about the file @fd, which is @identity, and waits @patience_ns for the answer, which is
 * valid then. HEAP_FAILURE_NONE; FILE_UNREADABLE when there will be no answer; TIME_BUDGET or
 * FILE_JOB when there is none now. An answer that comes later is recalled by who asks next, which
 * may be in the next capture: a program of a gigabyte takes longer than we wait for it.
 */
HeapFailure heap_ask(Heap *heap, FileQuestion question, const FileIdentity *identity, int fd,
                     uint64_t patience_ns, FileAnswer *ret);

/*
 * After the workers: adds their counts, and at last finishes them and keeps what is known for the
 * next capture, for which it waits once more for an answer that was late.
 */
void heap_add_summary(Heap *heap, const HeapSummary *summary);
const HeapSummary *heap_summary(const Heap *heap);
void heap_keep(Heap *heap);
