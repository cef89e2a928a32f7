/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/thread-counters.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"

/*
 * From the thread's number to the head of its list in struct pthread of glibc: both, if they are
 * where they have always been.
 */
#define NUMBER_WORDS 3

/* A thread has its control block, its number, and of each module two words and counters. */
#define READ_RANGES (BATCH_MAX_THREADS * (2 + 3 * HEAP_MODULES_MAX))

/* Numbers of threads are less, in any namespace (PID_MAX_LIMIT of 64-bit kernels). */
#define TID_LIMIT (4u << 20)

typedef struct ModuleWords {
        uint64_t length, block; /* of the thread's vector */
        uint64_t counters[HEAP_PLAN_WORDS];
        WordRange *length_range, *block_range;
        WordRange *range; /* of the counters; NULL: the thread has never used the module */
} ModuleWords;

typedef struct ThreadWords {
        ThreadCounters *thread;
        uint64_t head; /* of its list, or where glibc would have it */
        uint64_t pointer;
        ThreadLibrary library;
        uint64_t block[THREAD_BLOCK_WORDS];
        uint64_t number[NUMBER_WORDS]; /* with the thread's number in one half of the first */
        WordRange *block_range, *number_range;
        ModuleWords modules[HEAP_MODULES_MAX];
} ThreadWords;

/* The two ways to a thread pointer. */
typedef enum PointerSource {
        POINTER_SAVED,  /* they are in the request */
        POINTER_LISTED, /* lists of robust mutexes lead to them */
} PointerSource;

typedef struct CounterReader {
        CounterRequest *request;
        bool has_searched;                /* for another geometry */
        bool is_found[BATCH_MAX_THREADS]; /* of the request: its saved pointer is good */
        PointerSource source;
        ThreadWords threads[BATCH_MAX_THREADS]; /* those that are read by it */
        size_t n;
        WordRange ranges[READ_RANGES];
        size_t n_ranges, n_ranges_read;
} CounterReader;

static bool is_failed(const ThreadWords *words) {
        return words->thread->failure != HEAP_FAILURE_NONE;
}

static void fail(ThreadWords *words, HeapFailure failure) {
        if (!is_failed(words))
                words->thread->failure = failure;
}

/* Something is not as it should be. If the thread has gone meanwhile, that is why. */
static void doubt(const CounterRequest *request, ThreadWords *words, HeapFailure failure) {
        uint64_t head;
        bool has_gone =
                request->find_robust_list(request->userdata, words->thread->tid, &head) == -ESRCH;

        fail(words, has_gone ? HEAP_FAILURE_THREAD_EXITED : failure);
}

/* ranges */

static WordRange *add_range(CounterReader *reader, uint64_t address, uint64_t *words, uint32_t n) {
        WordRange *range = &reader->ranges[reader->n_ranges++];

        *range = (WordRange){ .address = address, .words = words, .n = n };
        return range;
}

/*
 * Reads the ranges that were added since the last call. The kernel can be asked by any thread of
 * the process that has not exited: one that has is no way to the address space any more.
 */
static void read_ranges(CounterReader *reader) {
        const ProcessMemory *memory = &reader->request->memory;
        WordRange *ranges = reader->ranges + reader->n_ranges_read;
        size_t n = reader->n_ranges - reader->n_ranges_read;
        HeapFailure failure = HEAP_FAILURE_THREAD_EXITED;
        int r = TEXT_E_VANISHED;

        reader->n_ranges_read = reader->n_ranges;
        for (size_t i = 0; i < reader->n && n > 0 && r == TEXT_E_VANISHED; i++)
                if (!is_failed(&reader->threads[i]))
                        r = process_words_read(memory, reader->threads[i].thread->tid, ranges, n);
        if (r == 0 || n == 0)
                return;
        if (r != TEXT_E_VANISHED)
                failure = r == TEXT_E_DENIED ? HEAP_FAILURE_PERMISSION
                                             : HEAP_FAILURE_PROCESS_VM_READV;
        for (size_t i = 0; i < reader->n; i++)
                fail(&reader->threads[i], failure);
}

/* The counters of module number @i, whose block is @distance away from @address. */
static void add_counters(CounterReader *reader, ThreadWords *words, size_t i, uint64_t address,
                         int64_t distance) {
        const HeapPlan *plan = &reader->request->plans[i];
        uint32_t n = (uint32_t) ((plan->deallocated - plan->allocated) / 8 + 1);
        ModuleWords *module = &words->modules[i];

        if (thread_address(address, distance + (int64_t) plan->allocated, 8, &address))
                module->range = add_range(reader, address, module->counters, n);
        else
                fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
}

/* thread pointers */

