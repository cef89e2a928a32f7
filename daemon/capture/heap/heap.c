/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap.h"

#include <elf.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "file/file-room.h"

#define PATIENCE_LEAST_NS (2 * NSEC_PER_MSEC)
/*
 * At the end there is one answer at most to wait for. The job ends with the capture: a file that
 * takes longer than this would be parsed again and again, and never be known. Whoever waits for the
 * snapshot waits for this, too, so the patience does not grow with a generous limit.
 */
#define LAST_PATIENCE 5 /* times the limit */
#define LAST_PATIENCE_MAX_NS (10 * NSEC_PER_SEC)

struct Heap {
        HeapOptions options;
        const CaptureHost *host;
        HeapState state;
        HeapCache *cache; /* owned */
        FileRoom *room;   /* owned; NULL: no file can be parsed */
        _Atomic uint64_t spent_ns;
        HeapSummary summary;
};

static HeapState find_state(const HeapOptions *options, const CaptureHost *host) {
        if (!options->wanted)
                return HEAP_STATE_NOT_WANTED;
        if (host->gates.foreign_pids)
                return HEAP_STATE_FOREIGN_PIDS;
        if (!host->system->read_memory || !host->system->find_robust_list)
                return HEAP_STATE_NO_MEMORY;
        return thread_machine == EM_NONE ? HEAP_STATE_NO_MACHINE : HEAP_STATE_READING;
}

int heap_new(const HeapOptions *options, const CaptureHost *host, Heap **ret) {
        _cleanup_(heap_freep) Heap *heap = calloc(1, sizeof(*heap));
        int r;

        if (!heap)
                return -ENOMEM;
        heap->options = *options;
        heap->host = host;
        heap->state = find_state(options, host);
        r = heap_cache_new(&heap->cache);
        if (r == 0 && heap->state == HEAP_STATE_READING && options->cache_fd >= 0)
                r = heap_cache_load(heap->cache, options->cache_fd);
        if (r == 0 && heap->state == HEAP_STATE_READING && options->open_files)
                r = file_room_new(options->open_files, options->userdata, &heap->room);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(heap);
        return 0;
}

Heap *heap_free(Heap *heap) {
        if (!heap)
                return NULL;
        heap->room = file_room_free(heap->room);
        heap->cache = heap_cache_free(heap->cache);
        free(heap);
        return NULL;
}

const CaptureHost *heap_host(const Heap *heap) {
        return heap->host;
}

HeapState heap_state(const Heap *heap) {
        return heap->state;
}

bool heap_is_trial(const Heap *heap) {
        return heap->options.is_trial;
}

HeapCache *heap_cache(Heap *heap) {
        return heap->cache;
}

/* time */

uint64_t heap_limit_ns(const Heap *heap) {
        return heap->options.limit_ns;
}

void heap_spend(Heap *heap, uint64_t ns) {
        atomic_fetch_add(&heap->spent_ns, ns);
}

uint64_t heap_patience_ns(const Heap *heap, bool is_known) {
        uint64_t limit_ns = heap->options.limit_ns, spent_ns = atomic_load(&heap->spent_ns);

        if (!is_known)
                limit_ns -= limit_ns / 4;
        return spent_ns < limit_ns ? MAX_OF((limit_ns - spent_ns) / 2, PATIENCE_LEAST_NS) : 0;
}

/* files */

static uint64_t now_mono_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}

_Static_assert(sizeof(FileIdentity) == sizeof(FileTag), "a question is known by its file");

static bool is_valid(FileQuestion question, const FileAnswer *answer) {
        switch (question) {
        case FILE_QUESTION_HEAP_LAYOUT:
                return heap_layout_is_valid(&answer->HEAP_LAYOUT,
                                            (uint16_t) answer->HEAP_LAYOUT.machine);
        case FILE_QUESTION_THREAD_LAYOUT:
                return thread_layout_is_valid(&answer->THREAD_LAYOUT);
        case _FILE_QUESTION_MAX:
                break;
        }
        return false;
}

/* That a file could not be read may pass. Without memory for an answer it will be asked again. */
static void keep_answer(Heap *heap, FileQuestion question, const FileIdentity *identity,
                        const FileAnswer *answer) {
        if (question != FILE_QUESTION_HEAP_LAYOUT ||
            answer->HEAP_LAYOUT.verdict != HEAP_FILE_UNREADABLE)
                (void) !heap_cache_put_file(heap->cache, identity, question, answer);
}

bool heap_recall(Heap *heap, FileQuestion question, const FileIdentity *identity, FileAnswer *ret) {
        return heap_cache_find_file(heap->cache, identity, question, ret) &&
               is_valid(question, ret);
}

/* An answer that was late is as good as any, and waited for until @deadline_ns. */
static void collect_late(Heap *heap, uint64_t deadline_ns) {
        FileIdentity identity;
        FileQuestion question;
        FileAnswer answer;
        FileTag tag;

        if (file_room_take_late(heap->room, deadline_ns, &tag, &question, &answer) != 0 ||
            !is_valid(question, &answer))
                return;
        memcpy(&identity, &tag, sizeof(identity));
        keep_answer(heap, question, &identity, &answer);
}

HeapFailure heap_ask(Heap *heap, FileQuestion question, const FileIdentity *identity, int fd,
                     uint64_t patience_ns, FileAnswer *ret) {
        const CaptureSystem *system = heap->host->system;
        uint64_t begin_ns = system->now_ns(system->userdata);
        FileTag tag;
        int r;

        if (!heap->room)
                return HEAP_FAILURE_FILE_JOB;
        memcpy(&tag, identity, sizeof(tag));
        r = file_room_ask(heap->room, question, &tag, fd, now_mono_ns() + patience_ns, ret);
        heap_spend(heap, system->now_ns(system->userdata) - begin_ns);
        collect_late(heap, 0);
        if (r < 0) /* what the job failed to read the file with; a positive result is of the room */
                return HEAP_FAILURE_FILE_UNREADABLE;
        if (r == FILE_ROOM_E_LATE)
                return HEAP_FAILURE_TIME_BUDGET;
        if (r > 0 || !is_valid(question, ret))
                return HEAP_FAILURE_FILE_JOB;
        keep_answer(heap, question, identity, ret);
        return HEAP_FAILURE_NONE;
}

/* afterwards */

void heap_add_summary(Heap *heap, const HeapSummary *summary) {
        heap_summary_merge(&heap->summary, summary);
}

const HeapSummary *heap_summary(const Heap *heap) {
        return &heap->summary;
}

void heap_keep(Heap *heap) {
        uint64_t patience_ns = number_multiply_saturating(heap->options.limit_ns, LAST_PATIENCE);

        heap_summary_finish(&heap->summary);
        patience_ns = MIN_OF(patience_ns, LAST_PATIENCE_MAX_NS);
        if (heap->room)
                collect_late(heap, now_mono_ns() + patience_ns);
        /* Without it the next capture looks at everything anew. */
        if (heap->state == HEAP_STATE_READING && heap->options.cache_fd >= 0)
                (void) !heap_cache_store(heap->cache, heap->options.cache_fd);
}
