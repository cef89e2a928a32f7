/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"
#include "capture/batch/backend.h"

/*
 * The memory job keeps the time itself, and waits for no process longer than the limit and at the
 * end for a file as many times that. Only one that fails is given up after more.
 */
#define PATIENCE 8 /* times the limit */
#define PATIENCE_LEAST_NS (5 * NSEC_PER_SEC)
#define PATIENCE_MOST_NS (60 * NSEC_PER_SEC)

static bool is_needed(const Heap *heap) {
        return !heap->absence || heap->commands != COMMAND_LINES_NO;
}

static bool fits(uint32_t question, size_t n) {
        return question < _MEMORY_QUESTION_MAX &&
               n >= memory_answered_bytes((MemoryQuestion) question, 0) &&
               n <= memory_answered_bytes((MemoryQuestion) question, BATCH_MAX_THREADS);
}

int heap_new(const HeapOptions *options, const CaptureHost *host, Heap **ret) {
        _cleanup_(heap_freep) Heap *heap = calloc(1, sizeof(*heap));
        const HelperTerms terms = {
                .max_answer_bytes = sizeof(MemoryAnswered),
                .fits = fits,
                .open = options->open_memory,
                .userdata = options->userdata,
        };
        bool has_memory = options->open_memory && !options->no_memory;
        int r;

        if (!heap)
                return -ENOMEM;
        heap->options = *options;
        heap->host = host;
        heap->commands = has_memory ? options->commands : COMMAND_LINES_NO;
        if (!has_memory)
                heap->no_memory = options->no_memory
                                          ? options->no_memory
                                          : "the memory of processes cannot be read here";
        if (!options->wanted)
                heap->absence = "the capture was asked to skip it";
        else if (!heap_probe_is_built)
                heap->absence = "this ctprofd was built without counters of allocators "
                                "(-Dheap=disabled)";
        else if (host->gates.foreign_pids)
                heap->absence = "/proc belongs to another pid namespace than this process, so "
                                "system calls know its processes by other numbers";
        else if (!has_memory)
                heap->absence = heap->no_memory;
        else if (thread_machine == EM_NONE)
                heap->absence = "counters of allocators are read on x86_64 and aarch64 only";
        r = heap_cache_new(&heap->cache);
        if (r == 0 && is_needed(heap) && options->cache_fd >= 0)
                r = heap_cache_load(heap->cache, options->cache_fd);
        if (r == 0 && is_needed(heap))
                r = helper_new(&terms, &heap->helper);
        if (r < 0)
                return r;
        /* It takes its time to start, while the threads that it will be asked about may end. */
        if (!heap->absence && !options->is_trial && heap_cache_expects_plans(heap->cache))
                helper_begin(heap->helper);
        *ret = TAKE_PTR(heap);
        return 0;
}

Heap *heap_free(Heap *heap) {
        if (!heap)
                return NULL;
        heap->helper = helper_free(heap->helper);
        heap->cache = heap_cache_free(heap->cache);
        free(heap);
        return NULL;
}

bool heap_ask(Heap *heap, MemoryQuestion question, const void *asked, size_t n,
              MemoryAnswered *ret) {
        const HelperQuestion order = {
                .question = question,
                .body = { asked, memory_asked_bytes(question, n) },
                .fd = -EBADF,
        };
        uint64_t patience_ns = number_multiply_saturating(heap->options.limit_ns, PATIENCE);
        size_t n_answered;
        int r;

        patience_ns = MAX_OF(patience_ns, PATIENCE_LEAST_NS);
        patience_ns = MIN_OF(patience_ns, PATIENCE_MOST_NS);
        if (!heap->helper || atomic_load(&heap->is_silent))
                return false;
        atomic_store(&heap->was_asked, true);
        r = helper_ask(heap->helper, &order, clock_now_ns(CLOCK_MONOTONIC) + patience_ns, ret,
                       &n_answered);
        if (r == HELPER_E_LATE)
                atomic_store(&heap->is_silent, true);
        return r == 0 && n_answered == memory_answered_bytes(question, n);
}

/* afterwards */

void heap_keep(Heap *heap) {
        const uint64_t end = 0;
        MemoryAnswered answer;

        heap_summary_finish(&heap->summary);
        /* Without an answer the next capture looks at more files. */
        if (atomic_load(&heap->was_asked))
                (void) !heap_ask(heap, MEMORY_QUESTION_END, &end, 0, &answer);
        /* Without it the next capture looks at every process anew. */
        if (is_needed(heap) && heap->options.cache_fd >= 0)
                (void) !heap_cache_store(heap->cache, heap->options.cache_fd);
}