/* Where the thread's list of robust mutexes is, or where glibc would have it, and the pointer. */
static void find_pointer(const CounterReader *reader, ThreadWords *words) {
        const CounterRequest *request = reader->request;
        int r;

        if (reader->source == POINTER_SAVED) {
                words->pointer = words->thread->pointer;
                if (!thread_address(words->pointer, -(int64_t) request->geometry.pointer, 8,
                                    &words->head))
                        fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
                return;
        }
        r = request->find_robust_list(request->userdata, words->thread->tid, &words->head);
        if (r == -ESRCH)
                fail(words, HEAP_FAILURE_THREAD_EXITED);
        else if (r == -EPERM || r == -EACCES)
                fail(words, HEAP_FAILURE_PERMISSION);
        else if (r < 0 || words->head == 0)
                fail(words, HEAP_FAILURE_NO_THREAD_POINTER);
        else if (!thread_address(words->head, request->geometry.pointer, 8, &words->pointer))
                fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
}

/* Control block, number, and the counters whose place follows from the pointer. */
static void read_blocks(CounterReader *reader) {
        const CounterRequest *request = reader->request;

        reader->n_ranges = reader->n_ranges_read = 0;
        for (size_t i = 0; i < reader->n; i++) {
                ThreadWords *words = &reader->threads[i];
                uint64_t number, block;

                *words = (ThreadWords){ .thread = words->thread };
                words->thread->failure = HEAP_FAILURE_NONE;
                find_pointer(reader, words);
                if (is_failed(words))
                        continue;
                if (!thread_address(words->head, request->geometry.tid, 4, &number) ||
                    !thread_address(words->pointer, thread_block_begin(request->machine), 8,
                                    &block)) {
                        fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
                        continue;
                }
                words->block_range = add_range(reader, block, words->block,
                                               thread_block_words(request->machine));
                words->number_range =
                        add_range(reader, number & ~UINT64_C(7), words->number, NUMBER_WORDS);
                for (size_t k = 0; k < request->n_plans && !is_failed(words); k++)
                        if (request->plans[k].kind == HEAP_PLAN_STATIC)
                                add_counters(reader, words, k, words->pointer,
                                             request->plans[k].distance);
        }
        read_ranges(reader);
}

static bool is_sound(const CounterReader *reader, const ThreadWords *words) {
        return words->block_range->is_read &&
               thread_block_is_sound(reader->request->machine, words->block, words->pointer);
}

/*
 * Once a process: where the usual distance does not lead to a control block, perhaps another one
 * does. True when there is a new geometry.
 */
static bool search(CounterReader *reader) {
        CounterRequest *request = reader->request;
        uint64_t window[THREAD_SEARCH_WORDS];
        WordRange range = { .words = window, .n = THREAD_SEARCH_WORDS };

        for (size_t i = 0; i < reader->n && !reader->has_searched; i++) {
                const ThreadWords *words = &reader->threads[i];

                if (is_failed(words) || is_sound(reader, words))
                        continue;
                reader->has_searched = true;
                if (!thread_address(words->head, -(int64_t) sizeof(window), 8, &range.address) ||
                    process_words_read(&request->memory, words->thread->tid, &range, 1) != 0 ||
                    !range.is_read)
                        return false;
                return thread_geometry_search(request->machine, window, THREAD_SEARCH_WORDS,
                                              words->head, &request->geometry);
        }
        return false;
}

static void check_blocks(CounterReader *reader) {
        const CounterRequest *request = reader->request;

        for (size_t i = 0; i < reader->n; i++) {
                ThreadWords *words = &reader->threads[i];
                uint64_t place = words->head + (uint64_t) (int64_t) request->geometry.tid, last;
                uint32_t number, expected = (uint32_t) words->thread->number;

                if (is_failed(words))
                        continue;
                /* glibc has stored this as the thread's number. */
                number = (uint32_t) (place % 8 != 0 ? words->number[0] >> 32 : words->number[0]);
                if (reader->source == POINTER_SAVED) {
                        /*
                         * An empty list is a head that points to itself, so a copy of struct
                         * pthread that a program made for itself is no thread. Of a thread that has
                         * a robust mutex locked the kernel is asked.
                         */
                        last = words->head / 8 - place / 8;
                        if (words->block_range->is_read &&
                            thread_block_is_musl(request->machine, words->block, words->pointer,
                                                 expected))
                                words->library = THREAD_LIBRARY_MUSL;
                        else if (!words->number_range->is_read || !is_sound(reader, words) ||
                                 number != expected || last >= NUMBER_WORDS ||
                                 words->number[last] != words->head) {
                                fail(words, HEAP_FAILURE_NO_THREAD_POINTER);
                                continue;
                        }
                        reader->is_found[words->thread - request->threads] = true;
                        continue;
                }
                /*
                 * glibc stores the number, and the kernel clears it when the thread exits. Where it
                 * is not known which one it should be, it is told at last whether the thread is
                 * still there.
                 */
                if (!words->block_range->is_read || !words->number_range->is_read)
                        doubt(request, words, HEAP_FAILURE_PROCESS_VM_READV);
                else if (!is_sound(reader, words))
                        doubt(request, words, HEAP_FAILURE_NO_THREAD_POINTER);
                else if (number == 0)
                        fail(words, HEAP_FAILURE_THREAD_EXITED);
                else if (expected == 0 ? number >= TID_LIMIT : number != expected)
                        doubt(request, words, HEAP_FAILURE_TID_MISMATCH);
        }
}

