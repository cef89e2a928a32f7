/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap.h"

#include <elf.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"
#include "room/room.h"

/*
 * The memory job keeps the time itself, and waits for no process longer than the limit and at the
 * end for a file as many times that. Only one that fails is given up after more.
 */
#define PATIENCE 8 /* times the limit */
#define PATIENCE_LEAST_NS (5 * NSEC_PER_SEC)
#define PATIENCE_MOST_NS (60 * NSEC_PER_SEC)

struct Heap {
        HeapOptions options;
        const CaptureHost *host;
        HeapState state;
        HeapCache *cache;       /* owned: of processes */
        Room *room;             /* owned; NULL: nobody can be asked */
        _Atomic bool was_asked; /* somebody has been */
        _Atomic bool is_silent; /* did not answer in time, and is not waited for again */
        HeapSummary summary;
};

static HeapState find_state(const HeapOptions *options, const CaptureHost *host) {
        if (!options->wanted)
                return HEAP_STATE_NOT_WANTED;
        if (host->gates.foreign_pids)
                return HEAP_STATE_FOREIGN_PIDS;
        if (!options->open_memory || options->no_memory)
                return HEAP_STATE_NO_MEMORY;
        return thread_machine == EM_NONE ? HEAP_STATE_NO_MACHINE : HEAP_STATE_READING;
}

CommandLines heap_commands(const Heap *heap) {
        return heap->options.open_memory && !heap->options.no_memory ? heap->options.commands
                                                                     : COMMAND_LINES_NO;
}

static bool is_needed(const Heap *heap) {
        return heap->state == HEAP_STATE_READING || heap_commands(heap) != COMMAND_LINES_NO;
}

static bool fits(uint32_t question, size_t n) {
        switch ((MemoryQuestion) question) {
        case MEMORY_QUESTION_HEAP:
                return n >= heap_answered_bytes(0);
        case MEMORY_QUESTION_COMMANDS:
                return n <= sizeof(CommandsAnswered);
        case MEMORY_QUESTION_TRIAL:
                return n == sizeof(MemoryTrial);
        case MEMORY_QUESTION_END:
                return n == sizeof(MemoryEnd);
        case _MEMORY_QUESTION_MAX:
                break;
        }
        return false;
}

int heap_new(const HeapOptions *options, const CaptureHost *host, Heap **ret) {
        _cleanup_(heap_freep) Heap *heap = calloc(1, sizeof(*heap));
        const RoomTerms terms = {
                .max_answer_bytes = sizeof(MemoryAnswered),
                .fits = fits,
                .open = options->open_memory,
                .userdata = options->userdata,
        };
        int r;

        if (!heap)
                return -ENOMEM;
        heap->options = *options;
        heap->host = host;
        heap->state = find_state(options, host);
        r = heap_cache_new(&heap->cache);
        if (r == 0 && is_needed(heap) && options->cache_fd >= 0)
                r = heap_cache_load(heap->cache, options->cache_fd);
        if (r == 0 && is_needed(heap))
                r = room_new(&terms, &heap->room);
        if (r < 0)
                return r;
        /* It takes its time to start, while the threads that it will be asked about may end. */
        if (heap->state == HEAP_STATE_READING && !options->is_trial &&
            heap_cache_expects_plans(heap->cache))
                room_begin(heap->room);
        *ret = TAKE_PTR(heap);
        return 0;
}

Heap *heap_free(Heap *heap) {
        if (!heap)
                return NULL;
        heap->room = room_free(heap->room);
        heap->cache = heap_cache_free(heap->cache);
        free(heap);
        return NULL;
}

const CaptureHost *heap_host(const Heap *heap) {
        return heap->host;
}

const HeapOptions *heap_options(const Heap *heap) {
        return &heap->options;
}

HeapState heap_state(const Heap *heap) {
        return heap->state;
}

HeapCache *heap_cache(Heap *heap) {
        return heap->cache;
}

static uint64_t find_deadline(const Heap *heap) {
        uint64_t patience_ns = number_multiply_saturating(heap->options.limit_ns, PATIENCE);

        patience_ns = MAX_OF(patience_ns, PATIENCE_LEAST_NS);
        patience_ns = MIN_OF(patience_ns, PATIENCE_MOST_NS);
        return clock_now_ns(CLOCK_MONOTONIC) + patience_ns;
}

bool heap_ask(Heap *heap, MemoryQuestion question, const void *asked, size_t n_asked,
              MemoryAnswered *ret, size_t n_answered) {
        const RoomQuestion order = {
                .question = question,
                .body = { asked, n_asked },
                .fd = -EBADF,
        };
        size_t n;
        int r;

        if (!heap->room || atomic_load(&heap->is_silent))
                return false;
        atomic_store(&heap->was_asked, true);
        r = room_ask(heap->room, &order, find_deadline(heap), ret, &n);
        if (r == ROOM_E_LATE)
                atomic_store(&heap->is_silent, true);
        return r == 0 && n == n_answered;
}

/* afterwards */

void heap_add_summary(Heap *heap, const HeapSummary *summary) {
        heap_summary_merge(&heap->summary, summary);
}

const HeapSummary *heap_summary(const Heap *heap) {
        return &heap->summary;
}

void heap_keep(Heap *heap) {
        const MemoryEnd end = {};
        MemoryAnswered answer;

        heap_summary_finish(&heap->summary);
        /* Without an answer the next capture looks at more files. */
        if (atomic_load(&heap->was_asked))
                (void) !heap_ask(heap, MEMORY_QUESTION_END, &end, sizeof(end), &answer,
                                 sizeof(answer.END));
        /* Without it the next capture looks at every process anew. */
        if (is_needed(heap) && heap->options.cache_fd >= 0)
                (void) !heap_cache_store(heap->cache, heap->options.cache_fd);
}
