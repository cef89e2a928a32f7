/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/thread-counters.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/number.h"

/* words of another process */

int process_words_read(const CaptureSystem *system, pid_t pid, WordRange *ranges, size_t n) {
        struct iovec local[PROCESS_WORDS_BATCH], remote[PROCESS_WORDS_BATCH];
        WordRange *batch[PROCESS_WORDS_BATCH];
        size_t n_batch = 0;

        for (size_t i = 0; i < n; i++)
                ranges[i].is_read = false;
        for (size_t i = 0; i < n; i++) {
                WordRange *range = &ranges[i];
                size_t n_bytes = 8 * (size_t) range->n;

                if (range->n > 0 && range->address != 0 && range->address % 8 == 0 &&
                    range->address <= UINT64_MAX - n_bytes) {
                        batch[n_batch] = range;
                        local[n_batch] = (struct iovec){ range->words, n_bytes };
                        remote[n_batch++] =
                                (struct iovec){ (void *) (uintptr_t) range->address, n_bytes };
                }
                if (n_batch < PROCESS_WORDS_BATCH && i + 1 < n)
                        continue;
                /* The range that stops the kernel is skipped; a further call reads what follows. */
                for (size_t at = 0; at < n_batch; at++) {
                        ssize_t n_read = system->read_memory(system->userdata, pid, local + at,
                                                             remote + at, n_batch - at);

                        if (n_read < 0 && n_read != -EFAULT)
                                return text_file_code((int) -n_read);
                        while (at < n_batch && n_read >= (ssize_t) local[at].iov_len) {
                                n_read -= (ssize_t) local[at].iov_len;
                                batch[at++]->is_read = true;
                        }
                }
                n_batch = 0;
        }
        return 0;
}

/* thread pointers */

#if defined(__x86_64__) && !defined(__ILP32__)
const uint16_t thread_machine = EM_X86_64;
#elif defined(__aarch64__) && !defined(__ILP32__)
const uint16_t thread_machine = EM_AARCH64;
#else
const uint16_t thread_machine = EM_NONE;
#endif

/*
 * In struct pthread (nptl/descr.h) stand, in this order, the number, an unused number, and the list
 * with a link to the previous one before its head.
 */
#define TID_BEFORE_HEAD 16

/*
 * x86_64: the thread pointer is the start of struct pthread, and tcbhead_t makes 0x2c0 bytes of it
 * since 2.4, an ABI that the compiler's stack protector relies on.
 * aarch64: the thread pointer is its end, so the distance grows with the struct (2.34 to 2.41).
 */
#define X86_64_HEAD 0x2e0
#define AARCH64_HEAD 0xe0
#define AARCH64_STRUCT_BYTES 1856

/* A control block of x86_64 is so far from the head at least: tcbhead_t leaves no room below. */
#define SEARCH_LEAST_BYTES 0x100

/*
 * The words of struct pthread of musl (src/internal/pthread_impl.h): its own address, the threads
 * before and behind it in a ring (0 in old versions), and the number.
 *
 * x86_64: the thread pointer is its start; old versions have one more word before the number.
 * aarch64: the thread pointer is its end, so its size must be known: it is that of 1.2.3 and 1.2.4.
 */
#define X86_64_WORDS 8
#define X86_64_MUSL_NUMBER 6
#define X86_64_MUSL_NUMBER_OLD 7
#define AARCH64_MUSL_WORDS 25
#define AARCH64_MUSL_NUMBER 4

bool thread_geometry_usual(uint16_t machine, ThreadGeometry *ret) {
        switch (machine) {
        case EM_X86_64:
                *ret = (ThreadGeometry){ -X86_64_HEAD, -TID_BEFORE_HEAD };
                return true;
        case EM_AARCH64:
                *ret = (ThreadGeometry){ AARCH64_STRUCT_BYTES - AARCH64_HEAD, -TID_BEFORE_HEAD };
                return true;
        default:
                return false;
        }
}

bool thread_geometry_from(uint16_t machine, const ThreadLayout *layout, ThreadGeometry *ret) {
        int32_t start;

        if (!layout->is_known || !thread_layout_is_valid(layout))
                return false;
        start = -(int32_t) layout->robust_offset;
        if (machine != EM_X86_64 && machine != EM_AARCH64)
                return false;
        *ret = (ThreadGeometry){
                .pointer = machine == EM_X86_64 ? start : start + (int32_t) layout->sizeof_pthread,
                .tid = start + (int32_t) layout->tid_offset,
        };
        return true;
}