/* vectors */

static void add_vector(CounterReader *reader, ThreadWords *words, size_t i) {
        const CounterRequest *request = reader->request;
        uint64_t vector = thread_block_vector(request->machine, words->library, words->block);
        ModuleWords *module = &words->modules[i];
        uint64_t length, block;

        if (!thread_vector_places(words->library, vector, request->plans[i].module, &length,
                                  &block)) {
                fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
                return;
        }
        module->length_range = add_range(reader, length, &module->length, 1);
        module->block_range = add_range(reader, block, &module->block, 1);
}

/* A place beyond the vector's end may be beyond readable memory, too. */
static void add_far_counters(CounterReader *reader, ThreadWords *words, size_t i) {
        uint64_t number = reader->request->plans[i].module;
        ModuleWords *module = &words->modules[i];

        if (module->length_range->is_read && module->length < number)
                return;
        if (!module->length_range->is_read || !module->block_range->is_read)
                doubt(reader->request, words, HEAP_FAILURE_PROCESS_VM_READV);
        else if (!thread_vector_is_unused(module->length, number, module->block))
                add_counters(reader, words, i, module->block, 0);
}

static void visit_vectors(CounterReader *reader,
                          void (*visit)(CounterReader *reader, ThreadWords *words, size_t i)) {
        const CounterRequest *request = reader->request;

        for (size_t k = 0; k < request->n_plans; k++)
                for (size_t i = 0; i < reader->n && request->plans[k].kind == HEAP_PLAN_VECTOR; i++)
                        if (!is_failed(&reader->threads[i]))
                                visit(reader, &reader->threads[i], k);
        read_ranges(reader);
}

/* sums */

static void add_up(const CounterRequest *request, ThreadWords *words) {
        uint64_t allocated = 0, deallocated = 0;

        for (size_t i = 0; i < request->n_plans; i++) {
                const HeapPlan *plan = &request->plans[i];
                const ModuleWords *module = &words->modules[i];
                size_t last = (plan->deallocated - plan->allocated) / 8;

                if (!module->range)
                        continue; /* nothing was ever allocated there */
                if (!module->range->is_read) {
                        doubt(request, words, HEAP_FAILURE_PROCESS_VM_READV);
                        return;
                }
                allocated = number_add_saturating(allocated, module->counters[0]);
                deallocated = number_add_saturating(deallocated, module->counters[last]);
        }
        words->thread->allocated = allocated;
        words->thread->deallocated = deallocated;
}

void thread_counters_read(CounterRequest *request) {
        CounterReader reader; /* large, and set up for each call */

        reader.request = request;
        reader.has_searched = false;
        memset(reader.is_found, 0, sizeof(reader.is_found));
        for (int source = POINTER_SAVED; source <= POINTER_LISTED; source++) {
                /* The threads that have not been found, if the source is of use for them. */
                reader.source = (PointerSource) source;
                reader.n = 0;
                for (size_t i = 0; i < request->n; i++) {
                        ThreadCounters *thread = &request->threads[i];
                        bool has_pointer = thread->pointer != 0 && thread->number != 0;

                        if (!reader.is_found[i] && (source == POINTER_LISTED || has_pointer))
                                reader.threads[reader.n++].thread = thread;
                }
                read_blocks(&reader);
                if (source == POINTER_LISTED && search(&reader))
                        read_blocks(&reader);
                check_blocks(&reader);
                visit_vectors(&reader, add_vector);
                visit_vectors(&reader, add_far_counters);
                for (size_t i = 0; i < reader.n; i++) {
                        ThreadWords *words = &reader.threads[i];
                        uint64_t head = 0;

                        if (!is_failed(words))
                                add_up(request, words);
                        if (is_failed(words) || words->thread->number != 0)
                                continue;
                        /*
                         * By the same list as before, the memory was this thread's all the while.
                         */
                        if (request->find_robust_list(request->userdata, words->thread->tid,
                                                      &head) != 0)
                                fail(words, HEAP_FAILURE_THREAD_EXITED);
                        else if (head != words->head)
                                fail(words, HEAP_FAILURE_TID_MISMATCH);
                }
        }
}