/* reasons */

/* One sentence has room for one cause: the most frequent one, but for what a setting changes. */
static HeapFailure find_cause(const uint64_t counts[static _HEAP_FAILURE_MAX]) {
        HeapFailure cause = HEAP_FAILURE_NONE;

        if (counts[HEAP_FAILURE_TIME_BUDGET] > 0)
                return HEAP_FAILURE_TIME_BUDGET;
        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++)
                if (heap_failures[i].outcome != SOURCE_OUTCOME_vanished &&
                    counts[i] > (cause == HEAP_FAILURE_NONE ? 0 : counts[cause]))
                        cause = (HeapFailure) i;
        return cause;
}

void heap_explain(const Heap *heap, Source *source) {
        const Gates *gates = &heap->host->gates;
        HeapFailure failure;
        uint64_t n;

        if (heap->absence) {
                source_set(source,
                           heap->options.wanted ? SOURCE_STATE_UNAVAILABLE
                                                : SOURCE_STATE_NOT_REQUESTED,
                           "%s", heap->absence);
                return;
        }
        if (source->state == SOURCE_STATE_OK) {
                if (!heap->options.is_trial && heap->summary.n_detected == 0)
                        source_set(source, SOURCE_STATE_NOT_APPLICABLE,
                                   "no process of this host uses jemalloc");
                return;
        }
        failure = find_cause(heap->summary.failures);
        if (failure == HEAP_FAILURE_NONE)
                return;
        n = heap->summary.failures[failure];
        if (failure == HEAP_FAILURE_TIME_BUDGET)
                source_set(source, source->state,
                           "the time budget of %" PRIu64 " ms did not suffice for %" PRIu64
                           " process%s: " SOURCE_REMEDY_HEAP_TIME " sets it, --no-heap skips all",
                           heap->options.limit_ns / NSEC_PER_MSEC, n, n == 1 ? "" : "es");
        else if (failure != HEAP_FAILURE_PERMISSION)
                source_set(source, source->state, "%" PRIu64 " %s (%s): %s", n,
                           heap_failure_is_of_thread(failure) ? n == 1 ? "thread" : "threads"
                           : n == 1                           ? "process"
                                                              : "processes",
                           heap_failures[failure].name, heap_failures[failure].reason);
        else if (gates->in_user_namespace)
                source_set(source, source->state, REASON_IN_USER_NAMESPACE);
        else if (gates->has_sys_ptrace)
                source_set(source, source->state,
                           "the memory of some processes is refused even with CAP_SYS_PTRACE: a "
                           "security policy protects them");
        else
                source_set(source, source->state,
                           "reading the memory of other processes needs "
                           "CAP_SYS_PTRACE: " REASON_RUN_PRIVILEGED);
}

void heap_explain_commands(const Heap *heap, Source *source) {
        const HeapOptions *options = &heap->options;
        const uint64_t *counts = heap->summary.commands;
        HeapFailure cause = find_cause(counts);
        const char *text = "their arguments could not be read";

        if (options->commands == COMMAND_LINES_NO) {
                source_set(source, SOURCE_STATE_NOT_REQUESTED,
                           "CommandLines=no in ctprofd.conf, or nobody asked for them");
                return;
        }
        if (heap->commands == COMMAND_LINES_NO) {
                source_set(source, SOURCE_STATE_UNAVAILABLE, "%s", heap->no_memory);
                return;
        }
        if (source->state == SOURCE_STATE_OK || cause == HEAP_FAILURE_NONE)
                return;
        if (cause == HEAP_FAILURE_TIME_BUDGET)
                text = "there was no time for them, and the next capture reads them: HeapTime= of "
                       "ctprofd.conf sets it";
        else if (cause == HEAP_FAILURE_TIMED_OUT)
                text = "they keep the lock of their memory taken";
        else if (cause != HEAP_FAILURE_PERMISSION && heap_failures[cause].reason &&
                 !heap_failure_is_of_thread(cause))
                text = heap_failures[cause].reason;
        source_set(source, source->state, "%" PRIu64 " process%s (%s): %s", counts[cause],
                   counts[cause] == 1 ? "" : "es", heap_failures[cause].name, text);
}