/* tcbhead_t begins with its own address, a vector, and its own address as struct pthread. */
static bool is_self_pointing(const uint64_t *words, uint64_t pointer) {
        return words[0] == pointer && words[2] == pointer;
}

bool thread_geometry_search(uint16_t machine, const uint64_t *words, size_t n, uint64_t head,
                            ThreadGeometry *ret) {
        if (machine != EM_X86_64)
                return false;
        /* From the head down: what lies below struct pthread is the thread's own data. */
        for (size_t back = SEARCH_LEAST_BYTES / 8; back <= n && head >= 8 * back; back++) {
                const uint64_t *block = words + n - back;

                if (!is_self_pointing(block, head - 8 * back))
                        continue;
                *ret = (ThreadGeometry){ -(int32_t) (8 * back), -TID_BEFORE_HEAD };
                return true;
        }
        return false;
}

bool thread_address(uint64_t address, int64_t distance, uint64_t align, uint64_t *ret) {
        uint64_t sum;

        if (__builtin_add_overflow(address, distance, &sum) || sum == 0 || (sum & (align - 1)) != 0)
                return false;
        *ret = sum;
        return true;
}

/* On aarch64 struct pthread of musl, and behind it what is at the thread pointer. */
uint32_t thread_block_words(uint16_t machine) {
        return machine == EM_X86_64 ? X86_64_WORDS : AARCH64_MUSL_WORDS + 1;
}

int32_t thread_block_begin(uint16_t machine) {
        return machine == EM_X86_64 ? 0 : -8 * AARCH64_MUSL_WORDS;
}

bool thread_block_is_sound(uint16_t machine, const uint64_t words[static THREAD_BLOCK_WORDS],
                           uint64_t pointer) {
        return machine != EM_X86_64 || is_self_pointing(words, pointer);
}

/*
 * musl links the threads of a process in a ring. In a process with one thread, the links in both
 * directions point to that thread. A block in which only the first of these two words points to the
 * block itself is one of glibc.
 */
bool thread_block_is_musl(uint16_t machine, const uint64_t words[static THREAD_BLOCK_WORDS],
                          uint64_t pointer, uint32_t number) {
        if (machine == EM_AARCH64)
                return words[0] == pointer - 8 * AARCH64_MUSL_WORDS &&
                       (uint32_t) words[AARCH64_MUSL_NUMBER] == number;
        return machine == EM_X86_64 && words[0] == pointer &&
               (words[2] != pointer || words[3] == pointer) &&
               ((uint32_t) words[X86_64_MUSL_NUMBER] == number ||
                (uint32_t) words[X86_64_MUSL_NUMBER_OLD] == number);
}

uint64_t thread_block_vector(uint16_t machine, ThreadLibrary library,
                             const uint64_t words[static THREAD_BLOCK_WORDS]) {
        if (machine == EM_X86_64)
                return words[1];
        return words[library == THREAD_LIBRARY_MUSL ? AARCH64_MUSL_WORDS - 1 : AARCH64_MUSL_WORDS];
}

bool thread_vector_places(ThreadLibrary library, uint64_t vector, uint64_t module,
                          uint64_t *ret_length, uint64_t *ret) {
        uint64_t before = library == THREAD_LIBRARY_MUSL ? 0 : 16;
        uint64_t each = library == THREAD_LIBRARY_MUSL ? 8 : 16;

        if (vector % 8 != 0 || module == 0 || module > THREAD_MODULES_MAX)
                return false;
        if (vector == 0 || vector < before || vector > UINT64_MAX - each * (module + 1))
                return false;
        *ret_length = vector - before;
        *ret = vector + each * module;
        return true;
}

/*
 * A vector begins as zeros; modules that are there when it is made or brought up to date, which is
 * when the thread next uses one that it has no block of, are marked by -1 until then.
 */
bool thread_vector_is_unused(uint64_t length, uint64_t module, uint64_t word) {
        return module > length || word == 0 || word == UINT64_MAX;
}

/* plans */

/* A thread's static blocks can be so far away from its thread pointer. */
#define DISTANCE_MAX INT64_C(0x7fffffff)

/* Two pointers that aarch64 has at the thread pointer, before the program's block. */
#define AARCH64_BLOCK_BYTES 16

/*
 * From here on a word is a pointer and no distance: no program has that much static thread-local
 * memory, and none has its heap below.
 */
#define DESCRIPTOR_LEAST_ADDRESS (INT64_C(1) << 22)

