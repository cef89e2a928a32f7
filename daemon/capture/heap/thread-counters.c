/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/thread-counters.h"

#include <errno.h>

#include "base/number.h"

/* Of a thread: its control block, its number, and two words of its vector and counters a module. */
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
        uint64_t head, pointer;
        uint64_t block[THREAD_BLOCK_WORDS];
        uint64_t number; /* with the thread's number in one half */
        WordRange *block_range, *number_range;
        ModuleWords modules[HEAP_MODULES_MAX];
} ThreadWords;

typedef struct CounterReader {
        CounterRequest *request;
        bool has_searched; /* for another geometry */
        ThreadWords threads[BATCH_MAX_THREADS];
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

static int find_head(const CounterRequest *request, pid_t tid, uint64_t *ret) {
        return request->find_robust_list(request->userdata, tid, ret);
}

/* Something is not as it should be. If the thread has gone meanwhile, that is why. */
static void doubt(const CounterRequest *request, ThreadWords *words, HeapFailure failure) {
        uint64_t head;
        bool has_gone = find_head(request, words->thread->tid, &head) == -ESRCH;

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

static void find_pointer(const CounterRequest *request, ThreadWords *words) {
        int r = find_head(request, words->thread->tid, &words->head);

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
static void add_blocks(CounterReader *reader, ThreadWords *words) {
        const CounterRequest *request = reader->request;
        uint64_t number;

        if (!thread_address(words->head, request->geometry.tid, 4, &number)) {
                fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
                return;
        }
        words->block_range = add_range(reader, words->pointer, words->block,
                                       thread_block_words(request->machine));
        words->number_range = add_range(reader, number & ~UINT64_C(7), &words->number, 1);
        for (size_t i = 0; i < request->n_plans && !is_failed(words); i++)
                if (request->plans[i].kind == HEAP_PLAN_STATIC)
                        add_counters(reader, words, i, words->pointer, request->plans[i].distance);
}

static void read_blocks(CounterReader *reader) {
        reader->n_ranges = reader->n_ranges_read = 0;
        for (size_t i = 0; i < reader->n; i++) {
                ThreadWords *words = &reader->threads[i];

                *words = (ThreadWords){ .thread = words->thread };
                words->thread->failure = HEAP_FAILURE_NONE;
                find_pointer(reader->request, words);
                if (!is_failed(words))
                        add_blocks(reader, words);
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

/*
 * glibc stores the number, and the kernel clears it when the thread exits. Which number it should
 * be in a nested namespace is not known; there check_still_there() decides.
 */
static void check_number(const CounterRequest *request, ThreadWords *words) {
        bool is_upper_half = (words->head + (uint64_t) (int64_t) request->geometry.tid) % 8 != 0;
        uint32_t number = (uint32_t) (is_upper_half ? words->number >> 32 : words->number);

        if (number == 0)
                fail(words, HEAP_FAILURE_THREAD_EXITED);
        else if (request->is_nested ? number >= TID_LIMIT : number != (uint32_t) words->thread->tid)
                doubt(request, words, HEAP_FAILURE_TID_MISMATCH);
}

static void check_blocks(CounterReader *reader) {
        for (size_t i = 0; i < reader->n; i++) {
                ThreadWords *words = &reader->threads[i];

                if (is_failed(words))
                        continue;
                if (!words->block_range->is_read || !words->number_range->is_read)
                        doubt(reader->request, words, HEAP_FAILURE_PROCESS_VM_READV);
                else if (!is_sound(reader, words))
                        doubt(reader->request, words, HEAP_FAILURE_NO_THREAD_POINTER);
                else
                        check_number(reader->request, words);
        }
}

/* vectors */

static void add_vector(CounterReader *reader, ThreadWords *words, size_t i) {
        const CounterRequest *request = reader->request;
        uint64_t vector = thread_block_vector(request->machine, words->block), length, block;
        ModuleWords *module = &words->modules[i];

        if (!thread_vector_places(vector, request->plans[i].module, &length, &block)) {
                fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
                return;
        }
        module->length_range = add_range(reader, length, &module->length, 1);
        module->block_range = add_range(reader, block, &module->block, 1);
}

/* What is beyond the vector's end may be beyond readable memory, too. */
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

/* The kernel knows it by the same list as before: all the while the memory was this thread's. */
static void check_still_there(const CounterRequest *request, ThreadWords *words) {
        uint64_t head = 0;

        if (find_head(request, words->thread->tid, &head) != 0)
                fail(words, HEAP_FAILURE_THREAD_EXITED);
        else if (head != words->head)
                fail(words, HEAP_FAILURE_TID_MISMATCH);
}

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
        reader.n = request->n;
        for (size_t i = 0; i < reader.n; i++)
                reader.threads[i].thread = &request->threads[i];
        read_blocks(&reader);
        if (search(&reader))
                read_blocks(&reader);
        check_blocks(&reader);
        visit_vectors(&reader, add_vector);
        visit_vectors(&reader, add_far_counters);
        for (size_t i = 0; i < reader.n; i++) {
                ThreadWords *words = &reader.threads[i];

                if (!is_failed(words))
                        add_up(request, words);
                if (!is_failed(words) && request->is_nested)
                        check_still_there(request, words);
        }
}