bool heap_plan_is_valid(const HeapPlan *plan) {
        if (plan->allocated % 8 != 0 || plan->deallocated % 8 != 0 ||
            plan->allocated >= plan->deallocated || plan->deallocated >= HEAP_TLS_BYTES_MAX ||
            plan->deallocated - plan->allocated >= 8 * HEAP_PLAN_WORDS)
                return false;
        if (plan->kind == HEAP_PLAN_STATIC)
                return plan->distance >= -DISTANCE_MAX && plan->distance <= DISTANCE_MAX &&
                       plan->distance % 8 == 0;
        return plan->kind == HEAP_PLAN_VECTOR && plan->module > 0 &&
               plan->module <= THREAD_MODULES_MAX;
}

/* @word is the number of a module, or the distance of a static block plus @addend. */
static HeapPlanResult make_plan(const HeapLayout *layout, HeapPlanKind kind, uint64_t word,
                                int64_t addend, HeapPlan *ret) {
        int64_t distance;

        *ret = (HeapPlan){
                .kind = kind,
                .allocated = layout->allocated,
                .deallocated = layout->deallocated,
        };
        if (kind == HEAP_PLAN_VECTOR)
                ret->module = word;
        else if (__builtin_sub_overflow((int64_t) word, addend, &distance))
                return HEAP_PLAN_IMPOSSIBLE;
        /*
         * The thread pointer of x86_64 lies above all blocks and that of aarch64 below: what is on
         * the other side has not been relocated yet, or is no block.
         */
        else if (layout->machine == EM_X86_64 ? distance > -(int64_t) layout->tls_memsz
                                              : distance < AARCH64_BLOCK_BYTES)
                return HEAP_PLAN_IMPOSSIBLE;
        else
                ret->distance = distance;
        return heap_plan_is_valid(ret) ? HEAP_PLAN_MADE : HEAP_PLAN_IMPOSSIBLE;
}

/*
 * Linkers count on these places (ELF Handling for Thread-Local Storage, variants I and II): the
 * block next to the thread pointer, as aligned as the segment's address in the file.
 */
bool heap_plan_of_program(const HeapLayout *layout, HeapPlan *ret) {
        uint64_t mask = layout->tls_align > 1 ? layout->tls_align - 1 : 0, distance;

        if (layout->machine == EM_X86_64)
                distance = -(layout->tls_memsz + ((-layout->tls_vaddr - layout->tls_memsz) & mask));
        else
                distance = AARCH64_BLOCK_BYTES + ((layout->tls_vaddr - AARCH64_BLOCK_BYTES) & mask);
        return make_plan(layout, HEAP_PLAN_STATIC, distance, 0, ret) == HEAP_PLAN_MADE;
}

size_t heap_plan_n_words(const HeapLayout *layout) {
        return layout->slot_kind == HEAP_SLOT_TLSDESC ? 2 : 1;
}

HeapPlanResult heap_plan_of_library(const HeapLayout *layout, const uint64_t *words, HeapPlan *ret,
                                    uint64_t *ret_further) {
        switch (layout->slot_kind) {
        case HEAP_SLOT_TPOFF:
                return make_plan(layout, HEAP_PLAN_STATIC, words[0], layout->slot_addend, ret);
        case HEAP_SLOT_DTPMOD:
                return make_plan(layout, HEAP_PLAN_VECTOR, words[0], 0, ret);
        case HEAP_SLOT_TLSDESC:
                /*
                 * A function and its argument. It says whether the block is static: then the
                 * argument is the distance, otherwise the address of a pair.
                 */
                if (words[0] == 0)
                        return HEAP_PLAN_IMPOSSIBLE;
                if ((int64_t) words[1] < DESCRIPTOR_LEAST_ADDRESS)
                        return make_plan(layout, HEAP_PLAN_STATIC, words[1], layout->slot_addend,
                                         ret);
                *ret_further = words[1];
                return words[1] % 8 != 0 ? HEAP_PLAN_IMPOSSIBLE : HEAP_PLAN_FURTHER;
        default:
                return HEAP_PLAN_UNSUPPORTED;
        }
}

/* The module's number, and the offset in its block, which is the addend once more. */
HeapPlanResult heap_plan_of_descriptor(const HeapLayout *layout, const uint64_t words[static 2],
                                       HeapPlan *ret) {
        if (words[1] != (uint64_t) layout->slot_addend)
                return HEAP_PLAN_IMPOSSIBLE;
        return make_plan(layout, HEAP_PLAN_VECTOR, words[0], 0, ret);
}

/* counters */

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

typedef struct CounterReader {
        CounterRequest *request;
        bool has_searched; /* for another geometry */
        /* Pointers are those of the request; otherwise lists of robust mutexes lead to them. */
        bool is_saved;
        bool is_found[BATCH_MAX_THREADS];       /* of the request: its saved pointer is good */
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

static int find_list(const CounterRequest *request, const ThreadWords *words, uint64_t *ret) {
        return request->system.find_robust_list(request->system.userdata, words->thread->tid, ret);
}

/* Something is not as it should be. If the thread has gone meanwhile, that is why. */
static void doubt(const CounterRequest *request, ThreadWords *words, HeapFailure failure) {
        uint64_t head;

        fail(words,
             find_list(request, words, &head) == -ESRCH ? HEAP_FAILURE_THREAD_EXITED : failure);
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
        const CaptureSystem *system = &reader->request->system;
        WordRange *ranges = reader->ranges + reader->n_ranges_read;
        size_t n = reader->n_ranges - reader->n_ranges_read;
        HeapFailure failure = HEAP_FAILURE_THREAD_EXITED;
        int r = TEXT_E_VANISHED;

        reader->n_ranges_read = reader->n_ranges;
        for (size_t i = 0; i < reader->n && n > 0 && r == TEXT_E_VANISHED; i++)
                if (!is_failed(&reader->threads[i]))
                        r = process_words_read(system, reader->threads[i].thread->tid, ranges, n);
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
        const HeapPlan *plan = &reader->request->way.plans[i];
        uint32_t n = (uint32_t) ((plan->deallocated - plan->allocated) / 8 + 1);
        ModuleWords *module = &words->modules[i];

        if (thread_address(address, distance + (int64_t) plan->allocated, 8, &address))
                module->range = add_range(reader, address, module->counters, n);
        else
                fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
}

/* Where the thread's list of robust mutexes is, or where glibc would have it, and the pointer. */
static void find_pointer(const CounterReader *reader, ThreadWords *words) {
        const ThreadGeometry *geometry = &reader->request->way.geometry;
        int r;

        if (reader->is_saved) {
                words->pointer = words->thread->pointer;
                if (!thread_address(words->pointer, -(int64_t) geometry->pointer, 8, &words->head))
                        fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
                return;
        }
        r = find_list(reader->request, words, &words->head);
        if (r == -ESRCH)
                fail(words, HEAP_FAILURE_THREAD_EXITED);
        else if (r == -EPERM || r == -EACCES)
                fail(words, HEAP_FAILURE_PERMISSION);
        else if (r < 0 || words->head == 0)
                fail(words, HEAP_FAILURE_NO_THREAD_POINTER);
        else if (!thread_address(words->head, geometry->pointer, 8, &words->pointer))
                fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
}

/* Control block, number, and the counters whose place follows from the pointer. */
static void read_blocks(CounterReader *reader) {
        const CounterRequest *request = reader->request;
        const HeapWay *way = &request->way;

        reader->n_ranges = reader->n_ranges_read = 0;
        for (size_t i = 0; i < reader->n; i++) {
                ThreadWords *words = &reader->threads[i];
                uint64_t number, block;

                *words = (ThreadWords){ .thread = words->thread };
                words->thread->failure = HEAP_FAILURE_NONE;
                find_pointer(reader, words);
                if (is_failed(words))
                        continue;
                if (!thread_address(words->head, way->geometry.tid, 4, &number) ||
                    !thread_address(words->pointer, thread_block_begin(request->machine), 8,
                                    &block)) {
                        fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
                        continue;
                }
                words->block_range = add_range(reader, block, words->block,
                                               thread_block_words(request->machine));
                words->number_range =
                        add_range(reader, number & ~UINT64_C(7), words->number, NUMBER_WORDS);
                for (size_t k = 0; k < way->n_plans && !is_failed(words); k++)
                        if (way->plans[k].kind == HEAP_PLAN_STATIC)
                                add_counters(reader, words, k, words->pointer,
                                             way->plans[k].distance);
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
                return thread_address(words->head, -(int64_t) sizeof(window), 8, &range.address) &&
                       process_words_read(&request->system, words->thread->tid, &range, 1) == 0 &&
                       range.is_read &&
                       thread_geometry_search(request->machine, window, THREAD_SEARCH_WORDS,
                                              words->head, &request->way.geometry);
        }
        return false;
}

static void check_block(CounterReader *reader, ThreadWords *words) {
        const CounterRequest *request = reader->request;
        uint64_t place = words->head + (uint64_t) (int64_t) request->way.geometry.tid;
        /* glibc has stored this as the thread's number. */
        uint32_t number = (uint32_t) (place % 8 != 0 ? words->number[0] >> 32 : words->number[0]);
        uint32_t expected = (uint32_t) words->thread->number;

        if (reader->is_saved) {
                /*
                 * The head of an empty list points to itself, so a copy of struct pthread that a
                 * program made for itself is not taken for a thread. For a thread that has a robust
                 * mutex locked, the kernel is asked.
                 */
                uint64_t last = words->head / 8 - place / 8;

                if (words->block_range->is_read &&
                    thread_block_is_musl(request->machine, words->block, words->pointer, expected))
                        words->library = THREAD_LIBRARY_MUSL;
                else if (!words->number_range->is_read || !is_sound(reader, words) ||
                         number != expected || last >= NUMBER_WORDS ||
                         words->number[last] != words->head) {
                        fail(words, HEAP_FAILURE_NO_THREAD_POINTER);
                        return;
                }
                reader->is_found[words->thread - request->threads] = true;
                return;
        }
        /*
         * glibc stores the number, and the kernel clears it when the thread exits. Where it is not
         * known which one it should be, it is told at last whether the thread is still there.
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

static void add_vector(CounterReader *reader, ThreadWords *words, size_t i) {
        const CounterRequest *request = reader->request;
        uint64_t vector = thread_block_vector(request->machine, words->library, words->block);
        ModuleWords *module = &words->modules[i];
        uint64_t length, block;

        if (!thread_vector_places(words->library, vector, request->way.plans[i].module, &length,
                                  &block)) {
                fail(words, HEAP_FAILURE_TLS_ARITHMETIC);
                return;
        }
        module->length_range = add_range(reader, length, &module->length, 1);
        module->block_range = add_range(reader, block, &module->block, 1);
}

/* A place beyond the vector's end may be beyond readable memory, too. */
static void add_far_counters(CounterReader *reader, ThreadWords *words, size_t i) {
        uint64_t number = reader->request->way.plans[i].module;
        ModuleWords *module = &words->modules[i];

        if (module->length_range->is_read && module->length < number)
                return;
        if (!module->length_range->is_read || !module->block_range->is_read)
                doubt(reader->request, words, HEAP_FAILURE_PROCESS_VM_READV);
        else if (!thread_vector_is_unused(module->length, number, module->block))
                add_counters(reader, words, i, module->block, 0);
}

static void add_up(const CounterRequest *request, ThreadWords *words) {
        uint64_t allocated = 0, deallocated = 0;

        for (size_t i = 0; i < request->way.n_plans; i++) {
                const HeapPlan *plan = &request->way.plans[i];
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
        const HeapWay *way = &request->way;

        reader.request = request;
        reader.has_searched = false;
        memset(reader.is_found, 0, sizeof(reader.is_found));
        for (unsigned pass = 0; pass < 2; pass++) {
                reader.is_saved = pass == 0;
                reader.n = 0;
                /* The threads that have not been found, if this is of use for them. */
                for (size_t i = 0; i < request->n; i++) {
                        ThreadCounters *thread = &request->threads[i];
                        bool has_pointer = thread->pointer != 0 && thread->number != 0;

                        if (!reader.is_found[i] && (!reader.is_saved || has_pointer))
                                reader.threads[reader.n++].thread = thread;
                }
                read_blocks(&reader);
                if (!reader.is_saved && search(&reader))
                        read_blocks(&reader);
                for (size_t i = 0; i < reader.n; i++)
                        if (!is_failed(&reader.threads[i]))
                                check_block(&reader, &reader.threads[i]);
                /* First the places of blocks in the vectors, then the counters there. */
                for (unsigned is_far = 0; is_far < 2; is_far++) {
                        for (size_t i = 0; i < way->n_plans * reader.n; i++) {
                                ThreadWords *words = &reader.threads[i % reader.n];
                                size_t k = i / reader.n;

                                if (way->plans[k].kind == HEAP_PLAN_VECTOR && !is_failed(words))
                                        (is_far ? add_far_counters : add_vector)(&reader, words, k);
                        }
                        read_ranges(&reader);
                }
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
                        if (find_list(request, words, &head) != 0)
                                fail(words, HEAP_FAILURE_THREAD_EXITED);
                        else if (head != words->head)
                                fail(words, HEAP_FAILURE_TID_MISMATCH);
                }
        }
}
